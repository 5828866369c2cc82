"""The exception that users of this package see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .matches.result import MatchResult


class LudexError(Exception):
    """The server refused a request, or the connection was lost for good.

    Attributes:
        code: the protocol's error code, e.g. ``"illegal_action"``, ``"unknown_game"``; or one of
            the client's own: ``"connection_lost"`` (no server answered in time),
            ``"session_lost"`` (the server no longer knows this session: its environments are
            gone), ``"superseded"`` (a newer connection took the session or the seat),
            ``"protocol"`` (the server sent something that the protocol does not allow),
            ``"tls"`` (a certificate is not trusted, or the server does not speak TLS); and of
            wrong use: ``"closed"`` (the client was closed), ``"wrong_process"`` (it was made
            before a fork), ``"busy"`` (another thread is using it), ``"interrupted"`` (an
            interrupt such as Ctrl-C came into a step: reset first).
        message: one sentence for people.
        fault: ``"client"``, ``"agent"`` or ``"server"``.
        retry: whether the same request may succeed later.
        after_ms: milliseconds to wait before that, if known.
        path: the wrong field, e.g. ``"params.rows"``.
        at: position of the wrong entry in a batch.
        got: the wrong value.
        allowed: values that would be accepted, if they can be listed.
        nearest: the accepted value that is most similar to ``got``.
        issues: what is wrong with a document: a dict for each flaw, with ``path`` (a JSON pointer)
            and ``message``, and where known ``got``, ``allowed`` and ``code``.
        results: the matches that :func:`ludex.play` had finished before it failed.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        fault: str = "client",
        retry: bool = False,
        after_ms: int | None = None,
        path: str | None = None,
        at: int | None = None,
        got: Any = None,
        allowed: Any = None,
        nearest: Any = None,
        issues: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.fault = fault
        self.retry = retry
        self.after_ms = after_ms
        self.path = path
        self.at = at
        self.got = got
        self.allowed = allowed
        self.nearest = nearest
        self.issues = list(issues)
        self.results: list[MatchResult] = []

    @classmethod
    def from_wire(cls, frame: Mapping[str, Any]) -> LudexError:
        """Make the exception from an ``error`` message."""
        return cls(
            str(frame.get("code", "internal")),
            str(frame.get("message", "the server gave no reason")),
            fault=str(frame.get("fault", "client")),
            retry=bool(frame.get("retry", False)),
            after_ms=frame.get("after_ms"),
            path=frame.get("path"),
            at=frame.get("at"),
            got=frame.get("got"),
            allowed=frame.get("allowed"),
            nearest=frame.get("nearest"),
            issues=frame.get("issues") or (),
        )

    def __str__(self) -> str:
        text = f"{self.code}: {self.message}"
        if self.nearest is not None and str(self.nearest) not in self.message:
            text += f" (did you mean {self.nearest!r}?)"
        return text


class ConnectionLost(Exception):
    """A connection ended. Used only inside the package: a session resumes, or raises an error.

    Attributes:
        close_code: the WebSocket close code; ``None`` if the connection ended without one.
        reason: the text that came with the code.
    """

    def __init__(self, close_code: int | None, reason: str) -> None:
        super().__init__(f"connection lost ({close_code}): {reason}")
        self.close_code = close_code
        self.reason = reason
