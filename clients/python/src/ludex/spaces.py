"""A game's arrays as Gymnasium spaces."""

from __future__ import annotations

import numpy as np

from .errors import LudexError
from .extras import wanted
from .spec import Spec

wanted("gymnasium", "gymnasium")

from gymnasium import spaces  # noqa: E402


def observation_space(spec: Spec) -> spaces.Box:
    """Return the space of a game's observation array.

    Raises:
        LudexError: ``bad_field``: the game has no such array.
    """
    if not spec.views.get("tensor"):
        raise LudexError(
            "bad_field",
            f"{spec.game} has no observation arrays: play it with ludex.Client.open",
            path="views",
        )
    (tensor,) = spec.views["tensor"].values()
    dtype = np.dtype({"u1": "u1", "i1": "i1", "i2": "i2", "i4": "i4", "f4": "f4"}[tensor["d"]])
    low, high = dtype.type(tensor["low"]), dtype.type(tensor["high"])
    return spaces.Box(low, high, tuple(tensor["s"]), dtype.type)


def masked_space(spec: Spec, observation: str = "observation") -> spaces.Dict:
    """Return the space of observations with their masks, by PettingZoo's names.

    Raises:
        LudexError: ``bad_field``: the game has no observation array.
    """
    mask = spaces.Box(0, 1, (spec.actions,), np.int8)
    return spaces.Dict({observation: observation_space(spec), "action_mask": mask})
