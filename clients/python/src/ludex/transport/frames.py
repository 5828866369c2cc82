"""Reads WebSocket frames from a stream of bytes, without copying their payload.

The ``websockets`` library collects every message in a new buffer that grows, and copies the
payload out of it. A batch of thousands of environments has hundreds of kilobytes; for such a batch
the copying took more time than the rest of the client. Here one buffer is kept and read in place.
"""

from __future__ import annotations

from typing import NamedTuple

CONT, TEXT, BINARY = 0, 1, 2
PROTOCOL_ERROR, MESSAGE_TOO_BIG = 1002, 1009

_READ_SIZE = 1 << 18
_HEAD, _HEAD_16, _HEAD_64 = 2, 4, 10


class BadFrame(Exception):
    """The data is not a valid frame of a server, or the frame is too long.

    Attributes:
        code: the WebSocket close code for this fault.
        reason: the fault in words.
    """

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class Frame(NamedTuple):
    """One frame.

    Attributes:
        opcode: its kind: ``CONT``, ``TEXT``, ``BINARY``, or a control frame (8 and above).
        fin: True if it is the last frame of its message.
        payload: its content.
        whole: the whole frame as it arrived.
    """

    opcode: int
    fin: bool
    payload: memoryview
    whole: memoryview


class FrameReader:
    """Takes bytes in pieces of any size and returns frames.

    Write bytes into the memory that :meth:`room` returns, then call :meth:`wrote`, then call
    :meth:`next` until it returns ``None``.
    """

    def __init__(self, max_size: int) -> None:
        self._max_size = max_size
        self._buffer = memoryview(bytearray(_READ_SIZE))
        self._from = 0
        self._to = 0
        # The current frame has at least this many bytes.
        self._least = _HEAD

    @property
    def begun(self) -> bool:
        """True if there are bytes that were not returned yet."""
        return self._from != self._to

    def room(self, keep: bool) -> memoryview:
        """Return memory for the next bytes: at least the rest of the current frame.

        Args:
            keep: True if returned frames are still in use; otherwise they may be overwritten.
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
        """Report that ``count`` bytes were written into :meth:`room`."""
        self._to += count

    def raw(self, most: int | None = None) -> memoryview:
        """Take at most ``most`` bytes that do not belong to a frame; empty if none are left."""
        end = self._to if most is None else min(self._to, self._from + most)
        taken = self._buffer[self._from : end]
        self._from, self._least = end, _HEAD
        return taken

    def next(self) -> Frame | None:
        """Return the next frame, or ``None`` if it is not complete yet.

        Raises:
            BadFrame: the bytes are not a valid frame.
        """
        have = self._to - self._from
        if have < self._least:
            return None
        buffer, at = self._buffer, self._from
        first, size = buffer[at], buffer[at + 1]
        if first & 0x70 or size & 0x80:
            raise BadFrame(PROTOCOL_ERROR, "a frame is masked, or has reserved bits set")
        head = _HEAD
        if size > 125:
            head = _HEAD_16 if size == 126 else _HEAD_64
            if have < head:
                self._least = head
                return None
            size = int.from_bytes(buffer[at + _HEAD : at + head], "big")
            if size > self._max_size:
                raise BadFrame(MESSAGE_TOO_BIG, f"a frame of {size} bytes is too long")
        whole = head + size
        if have < whole:
            self._least = whole
            return None
        self._from, self._least = at + whole, _HEAD
        frame = buffer[at : at + whole]
        return Frame(first & 0x0F, bool(first & 0x80), frame[head:], frame)
