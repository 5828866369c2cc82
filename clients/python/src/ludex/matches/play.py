"""Matches played through a callback (docs/protocol.md, section 5)."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import LudexError
from ..transport.session import Session
from ..transport.wire import Message
from .dispatch import Dispatcher, SequentialDispatcher
from .player import Event, Match, Player, SeatKey, seat_key
from .result import MatchResult
from .turn import Agent, Refusal, Turn

__all__ = ["Agent", "Refusal", "Turn", "play"]


def play(
    url: str | Sequence[str],
    *,
    agent: Agent,
    game: str | None = None,
    params: Mapping[str, Any] | None = None,
    against: str | Sequence[str] | None = None,
    games: int = 1,
    slots: int = 1,
    seat: int | None = None,
    queue: str | None = None,
    rated: bool = False,
    clock: Mapping[str, int] | None = None,
    views: Sequence[str] = ("struct", "texts"),
    prompt: Mapping[str, Any] | None = None,
    layout: str | None = None,
    ticket: str | None = None,
    token: str | None = None,
    name: str | None = None,
    version: str | None = None,
    kind: str = "bot",
    reclaim: bool = False,
    patience: float | None = None,
    on_event: Event | None = None,
) -> list[MatchResult]:
    """Play matches and return their results, in the order in which they ended.

    A lost connection is resumed automatically; the agent never receives the same attempt twice.

    Args:
        url: server URL, or several that are tried in turn.
        agent: called with each :class:`Turn`; returns an action id, a move as text, a dict (a
            document), or an :class:`Answer`. After a refusal it is called again with the next
            ``attempt`` and the ``refusal``. An exception of the agent ends ``play``.
        game: id of the game, or the game string with parameters; optional with a ticket.
        params: parameters of the game.
        against: agents of the server for the other seats (one for all, or one per seat); by
            default opponents come from the queue.
        games: number of matches; 0: until the server shuts down. A match counts once, even if the
            agent has several seats of it.
        slots: number of concurrent matches; the agent is called sequentially in any case.
        seat: the seat to play; by default seats are rotated (in a queue: drawn).
        queue: name of the queue.
        rated: True if the matches count for ratings.
        clock: ``{move_ms?, bank_ms?, inc_ms?, first_ms?, episode_ms?}``; 10 s per move by default.
        views: any of ``struct, text, tensor, info, texts, picture, prompt``; ``texts`` are the
            names of legal ids.
        prompt: settings of the view ``prompt`` and of :class:`Answer`, such as ``history=8``.
        layout: alternative tensor layout, if the spec lists it.
        ticket: ticket of a tournament, which determines the other arguments.
        token: access token.
        name: name of the agent, which identifies its ratings; by default a new one.
        version: version of the agent.
        kind: ``bot``, ``llm``, ``human`` or ``learner``.
        reclaim: first resume and finish the matches in which ``name`` still holds seats, after a
            crash of its process. The matches of joins that continue count as games of this call;
            matches that ended with an earlier join do not count and have no result.
        patience: seconds to retry a lost connection; by default
            as long as the server keeps the session.
        on_event: called with every raw message of the matches (``match_start, event, resync,
            match_end``) and of the lobby.

    Raises:
        LudexError: an error from the server, or ``connection_lost``; ``.results`` has the finished
            matches.
        TypeError: the agent returned an invalid type.
    """
    if game is None and ticket is None:
        raise LudexError("bad_field", "game: expected a game or a ticket", path="game")
    if isinstance(against, str):
        against = [against]
    join: dict[str, Any] = {
        "game": game,
        "params": dict(params) if params else None,
        "queue": queue,
        "against": list(against) if against is not None else None,
        "seat": seat,
        "slots": slots,
        "views": list(views),
        "prompt": dict(prompt) if prompt else None,
        "layout": layout,
        "rated": rated or None,
        "clock": dict(clock) if clock is not None else None,
        "ticket": ticket,
    }
    player = _Joiner(SequentialDispatcher(agent), join, games, on_event)
    identity = {
        "name": name or f"python-{secrets.token_hex(4)}",
        "version": version,
        "kind": kind,
    }
    try:
        session = Session(
            url,
            token=token,
            agent={key: value for key, value in identity.items() if value is not None},
            reclaim=reclaim,
            patience=patience,
            on_welcome=player.on_welcome,
        )
        try:
            player.run(session)
            return player.counted
        finally:
            session.close()
    except LudexError as error:
        error.results = player.counted
        raise


class _Joiner(Player):
    """Plays the matches of a join."""

    def __init__(
        self, dispatcher: Dispatcher, join: dict[str, Any], games: int, on_event: Event | None
    ) -> None:
        super().__init__(dispatcher, on_event)
        self._join = join
        self._games = games
        self._joined = False
        self._expected = 0
        # Ids of the joins whose matches count: those of this call, and those that it took over.
        self._joins: set[str] = set()
        # Running matches that this call took over, which count too.
        self._held: set[str] = set()
        # Seats whose match may have ended, and the ping whose reply decides it.
        self._unresolved: set[SeatKey] = set()
        self._barrier: int | None = None

    @property
    def counted(self) -> list[MatchResult]:
        """The results without those of other joins of the agent."""
        return [r for r in self.results if self._counts(r.match, r.join)]

    def _counts(self, match: str, join: str | None) -> bool:
        return join in self._joins or match in self._held

    def _is_done(self) -> bool:
        if self._no_more and not self._matches:
            return True
        if self._games == 0 or len(self.results) < self._games:
            return False
        # A match is finished when all seats of this session have its end.
        running = {match for match, _ in self._matches}
        return len({result.match for result in self.counted} - running) >= self._games

    def _is_due(self) -> bool:
        return not self._joined and not self._no_more

    def _request(self) -> int | None:
        count = self._games
        if count:
            taken = {result.match for result in self.counted}
            for (match, _), state in self._matches.items():
                if self._counts(match, state.start.get("join")):
                    taken.add(match)
            count -= len(taken) + self._expected
            if count <= 0:
                self._joined = True
                return None
        return self._session.post("join", **self._join, count=count)

    def _on_entered(self, reply: Message) -> None:
        self._joined = True
        self._joins.add(reply["join"])

    def _adopt(self, welcome: Message) -> None:
        """Replace the seats by those of a new session.

        A running match that is missing in the new session has ended or is lost. If the server still
        has the result, it sends the result before the reply to the next request.
        """
        entries = [e for e in welcome.get("matches") or [] if e.get("seat") is not None]
        held = {(entry["match"], entry["seat"]) for entry in entries}
        self._held.update(match for match, _ in held)
        self._unresolved = self._matches.keys() - held
        self._barrier = None
        for seat in held - self._ended.keys():
            self._matches.setdefault(seat, Match({"match": seat[0]}))
        joins = welcome.get("joins") or []
        self._joins.update(entry["join"] for entry in joins)
        self._expected = sum(entry.get("left") or 0 for entry in joins)
        self._joined = bool(joins) and self._games == 0

    def _enter(self) -> None:
        if self._unresolved and self._barrier is None:
            self._barrier = self._session.post("ping")
        super()._enter()

    def _handle_reply(self, number: int, message: Message) -> bool:
        if number != self._barrier:
            return False
        self._barrier = None
        if message["type"] != "error":
            for seat in list(self._unresolved):
                self._finish(seat, {"reason": "unknown_match"})
        return True

    def _handle(self, message: Message) -> None:
        seat = seat_key(message)
        if seat is not None and "re" not in message:
            self._unresolved.discard(seat)
        super()._handle(message)

    def _finish(self, seat: SeatKey, end: Message) -> None:
        self._unresolved.discard(seat)
        super()._finish(seat, end)
