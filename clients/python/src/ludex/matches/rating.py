"""Measures the strength of a policy in matches against the anchors of a game's ladder."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..adapters.learner_envs import Policy
from ..client import Client
from ..shared_server import shared_url
from ..spec import Spec
from .play import play
from .rating_fit import Estimate, estimate
from .result import MatchResult
from .turn import Agent, Turn

# A match that ended for one of these reasons says nothing about strength.
UNRATED_REASONS = {"no_show", "infra_error", "aborted", "unknown_match"}


@dataclass(frozen=True)
class AnchorScore:
    """The score against one anchor.

    Attributes:
        anchor: its spec, e.g. ``"anchor level=2"``.
        rating: its rating, if the game's ladder is calibrated.
        wins: matches in which our return was higher than the anchor's.
        draws: matches with equal returns.
        losses: matches in which our return was lower.
        score: the mean over matches of 1, 1/2 and 0.
        low: lower end of the score's 95 % interval (Wilson).
        high: upper end.
        mean_return: the mean return of our seat.
    """

    anchor: str
    rating: float | None
    wins: int
    draws: int
    losses: int
    score: float
    low: float
    high: float
    mean_return: float


@dataclass(frozen=True)
class Rating:
    """A rating, or win rates if the anchors have no ratings. It prints as a small table.

    Attributes:
        game: canonical string of the game.
        anchors: the score against each anchor.
        estimate: rating and interval on the scale of the anchors' ratings; ``None`` if none of
            these anchors has a rating.
        results: the matches.
    """

    game: str
    anchors: list[AnchorScore]
    estimate: Estimate | None
    results: list[MatchResult]

    def __str__(self) -> str:
        lines = [self.game]
        for a in self.anchors:
            known = "" if a.rating is None else f" (rated {a.rating:.0f})"
            lines.append(
                f"  {a.anchor + known:<28} {a.wins} won, {a.draws} drawn, {a.losses} lost: "
                f"{a.score:.0%}, 95 % {a.low:.0%} to {a.high:.0%}"
            )
        if self.estimate is None:
            lines.append("  no rating, because none of these anchors has one")
        else:
            e = self.estimate
            lines.append(f"  rating {e.rating:.0f}, 95 % {e.low:.0f} to {e.high:.0f}")
        return "\n".join(lines)


def as_agent(policy: Policy, actions: int) -> Agent:
    """Make an agent for :func:`ludex.play` from a policy on arrays.

    Play the matches with ``views=["tensor"]``.

    Args:
        policy: called with observations ``[1, ...]`` and masks ``int8 [1, A]``; returns one action.
            The same callable can be an ``opponent`` of training environments.
        actions: number of action ids, ``Spec.actions``.
    """

    def agent(turn: Turn) -> int:
        mask = np.zeros((1, actions), np.int8)
        mask[0, turn.legal] = 1
        answer = np.asarray(policy(np.array(turn.view["tensor"])[None], mask))
        return int(answer.reshape(-1)[0])

    return agent


def rate(
    policy: Policy | Agent,
    game: str,
    anchors: Sequence[int | str] | None = None,
    *,
    games: int = 40,
    takes: Literal["arrays", "turn"] = "arrays",
    params: Mapping[str, Any] | None = None,
    url: str | Sequence[str] | None = None,
    token: str | None = None,
    name: str | None = None,
    slots: int = 4,
    seed: int = 0,
    patience: float | None = None,
) -> Rating:
    """Play matches against anchors with alternating seats, and return the policy's strength.

    Level 0 of every ladder is ``random``, rated 0; the other levels have ratings if the ladder is
    calibrated. The policy's rating is that of maximum likelihood under Davidson's model of wins,
    draws and losses, with the anchors' ratings held constant and half a win and half a loss added.
    The 95 % interval comes from a bootstrap over pairs of matches (one on each seat). Anchors
    without a rating are played and reported, but do not count for the rating. If none of the
    chosen anchors has a rating, the result has only the score against each.

    The matches are played by :func:`ludex.play` and are not rated by the server. Their seeds are
    independent, so the matches of a pair share an opponent but not a seed. To quote a rating, play
    rated matches, and let the referee verify and rate their records (docs/evaluating.md).

    Args:
        policy: a function of observations ``[1, ...]`` and masks ``int8 [1, A]``, like the
            ``opponent`` of a training environment; or, with ``takes="turn"``, an agent of
            :func:`ludex.play`.
        game: id of the game, or its whole string with parameters.
        anchors: levels of the game's ladder, or agents of the server; by default the whole ladder.
        games: matches against each anchor; rounded up, so that each seat is played equally often.
        takes: the kind of arguments that the policy takes.
        params: parameters of the game.
        url: the server; by default the local one of this process.
        token: access token.
        name: the name to play under.
        slots: number of matches are played at a time.
        seed: the seed of the bootstrap.
        patience: seconds to retry a lost connection.

    Raises:
        LudexError: an error from the server: ``unknown_game``, ``unknown_agent``, ...
        ValueError: there are no anchors, the game has only one seat, or no match counted.
    """
    where = shared_url() if url is None else url
    with Client(where, token, patience=patience) as client:
        spec = client.describe(game, params)
    ladder = _ladder(spec)
    chosen = list(ladder) if anchors is None else list(anchors)
    named = [f"anchor level={a}" if isinstance(a, int) else a for a in chosen]
    if not named or spec.players < 2:
        raise ValueError(f"to rate in {spec.game}, at least one anchor and two seats are needed")
    agent = as_agent(policy, spec.actions) if takes == "arrays" else policy  # type: ignore[arg-type]
    count = -(-games // spec.players) * spec.players
    scores: list[AnchorScore] = []
    blocks: list[tuple[int, list[float]]] = []
    results: list[MatchResult] = []
    rated: list[float] = []
    for anchor in named:
        played = play(
            where,
            agent=agent,  # type: ignore[arg-type]
            game=spec.game,
            params=spec.params,
            against=anchor,
            games=count,
            slots=min(slots, count),
            views=["tensor"] if takes == "arrays" else ["struct", "texts"],
            token=token,
            name=name,
            kind="learner",
            patience=patience,
        )
        rating = ladder.get(anchor)
        scores.append(_score(anchor, rating, played))
        results += played
        if rating is not None:
            blocks += [(len(rated), block) for block in _blocks(played, spec.players)]
            rated.append(rating)
    found = estimate(rated, blocks, seed=seed) if blocks else None
    return Rating(spec.string, scores, found, results)


def _ladder(spec: Spec) -> dict[str, float | None]:
    """Return the anchors' ratings by their specs."""
    ladder: dict[str, float | None] = {}
    for entry in spec.raw.get("anchors") or []:
        bot = entry.get("bot") or 1
        name = f"anchor level={entry['level']}" + (f" bot={bot}" if bot > 1 else "")
        # Every scale has random at 0, even if the ladder is not calibrated.
        ladder[name] = 0.0 if entry["level"] == 0 else entry.get("rating")
    return ladder


