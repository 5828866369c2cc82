"""Samples of self-play are read shard by shard, and faults are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ludex


def write_samples(folder: Path, sizes: list[int]) -> list[dict[str, Any]]:
    """Write shards in the form of ``ludex selfplay`` and return their arrays."""
    rng = np.random.default_rng(0)
    folder.mkdir(exist_ok=True)
    (folder / "selfplay.json").write_text(json.dumps({"game": "tic_tac_toe", "sims": 8}))
    shards = []
    for number, rows in enumerate(sizes):
        shard = {
            "obs": rng.integers(0, 2, (rows, 2, 3, 3), np.uint8),
            "policy": rng.random((rows, 9), np.float32),
            "mask": np.ones((rows, 9), np.uint8),
            "value": rng.random((rows, 2), np.float32),
            "game": np.full(rows, number, np.int64),
            "seat": np.arange(rows, dtype=np.int64) % 2,
        }
        np.savez(folder / f"shard-{number:05}.npz", **shard)  # type: ignore[arg-type]
        shards.append(shard)
    return shards


def test_samples_are_read_in_order(tmp_path: Path) -> None:
    written = write_samples(tmp_path, [3, 5])
    samples = ludex.read_selfplay(tmp_path)
    assert samples.settings == {"game": "tic_tac_toe", "sims": 8}
    assert [len(shard["obs"]) for shard in samples] == [3, 5]
    arrays = samples.arrays()
    for name, column in arrays.items():
        parts = [shard[name] for shard in written]
        assert column.dtype == parts[0].dtype
        assert np.array_equal(column, np.concatenate(parts)), name
    assert sorted(arrays) == sorted(written[0])


def test_folder_without_samples_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ludex.LudexError, match=r"expected selfplay\.json and shard"):
        ludex.read_selfplay(tmp_path)
    (tmp_path / "selfplay.json").write_text("{}")
    with pytest.raises(ludex.LudexError, match=r"expected selfplay\.json and shard"):
        ludex.read_selfplay(tmp_path)


def test_damaged_shard_is_refused(tmp_path: Path) -> None:
    (shard,) = write_samples(tmp_path, [4])
    path = tmp_path / "shard-00000.npz"
    np.savez(path, **{**shard, "seat": shard["seat"][:2]})
    with pytest.raises(ludex.LudexError, match=r"shard-00000\.npz: expected arrays of one length"):
        ludex.read_selfplay(tmp_path).arrays()
    del shard["mask"]
    np.savez(path, **shard)
    with pytest.raises(ludex.LudexError, match="expected the arrays"):
        ludex.read_selfplay(tmp_path).arrays()
