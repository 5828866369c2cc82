"""The loop that plays all matches of a session (docs/protocol.md, sections 5 and 7)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..answers import ReadAnswer
from ..columns import tensors
from ..errors import LudexError
from ..transport.session import Session
from ..transport.wire import Message
from .dispatch import Dispatcher
from .result import MatchResult
from .turn import Refusal, Turn, move_fields

# Maximum number of ended seats to remember, to recognize repeated `match_end` messages.
MAX_REMEMBERED = 1_000

# Error codes of an act that arrived too late, which cost no try; and of a lost match or seat.
LATE_CODES = {"stale_turn", "conflict", "not_your_turn", "match_over"}
GONE_CODES = {"unknown_match", "not_your_seat"}

Event = Callable[[Message], None]
Key = tuple[int, int]
"""Turn and try, which identify a move request of a seat."""

SeatKey = tuple[str, int]
"""Match and seat. The session may hold several seats of a match."""


class Match:
    """The client's state of a running match for one seat."""

    def __init__(self, start: Message) -> None:
        self.start = start
        self.turn: Message | None = None
        self.since = 0
        self.open: Turn | None = None
        # The latest move request passed to the agent.
        self.requested: Key = (-1, 0)


class Player:
    """Base class of the loops that play matches.

    A subclass sends the request for matches: a join (:mod:`ludex.matches.play`) or a run
    (:mod:`ludex.matches.evaluation`).

    Attributes:
        results: a result for each match that has ended, or for each of its seats if the session
            holds several.
    """

    def __init__(self, dispatcher: Dispatcher, on_event: Event | None) -> None:
        self.results: list[MatchResult] = []
        self._dispatcher = dispatcher
        self._on_event = on_event
        self._matches: dict[SeatKey, Match] = {}
        self._ended: dict[SeatKey, None] = {}
        self._acts: dict[int, tuple[SeatKey, Key, dict[str, Any]]] = {}
        # Move requests that are pending at the dispatcher.
        self._pending: dict[SeatKey, Key] = {}
        # Id of the pending entry request, if any, and the earliest time of the next one.
        self._entering: int | None = None
        self._enter_at = 0.0
        self._no_more = False
        self._turns = 0

    # Methods of subclasses.

    def _is_done(self) -> bool:
        """Return True if all matches are played."""
        raise NotImplementedError

    def _is_due(self) -> bool:
        """Return True if an entry request is due."""
        raise NotImplementedError

    def _request(self) -> int | None:
        """Send the entry request and return its id; ``None`` if none is needed."""
        raise NotImplementedError

    def _on_entered(self, reply: Message) -> None:
        """Handle the reply to the entry request."""
        raise NotImplementedError

    def _adopt(self, welcome: Message) -> None:
        """Take over the seats of a new session; a resync follows for each seat."""
        raise NotImplementedError

    def on_welcome(self, welcome: Message) -> None:
        """Handle a new connection; ``welcome`` lists the matches of its session."""
        if not welcome.get("resumed"):
            self._adopt(welcome)

    def _on_event_without_match(self, message: Message) -> None:
        """Handle an event that belongs to no match."""

    def _handle_reply(self, number: int, message: Message) -> bool:
        """Handle a reply to a request of the subclass; return False for other replies."""
        return False

    # The loop.

    def run(self, session: Session) -> None:
        """Play until all matches are played."""
        self._session = session
        self._adopt(session.welcome)
        while not self._is_done():
            self._enter()
            opened = [match for match in self._matches.values() if match.open is not None]
            # First read all messages that have arrived: they may end a pending turn.
            pause = 0.0 if opened else self._pause()
            message = session.receive(pause, wakeup=self._dispatcher.wakeup)
            if message is not None:
                self._handle(message)
            else:
                self._play_turns(sorted(opened, key=lambda match: match.since))

    def _enter(self) -> None:
        """Send the entry request if it is due."""
        if self._is_due() and self._entering is None and time.monotonic() >= self._enter_at:
            self._entering = self._request()

    def _pause(self) -> float | None:
        """Return the seconds until the entry request is due; ``None``: wait for a message."""
        if self._is_due() and self._entering is None:
            return max(0.0, self._enter_at - time.monotonic())
        return None

    def _play_turns(self, opened: Sequence[Match]) -> None:
        """Pass turns to the dispatcher, and send the moves that are ready."""
        turns = []
        for match in opened[: self._dispatcher.max_turns]:
            turn, match.open = match.open, None
            if turn is not None:
                match.requested = (turn.turn, turn.attempt)
                self._pending[turn.match, turn.seat] = match.requested
                turns.append(turn)
        for turn, reply in self._dispatcher.dispatch(turns):
            move = move_fields(reply)
            seat, key = (turn.match, turn.seat), (turn.turn, turn.attempt)
            if self._pending.get(seat) == key:
                del self._pending[seat]
            if seat in self._matches:
                fields = {"turn": turn.turn, "try": turn.attempt, **move}
                self._act(seat, key, {**fields, "notes": turn.notes or None})

    def _act(self, seat: SeatKey, key: Key, fields: dict[str, Any]) -> None:
        # Not bound to the session: the server recognizes a repeated act by match, seat and key.
        number = self._session.post("act", bound=False, match=seat[0], seat=seat[1], **fields)
        self._acts[number] = (seat, key, fields)

    # Messages.

    def _handle(self, message: Message) -> None:
        kind = message["type"]
        if "re" in message:
            self._on_reply(kind, message)
            return
        seat = seat_key(message)
        if kind == "draining":
            # If sessions cannot be resumed, no further matches start.
            self._no_more = not message.get("resume", True)
        if seat is None:
            self._emit(message)
            self._on_event_without_match(message)
        elif seat in self._ended:
            return
        elif kind == "resync":
            self._on_resync(seat, message)
        elif kind == "turn":
            self._record_seq(seat, message)
            self._on_turn(seat, message)
        elif self._record_seq(seat, message):
            self._emit(message)
            if kind == "match_start":
                self._matches[seat] = Match(message)
            elif kind == "match_end":
                self._finish(seat, message)

    def _record_seq(self, seat: SeatKey, message: Message) -> bool:
        """Store the number of an event; return False for repeated events."""
        number = message.get("seq")
        last = self._session.last_seqs.get(seat, -1)
        if not isinstance(number, int) or number <= last:
            return number is None
        self._session.last_seqs[seat] = number
        return True

    def _emit(self, message: Message) -> None:
        if self._on_event is not None:
            self._on_event(message)

    def _on_resync(self, seat: SeatKey, message: Message) -> None:
        """Replace the state of a seat by the state in a resync."""
        self._session.last_seqs[seat] = message["seq"]
        self._emit(message)
        fresh = Match(message["start"])
        self._matches[seat] = fresh
        turn, end = message.get("turn"), message.get("end")
        if end is not None:
            self._finish(seat, end)
        elif turn is not None:
            key = (turn["turn"], turn.get("try", 0))
            sent = any(act[:2] == (seat, key) for act in self._acts.values())
            if sent or self._pending.get(seat) == key:
                fresh.requested = key  # the act is in flight, or the agent still computes it
            self._on_turn(seat, turn)

    def _on_turn(self, seat: SeatKey, frame: Message) -> None:
        state = self._matches.get(seat)
        if state is None:
            return
        state.turn = frame
        key = (frame["turn"], frame.get("try", 0))
        pending = state.open
        if key <= state.requested or (
            pending is not None and key <= (pending.turn, pending.attempt)
        ):
            return
        self._turns += 1
        state.since = self._turns
        state.open = Turn(
            match=seat[0],
            game=state.start.get("game", ""),
            seat=seat[1],
            turn=key[0],
            attempt=key[1],
            legal=expand_ids(frame.get("legal") or []),
            names=frame.get("names"),
            view=decode_view(frame.get("view") or {}),
            budget_ms=frame.get("budget_ms"),
            bank_ms=frame.get("bank_ms") or [],
            phase=frame.get("phase"),
            schema=frame.get("schema"),
            start=state.start,
        )

    # Replies.

    def _on_reply(self, kind: str, message: Message) -> None:
        number = message["re"]
        if number == self._entering:
            self._entering = None
            if kind == "error":
                self._on_entry_refused(LudexError.from_wire(message))
            else:
                self._on_entered(message)
            return
        if self._handle_reply(number, message):
            return
        if number not in self._acts:
            return
        seat, key, fields = self._acts.pop(number)
        if seat not in self._matches:
            return
        if kind == "refused":
            self._on_refused(seat, message)
        elif kind == "error":
            self._on_act_error(seat, key, fields, LudexError.from_wire(message))

    def _on_entry_refused(self, error: LudexError) -> None:
        """Set the time of the next entry request, or raise an error that is not retryable."""
        if error.code == "session_lost":
            return
        if not error.retry:
            raise error
        self._enter_at = time.monotonic() + (error.after_ms or 1_000) / 1000

    def _on_act_error(
        self, seat: SeatKey, key: Key, fields: dict[str, Any], error: LudexError
    ) -> None:
        if error.code in LATE_CODES:
            return
        if error.code in GONE_CODES:
            self._finish(seat, {"reason": error.code})
        elif error.retry:
            time.sleep((error.after_ms or 100) / 1000)
            self._act(seat, key, fields)
        else:
            raise error

    def _on_refused(self, seat: SeatKey, message: Message) -> None:
        state = self._matches[seat]
        frame = state.turn
        if frame is None or frame["turn"] != message["turn"] or not message.get("tries_left"):
            return
        self._on_turn(seat, {**frame, "try": message["try"]})
        turn = state.open
        if turn is None or (turn.turn, turn.attempt) != (message["turn"], message["try"]):
            return
        legal = message.get("legal")
        if legal is not None:
            names = dict(zip(turn.legal, turn.names or [], strict=False))
            turn.legal = expand_ids(legal)
            if turn.names is not None:
                turn.names = [names.get(action, str(action)) for action in turn.legal]
        answer = message.get("answer")
        turn.refusal = Refusal(
            str(message.get("code", "")),
            str(message.get("message", "")),
            message["tries_left"],
            message.get("issues") or [],
            None if answer is None else ReadAnswer.from_wire(answer),
        )

    def _finish(self, seat: SeatKey, end: Message) -> None:
        state = self._matches.pop(seat, None)
        self._pending.pop(seat, None)
        if state is None:
            return
        start = state.start
        self.results.append(
            MatchResult(
                match=seat[0],
                game=start.get("game", ""),
                seat=seat[1],
                seats=[seat.get("name", "") for seat in start.get("seats") or []],
                returns=[float(value) for value in end.get("returns") or []],
                outcome=list(end.get("outcome") or []),
                reason=str(end.get("reason", "")),
                at_fault=end.get("at_fault"),
                rated=bool(end.get("rated", False)),
                record=end.get("record"),
                join=start.get("join"),
            )
        )
        self._ended[seat] = None
        if len(self._ended) > MAX_REMEMBERED:
            oldest = next(iter(self._ended))
            del self._ended[oldest]
            self._session.last_seqs.pop(oldest, None)


def seat_key(message: Message) -> SeatKey | None:
    """Return the match and the seat that a message belongs to; ``None`` without a match."""
    match = message.get("match")
    if match is None:
        return None
    # The `seat` of an event is that of the player, not of the viewer.
    seat = message.get("viewer" if message["type"] == "event" else "seat")
    return match, seat or 0


def expand_ids(legal: Sequence[Any]) -> list[int]:
    """Return the legal ids as a flat list; games may send inclusive ranges of ids."""
    if legal and isinstance(legal[0], (list, tuple)):
        return [action for low, high in legal for action in range(low, high + 1)]
    return list(legal)


def decode_view(view: Mapping[str, Any]) -> dict[str, Any]:
    """Return a view with decoded tensors."""
    return {
        name: tensors(value) if name in ("tensor", "info") and value is not None else value
        for name, value in view.items()
    }
