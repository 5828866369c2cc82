"""Frames from a byte stream with arbitrary splits, and invalid frames."""

from __future__ import annotations

import random
import struct

import pytest

from ludex.transport.frames import (
    BINARY,
    CONT,
    MESSAGE_TOO_BIG,
    PROTOCOL_ERROR,
    BadFrame,
    FrameReader,
)

MAX = 1 << 22


def frame(payload: bytes, opcode: int = BINARY, fin: bool = True) -> bytes:
    first = opcode | (0x80 if fin else 0)
    if len(payload) < 126:
        head = struct.pack("!BB", first, len(payload))
    elif len(payload) < 1 << 16:
        head = struct.pack("!BBH", first, 126, len(payload))
    else:
        head = struct.pack("!BBQ", first, 127, len(payload))
    return head + payload


def write(reader: FrameReader, data: bytes, keep: bool = False) -> None:
    while data:
        room = reader.room(keep)
        count = min(len(room), len(data))
        assert count
        room[:count] = data[:count]
        reader.wrote(count)
        data = data[count:]


def read(reader: FrameReader) -> list[tuple[int, bool, bytes]]:
    found = []
    while (got := reader.next()) is not None:
        assert bytes(got.whole).endswith(got.payload)
        found.append((got.opcode, got.fin, bytes(got.payload)))
    return found


def test_reader_accepts_any_split() -> None:
    sent = [(BINARY, True, b"x" * size) for size in (0, 1, 125, 126, 127, 300)]
    sent += [(BINARY, False, b"one"), (CONT, True, b"two"), (9, True, b"ping")]
    data = b"".join(frame(payload, opcode, fin) for opcode, fin, payload in sent)
    for cut in range(len(data) + 1):
        reader = FrameReader(MAX)
        write(reader, data[:cut])
        found = read(reader)
        write(reader, data[cut:])
        assert found + read(reader) == sent
        assert not reader.has_unread


def test_reader_accepts_random_sizes_and_splits() -> None:
    rng = random.Random(7)
    sizes = [rng.choice([0, 7, 200, 70_000, 300_000, 1_000_000]) for _ in range(60)]
    sent = [(BINARY, True, rng.randbytes(size)) for size in sizes]
    data = b"".join(frame(payload) for _, _, payload in sent)
    reader, found, at = FrameReader(MAX), [], 0
    while at < len(data):
        count = rng.choice([1, 5, 1_000, 100_000, 2_000_000])
        write(reader, data[at : at + count])
        at += count
        found += read(reader)
    assert found == sent


def test_kept_payloads_are_not_overwritten() -> None:
    rng = random.Random(7)
    sent = [rng.randbytes(rng.choice([10, 100_000, 400_000])) for _ in range(20)]
    reader, kept = FrameReader(MAX), []
    for payload in sent:
        write(reader, frame(payload), keep=True)
        got = reader.next()
        assert got is not None
        kept.append(got.payload)
    assert [bytes(view) for view in kept] == sent


def test_buffer_is_reused_without_kept_payloads() -> None:
    reader = FrameReader(MAX)
    write(reader, frame(b"a" * 1_000_000))
    first = reader.next()
    assert first is not None
    write(reader, frame(b"b" * 1_000_000))
    assert bytes(first.payload[:3]) == b"bbb"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\xc2\x00", PROTOCOL_ERROR),  # compressed, which was not negotiated
        (b"\x82\x80mask", PROTOCOL_ERROR),
        (frame(b"x" * (MAX + 1)), MESSAGE_TOO_BIG),
        (b"\x82\x7f" + b"\xff" * 8, MESSAGE_TOO_BIG),
    ],
)
def test_reader_rejects_invalid_frames(data: bytes, code: int) -> None:
    reader = FrameReader(MAX)
    write(reader, data[:20])
    with pytest.raises(BadFrame) as refused:
        reader.next()
    assert refused.value.code == code


def test_raw_returns_bytes_outside_frames() -> None:
    reader = FrameReader(MAX)
    write(reader, b"HTTP" + frame(b"x"))
    assert bytes(reader.raw(4)) == b"HTTP"
    assert read(reader) == [(BINARY, True, b"x")]
    assert not reader.raw()
