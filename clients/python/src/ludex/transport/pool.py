"""Sessions of a client with its servers."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from ..errors import LudexError
from .session import Session
from .wire import normalize_url


class SessionPool:
    """The sessions of a client, one for each of its servers.

    Attributes:
        sessions: the sessions with the current servers, in order; at least one.
        version: number of changes of the servers so far.
        elastic: True if the servers can change, so that environments are spread over them.
    """

    def __init__(
        self,
        url: str | Sequence[str],
        token: str | Sequence[str | None] | None,
        patience: float | None,
    ) -> None:
        """Connect to each reachable server; others are excluded with a warning.

        Raises:
            LudexError: ``connection_lost`` if no server answers, or an error from a server.
            ValueError: the numbers of tokens and servers differ.
        """
        self.elastic = not isinstance(url, str)
        self.version = 0
        self._patience = patience
        self._retired: list[Session] = []
        self.sessions = self._connect(_pairs(url, token), [])

    def replace(self, url: Sequence[str], token: str | Sequence[str | None] | None) -> None:
        """Replace the servers; sessions with servers in both lists continue.

        Raises:
            LudexError: ``bad_field`` if the client has a single URL; otherwise as the constructor.
            ValueError: the numbers of tokens and servers differ.
        """
        if not self.elastic or isinstance(url, str):
            raise LudexError(
                "bad_field", "url: expected a list of servers, also for the client", path="url"
            )
        before = self.sessions
        after = self._connect(_pairs(url, token), before)
        if after != before:
            self._retired += [session for session in before if session not in after]
            self.sessions = after
            self.version += 1

    def drop_lost(self) -> None:
        """Remove servers that no longer answer, unless these are all."""
        living = [session for session in self.sessions if session.connected]
        if living and len(living) < len(self.sessions):
            self._retired += [session for session in self.sessions if not session.connected]
            self.sessions = living
            self.version += 1

    def shares(self, num_envs: int, shards: int | None) -> list[tuple[Session, int]]:
        """Divide ``num_envs`` evenly into handles; the first ones take the remainder.

        Args:
            num_envs: number of environments.
            shards: number of handles; by default one for each server.

        Raises:
            ValueError: ``shards`` is not in 1..=``num_envs``.
        """
        if shards is not None and not 1 <= shards <= num_envs:
            raise ValueError(f"shards: expected 1..={num_envs}, got {shards}")
        handles = len(self.sessions) if shards is None else shards
        each, more = divmod(num_envs, handles)
        counts = [each + (index < more) for index in range(handles)]
        return [
            (self.session_of(index, handles), count)
            for index, count in enumerate(counts)
            if count or not index
        ]

    def session_of(self, index: int, handles: int) -> Session:
        """Return the session of a handle, if ``handles`` are spread evenly and in order."""
        return self.sessions[index * len(self.sessions) // handles]

    def close_unused(self) -> None:
        """Close the sessions with former servers that have no environments."""
        for session in [entry for entry in self._retired if not entry.envs or not entry.connected]:
            self._retired.remove(session)
            session.close()

    def close(self) -> None:
        """Close all sessions. Safe to call twice."""
        for session in [*self.sessions, *self._retired]:
            session.close()

    def _connect(
        self, servers: list[tuple[str, str | None]], known: list[Session]
    ) -> list[Session]:
        """Return a session with each reachable server, those of ``known`` if there are any."""
        if len(servers) < 2 and not known:
            # A single server gets all the patience, and its error is that of the client.
            return [Session([url], token=token, patience=self._patience) for url, token in servers]
        sessions: list[Session] = []
        silent: list[LudexError] = []
        try:
            for url, token in servers:
                same = [entry for entry in known if entry.urls == [normalize_url(url)]]
                if same and same[0].connected:
                    sessions.append(same[0])
                    continue
                try:
                    sessions.append(Session(url, token=token, patience=self._patience))
                except LudexError as error:
                    if error.code != "connection_lost":
                        raise
                    silent.append(error)
            if not sessions:
                raise silent[-1]
        except LudexError:
            for session in sessions:
                if session not in known:
                    session.close()
            raise
        for lost in silent:
            warnings.warn(
                f"{lost.message}; the other servers take over its environments", stacklevel=4
            )
        return sessions


def _pairs(
    url: str | Sequence[str], token: str | Sequence[str | None] | None
) -> list[tuple[str, str | None]]:
    """Return each server with its token.

    Raises:
        LudexError: ``bad_field``: the list of servers is empty.
        ValueError: the numbers of tokens and servers differ.
    """
    urls = [url] if isinstance(url, str) else list(url)
    if not urls:
        raise LudexError("bad_field", "url: expected at least one server URL, got none", path="url")
    if token is None or isinstance(token, str):
        token = [token] * len(urls)
    tokens = list(token)
    if len(tokens) != len(urls):
        raise ValueError(f"token: expected {len(urls)}, one per server, got {len(tokens)}")
    return list(zip(urls, tokens, strict=True))
