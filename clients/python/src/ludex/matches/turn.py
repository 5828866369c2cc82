"""What an agent is asked in a match, and what it answers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..picture import Picture
from ..transport.wire import Message


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the last attempt at this turn was refused; the state has not changed.

    Attributes:
        code: e.g. ``"illegal_action"``.
        message: one sentence.
        tries_left: number of tries are left before the policy of the match decides.
        issues: the faults of a proposal: ``{path, got, allowed, message, code}``.
    """

    code: str
    message: str
    tries_left: int
    issues: list[dict[str, Any]]


@dataclass(slots=True)
class Turn:
    """A move request, as an agent receives it.

    Attributes:
        match: id of the match.
        game: id of the game.
        seat: our seat.
        turn: the number of this turn, counting only this seat's turns, from 0.
        attempt: number of moves were refused in this turn; the protocol's ``try``.
        legal: ascending action ids.
        names: the texts of ``legal``, in the same order; ``None`` without the view ``texts``.
        view: the requested views: some of ``struct, text, tensor, info, picture``.
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

    @property
    def picture(self) -> Picture | None:
        """The view ``picture``; ``None`` if it was not requested."""
        view = self.view.get("picture")
        return None if view is None else Picture.from_wire(view)


Move = int | str | Mapping[str, Any]
"""An action id, a text as people write the move, or a document."""

Agent = Callable[[Turn], Move]


def move_fields(answer: Any) -> dict[str, Any]:
    """Return the fields of ``act`` that say a move.

    Raises:
        TypeError: the answer is not a move.
    """
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
