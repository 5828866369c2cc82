"""Turns and moves: the input and output of an agent in a match."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..answers import Answer, ReadAnswer
from ..picture import Picture
from ..transport.wire import Message


@dataclass(frozen=True, slots=True)
class Refusal:
    """Refusal of the previous attempt at a turn; the state is unchanged.

    Attributes:
        code: e.g. ``"illegal_action"``.
        message: one sentence.
        tries_left: number of tries left before the illegal-move policy of the match applies.
        issues: faults of a document: ``{path, got, allowed, message, code}``.
        answer: the refused answer as read, with words for the model; ``None`` after another move.
    """

    code: str
    message: str
    tries_left: int
    issues: list[dict[str, Any]]
    answer: ReadAnswer | None = None


@dataclass(slots=True)
class Turn:
    """A move request for one seat of a match.

    Attributes:
        match: id of the match.
        game: id of the game.
        seat: the seat to move; an agent may have several seats of a match.
        turn: index of this turn among those of this seat, from 0.
        attempt: number of refused moves in this turn; the protocol's ``try``.
        legal: ascending action ids.
        names: names of ``legal``, in the same order; ``None`` without the view ``texts``.
        view: the requested views: any of ``struct, text, tensor, info, picture, prompt``.
        budget_ms: time limit of this turn in milliseconds; ``None``: no limit.
        bank_ms: time left in every seat's bank, in milliseconds.
        phase: name of the phase, in games that have phases.
        schema: key in the spec's ``document_schemas``: names the schema of this turn's document;
            ``None``: the turn takes no document.
        start: public data of the match: ``seats``, ``clock``, ``params``, ``illegal``, ...
        refusal: refusal of the previous attempt, if ``attempt > 0`` and its reply was not lost with
            a connection.
        notes: set by the agent and sent with the move: ``analysis, emotion, say, tokens``.
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
    def prompt(self) -> list[dict[str, str]] | None:
        """The view ``prompt``: messages for a language model; ``None`` if it was not requested."""
        return self.view.get("prompt")

    @property
    def picture(self) -> Picture | None:
        """The view ``picture``; ``None`` if it was not requested."""
        view = self.view.get("picture")
        return None if view is None else Picture.from_wire(view)


Move = int | str | Mapping[str, Any]
"""An action id, a move as text, a document, or an :class:`Answer` of a language model."""

Agent = Callable[[Turn], Move]


def move_fields(answer: Any) -> dict[str, Any]:
    """Return the fields of ``act`` for a move.

    Raises:
        TypeError: the move has another type.
    """
    if isinstance(answer, Answer):
        return {"answer": str(answer)}
    if isinstance(answer, str):
        return {"text": answer}
    if isinstance(answer, Mapping):
        return {"document": dict(answer)}
    try:
        return {"action": operator.index(answer)}
    except TypeError:
        expected = "an action id, a text, a dict or an Answer"
        raise TypeError(f"agent: expected {expected}, got {answer!r}") from None
