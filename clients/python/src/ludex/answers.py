"""Answers of language models, which the server reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class Answer(str):
    """The text of a language model as it wrote it, instead of a move.

    The server reads it as it reads the replies of its own ``llm`` agents.
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """An answer of a language model, as the server read it.

    Attributes:
        verdict: ``"ok"``, ``"illegal"`` (a move of the game that is not legal now), ``"unparsed"``
            (no move) or ``"empty"``.
        action: id of the move, if the verdict is ``ok`` and the move has an id.
        document: the move, if the verdict is ``ok`` and the move is a document.
        text: text of the move, if the verdict is ``ok``.
        message: words for the model otherwise, as its next prompt contains them; else empty.
        issues: flaws of a refused document: ``{path, got, allowed, message, code}``.
    """

    verdict: str
    action: int | None
    document: Any
    text: str | None
    message: str
    issues: list[dict[str, Any]]

    @property
    def ok(self) -> bool:
        """True if the answer is a legal move."""
        return self.verdict == "ok"

    @classmethod
    def from_wire(cls, raw: Mapping[str, Any]) -> ReadAnswer:
        """Decode an answer from a message."""
        return cls(
            verdict=raw["verdict"],
            action=raw.get("action"),
            document=raw.get("document"),
            text=raw.get("text"),
            message=raw.get("message") or "",
            issues=list(raw.get("issues") or []),
        )


def from_list(raw: list[Any] | None) -> list[ReadAnswer | None] | None:
    """Decode the answers of a batch."""
    if raw is None:
        return None
    return [None if entry is None else ReadAnswer.from_wire(entry) for entry in raw]


def answers_field(row: list[Any]) -> dict[str, Any] | None:
    """Return the field ``answers`` of ``step`` if an entry of a row of moves is an answer.

    Raises:
        TypeError: the row has answers and other moves.
    """
    if not any(isinstance(entry, Answer) for entry in row):
        return None
    others = [entry for entry in row if not (entry is None or isinstance(entry, Answer))]
    if others:
        raise TypeError(f"step(): expected answers and None, got {others[0]!r} too")
    return {"answers": [None if entry is None else str(entry) for entry in row]}
