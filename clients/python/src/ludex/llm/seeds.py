"""Seeds and seats of episodes, as rows of a data set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

FIRST_SEEDS = {"train": 0, "eval": 2**32}
"""First seed of each split; the seeds of the splits are disjoint up to 2^32 rows."""


def seed_rows(
    count: int,
    split: Literal["train", "eval"] = "train",
    *,
    players: int = 2,
    first: int = 0,
    seeds: Sequence[int] | None = None,
) -> list[dict[str, int]]:
    """Return rows with the columns ``seed`` and ``seat``, where the seats of a seed take turns.

    Args:
        count: maximum number of rows.
        split: ``"train"`` or ``"eval"``, which have no seed in common.
        players: number of seats of the game.
        first: number of rows to skip, for further rows of the same split.
        seeds: these seeds, each once per seat, instead of those of a split.

    Raises:
        ValueError: the split is unknown.
    """
    if split not in FIRST_SEEDS:
        raise ValueError(f"split: expected 'train' or 'eval', got {split!r}")
    start = FIRST_SEEDS[split]
    end = first + count if seeds is None else min(first + count, len(seeds) * players)
    found = []
    for row in range(first, end):
        seed = start + row // players if seeds is None else seeds[row // players]
        found.append({"seed": seed, "seat": row % players})
    return found
