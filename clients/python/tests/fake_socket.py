"""A blocking server-side WebSocket connection, for the fake server."""

from __future__ import annotations

import socket
from collections import deque

from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol


class Closed(Exception):
    """The client has disconnected."""


class Line:
    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.protocol = ServerProtocol(
            subprotocols=[Subprotocol("ludex.v1.msgpack")], max_size=None
        )
        self.messages: deque[bytes] = deque()

    def recv(self) -> bytes:
        while not self.messages:
            data = self.sock.recv(1 << 16)
            if data:
                self.protocol.receive_data(data)
            else:
                self.protocol.receive_eof()
            for event in self.protocol.events_received():
                if isinstance(event, Request):
                    self.protocol.send_response(self.protocol.accept(event))
                elif isinstance(event, Frame) and event.opcode is Opcode.BINARY:
                    self.messages.append(bytes(event.data))
            self._flush()
            if not self.messages and self.protocol.state is not State.OPEN:
                raise Closed
        return self.messages.popleft()

    def send(self, data: bytes) -> None:
        if self.protocol.state is not State.OPEN:
            raise Closed
        self.protocol.send_binary(data)
        self._flush()

    def close(self, code: int, reason: str) -> None:
        self.protocol.send_close(code, reason)
        self._flush()

    def cut(self) -> None:
        """End the connection as in a network failure, and wake a reader in another thread."""
        self.sock.shutdown(socket.SHUT_RDWR)

    def _flush(self) -> None:
        for data in self.protocol.data_to_send():
            if data:
                self.sock.sendall(data)
