"""Meta-strategies: distributions over the members of a league, from their payoffs.

``payoffs[a, b]`` is the payoff of member a against member b.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from .columns import Array

MetaStrategy = Literal["uniform", "nash", "alpha_rank"]


def uniform(payoffs: Array) -> Array:
    """Return equal probabilities."""
    return np.full(len(payoffs), 1 / len(payoffs))


def nash(payoffs: Array, *, rounds: int = 10_000) -> Array:
    """Return an approximate equilibrium of the zero-sum game with the payoff differences.

    Each member gains ``(payoffs[a, b] - payoffs[b, a]) / 2`` against another. The result is the
    average strategy of predictive regret matching+ (G. Farina, C. Kroer and T. Sandholm, AAAI
    2021), weighted linearly by round. More rounds are more accurate.
    """
    gains = (payoffs - payoffs.T) / 2
    regrets, last, average = np.zeros((3, len(gains)))
    for weight in range(1, rounds + 1):
        expected = np.maximum(regrets + last, 0.0)
        total = expected.sum()
        strategy = expected / total if total > 0 else uniform(gains)
        average += weight * strategy
        values = gains @ strategy
        last = values - strategy @ values
        regrets = np.maximum(regrets + last, 0.0)
    masses: Array = average / average.sum()
    return masses


def alpha_rank(payoffs: Array, *, alpha: float = 100.0, population: int = 50) -> Array:
    """Return the stationary distribution of alpha-rank with one population (docs/metrics.md).

    Source: S. Omidshafiei and others, Scientific Reports 9 (2019).

    Args:
        payoffs: the payoffs.
        alpha: selection strength, per unit of payoff.
        population: number of individuals.
    """
    count = len(payoffs)
    rates = _fixation(alpha * (payoffs.T - payoffs), population)
    np.fill_diagonal(rates, 0.0)
    reached = (rates > 0) | np.eye(count, dtype=bool)
    for _ in range(count.bit_length()):
        reached = (reached.astype(int) @ reached.astype(int)) > 0
    # One of two members can always take over from the other, so exactly one class is closed: the
    # members that all members can reach.
    closed = next(a for a in range(count) if reached[reached[a], a].all())
    members = np.flatnonzero(reached[closed])
    masses = np.zeros(count)
    masses[members] = _stationary(rates[np.ix_(members, members)])
    return masses


def _fixation(gains: Array, population: int) -> Array:
    """Return the probability that a mutant takes over, by its gain times the selection strength.

    It is ``(1 - exp(-u)) / (1 - exp(-m u))``, and 1/m for u = 0.
    """
    size = np.maximum(np.abs(gains), 1e-14)
    up = np.expm1(-size) / np.expm1(-population * size)
    down = np.exp(-(population - 1) * size) * up
    found: Array = np.where(gains >= 0, up, down)
    return np.where(np.abs(gains) < 1e-14, 1 / population, found)


def _stationary(rates: Array) -> Array:
    """Return the stationary distribution of an irreducible chain with rates off the diagonal.

    States are eliminated one by one without subtractions, so that small probabilities are accurate
    (W. Grassmann, M. Taksar and D. Heyman, Operations Research 33, 1985).
    """
    rates = rates.copy()
    for last in range(len(rates) - 1, 0, -1):
        rates[:last, last] /= rates[last, :last].sum()
        rates[:last, :last] += np.outer(rates[:last, last], rates[last, :last])
    masses = np.ones(len(rates))
    for state in range(1, len(rates)):
        masses[state] = masses[:state] @ rates[:state, state]
    shares: Array = masses / masses.sum()
    return shares
