"""Connections to a fake server that sends handwritten bytes."""

from __future__ import annotations

import base64
import hashlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from test_frames import frame

from ludex.errors import ConnectionLost, LudexError
from ludex.transport.frames import BINARY, CONT
from ludex.transport.wire import SUBPROTOCOL, Connection

CLOSE, PING, PONG = 8, 9, 10
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def upgrade(line: socket.socket) -> bytes:
    """Read a request and return the WebSocket upgrade response."""
    asked = b""
    while not asked.endswith(b"\r\n\r\n"):
        asked += line.recv(4096)
    (key,) = (row[19:] for row in asked.split(b"\r\n") if row.startswith(b"Sec-WebSocket-Key: "))
    accept = base64.b64encode(hashlib.sha1(key.strip() + GUID).digest()).decode()
    return (
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Accept: {accept}\r\nSec-WebSocket-Protocol: {SUBPROTOCOL}\r\n\r\n"
    ).encode()


def heard(line: socket.socket) -> tuple[int, bytes]:
    """Read one short frame of a client."""
    head = line.recv(2, socket.MSG_WAITALL)
    mask = line.recv(4, socket.MSG_WAITALL)
    data = line.recv(head[1] & 0x7F, socket.MSG_WAITALL) if head[1] & 0x7F else b""
    return head[0] & 0x0F, bytes(byte ^ mask[k % 4] for k, byte in enumerate(data))


@contextmanager
def serving(talk: Callable[[socket.socket], None]) -> Iterator[str]:
    """Run ``talk`` with the first connection and yield the URL; failures fail the test."""
    failed: list[BaseException] = []

    def serve() -> None:
        line, _ = listener.accept()
        with line:
            line.settimeout(10)
            try:
                talk(line)
            except BaseException as error:
                failed.append(error)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"ws://127.0.0.1:{listener.getsockname()[1]}"
        thread.join(10)
    assert not failed, failed


def test_frames_may_follow_upgrade_in_same_packet() -> None:
    def talk(line: socket.socket) -> None:
        line.sendall(upgrade(line) + frame(b"first") + frame(b"second")[:3])
        line.sendall(frame(b"second")[3:])
        assert heard(line)[0] == CLOSE
        line.sendall(frame(b"\x03\xe8", CLOSE))

    with serving(talk) as url:
        connection = Connection(url, 10)
        assert bytes(connection.receive(10) or b"") == b"first"
        assert bytes(connection.receive(10) or b"") == b"second"
        connection.close()


def test_fragmented_message_allows_interleaved_ping() -> None:
    def talk(line: socket.socket) -> None:
        line.sendall(upgrade(line) + frame(b"on", BINARY, fin=False) + frame(b"?", PING))
        assert heard(line) == (PONG, b"?")
        line.sendall(frame(b"", CONT, fin=False) + frame(b"e", CONT) + frame(b"two"))
        assert heard(line)[0] == CLOSE

    with serving(talk) as url:
        connection = Connection(url, 10)
        assert bytes(connection.receive(10) or b"") == b"one"
        assert bytes(connection.receive(10) or b"") == b"two"
        assert connection.receive(0.0) is None
        connection.close()


@pytest.mark.parametrize(
    "wrong",
    [
        frame(b"goes on without one", CONT),
        frame(b"be", fin=False) + frame(b"gins again"),
        b"\x82\x85maskmaske",
        b"\x8b\x00",  # an unknown opcode
        b"\x82\x7f" + b"\x7f" * 8,
    ],
)
def test_invalid_frame_closes_connection_with_code(wrong: bytes) -> None:
    def talk(line: socket.socket) -> None:
        line.sendall(upgrade(line) + frame(b"good") + wrong)
        opcode, said = heard(line)
        assert opcode == CLOSE
        assert int.from_bytes(said[:2], "big") in (1002, 1009)

    with serving(talk) as url:
        connection = Connection(url, 10)
        assert bytes(connection.receive(10) or b"") == b"good"
        with pytest.raises(ConnectionLost) as lost:
            connection.receive(10)
        assert lost.value.close_code is None
        assert lost.value.reason
        connection.cut()


def test_close_reports_code() -> None:
    def talk(line: socket.socket) -> None:
        line.sendall(upgrade(line) + frame(b"last") + frame(b"\x0f\xa3slow", CLOSE) + b"noise")
        assert heard(line) == (CLOSE, b"\x0f\xa3slow")

    with serving(talk) as url:
        connection = Connection(url, 10)
        assert bytes(connection.receive(10) or b"") == b"last"
        with pytest.raises(ConnectionLost) as lost:
            connection.receive(10)
        assert (lost.value.close_code, lost.value.reason) == (4003, "slow")
        connection.cut()


def test_non_upgrade_response_raises() -> None:
    def talk(line: socket.socket) -> None:
        upgrade(line)
        line.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone")

    with serving(talk) as url, pytest.raises(LudexError, match="HTTP 404"):
        Connection(url, 10)
