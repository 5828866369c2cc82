"""How a match ended."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MatchResult:
    """How a match ended.

    Attributes:
        match: its id.
        game: id of the game.
        seat: our seat.
        seats: names of the agents, in seat order.
        returns: per seat; empty if the server no longer knew the match.
        outcome: per seat: ``win``, ``loss``, ``draw`` or ``none``.
        reason: ``finished``, ``illegal``, ``timeout``, ``disconnect``, ``resign``, ...; or
            ``unknown_match`` if the server no longer knew the match.
        at_fault: the seat that forfeited, if one did.
        rated: True if the match counts for ratings.
        record: path of the record over HTTP.
    """

    match: str
    game: str
    seat: int
    seats: list[str]
    returns: list[float]
    outcome: list[str]
    reason: str
    at_fault: int | None = None
    rated: bool = False
    record: str | None = None

    @property
    def my_return(self) -> float | None:
        """Our seat's return."""
        return self.returns[self.seat] if self.returns else None

    @property
    def my_outcome(self) -> str | None:
        """Our seat's outcome."""
        return self.outcome[self.seat] if self.outcome else None
