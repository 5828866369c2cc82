"""Rating of a policy by matches against the anchors of a game's ladder."""

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

# Matches that ended for one of these reasons are not scored.
UNRATED_REASONS = {"no_show", "infra_error", "aborted", "unknown_match"}


@dataclass(frozen=True)
class AnchorScore:
    """The score against one anchor.

    Attributes:
        anchor: agent spec, e.g. ``"anchor level=2"``.
        rating: rating of the anchor, if the game's ladder is calibrated.
        wins: number of matches with a higher return than the anchor.
        draws: number of matches with equal returns.
        losses: number of matches with a lower return than the anchor.
        score: mean score per match; a win is 1, a draw 1/2.
        low: lower end of the score's 95 % interval (Wilson).
        high: upper end.
        mean_return: mean return of the policy's seat.
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
    """A rating, or win rates if the anchors have no ratings; ``str()`` returns a table.

    Attributes:
        game: canonical string of the game.
        anchors: the score against each anchor.
        estimate: rating and interval on the scale of the anchors' ratings; ``None`` if no anchor
            has a rating.
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
            lines.append("  no rating, because no anchor has a rating")
        else:
            e = self.estimate
            lines.append(f"  rating {e.rating:.0f}, 95 % {e.low:.0f} to {e.high:.0f}")
        return "\n".join(lines)


def as_agent(policy: Policy, actions: int) -> Agent:
    """Return an agent for :func:`ludex.play` that uses a policy on arrays.

    The matches need ``views=["tensor"]``.

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
    """Rate a policy by matches against anchors with alternating seats.

    Level 0 of every ladder is ``random``, rated 0; the other levels have ratings if the ladder is
    calibrated. The policy's rating is the maximum-likelihood estimate under Davidson's model of
    wins, draws and losses, with constant ratings of the anchors and a prior of half a win and half
    a loss. The 95 % interval is a bootstrap over pairs of matches (one on each seat). Anchors
    without a rating are played and reported, but do not affect the rating. If no anchor has a
    rating, the result has only the score against each.

    The matches are unrated matches of :func:`ludex.play`. Their seeds are independent, so the
    matches of a pair share an opponent but not a seed. For a publishable rating, play rated
    matches, and let the referee verify and rate their records (docs/evaluate.md).

    Args:
        policy: a function from observations ``[1, ...]`` and masks ``int8 [1, A]`` to an action,
            like the ``opponent`` of a training environment; or, with ``takes="turn"``, an agent
            for :func:`ludex.play`.
        game: id of the game, or the game string with parameters.
        anchors: levels of the game's ladder, or agents of the server; by default the whole ladder.
        games: number of matches per anchor, rounded up to a multiple of the number of seats.
        takes: argument type of the policy.
        params: parameters of the game.
        url: the server; by default the local one of this process.
        token: access token.
        name: name of the agent.
        slots: number of concurrent matches.
        seed: seed of the bootstrap.
        patience: seconds to retry a lost connection.

    Raises:
        LudexError: an error from the server: ``unknown_game``, ``unknown_agent``, ...
        ValueError: there are no anchors, the game has only one seat, or no match was scored.
    """
    where = shared_url() if url is None else url
    with Client(where, token, patience=patience) as client:
        spec = client.describe(game, params)
    ladder = _ladder(spec)
    chosen = list(ladder) if anchors is None else list(anchors)
    named = [f"anchor level={a}" if isinstance(a, int) else a for a in chosen]
    if not named or spec.players < 2:
        raise ValueError(f"{spec.game}: expected at least one anchor and two seats")
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
    """Return the ratings of the anchors by agent spec."""
    ladder: dict[str, float | None] = {}
    for entry in spec.raw.get("anchors") or []:
        bot = entry.get("bot") or 1
        name = f"anchor level={entry['level']}" + (f" bot={bot}" if bot > 1 else "")
        # `random` is rated 0 on every scale, even if the ladder is not calibrated.
        ladder[name] = 0.0 if entry["level"] == 0 else entry.get("rating")
    return ladder


def _scores(result: MatchResult) -> list[float]:
    """Score the return against other seats; after a forfeit, only against the seat at fault."""
    if result.reason in UNRATED_REASONS or not result.returns:
        return []
    others = [seat for seat in range(len(result.returns)) if seat != result.seat]
    if result.at_fault is not None and result.at_fault != result.seat:
        others = [result.at_fault]
    mine = result.returns[result.seat]
    theirs = [result.returns[seat] for seat in others]
    return [1.0 if mine > other else 0.0 if mine < other else 0.5 for other in theirs]


def _blocks(results: Sequence[MatchResult], players: int) -> list[list[float]]:
    """Group matches so that each group has one match on each seat."""
    by_seat = [[r for r in results if r.seat == seat] for seat in range(players)]
    groups = [
        [score for r in group for score in _scores(r)] for group in zip(*by_seat, strict=False)
    ]
    return [group for group in groups if group]


def _score(anchor: str, rating: float | None, results: Sequence[MatchResult]) -> AnchorScore:
    scores = [score for result in results for score in _scores(result)]
    if not scores:
        raise ValueError(
            f"no match against {anchor} was scored; reasons: {[r.reason for r in results]}"
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
    """Return the 95 % interval of a proportion (E. B. Wilson, JASA 22, 1927)."""
    middle = p + z * z / (2 * n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    whole = 1 + z * z / n
    return max(0.0, (middle - half) / whole), min(1.0, (middle + half) / whole)
