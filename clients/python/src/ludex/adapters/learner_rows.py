"""The learner's situation in each environment of a batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..columns import Array


@dataclass
class Rows:
    """The learner's situation in each of n environments.

    Attributes:
        obs: the learner's views, ``[n, ...]``.
        mask: its legal actions, ``int8 [n, A]``; zeros if the episode is over.
        seat: its seat in this episode, ``int8 [n]``.
        reward: its reward since its last action, ``float64 [n]``.
        terminated: ``bool [n]``.
        truncated: ``bool [n]``.
        illegal: ``bool [n]``: whether an illegal action of the learner ended the episode.
        length: moves of all seats so far, ``int64 [n]``.
        opponent: position in the list of opponents, ``int64 [n]``.
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
        """Return a new copy, of all rows or of ``rows``."""
        return Rows(**{name: np.array(array[rows]) for name, array in vars(self).items()})


@dataclass
class Outcome:
    """What a step brought, if the next episodes have begun already.

    Attributes:
        reward: as in :class:`Rows`, as are the next five; all of the episode that was played.
        terminated: ``bool [n]``.
        truncated: ``bool [n]``.
        illegal: ``bool [n]``.
        seat: ``int8 [n]``.
        opponent: ``int64 [n]``.
        at: the environments whose episode has ended, ascending, ``int64 [k]``.
        obs: the last views of these, ``[k, ...]``.
    """

    reward: Array
    terminated: Array
    truncated: Array
    illegal: Array
    seat: Array
    opponent: Array
    at: Array
    obs: Array
