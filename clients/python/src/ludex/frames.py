"""WebSocket frames out of a stream of bytes, without copying what they carry.

The ``websockets`` library gathers what it reads in a buffer that grows from nothing for every
message, and copies each payload out of it. For a batch of thousands of environments, which has
hundreds of kilobytes, that took more time than everything else in the client together. Here one
buffer stays and is read in place.
"""

from __future__ import annotations

from typing import NamedTuple

CONT, TEXT, BINARY = 0, 1, 2
PROTOCOL_ERROR, MESSAGE_TOO_BIG = 1002, 1009

_READ_SIZE = 1 << 18
_HEAD, _HEAD_16, _HEAD_64 = 2, 4, 10


class BadFrame(Exception):
    """What came is no frame of a server, or too long.

    Attributes:
        code: the close code that says so.
        reason: in words.
    """

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class Frame(NamedTuple):
    """One frame.

    Attributes:
        opcode: what it is: ``CONT``, ``TEXT``, ``BINARY``, or a control frame (8 and above).
        fin: whether it ends its message.
        payload: what it carries.
        whole: the frame as it came.
    """

    opcode: int
    fin: bool
    payload: memoryview
    whole: memoryview


class FrameReader:
    """Takes bytes as they come, gives frames.

    Bytes are written to where :meth:`room` says, then :meth:`wrote` is called, then :meth:`next`
    until it has no more.
    """

    def __init__(self, max_size: int) -> None:
        self._max_size = max_size
        self._buffer = memoryview(bytearray(_READ_SIZE))
        self._from = 0
        self._to = 0
        # Bytes that the frame at hand has at the least.
        self._least = _HEAD

    @property
    def begun(self) -> bool:
        """Whether there are bytes that were not given out."""
        return self._from != self._to

    def room(self, keep: bool) -> memoryview:
        """Return where the next bytes go: room for the rest of the frame at hand, and more.

        Args:
            keep: frames that were given out are still in use: what they show stays as it is.
                Otherwise it may be overwritten.
        """
        have = self._to - self._from
        if not (have or keep):
            self._from = self._to = 0
        size = len(self._buffer)
        if self._to == size or self._from + self._least > size:
            old = self._buffer[self._from : self._to]
            if keep or self._least > size or have == size:
                grown = 2 * size if self._least > size or have == size else size
                self._buffer = memoryview(bytearray(max(grown, self._least)))
            self._buffer[:have] = old
            self._from, self._to = 0, have
        return self._buffer[self._to :]

    def wrote(self, count: int) -> None:
        """Say that the next ``count`` bytes are in their place."""
        self._to += count

    def raw(self, most: int | None = None) -> memoryview:
        """Take bytes that belong to no frame, at the most so many; empty when none are here."""
        end = self._to if most is None else min(self._to, self._from + most)
        taken = self._buffer[self._from : end]
        self._from, self._least = end, _HEAD
        return taken

    def next(self) -> Frame | None:
        """Return the next frame, or ``None`` until more of it has come.

        Raises:
            BadFrame: there is none, nor will there ever be.
        """
        have = self._to - self._from
        if have < self._least:
            return None
        buffer, at = self._buffer, self._from
        first, size = buffer[at], buffer[at + 1]
        if first & 0x70 or size & 0x80:
            raise BadFrame(PROTOCOL_ERROR, "a frame is masked, or has bits set that mean nothing")
        head = _HEAD
        if size > 125:
            head = _HEAD_16 if size == 126 else _HEAD_64
            if have < head:
                self._least = head
                return None
            size = int.from_bytes(buffer[at + _HEAD : at + head], "big")
            if size > self._max_size:
                raise BadFrame(MESSAGE_TOO_BIG, f"a frame of {size} bytes")
        whole = head + size
        if have < whole:
            self._least = whole
            return None
        self._from, self._least = at + whole, _HEAD
        frame = buffer[at : at + whole]
        return Frame(first & 0x0F, bool(first & 0x80), frame[head:], frame)
