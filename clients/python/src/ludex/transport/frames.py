"""Frames of WebSocket messages: a writer, and a reader that does not copy.

The ``websockets`` library collects every message in a new growing buffer, and copies the payload
out of it. For batches of thousands of environments (hundreds of kilobytes), this took more time
than the rest of the client. This reader reuses one buffer and returns views of it.
"""

from __future__ import annotations

import os
from typing import NamedTuple

try:
    from websockets.speedups import apply_mask
except ImportError:
    from websockets.utils import apply_mask

CONT, TEXT, BINARY = 0, 1, 2
PROTOCOL_ERROR, MESSAGE_TOO_BIG = 1002, 1009

_READ_SIZE = 1 << 18
_HEAD, _HEAD_16, _HEAD_64 = 2, 4, 10


def binary_frame(payload: bytes) -> bytes:
    """Return a binary message of a client as a frame, masked as RFC 6455 requires."""
    size = len(payload)
    if size < 126:
        head = bytes((0x82, 0x80 | size))
    elif size < 1 << 16:
        head = b"\x82\xfe" + size.to_bytes(2, "big")
    else:
        head = b"\x82\xff" + size.to_bytes(8, "big")
    key = os.urandom(4)
    return b"".join((head, key, apply_mask(payload, key)))


class BadFrame(Exception):
    """The bytes are not a valid server frame, or the frame is too long.

    Attributes:
        code: WebSocket close code for this fault.
        reason: description of the fault.
    """

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class Frame(NamedTuple):
    """A WebSocket frame.

    Attributes:
        opcode: ``CONT``, ``TEXT``, ``BINARY``, or a control opcode (8 and above).
        fin: True for the last frame of a message.
        payload: payload of the frame.
        whole: the whole frame, including its header.
    """

    opcode: int
    fin: bool
    payload: memoryview
    whole: memoryview


class FrameReader:
    """An incremental frame parser.

    Write bytes into the memory that :meth:`room` returns, then call :meth:`wrote`, then call
    :meth:`next` until it returns ``None``.
    """

    def __init__(self, max_size: int) -> None:
        self._max_size = max_size
        self._buffer = memoryview(bytearray(_READ_SIZE))
        self._from = 0
        self._to = 0
        # Lower bound of the size of the current frame.
        self._least = _HEAD

    @property
    def has_unread(self) -> bool:
        """True if there are unread bytes."""
        return self._from != self._to

    def room(self, keep: bool) -> memoryview:
        """Return memory for the next bytes: at least the rest of the current frame.

        Args:
            keep: True if returned frames are still in use and must not be overwritten.
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
        """Register ``count`` bytes written into the memory of :meth:`room`."""
        self._to += count

    def raw(self, most: int | None = None) -> memoryview:
        """Take at most ``most`` unread bytes, bypassing frames; empty if there are none."""
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
            raise BadFrame(PROTOCOL_ERROR, "frame is masked, or has reserved bits set")
        head = _HEAD
        if size > 125:
            head = _HEAD_16 if size == 126 else _HEAD_64
            if have < head:
                self._least = head
                return None
            size = int.from_bytes(buffer[at + _HEAD : at + head], "big")
            if size > self._max_size:
                raise BadFrame(
                    MESSAGE_TOO_BIG,
                    f"expected a frame of at most {self._max_size} bytes, got {size}",
                )
        whole = head + size
        if have < whole:
            self._least = whole
            return None
        self._from, self._least = at + whole, _HEAD
        frame = buffer[at : at + whole]
        return Frame(first & 0x0F, first >= 0x80, frame[head:], frame)
