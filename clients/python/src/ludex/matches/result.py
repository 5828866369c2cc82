"""Results of matches."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MatchResult:
    """Result of a match for one seat of this agent.

    An agent with several seats of a match has a result for each seat.

    Attributes:
        match: id of the match.
        game: id of the game.
        seat: the seat of this result.
        seats: names of the agents, in seat order.
        returns: per seat; empty if the match no longer exists on the server.
        outcome: per seat: ``win``, ``loss``, ``draw`` or ``none``.
        reason: ``finished``, ``illegal``, ``timeout``, ``disconnect``, ``resign``, ...; or
            ``unknown_match`` if the match no longer exists on the server.
        at_fault: seat that forfeited, if any.
        rated: True if the match counts for ratings.
        record: path of the record over HTTP.
        join: id of the join that the match belongs to.
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
    join: str | None = None

    @property
    def my_return(self) -> float | None:
        """The return (total score) of ``seat``."""
        return self.returns[self.seat] if self.returns else None

    @property
    def my_outcome(self) -> str | None:
        """The outcome of ``seat``."""
        return self.outcome[self.seat] if self.outcome else None
