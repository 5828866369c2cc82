"""Matches of the candidates of a run: rows of the table ``matches``, by agent."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..run_tables import RunTables

Row = dict[str, Any]


@dataclass(frozen=True)
class Record:
    """Facts of a match that the table ``matches`` lacks."""

    game: str
    params: dict[str, Any]
    rules: int
    seed: str | None
    started: str
    ended: str | None
    outcome: Sequence[str]


@dataclass(frozen=True)
class AgentMatch:
    """Match of one candidate, on one seat or on the several seats of its side.

    Attributes:
        rows: rows of the table ``matches``, one for each seat.
        record: facts of the record; ``None`` if the match has none.
    """

    rows: Sequence[Row]
    record: Record | None

    @property
    def episode(self) -> str:
        """Name of the match."""
        return str(self.rows[0]["episode"])

    @property
    def agent(self) -> str:
        """Name of the candidate."""
        return str(self.rows[0]["agent"])

    @property
    def seats(self) -> list[int]:
        """Seats of the candidate."""
        return [row["seat"] for row in self.rows]

    @property
    def id(self) -> str:
        """Name of the match and the seats, such as ``RUN.nim.0-2.0.1/1``."""
        return f"{self.episode}/{'+'.join(map(str, self.seats))}"

    @property
    def counts(self) -> bool:
        """True if the metrics of the suite use the match."""
        return any(row["counts"] for row in self.rows)

    @property
    def points(self) -> float | None:
        """Points of the side; ``None`` in games without winners."""
        points: float | None = self.rows[0]["points"]
        return points

    @property
    def mean_return(self) -> float | None:
        """Mean return of the seats."""
        returns = [row["return"] for row in self.rows if row["return"] is not None]
        return statistics.fmean(returns) if returns else None

    @property
    def outcome(self) -> str | None:
        """Outcome in the record: ``win``, ``draw``, ``loss`` or ``none``."""
        outcomes = self.record.outcome if self.record else ()
        return outcomes[self.seats[0]] if self.seats[0] < len(outcomes) else None

    def total(self, column: str) -> Any:
        """Return the sum of a column over the seats; ``None`` if a value is unknown."""
        values = [row[column] for row in self.rows]
        return None if None in values else sum(values)


def candidate_matches(run: RunTables) -> dict[str, list[AgentMatch]]:
    """Return the matches of each candidate that played, in the order of the plan."""
    records = {row["episode"]: _record(row) for row in run.iter_rows("episodes")}
    sides: dict[tuple[str, str, int | None], list[Row]] = {}
    for row in run.iter_rows("matches"):
        if row["candidate"]:
            sides.setdefault((row["episode"], row["agent"], row["side"]), []).append(row)
    matches: dict[str, list[AgentMatch]] = {}
    for (episode, agent, _), rows in sides.items():
        matches.setdefault(agent, []).append(AgentMatch(rows, records.get(episode)))
    return matches


def by_episode(matches: Iterable[AgentMatch]) -> dict[str, list[AgentMatch]]:
    """Return the matches by name; two candidates may have played the same one."""
    found: dict[str, list[AgentMatch]] = {}
    for match in matches:
        found.setdefault(match.episode, []).append(match)
    return found


def _record(row: Row) -> Record:
    return Record(
        game=row["game"],
        params=row["params"],
        rules=row["rules"],
        seed=row.get("seed"),
        started=row["started"],
        ended=row.get("ended"),
        outcome=row.get("outcome") or (),
    )
