"""Exceptions of this package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .matches.result import MatchResult


class LudexError(Exception):
    """A request was refused, or the connection was lost permanently.

    Attributes:
        code: the protocol's error code, e.g. ``"illegal_action"``, ``"unknown_game"``; or a code of
            the client: ``"connection_lost"`` (no server answered in time), ``"session_lost"`` (the
            session and its environments no longer exist on the server), ``"superseded"`` (a newer
            connection took the session or the seat), ``"protocol"`` (the server violated the
            protocol), ``"tls"`` (untrusted certificate, or the server does not speak TLS); or a
            code for incorrect use: ``"closed"`` (the client is closed), ``"wrong_process"`` (the
            client was created before a fork), ``"busy"`` (another thread is using the client),
            ``"interrupted"`` (an interrupt such as Ctrl-C arrived during a step: reset first).
        message: human-readable message, one sentence.
        fault: party at fault: ``"client"``, ``"agent"`` or ``"server"``.
        retry: True if the same request may succeed later.
        after_ms: milliseconds to wait before a retry, if known.
        path: the invalid field, e.g. ``"params.rows"``.
        index: index of the invalid entry in a batch.
        got: the invalid value.
        allowed: the accepted values, if they can be listed.
        nearest: the accepted value most similar to ``got``.
        issues: faults of a document: dicts with ``path`` (a JSON pointer) and ``message``, and if
            known ``got``, ``allowed`` and ``code``.
        at: for the code ``"moved"``: the URL of the cell that serves the request.
        results: the results of :func:`ludex.play` before the error.
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
        index: int | None = None,
        got: Any = None,
        allowed: Any = None,
        nearest: Any = None,
        issues: Sequence[Mapping[str, Any]] = (),
        at: str | None = None,
    ) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.fault = fault
        self.retry = retry
        self.after_ms = after_ms
        self.path = path
        self.index = index
        self.got = got
        self.allowed = allowed
        self.nearest = nearest
        self.issues = list(issues)
        self.at = at
        self.results: list[MatchResult] = []

    @classmethod
    def from_wire(cls, frame: Mapping[str, Any]) -> LudexError:
        """Build the exception from an ``error`` message."""
        return cls(
            str(frame.get("code", "internal")),
            str(frame.get("message", "the server gave no reason")),
            fault=str(frame.get("fault", "client")),
            retry=bool(frame.get("retry", False)),
            after_ms=frame.get("after_ms"),
            path=frame.get("path"),
            index=frame.get("index"),
            got=frame.get("got"),
            allowed=frame.get("allowed"),
            nearest=frame.get("nearest"),
            issues=frame.get("issues") or (),
            at=(frame.get("moved") or {}).get("at"),
        )

    def __str__(self) -> str:
        text = f"{self.code}: {self.message}"
        if self.nearest is not None and str(self.nearest) not in self.message:
            text += f" (did you mean {self.nearest!r}?)"
        return text


class ConnectionLost(Exception):
    """A connection ended. Internal: the session resumes the connection, or raises an error.

    Attributes:
        close_code: the WebSocket close code; ``None`` if the connection ended without one.
        reason: the text that came with the code.
    """

    def __init__(self, close_code: int | None, reason: str) -> None:
        super().__init__(f"connection lost ({close_code}): {reason}")
        self.close_code = close_code
        self.reason = reason