def _scores(result: MatchResult) -> list[float]:
    """Compare returns with the other seats; after a forfeit, only with the seat at fault."""
    if result.reason in UNRATED_REASONS or not result.returns:
        return []
    others = [seat for seat in range(len(result.returns)) if seat != result.seat]
    if result.at_fault is not None and result.at_fault != result.seat:
        others = [result.at_fault]
    mine = result.returns[result.seat]
    theirs = [result.returns[seat] for seat in others]
    return [1.0 if mine > other else 0.0 if mine < other else 0.5 for other in theirs]


def _blocks(results: Sequence[MatchResult], players: int) -> list[list[float]]:
    """Put matches in groups with one on each seat."""
    by_seat = [[r for r in results if r.seat == seat] for seat in range(players)]
    groups = [
        [score for r in group for score in _scores(r)] for group in zip(*by_seat, strict=False)
    ]
    return [group for group in groups if group]


def _score(anchor: str, rating: float | None, results: Sequence[MatchResult]) -> AnchorScore:
    scores = [score for result in results for score in _scores(result)]
    if not scores:
        raise ValueError(
            f"no match against {anchor} counted; they ended with {[r.reason for r in results]}"
        )
    returns = [r.my_return for r in results if r.my_return is not None]
    score = sum(scores) / len(scores)
    low, high = _wilson(score, len(scores))
    return AnchorScore(
        anchor=anchor,
        rating=rating,
        wins=scores.count(1.0),
        draws=scores.count(0.5),
        losses=scores.count(0.0),
        score=score,
        low=low,
        high=high,
        mean_return=sum(returns) / len(returns),
    )


def _wilson(p: float, n: int, z: float = 1.96) -> tuple[float, float]:
    """Return the 95 % interval of a rate (E. B. Wilson, JASA 22, 1927)."""
    middle = p + z * z / (2 * n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    whole = 1 + z * z / n
    return max(0.0, (middle - half) / whole), min(1.0, (middle + half) / whole)
