"""The golden frames of the repository, decoded from both encodings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ludex
from ludex.matches.player import decode_view, expand_ids
from ludex.transport.wire import pack, unpack
from ludex.vec import Batch, decode_batch

GOLDEN = Path(__file__).parents[3] / "tests" / "data" / "frames" / "frames.jsonl"


@pytest.fixture(scope="module")
def frames() -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Return server frames by name, decoded from MessagePack and from JSON."""
    lines = [json.loads(line) for line in GOLDEN.read_text().splitlines()]
    return {
        line["name"]: (unpack(bytes.fromhex(line["msgpack"])), line["json"])
        for line in lines
        if line["from"] == "server"
    }


def same(left: Any, right: Any) -> bool:
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and np.array_equal(left, right)
    if isinstance(left, (tuple, list)):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def test_batches_match_golden_frames(
    frames: dict[str, tuple[dict[str, Any], dict[str, Any]]],
) -> None:
    batches: dict[str, Batch] = {}
    for name in ("batch", "batch_dense", "batch_same_step"):
        binary, text = (decode_batch(f, 2, 2, every_seat=False) for f in frames[name])
        for field in Batch.__slots__:
            assert same(getattr(binary, field), getattr(text, field)), (name, field)
        batches[name] = binary
    assert batches["batch"].length.tolist() == [3, 70_000]
    assert batches["batch"].reward.tolist() == [[0.0, 0.5], [-1.0, 1.0]]
    dense = batches["batch_dense"]
    assert (dense.mask.tolist(), dense.obs.shape) == ([[1, 0], [1, 0]], (2, 1, 2))
    assert dense.illegal is not None
    assert (dense.illegal.tolist(), dense.seat.tolist()) == ([1], [0, 1])
    ended = batches["batch_same_step"]
    assert ended.final is not None
    assert ended.final.obs.tolist() == [[-70_000]]
    assert (ended.final.returns.tolist(), ended.final.text) == ([[-1.0, 1.0]], ["x"])
    assert ended.chance is not None
    assert ended.chance.probabilities.tolist() == [0.25, 0.75]
    assert ended.skipped is not None
    assert ended.skipped.returns.tolist() == [[1.0, -1.0], [0.5, -0.5]]


def test_other_messages_match_golden_frames(
    frames: dict[str, tuple[dict[str, Any], dict[str, Any]]],
) -> None:
    for frame in frames["spec"]:
        spec = ludex.Spec.from_wire(frame["spec"])
        assert (spec.string, spec.players, spec.actions) == ("tic_tac_toe", 2, 9)
        assert (spec.min_return, spec.raw["title"]) == (-1.5, "Tic-tac-toe")
    for frame in frames["turn_ranges"]:
        assert expand_ids(frame["legal"]) == [*range(19), 361]
    for frame in frames["turn"]:
        assert decode_view(frame["view"])["tensor"].tolist() == [[0, 1], [1, 0]]
    for frame in frames["error"]:
        error = ludex.LudexError.from_wire(frame)
        assert (error.code, error.index, error.allowed) == ("illegal_action", 1, [0, 1, 2])
    for binary, text in frames.values():
        assert unpack(pack(binary)) == binary
        assert binary["type"] == text["type"]
