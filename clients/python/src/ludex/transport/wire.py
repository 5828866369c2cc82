"""WebSocket connection that sends and receives MessagePack maps.

The upgrade, control frames and closing use the sans-IO layer of the ``websockets`` library. Socket
IO and the frames of messages (``frames``) are implemented here, because the library's synchronous
client passes every message from a reader thread to the caller, which costs time.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from collections import deque
from collections.abc import Mapping
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgpack
from websockets.client import ClientProtocol
from websockets.exceptions import InvalidStatus, InvalidURI
from websockets.protocol import State
from websockets.typing import Subprotocol
from websockets.uri import parse_uri

from ..errors import ConnectionLost, LudexError
from .frames import (
    BINARY,
    CONT,
    MESSAGE_TOO_BIG,
    PROTOCOL_ERROR,
    TEXT,
    BadFrame,
    Frame,
    FrameReader,
    binary_frame,
)

SUBPROTOCOL = "ludex.v1.msgpack"
MAX_MESSAGE = 1 << 30
CLOSE_SECONDS = 2.0

# First byte of a TLS response to plain text.
TLS_ALERT = 0x15

Message = dict[str, Any]
Data = bytes | memoryview


def normalize_url(url: str) -> str:
    """Convert ``host:port``, ``http(s)://`` and ``ws(s)://`` into a ``ws(s)://`` URL.

    Raises:
        LudexError: ``bad_field`` if the URL is invalid.
    """
    text = url if "://" in url else f"ws://{url}"
    parts = urlsplit(text)
    scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
    text = urlunsplit((scheme, parts.netloc, parts.path or "/", parts.query, ""))
    try:
        parse_uri(text)
    except (InvalidURI, ValueError) as error:
        raise LudexError(
            "bad_field", f"url: expected the URL of a server, got {url!r}: {error}", got=url
        ) from error
    return text


class Connection:
    """A blocking WebSocket connection that sends and receives whole messages.

    While a write is blocked, arriving messages are read and buffered, so two ends that both write
    cannot deadlock.
    """

    def __init__(self, url: str, timeout: float) -> None:
        """Connect and upgrade, within ``timeout`` seconds.

        Raises:
            OSError: no server is reachable at this address in time.
            ConnectionLost: the connection broke, or the upgrade failed with an HTTP error.
            LudexError: ``protocol`` if the response does not come from a Ludex server.
        """
        uri = parse_uri(url)
        self._sock = socket.create_connection((uri.host, uri.port), timeout)
        try:
            self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _keep_alive(self._sock)
            self._secure = uri.secure
            if uri.secure:
                self._sock = _wrap_tls(self._sock, uri.host)
            self._protocol = ClientProtocol(
                uri, subprotocols=[Subprotocol(SUBPROTOCOL)], max_size=MAX_MESSAGE
            )
            self._in: deque[Data] = deque()
            self._out: deque[memoryview] = deque()
            self._parts: list[bytes] = []
            self._frames = FrameReader(MAX_MESSAGE)
            self._fault: BadFrame | None = None
            self._first: int | None = None
            self._upgrade(time.monotonic() + timeout)
        except BaseException:
            self.cut()
            raise

    def _upgrade(self, deadline: float) -> None:
        self._protocol.send_request(self._protocol.connect())
        self._flush()
        while self._protocol.state is State.CONNECTING and self._protocol.handshake_exc is None:
            if not self._pump(deadline):
                raise TimeoutError("the server did not answer the WebSocket upgrade in time")
        refusal = self._protocol.handshake_exc
        if refusal is not None and not self._secure and self._first == TLS_ALERT:
            raise LudexError("protocol", "the server speaks TLS; use wss:// instead of ws://")
        if isinstance(refusal, InvalidStatus):
            status = refusal.response.status_code
            if status in (401, 403):
                raise LudexError("unauthorized", f"the server answered HTTP {status}")
            if status < 500 and status != 429:
                raise LudexError(
                    "protocol", f"expected a Ludex server, got HTTP {status}", fault="server"
                )
        if refusal is not None:
            raise ConnectionLost(None, f"WebSocket upgrade failed: {refusal}")
        if self._protocol.subprotocol != SUBPROTOCOL:
            raise LudexError(
                "protocol",
                f"subprotocol: expected {SUBPROTOCOL}, got {self._protocol.subprotocol}",
                fault="server",
            )

    @property
    def _open(self) -> bool:
        return self._protocol.state is State.OPEN

    @property
    def writing(self) -> bool:
        """True if a message is partly written."""
        return bool(self._out)

    def send(self, packed: bytes) -> None:
        """Send one packed message.

        Raises:
            ConnectionLost: the connection has ended.
        """
        if not self._open:
            raise self._lost_error()
        self._out.append(memoryview(binary_frame(packed)))
        self._write()

    def receive(self, timeout: float | None = None) -> Data | None:
        """Return the next packed message, or ``None`` after ``timeout`` seconds without one.

        The result is valid until the next call of any method, which may reuse its memory.

        Raises:
            ConnectionLost: the connection has ended, and all messages before the end were read.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._in:
            if not self._open:
                raise self._lost_error()
            if not self._pump(deadline):
                return None
        return self._in.popleft()

    def fileno(self) -> int:
        """Return the descriptor of the socket."""
        return self._sock.fileno()

    def idle(self, wakeup: socket.socket, timeout: float | None) -> None:
        """Wait until bytes arrive or ``wakeup`` is readable, at most ``timeout`` seconds."""
        with DefaultSelector() as selector:
            selector.register(self._sock, EVENT_READ)
            selector.register(wakeup, EVENT_READ)
            selector.select(timeout)

    def close(self, code: int = 1000, reason: str = "") -> None:
        """Send a close frame, wait briefly for the reply, and close the socket. Never raises."""
        with contextlib.suppress(OSError, ConnectionLost):
            if self._open:
                self._protocol.send_close(code, reason)
                self._flush()
                deadline = time.monotonic() + CLOSE_SECONDS
                while self._protocol.state is not State.CLOSED and self._pump(deadline):
                    pass
        self.cut()

    def cut(self) -> None:
        """Drop the connection without a close frame, as in a network failure."""
        self._sock.close()

    def _lost_error(self) -> ConnectionLost:
        close = self._protocol.close_rcvd
        if close is not None:
            return ConnectionLost(int(close.code), close.reason)
        error = self._fault or getattr(self._protocol, "parser_exc", None)
        return ConnectionLost(None, str(error or "the connection broke"))

    def _pump(self, deadline: float | None) -> bool:
        """Read available bytes and send pending replies; return False after ``deadline``."""
        if not self._read(deadline):
            return False
        if self._protocol.writes:
            self._flush()
        return True

    def _read(self, deadline: float | None) -> bool:
        """Read available bytes; return False after ``deadline``."""
        room = self._frames.room(keep=bool(self._in))
        try:
            self._sock.settimeout(
                None if deadline is None else max(0.0, deadline - time.monotonic())
            )
            count = self._sock.recv_into(room)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return False
        except OSError as error:
            # A timeout with a number comes from TCP: the keep-alive found a dead peer.
            if isinstance(error, TimeoutError) and error.errno is None:
                return False
            raise ConnectionLost(None, str(error)) from error
        if not count:
            self._protocol.receive_eof()
            return True
        self._frames.wrote(count)
        if self._first is None:
            self._first = room[0]
        # Pass exactly the upgrade response to the library, because frames may follow.
        while self._protocol.state is State.CONNECTING and (byte := self._frames.raw(1)):
            self._protocol.receive_data(bytes(byte))
        try:
            while not self._is_over and (frame := self._frames.next()) is not None:
                self._take(frame)
        except BadFrame as error:
            self._fault = error
            self._protocol.fail(error.code, error.reason)
        if self._is_over and (rest := self._frames.raw()):
            self._protocol.receive_data(bytes(rest))
        return True

    @property
    def _is_over(self) -> bool:
        """True if no further messages can arrive; later bytes go to the library only."""
        return self._protocol.close_rcvd is not None or self._fault is not None

    def _take(self, frame: Frame) -> None:
        opcode, fin, payload, whole = frame
        if opcode not in (CONT, TEXT, BINARY):
            self._protocol.receive_data(bytes(whole))
            return
        if (opcode == CONT) != bool(self._parts):
            raise BadFrame(
                PROTOCOL_ERROR,
                "message starts within another, or continuation without a start",
            )
        if fin and not self._parts:
            self._in.append(payload)
            return
        if sum(map(len, self._parts)) + len(payload) > MAX_MESSAGE:
            raise BadFrame(
                MESSAGE_TOO_BIG,
                f"expected a message of at most {MAX_MESSAGE} bytes, got a longer one",
            )
        self._parts.append(bytes(payload))
        if fin:
            self._in.append(b"".join(self._parts))
            self._parts.clear()

    def _flush(self) -> None:
        """Send the control frames of the library."""
        self._out.extend(memoryview(data) for data in self._protocol.data_to_send() if data)
        self._write()

    def _write(self) -> None:
        while self._out:
            try:
                self._sock.settimeout(0.0)
                sent = self._sock.send(self._out[0])
            except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
                if self._wait_for_room() & EVENT_READ:
                    self._read(time.monotonic())
            except OSError as error:
                self._out.clear()
                with contextlib.suppress(ConnectionLost):  # a close frame may have the reason
                    while self._open and self._read(time.monotonic()):
                        pass
                raise self._lost_error() from error
            else:
                rest = self._out.popleft()[sent:]
                if rest:
                    self._out.appendleft(rest)

    def _wait_for_room(self) -> int:
        """Wait until the socket accepts or has bytes; return the events."""
        with DefaultSelector() as selector:
            selector.register(self._sock, EVENT_READ | EVENT_WRITE)
            return selector.select()[0][1]


