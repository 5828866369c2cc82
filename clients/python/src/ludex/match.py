"""The match plane: play whole matches with a callback (section 5 of docs/protocol.md)."""

from __future__ import annotations

import operator
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .columns import tensors
from .errors import LudexError
from .result import MatchResult
from .session import Session
from .wire import Message

# How many ended matches are remembered, so that a repeated end of a match is recognised.
REMEMBERED = 1_000

# Errors of an act that came too late; none of them costs a try.
LATE = {"stale_turn", "conflict", "not_your_turn", "match_over"}
GONE = {"unknown_match", "not_your_seat"}

Event = Callable[[Message], None]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the last attempt at this turn was refused; the state has not changed.

    Attributes:
        code: e.g. ``"illegal_action"``.
        message: one sentence.
        tries_left: how many tries are left before the policy of the match decides.
        issues: the faults of a proposal: ``{path, got, allowed, message, code}``.
    """

    code: str
    message: str
    tries_left: int
    issues: list[dict[str, Any]]


@dataclass(slots=True)
class Turn:
    """Everything that an agent gets when it is asked for a move.

    Attributes:
        match: id of the match.
        game: id of the game.
        seat: our seat.
        turn: the number of this turn, counting only this seat's turns, from 0.
        attempt: how many moves were refused in this turn; the protocol's ``try``.
        legal: ascending action ids.
        names: the texts of ``legal``, in the same order; ``None`` without the view ``texts``.
        view: the requested views: some of ``struct, text, tensor, info``.
        budget_ms: the seat loses on time after this many milliseconds; ``None``: no limit.
        bank_ms: the time left in every seat's bank.
        phase: the phase, in games that have several.
        schema: which of the spec's ``proposals`` a document of this turn must fit; ``None``: no
            documents are heard now.
        start: the public facts of the match: ``seats``, ``clock``, ``params``, ``illegal``, ...
        refusal: why the last attempt was refused, if ``attempt > 0`` and the answer was not
            lost with a connection.
        notes: filled by the agent and sent with the move: ``analysis, emotion, say, tokens``.
    """

    match: str
    game: str
    seat: int
    turn: int
    attempt: int
    legal: list[int]
    names: list[str] | None
    view: dict[str, Any]
    budget_ms: int | None
    bank_ms: list[int]
    phase: str | None
    start: Message
    refusal: Refusal | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    schema: str | None = None


Agent = Callable[[Turn], "int | str | Mapping[str, Any]"]


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

    A lost connection is resumed automatically; the agent is never asked twice for one attempt.

    Args:
        url: the server, or several that are tried in turn.
        agent: called with each :class:`Turn`; returns an action id, a text as people write the
            move, or a dict (a proposal). After a refusal it is called again with the next
            ``attempt`` and the ``refusal``. An exception that it raises ends ``play``.
        game: id of the game, or its whole string with parameters; not needed with a ticket.
        params: parameters.
        against: agents of the server for the other seats (one for all, or one per seat); by
            default opponents come from the queue.
        games: how many matches; 0: until the server stops for good.
        slots: how many matches at a time; turns are answered one after the other in any case.
        seat: the seat to play; by default seats are rotated (in a queue: drawn).
        queue: name of the queue.
        rated: whether the matches count for ratings.
        clock: ``{move_ms?, bank_ms?, inc_ms?, first_ms?, episode_ms?}``; 10 s per move by default.
        views: some of ``struct, text, tensor, info, texts``; ``texts`` are the names of legal ids.
        layout: another layout of tensors, if the spec lists it.
        ticket: entry to a tournament, which decides everything else.
        token: access token.
        name: the name under which ratings are kept; by default a new one.
        version: the agent's version.
        kind: ``bot``, ``llm``, ``human`` or ``learner``.
        reclaim: first take over and finish the matches in which ``name`` still holds seats, from
            a process that died; they count as games of this call.
        patience: how many seconds to try to reconnect when the connection is lost; by default
            as long as the server keeps the session.
        on_event: called with every raw message of the matches (``match_start, event, resync,
            match_end``) and of the lobby.

    Raises:
        LudexError: an error of the server, or ``connection_lost``; ``.results`` has the finished
            matches.
        TypeError: the agent returned something that is not a move.
    """
    if game is None and ticket is None:
        raise LudexError("bad_field", "play needs a game or a ticket", path="game")
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
        "layout": layout,
        "rated": rated or None,
        "clock": dict(clock) if clock is not None else None,
        "ticket": ticket,
    }
    player = _Player(agent, join, games, on_event)
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
            on_welcome=player.welcomed,
        )
        try:
            return player.run(session)
        finally:
            session.close()
    except LudexError as error:
        error.results = player.results
        raise


class _Match:
    """The client's knowledge of one running match."""

    def __init__(self, start: Message) -> None:
        self.start = start
        self.turn: Message | None = None
        self.since = 0
        self.open: Turn | None = None
        self.acted: tuple[int, int] = (-1, 0)


