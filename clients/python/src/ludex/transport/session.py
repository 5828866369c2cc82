"""Sessions: requests and replies over connections that are resumed after a loss.

The module implements docs/protocol.md, section 7, for both planes. After a lost connection the
client reconnects. Its ``hello`` has the session, its key and the last event number of every seat.
Pending requests are sent again with their original ids; the server executes each request once.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from selectors import EVENT_READ, DefaultSelector
from typing import Any, NoReturn, TypeVar

from .. import __about__
from ..errors import ConnectionLost, LudexError
from ..process import has_exited
from .guard import Guard
from .wire import Connection, Message, normalize_url, pack, unpack

HELLO_ID = 1
CONNECT_SECONDS = 10.0
FIRST_CONNECT_SECONDS = 5.0
MIN_PAUSE, MAX_PAUSE = 0.05, 2.0

# Error codes for WebSocket close codes after which the session cannot be resumed. 4005 (idle) also
# ends a session, but one without matches or environments, so a new session replaces it.
FATAL_CODES = {4000: "protocol", 4001: "unauthorized", 4002: "superseded"}
IDLE_CODE, RATE_CODE = 4005, 4004

LOST = "the server has lost these environments in a restart; reset all of them"

# Seconds without a connection before a warning is logged.
WARN_AFTER_SECONDS = 2.0

_log = logging.getLogger("ludex")
T = TypeVar("T")


class Session:
    """A session with a server, which is the first reachable one of the given URLs.

    Only one thread of one process may use a session at a time; other threads get an error. After an
    interrupted call, the next call resumes on a new connection, so that replies are not mixed up.

    Attributes:
        welcome: the last ``welcome`` message.
        last_seqs: the last ``seq`` of each match and seat; sent on resume.
        envs: owners of the open environments, by the environments' handle.
        token: access token of the server.
    """

    def __init__(
        self,
        urls: str | Sequence[str],
        *,
        token: str | None = None,
        agent: dict[str, Any] | None = None,
        reclaim: bool = False,
        patience: float | None = None,
        on_welcome: Callable[[Message], None] | None = None,
    ) -> None:
        """Connect.

        Args:
            urls: one URL, or several that are tried in turn.
            token: access token, if the server requires one.
            agent: ``{name, version?, kind?}``, required to take seats.
            reclaim: True to resume the seats that the agent's name still holds.
            patience: seconds to try to connect, at first and after a loss. ``None``: at first
                ``FIRST_CONNECT_SECONDS``, later as long as the server keeps the session (default
                60 s).
            on_welcome: called with every ``welcome`` after the first.

        Raises:
            LudexError: ``connection_lost`` if no server answers, or an error from the server.
        """
        self.urls = [normalize_url(url) for url in ([urls] if isinstance(urls, str) else urls)]
        if not self.urls:
            raise LudexError(
                "bad_field", "url: expected at least one server URL, got none", path="url"
            )
        self.welcome: Message = {}
        self.last_seqs: dict[tuple[str, int], int] = {}
        self.envs: dict[int, object] = {}
        self.token = token
        self._agent = agent
        self._reclaim = reclaim
        self._patience = patience
        self._on_welcome = on_welcome
        self._next_id = HELLO_ID + 1
        # Message, whether it is bound to the session, and the handle of its environments, by id.
        self._unanswered: dict[int, tuple[bytes, bool, int | None]] = {}
        self._replies: dict[int, Message] = {}
        self._local: deque[Message] = deque()
        self._connection: Connection | None = None
        # URL of the session's cell, once the server has named it.
        self._cell: str | None = None
        # A session with joins or seats stays in its cell, as one with environments does.
        self._seated = False
        self._moving = False
        self._resumable = False
        # A wait for messages ends at a new connection, since other requests may be due then.
        self._welcomed_again = False
        self._backoff = 0.0
        self._guard = Guard()
        self._connect(FIRST_CONNECT_SECONDS if patience is None else patience)

    # Requests.

    def post(self, kind: str, *, bound: bool = True, **fields: Any) -> int:
        """Send a request and return its id; :meth:`wait` or :meth:`receive` returns its reply.

        Args:
            kind: ``type`` of the message.
            bound: True if the request is valid only in this session. If the session no longer
                exists, a bound request fails with ``session_lost``; others are sent again.
            fields: other fields of the message; ``None`` means absent.

        Raises:
            LudexError: the connection cannot be resumed.
            TypeError: a field has no MessagePack encoding.
        """
        return self._exclusively(self._post, kind, bound, fields)

    def _post(self, kind: str, bound: bool, fields: Message) -> int:
        number = self._next_id
        packed = pack({"type": kind, "id": number, **fields})
        self._next_id += 1
        self._unanswered[number] = (packed, bound, fields.get("env"))
        if self._connection is None:
            self._connect(self.patience)
        else:
            self._send(packed)
        return number

    def wait(self, number: int) -> Message:
        """Return the reply to request ``number``, dropping earlier events.

        Raises:
            LudexError: the reply is an ``error``, or the connection cannot be resumed.
        """
        return self._exclusively(self._wait, number)

    def _wait(self, number: int) -> Message:
        reply = self._replies.pop(number, None)
        while reply is None:
            if number not in self._unanswered:
                raise LudexError("session_lost", f"expected a pending request, got {number}")
            message = self._receive(None)
            if message is None or "re" not in message:
                continue
            if message["re"] == number:
                reply = message
            else:
                self._replies[message["re"]] = message
        if reply["type"] == "error":
            raise LudexError.from_wire(reply)
        return reply

    def call(self, kind: str, *, bound: bool = True, **fields: Any) -> Message:
        """Send a request and return its reply.

        Requests refused with ``rate_limited`` or ``window_full`` are sent again after the server's
        delay, within the session's patience.

        Raises:
            LudexError: the reply is an ``error``, or the connection cannot be resumed.
        """
        return self._exclusively(self._call, kind, bound, fields)

    def _call(self, kind: str, bound: bool, fields: Message) -> Message:
        started = time.monotonic()
        while True:
            try:
                return self._wait(self._post(kind, bound, fields))
            except LudexError as error:
                pause = (error.after_ms or 100) / 1000
                waitable = error.code in ("rate_limited", "window_full") and error.retry
                if not waitable or time.monotonic() + pause > started + self.patience:
                    raise
                time.sleep(pause)

    def is_pending(self, number: int) -> bool:
        """Return True if the reply to request ``number`` has not been received."""
        return number in self._unanswered

    def collect(self, timeout: float | None = None) -> bool:
        """Receive the next message and store it if it is a reply, for :meth:`wait`.

        Args:
            timeout: seconds to wait; ``None``: no limit.

        Returns:
            False if no message arrived.

        Raises:
            LudexError: the connection cannot be resumed.
        """
        return self._exclusively(self._collect, timeout)

    def _collect(self, timeout: float | None) -> bool:
        message = self._receive(timeout)
        if message is not None and "re" in message:
            self._replies[message["re"]] = message
        return message is not None

    def fileno(self) -> int:
        """Return the descriptor of the connection's socket, for selectors.

        Raises:
            ConnectionLost: the session has lost its connection.
        """
        return self._require_connection().fileno()

    def forget(self, numbers: Iterable[int]) -> None:
        """Drop requests whose replies are no longer needed, with their replies."""
        for number in numbers:
            self._unanswered.pop(number, None)
            self._replies.pop(number, None)

    def _exclusively(self, do: Callable[..., T], *args: Any) -> T:
        """Call ``do`` with exclusive use of the connection.

        Raises:
            LudexError: ``closed``, ``wrong_process``, ``busy``, or an error of the call.
        """
        guard = self._guard
        guard.enter()
        if guard.torn:
            self._drop()
        guard.torn = True
        try:
            result = do(*args)
            guard.torn = False
            return result
        except (LudexError, TypeError):
            guard.torn = False
            raise
        finally:
            guard.leave()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a connection to a Ludex server cannot be pickled or copied; create the client or "
            "environment in the process that uses it, and transfer states with snapshot() and "
            "restore()"
        )

    # Messages.

    def receive(
        self, timeout: float | None = None, wakeup: socket.socket | None = None
    ) -> Message | None:
        """Return the next reply or event, or ``None`` after ``timeout`` seconds without one.

        Repeated replies to a request are dropped. A lost connection is resumed here.

        Args:
            timeout: seconds to wait; ``None``: no limit.
            wakeup: socket that ends the wait with ``None`` when it becomes readable. The wait also
                ends with ``None`` after the connection was resumed.

        Raises:
            LudexError: the connection cannot be resumed, or the server sent an error outside of a
                reply.
        """
        return self._exclusively(self._receive, timeout, wakeup)

    def _receive(
        self, timeout: float | None, wakeup: socket.socket | None = None
    ) -> Message | None:
        while True:
            if self._local:
                return self._local.popleft()
            if self._welcomed_again:
                self._welcomed_again = False
                return None
            try:
                if wakeup is not None and timeout != 0.0:
                    data = self._require_connection().receive(0.0)
                    if data is None:
                        self._require_connection().idle(wakeup, timeout)
                        return None
                else:
                    data = self._require_connection().receive(timeout)
            except ConnectionLost as lost:
                self._resume(lost)
                continue
            if data is None:
                return None
            message = self._handle_message(unpack(data))
            if message is not None:
                return message

    def _handle_message(self, message: Message) -> Message | None:
        number = message.get("re")
        if message["type"] == "ping":
            self._send(pack({"type": "pong", "nonce": message.get("nonce")}))
            return None
        if message["type"] == "error":
            self._backoff = max(self._backoff, (message.get("after_ms") or 0) / 1000)
            if number is None:
                if message.get("retry") or message.get("code") == "rate_limited":
                    return None
                raise LudexError.from_wire(message)
        if number is None:
            return message
        if message["type"] in ("joined", "enrolled"):
            self._seated = True
        moved = message.get("moved")
        if moved and number in self._unanswered and not (self._seated or self.envs):
            self._move(moved["at"])
            return None
        return message if self._unanswered.pop(number, None) else None

    def _move(self, cell: str) -> None:
        """Start a session in another cell, and send the unanswered requests there."""
        self._drop()
        self._cell = cell
        self._resumable, self._moving = False, True
        self._connect(self.patience)
        self._moving = False

    def _send(self, packed: bytes) -> None:
        try:
            self._require_connection().send(packed)
        except ConnectionLost as lost:
            self._resume(lost)

    # Connections.

    @property
    def patience(self) -> float:
        """Seconds to retry a lost connection."""
        if self._patience is not None:
            return self._patience
        return float(self.limits.get("grace_ms", 60_000)) / 1000

    @property
    def limits(self) -> dict[str, Any]:
        """The limits announced by the server."""
        limits: dict[str, Any] = self.welcome.get("limits") or {}
        return limits

    @property
    def closed(self) -> bool:
        """True if :meth:`close` was called."""
        return self._guard.closed

    def close(self) -> None:
        """Free the environments on the server and end the session. Safe to call twice.

        A forked process closes only its copy of the connection.

        Raises:
            LudexError: ``busy``: another thread is using the session.
        """
        guard = self._guard
        if guard.closed:
            return
        if guard.foreign:
            self._drop()
        else:
            guard.enter()
        guard.closed = True
        guard.leave()
        if self._connection is not None and guard.torn and self._connection.writing:
            self._drop()
        if self._connection is not None:
            # Replies and connection losses are irrelevant here.
            with contextlib.suppress(ConnectionLost):
                for number, env in enumerate(sorted(self.envs), self._next_id):
                    self._connection.send(pack({"type": "close", "id": number, "env": env}))
            self._connection.close()
            self._connection = None
        self.envs.clear()
        self._resumable = False

    @property
    def connected(self) -> bool:
        """True if there is a connection; False after the last attempt to resume has failed."""
        return self._connection is not None

    def cut(self) -> None:
        """Drop the connection without a close frame, for tests."""
        if self._connection is not None:
            self._connection.cut()

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.cut()
            self._connection = None

    def _require_connection(self) -> Connection:
        if self._connection is None:
            raise ConnectionLost(None, "not connected")
        return self._connection

    def _resume(self, lost: ConnectionLost) -> None:
        self._drop()
        code = lost.close_code
        if code in FATAL_CODES:
            self._resumable = False
            raise LudexError(FATAL_CODES[code], lost.reason or f"the server closed with {code}")
        if code == IDLE_CODE:
            self._resumable = False
        if code == RATE_CODE:
            time.sleep(self._backoff or 1.0)
        self._backoff = 0.0
        self._connect(self.patience)

    def _connect(self, patience: float) -> None:
        """Connect to one of the servers, send ``hello``, and repeat pending requests."""
        started = time.monotonic()
        end, warn_at = started + patience, started + WARN_AFTER_SECONDS
        pause = MIN_PAUSE
        attempt = 0
        cells = [self._cell] if self._cell else []
        while True:
            url = self._cell or self.urls[attempt % len(self.urls)]
            attempt += 1
            try:
                self._hello(url)
                for packed, _, _ in list(self._unanswered.values()):
                    self._require_connection().send(packed)
                return
            except (OSError, ConnectionLost) as error:
                self._drop()
                # The next owner of the cell may have another URL.
                self._cell = None
                reason: Exception = error
                # A broken connection was answered: another program may listen at a port reused.
                refused = isinstance(error, ConnectionRefusedError)
                if refused and len(self.urls) == 1 and has_exited(url):
                    raise LudexError(
                        "connection_lost",
                        f"the server at {url} has exited, which ended its environments; "
                        "start another server with ludex.serve()",
                        fault="server",
                    ) from error
                code = getattr(error, "close_code", None)
                if code in FATAL_CODES:
                    raise LudexError(FATAL_CODES[code], str(error)) from error
                if code == IDLE_CODE:
                    self._resumable = False
            except LudexError as error:
                self._drop()
                self._cell = error.at
                if not (error.retry or error.at):
                    raise
                reason = error
                pause = max(pause, (error.after_ms or 0) / 1000)
            if time.monotonic() + pause > end:
                raise LudexError(
                    "connection_lost",
                    f"no server answers at {' or '.join([*self.urls, *cells])}: {reason}",
                    fault="server",
                ) from reason
            if time.monotonic() > warn_at:
                warn_at = end
                _log.warning(
                    "no server answers at %s (%s); retrying for %.0f s (see patience=)",
                    " or ".join([*self.urls, *cells]),
                    reason,
                    end - time.monotonic(),
                )
            if attempt % len(self.urls) == 0:
                time.sleep(pause)
                pause = min(2 * pause, MAX_PAUSE)

    def _hello(self, url: str) -> None:
        connection = Connection(url, CONNECT_SECONDS)
        self._connection = connection
        hello: Message = {
            "type": "hello",
            "id": HELLO_ID,
            "protocol": [1],
            "client": f"ludex-python/{__about__.__version__}",
            "token": self.token,
            "agent": self._agent,
        }
        if self._resumable:
            hello["resume"] = {
                "session": self.welcome["session"],
                "key": self.welcome["key"],
                "seen": seen_frames(self.last_seqs),
            }
        if self._reclaim or (self.welcome and self._agent and not self._moving):
            hello["reclaim"] = True
        connection.send(pack(hello))
        deadline = time.monotonic() + CONNECT_SECONDS
        while True:
            data = connection.receive(max(0.0, deadline - time.monotonic()))
            if data is None:
                raise TimeoutError("the server did not answer hello in time")
            message = unpack(data)
            if message["type"] == "error":
                raise LudexError.from_wire(message)
            if message["type"] == "welcome":
                break
        first = not self.welcome or self._moving
        self.welcome = message
        self._resumable = True
        if not first:
            self._discard_lost(message)
            self._welcomed_again = True
            if self._on_welcome is not None:
                self._on_welcome(message)

    def _discard_lost(self, welcome: Message) -> None:
        """Fail the requests that are bound to a lost session, or to its lost environments.

        Other requests remain pending. Environments do not survive a restart of the server, whereas
        a session may.
        """
        resumed = welcome.get("resumed")
        kept = set(welcome.get("envs") or ()) if resumed else set()
        lost = self.envs.keys() - kept
        for handle in lost:
            del self.envs[handle]
        for number, (_, bound, env) in list(self._unanswered.items()):
            if bound and (not resumed or env in lost):
                del self._unanswered[number]
                self._local.append(
                    {
                        "type": "error",
                        "re": number,
                        "code": "session_lost",
                        "message": LOST,
                        "fault": "server",
                        "retry": False,
                    }
                )


def wait_for_any(sessions: Sequence[Session]) -> None:
    """Wait until one of the sessions has received a message, and store replies.

    Raises:
        LudexError: a connection cannot be resumed.
    """
    if len(sessions) == 1:
        sessions[0].collect()
        return
    # Received messages may be buffered, so reading comes before waiting for the sockets.
    while not any([session.collect(0.0) for session in sessions]):
        with DefaultSelector() as selector:
            for session in sessions:
                selector.register(session, EVENT_READ)
            selector.select()


def seen_frames(last_seqs: Mapping[tuple[str, int], int]) -> dict[str, int | dict[str, int]]:
    """Return ``resume.seen``: the last ``seq`` of each match, by seat if there are several."""
    seats: dict[str, dict[str, int]] = {}
    for (match, seat), seq in last_seqs.items():
        seats.setdefault(match, {})[str(seat)] = seq
    return {
        match: by_seat if len(by_seat) > 1 else next(iter(by_seat.values()))
        for match, by_seat in seats.items()
    }
