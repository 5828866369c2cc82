"""The suites that a server offers (docs/protocol-runs.md)."""

from __future__ import annotations

from typing import TypedDict

# Characters of an agent's name, at most.
AGENT_NAME = 40


class SuitePart(TypedDict, total=False):
    """A part of a suite.

    ``matches`` is the most that one candidate plays, ``candidates`` how many agents the part
    needs, ``metrics`` what is measured beside the score.
    """

    part: str
    game: str
    matches: int
    candidates: int
    metrics: list[str]


class SuiteEntry(TypedDict, total=False):
    """A suite, as :meth:`ludex.Client.suites` lists it.

    ``digest`` names its text; ``matches`` is the most that one candidate plays; ``season``, if
    there is one, is the season in which a run that begins now is played.
    """

    suite: str
    version: int
    digest: str
    title: str
    matches: int
    parts: list[SuitePart]
    season: str


def default_name(run: str) -> str:
    """Return the name under which an agent plays a run, if it has no other."""
    return run[:AGENT_NAME]