class _Player:
    """Matches, and the one loop that serves them."""

    def __init__(
        self, agent: Agent, join: dict[str, Any], games: int, on_event: Event | None
    ) -> None:
        self.results: list[MatchResult] = []
        self._agent = agent
        self._join = join
        self._games = games
        self._on_event = on_event
        self._matches: dict[str, _Match] = {}
        self._ended: dict[str, None] = {}
        self._acts: dict[int, tuple[str, tuple[int, int], dict[str, Any]]] = {}
        self._joining: int | None = None
        self._joined = False
        self._join_at = 0.0
        self._owed = 0
        self._no_more = False
        self._doubtful: set[str] = set()
        self._barrier: int | None = None
        self._turns = 0

    def run(self, session: Session) -> list[MatchResult]:
        self._session = session
        self._adopt(session.welcome)
        while not self._done():
            self._enter()
            asked = [match for match in self._matches.values() if match.open is not None]
            # Read all messages that have arrived first: they may say that a turn is over.
            message = session.receive(0.0 if asked else self._pause())
            if message is not None:
                self._handle(message)
            elif asked:
                self._answer(min(asked, key=lambda match: match.since))
        return self.results

    def _done(self) -> bool:
        if self._no_more and not self._matches:
            return True
        return self._games > 0 and len(self.results) >= self._games

    def _enter(self) -> None:
        """Send what is due: a join, or a ping that settles which matches are lost."""
        if self._doubtful and self._barrier is None:
            self._barrier = self._session.post("ping")
        if self._joined or self._joining is not None or self._no_more:
            return
        count = self._games
        if count:
            count -= len(self.results) + len(self._matches) + self._owed
            if count <= 0:
                self._joined = True
                return
        if time.monotonic() >= self._join_at:
            self._joining = self._session.post("join", **self._join, count=count)

    def _pause(self) -> float | None:
        """Return the seconds until something is due; ``None``: wait for a message."""
        if self._joined or self._joining is not None or self._no_more:
            return None
        return max(0.0, self._join_at - time.monotonic())

    # Sessions.

    def welcomed(self, welcome: Message) -> None:
        """Handle a new connection; ``welcome`` lists what its session holds."""
        if not welcome.get("resumed"):
            self._adopt(welcome)

    def _adopt(self, welcome: Message) -> None:
        """Take over the matches of a new session; a resync tells the whole of each.

        A running match that the session does not hold has ended meanwhile or is lost. If the
        server has kept its end, it sends it before the answer to the next request.
        """
        held = {entry["match"] for entry in welcome.get("matches") or []}
        self._doubtful = self._matches.keys() - held
        self._barrier = None
        for match in held - self._ended.keys():
            self._matches.setdefault(match, _Match({"match": match}))
        joins = welcome.get("joins") or []
        self._owed = sum(entry.get("left") or 0 for entry in joins)
        self._joined = bool(joins) and self._games == 0

    # Messages.

    def _handle(self, message: Message) -> None:
        kind = message["type"]
        if "re" in message:
            self._reply(kind, message)
            return
        match = message.get("match")
        self._doubtful.discard(match or "")
        if kind == "draining":
            # If the server will not resume, no matches follow those that still run.
            self._no_more = not message.get("resume", True)
        if match is None:
            self._tell(message)
        elif match in self._ended:
            return
        elif kind == "resync":
            self._resync(match, message)
        elif kind == "turn":
            self._see(match, message)
            self._turn(match, message)
        elif self._see(match, message):
            self._tell(message)
            if kind == "match_start":
                self._matches[match] = _Match(message)
            elif kind == "match_end":
                self._finish(match, message)

    def _see(self, match: str, message: Message) -> bool:
        """Remember the number of an event; False if it was seen before."""
        number = message.get("seq")
        seen = self._session.seen.get(match, -1)
        if not isinstance(number, int) or number <= seen:
            return number is None
        self._session.seen[match] = number
        return True

    def _tell(self, message: Message) -> None:
        if self._on_event is not None:
            self._on_event(message)

    def _resync(self, match: str, message: Message) -> None:
        """Replace the knowledge of a match with the resync, which tells all of it."""
        self._session.seen[match] = message["seq"]
        self._tell(message)
        fresh = _Match(message["start"])
        self._matches[match] = fresh
        turn, end = message.get("turn"), message.get("end")
        if end is not None:
            self._finish(match, end)
        elif turn is not None:
            key = (turn["turn"], turn.get("try", 0))
            if any(act[:2] == (match, key) for act in self._acts.values()):
                fresh.acted = key  # it was sent again; its answer is still to come
            self._turn(match, turn)

    def _turn(self, match: str, frame: Message) -> None:
        state = self._matches.get(match)
        if state is None:
            return
        state.turn = frame
        key = (frame["turn"], frame.get("try", 0))
        asked = state.open
        if key <= state.acted or (asked is not None and key <= (asked.turn, asked.attempt)):
            return
        self._turns += 1
        state.since = self._turns
        state.open = Turn(
            match=match,
            game=state.start.get("game", ""),
            seat=state.start.get("seat", 0),
            turn=key[0],
            attempt=key[1],
            legal=_ids(frame.get("legal") or []),
            names=frame.get("names"),
            view=_view(frame.get("view") or {}),
            budget_ms=frame.get("budget_ms"),
            bank_ms=frame.get("bank_ms") or [],
            phase=frame.get("phase"),
            schema=frame.get("schema"),
            start=state.start,
        )

    def _answer(self, state: _Match) -> None:
        turn = state.open
        if turn is None:
            return
        state.open = None
        answer = _move(self._agent(turn))
        state.acted = (turn.turn, turn.attempt)
        self._act(
            turn.match,
            state.acted,
            {"turn": turn.turn, "try": turn.attempt, **answer, "notes": turn.notes or None},
        )

    def _act(self, match: str, key: tuple[int, int], fields: dict[str, Any]) -> None:
        # Not bound to the session: the server recognises a repeated act by (match, turn, try).
        number = self._session.post("act", bound=False, match=match, **fields)
        self._acts[number] = (match, key, fields)

    # Replies.

    def _reply(self, kind: str, message: Message) -> None:
        number = message["re"]
        if number == self._joining:
            self._joining = None
            if kind == "error":
                self._not_joined(LudexError.from_wire(message))
            else:
                self._joined = True
            return
        if number == self._barrier:
            self._barrier = None
            if kind != "error":
                for match in list(self._doubtful):
                    self._finish(match, {"reason": "unknown_match"})
            return
        match, key, fields = self._acts.pop(number, ("", (-1, 0), {}))
        if match not in self._matches:
            return
        if kind == "refused":
            self._refused(match, message)
        elif kind == "error":
            self._not_acted(match, key, fields, LudexError.from_wire(message))

    def _not_joined(self, error: LudexError) -> None:
        """Set the time of the next join, or raise an error if another join cannot help."""
        if error.code == "session_lost":
            return
        if not error.retry:
            raise error
        self._join_at = time.monotonic() + (error.after_ms or 1_000) / 1000

    def _not_acted(
        self, match: str, key: tuple[int, int], fields: dict[str, Any], error: LudexError
    ) -> None:
        if error.code in LATE:
            return
        if error.code in GONE:
            self._finish(match, {"reason": error.code})
        elif error.retry:
            time.sleep((error.after_ms or 100) / 1000)
            self._act(match, key, fields)
        else:
            raise error

    def _refused(self, match: str, message: Message) -> None:
        state = self._matches[match]
        frame = state.turn
        if frame is None or frame["turn"] != message["turn"] or not message.get("tries_left"):
            return
        self._turn(match, {**frame, "try": message["try"]})
        turn = state.open
        if turn is None or (turn.turn, turn.attempt) != (message["turn"], message["try"]):
            return
        legal = message.get("legal")
        if legal is not None:
            names = dict(zip(turn.legal, turn.names or [], strict=False))
            turn.legal = _ids(legal)
            if turn.names is not None:
                turn.names = [names.get(action, str(action)) for action in turn.legal]
        turn.refusal = Refusal(
            str(message.get("code", "")),
            str(message.get("message", "")),
            message["tries_left"],
            message.get("issues") or [],
        )

    def _finish(self, match: str, end: Message) -> None:
        state = self._matches.pop(match, None)
        self._doubtful.discard(match)
        if state is None:
            return
        start = state.start
        self.results.append(
            MatchResult(
                match=match,
                game=start.get("game", ""),
                seat=start.get("seat", 0),
                seats=[seat.get("name", "") for seat in start.get("seats") or []],
                returns=[float(value) for value in end.get("returns") or []],
                outcome=list(end.get("outcome") or []),
                reason=str(end.get("reason", "")),
                at_fault=end.get("at_fault"),
                rated=bool(end.get("rated", False)),
                record=end.get("record"),
            )
        )
        self._ended[match] = None
        if len(self._ended) > REMEMBERED:
            oldest = next(iter(self._ended))
            del self._ended[oldest]
            self._session.seen.pop(oldest, None)


def _ids(legal: Sequence[Any]) -> list[int]:
    """Return legal ids one by one; a game may list them as inclusive ranges."""
    if legal and isinstance(legal[0], (list, tuple)):
        return [action for low, high in legal for action in range(low, high + 1)]
    return list(legal)


def _view(view: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: tensors(value) if name in ("tensor", "info") and value is not None else value
        for name, value in view.items()
    }


def _move(answer: Any) -> dict[str, Any]:
    if isinstance(answer, str):
        return {"text": answer}
    if isinstance(answer, Mapping):
        return {"proposal": dict(answer)}
    try:
        return {"action": operator.index(answer)}
    except TypeError:
        raise TypeError(
            f"the agent returned {answer!r}, but a move is an action id, a text or a dict"
        ) from None