def _wrap_tls(sock: socket.socket, host: str) -> ssl.SSLSocket:
    """Start TLS with the certificates of the system or of the file ``SSL_CERT_FILE``.

    Raises:
        OSError: the connection broke.
        LudexError: ``tls``: the certificate is untrusted, or the server does not speak TLS.
    """
    try:
        return ssl.create_default_context().wrap_socket(sock, server_hostname=host)
    except ssl.SSLCertVerificationError as error:
        raise LudexError(
            "tls",
            f"the server's certificate is untrusted: {error.verify_message}; to trust a custom "
            "certificate, set SSL_CERT_FILE to its PEM file",
        ) from error
    except ssl.SSLError as error:
        if error.reason in ("WRONG_VERSION_NUMBER", "PACKET_LENGTH_TOO_LONG", "HTTP_REQUEST"):
            why = "the server does not speak TLS; use ws:// instead of wss://"
            raise LudexError("tls", why) from error
        raise


def _keep_alive(sock: socket.socket) -> None:
    """Enable TCP keep-alive, which detects a dead server within about a minute."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        option = getattr(socket, name, None)
        if option is not None:
            sock.setsockopt(socket.IPPROTO_TCP, option, value)


def pack(message: Mapping[str, Any]) -> bytes:
    """Encode a message without its ``None`` fields.

    Raises:
        TypeError: a value has no MessagePack encoding.
    """
    packed: bytes = msgpack.packb(
        {key: value for key, value in message.items() if value is not None},
        use_bin_type=True,
    )
    return packed


def unpack(data: Data) -> Message:
    """Decode a message.

    Raises:
        LudexError: ``protocol`` if it is not a MessagePack map with a ``type``.
    """
    try:
        message = msgpack.unpackb(data, raw=False, strict_map_key=False)
    except (ValueError, msgpack.exceptions.ExtraData, msgpack.exceptions.UnpackException) as error:
        raise LudexError("protocol", f"expected MessagePack from the server: {error}") from error
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise LudexError("protocol", "expected a map with a type from the server", fault="server")
    return message
