"""Samples of self-play by the program: :func:`read_selfplay`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .columns import Array
from .errors import LudexError

COLUMNS = ("obs", "policy", "mask", "value", "game", "seat")


class SelfPlaySamples:
    """The samples that ``ludex selfplay GAME --out DIR`` wrote: a row for each decision.

    Attributes:
        settings: the settings of the command, from ``selfplay.json``.
        shards: paths of the shards, in order.
    """

    def __init__(self, settings: dict[str, Any], shards: list[Path]) -> None:
        self.settings = settings
        self.shards = shards

    def __iter__(self) -> Iterator[dict[str, Array]]:
        """Yield the columns of each shard, as :meth:`arrays` returns them.

        Raises:
            LudexError: ``bad_field``: a shard has no such column, or columns differ in length.
        """
        for path in self.shards:
            with np.load(path, allow_pickle=False) as shard:
                missing = [name for name in COLUMNS if name not in shard]
                if missing:
                    why = f"{path}: expected the arrays {list(COLUMNS)}, got {sorted(shard)}"
                    raise LudexError("bad_field", why, path=missing[0])
                columns = {name: shard[name] for name in COLUMNS}
            lengths = {name: len(column) for name, column in columns.items()}
            if len(set(lengths.values())) > 1:
                why = f"{path}: expected arrays of one length, got {lengths}"
                raise LudexError("bad_field", why)
            yield columns

    def arrays(self) -> dict[str, Array]:
        """Return the columns of all shards; n rows, A actions, P seats.

        - ``obs``: observations of the seat to move, ``[n, *shape]``, ``uint8`` or ``float32``.
        - ``policy``: shares of the visits, ``float32 [n, A]``.
        - ``mask``: legal actions, ``uint8 [n, A]``.
        - ``value``: final returns, from -1 (least return of the game) to 1 (greatest), ``float32
          [n, P]``: the observing seat first, then the others in order.
        - ``game``: number of the game, ``int64 [n]``.
        - ``seat``: observing seat, ``int64 [n]``.

        Raises:
            LudexError: ``bad_field``: as for the iterator.
        """
        shards = list(self)
        return {name: np.concatenate([shard[name] for shard in shards]) for name in COLUMNS}


def read_selfplay(folder: str | os.PathLike[str]) -> SelfPlaySamples:
    """Open the samples in a folder that ``ludex selfplay`` wrote; shards are read on access.

    Raises:
        LudexError: ``bad_field``: the folder has no ``selfplay.json``, or no shard.
    """
    where = Path(folder)
    shards = sorted(where.glob("shard-*.npz"))
    if not (where / "selfplay.json").is_file() or not shards:
        why = f"folder: expected selfplay.json and shard-*.npz, got {where}"
        raise LudexError("bad_field", why, got=os.fspath(folder))
    settings = json.loads((where / "selfplay.json").read_text(encoding="utf-8"))
    return SelfPlaySamples(settings, shards)
