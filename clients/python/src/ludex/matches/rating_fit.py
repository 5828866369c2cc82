"""Maximum-likelihood rating of one player against opponents with known ratings.

Model, prior, scale and bootstrap are described in docs/ratings.md (Davidson's model of wins, draws
and losses). The referee fits the ratings of all players; this module fits only one rating.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..columns import Array

PRIOR = 0.5
RESAMPLES = 1_000
POINTS_PER_NAT = 400.0 / math.log(10.0)
MAX_STRENGTH = 80.0


class Estimate(NamedTuple):
    """A rating with its 95 % interval.

    Attributes:
        rating: in Elo points, on the scale of the opponents' ratings.
        low: lower end of the interval.
        high: upper end.
        draws: probability of a draw between equal players.
    """

    rating: float
    low: float
    high: float
    draws: float


def estimate(
    ratings: Sequence[float], blocks: Sequence[tuple[int, Sequence[float]]], *, seed: int = 0
) -> Estimate:
    """Estimate the rating of a player.

    Args:
        ratings: ratings of the opponents.
        blocks: units of resampling: the index of the opponent, and the player's scores (1, 0.5 or
            0) in related games, such as one on each seat.
        seed: seed of the resampling.

    Raises:
        ValueError: there are no games.
    """
    if not any(len(scores) for _, scores in blocks):
        raise ValueError("blocks: expected at least one game, got no games")
    counts = np.zeros((len(blocks), len(ratings), 3))
    for row, (opponent, scores) in zip(counts, blocks, strict=True):
        for score in scores:
            row[opponent, 0 if score > 0.5 else 2 if score < 0.5 else 1] += 1
    whole = counts.sum(axis=0)
    share = whole.sum(axis=1) / whole.sum()
    games = whole + PRIOR * share[:, None] * np.array([1.0, 0.0, 1.0])
    nu = _fit_nu(np.asarray(ratings, np.float64), games)
    scale = POINTS_PER_NAT * 2.0 / (2.0 + nu)
    anchors = np.asarray(ratings, np.float64) / scale

    random = np.random.default_rng(seed)
    times = random.multinomial(len(blocks), [1 / len(blocks)] * len(blocks), RESAMPLES)
    sampled = np.tensordot(times.astype(np.float64), counts, axes=1)
    # Half the square of a normal variable is Gamma(1/2): the prior's half win and half loss.
    prior = random.standard_normal((RESAMPLES, 1, 2)) ** 2 / 2.0
    sampled[:, :, [0, 2]] += prior * share[None, :, None]
    values = _strength(anchors, sampled, nu) * scale
    low, high = np.quantile(values, [0.025, 0.975])
    rating = float(_strength(anchors, games[None], nu)[0] * scale)
    return Estimate(rating, float(low), float(high), nu / (2.0 + nu))


def _strength(anchors: Array, games: Array, nu: float) -> Array:
    """Return the maximum-likelihood strength for each of ``games [k, opponents, 3]``.

    The log-likelihood is concave, so bisection finds the only zero of its slope.
    """
    low = np.full(len(games), -MAX_STRENGTH)
    high = np.full(len(games), MAX_STRENGTH)
    for _ in range(64):
        middle = (low + high) / 2.0
        d = middle[:, None] - anchors
        t = np.exp(-np.abs(d) / 2.0)
        expected = np.sign(d) * (1.0 - t * t) / (1.0 + t * t + nu * t)
        slope = (games[..., 0] - games[..., 2] - games.sum(axis=-1) * expected).sum(axis=1)
        low, high = np.where(slope > 0, middle, low), np.where(slope > 0, high, middle)
    found: Array = (low + high) / 2.0
    return found


def _likelihood(ratings: Array, games: Array, nu: float) -> float:
    """Return the maximum log-likelihood for this ``nu``."""
    anchors = ratings / (POINTS_PER_NAT * 2.0 / (2.0 + nu))
    d = _strength(anchors, games[None], nu)[0] - anchors
    t = np.exp(-np.abs(d) / 2.0)
    wins, draws, losses = games.T
    drawn = np.where(
        draws > 0, draws * (math.log(nu) if nu > 0 else 0.0) - draws * np.abs(d) / 2, 0
    )
    lost = np.where(d > 0, losses, wins)
    terms = drawn - lost * np.abs(d) - games.sum(axis=1) * np.log(1.0 + t * t + nu * t)
    return float(terms.sum())


def _fit_nu(ratings: Array, games: Array) -> float:
    """Return the maximum-likelihood ``nu`` by golden-section search over the draw probability."""
    if not games[:, 1].any():
        return 0.0

    def nu(share: float) -> float:
        return 2.0 * share / (1.0 - share)

    ratio = (math.sqrt(5.0) - 1.0) / 2.0
    low, high = 0.0, 0.999
    x, y = high - ratio * (high - low), low + ratio * (high - low)
    fx, fy = (_likelihood(ratings, games, nu(share)) for share in (x, y))
    while high - low > 1e-6:
        if fx > fy:
            high, y, fy = y, x, fx
            x = high - ratio * (high - low)
            fx = _likelihood(ratings, games, nu(x))
        else:
            low, x, fx = x, y, fy
            y = low + ratio * (high - low)
            fy = _likelihood(ratings, games, nu(y))
    return nu((low + high) / 2.0)
