"""Per-environment data of the learner's seat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..columns import Array


@dataclass
class Rows:
    """Data of the learner's seat in each of n environments.

    Attributes:
        obs: observations of the learner, ``[n, ...]``.
        mask: legal actions of the learner, ``int8 [n, A]``; zeros if the episode is over.
        seat: seat of the learner in this episode, ``int8 [n]``.
        reward: reward since the learner's last action, ``float64 [n]``.
        terminated: ``bool [n]``.
        truncated: ``bool [n]``.
        illegal: ``bool [n]``: True if an illegal action of the learner ended the episode.
        length: number of moves of all seats so far, ``int64 [n]``.
        opponent: index into the list of opponents, ``int64 [n]``.
    """

    obs: Array
    mask: Array
    seat: Array
    reward: Array
    terminated: Array
    truncated: Array
    illegal: Array
    length: Array
    opponent: Array

    @property
    def over(self) -> Array:
        """``bool [n]``: the episode has terminated or was truncated."""
        return self.terminated | self.truncated

    def copy(self, rows: Any = slice(None)) -> Rows:
        """Return a copy of all rows, or of ``rows``."""
        return Rows(**{name: np.array(array[rows]) for name, array in vars(self).items()})


@dataclass
class Outcome:
    """Result of a step that has already reset the environments whose episodes ended.

    Attributes:
        reward: reward in the episode that was stepped; this attribute and the next five are as in
        :class:`Rows`.
        terminated: ``bool [n]``.
        truncated: ``bool [n]``.
        illegal: ``bool [n]``.
        seat: ``int8 [n]``.
        opponent: ``int64 [n]``.
        at: ascending indices of the environments whose episode has ended, ``int64 [k]``.
        obs: final observations of these environments, ``[k, ...]``.
    """

    reward: Array
    terminated: Array
    truncated: Array
    illegal: Array
    seat: Array
    opponent: Array
    at: Array
    obs: Array
