"""Gymnasium spaces of a game's arrays."""

from __future__ import annotations

import numpy as np

from ..columns import TENSOR_TYPES
from ..optional_imports import import_optional
from ..spec import Spec

import_optional("gymnasium", "gymnasium")

from gymnasium import spaces  # noqa: E402


def observation_space(spec: Spec) -> spaces.Box:
    """Return the space of a game's observation array.

    Raises:
        LudexError: ``bad_field``: the game has no such array.
    """
    tensor = spec.array()
    dtype = TENSOR_TYPES[tensor["d"]]
    low, high = dtype.type(tensor["low"]), dtype.type(tensor["high"])
    return spaces.Box(low, high, tuple(tensor["s"]), dtype.type)


def state_space(spec: Spec) -> spaces.Box:
    """Return the space of the observations of all seats, concatenated along the first axis.

    Raises:
        LudexError: ``bad_field``: the game has no observation array.
    """
    one = observation_space(spec)
    rows, *rest = one.shape
    low, high = one.low.flat[0], one.high.flat[0]
    return spaces.Box(low, high, (spec.players * rows, *rest), one.dtype.type)


def masked_space(spec: Spec, observation: str = "observation") -> spaces.Dict:
    """Return the space of observations with masks, under PettingZoo's names.

    Raises:
        LudexError: ``bad_field``: the game has no observation array.
    """
    mask = spaces.Box(0, 1, (spec.actions,), np.int8)
    return spaces.Dict({observation: observation_space(spec), "action_mask": mask})
