"""Seeds and seats of episodes, as rows of a data set."""

from __future__ import annotations

from typing import Literal

FIRST_SEEDS = {"train": 0, "eval": 2**32}
"""First seed of each split; the seeds of the splits are disjoint up to 2^32 rows."""


def seed_rows(
    count: int, split: Literal["train", "eval"] = "train", *, players: int = 2, first: int = 0
) -> list[dict[str, int]]:
    """Return rows with the columns ``seed`` and ``seat``, where the seats of a seed take turns.

    Args:
        count: number of rows.
        split: ``"train"`` or ``"eval"``, which have no seed in common.
        players: number of seats of the game.
        first: number of rows to skip, for further rows of the same split.

    Raises:
        ValueError: the split is unknown.
    """
    if split not in FIRST_SEEDS:
        raise ValueError(f"split: expected 'train' or 'eval', got {split!r}")
    start = FIRST_SEEDS[split]
    rows = range(first, first + count)
    return [{"seed": start + row // players, "seat": row % players} for row in rows]
