"""Batches as tensors of PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import ludex


@pytest.fixture(scope="module")
def client(url: str) -> Iterator[ludex.Client]:
    with ludex.Client(url) as client:
        yield client


def play(client: ludex.Client, **options: Any) -> ludex.Batch:
    """Return a batch in which episodes have ended."""
    vec = client.open_vec("tic_tac_toe", 3, autoreset="same_step", **options)
    batch = vec.reset(seed=0)
    while batch.final is None:
        batch = vec.step([int(np.flatnonzero(row)[0]) for row in batch.mask])
    return batch


def test_tensors_share_memory_of_arrays(client: ludex.Client) -> None:
    batch = play(client, mask="u1", views=["tensor", "returns"])
    tensors = batch.torch()
    names = ("to_move", "obs", "mask", "reward", "returns", "terminated", "truncated", "length")
    for name in (*names, "episode"):
        array, tensor = getattr(batch, name), getattr(tensors, name)
        assert np.array_equal(tensor.numpy(), array), name
        assert tensor.numpy().dtype == array.dtype, name
        assert tensor.data_ptr() == array.ctypes.data, name
    assert batch.final is not None
    assert tensors.final_at is not None
    assert tensors.final_at.tolist() == batch.final.at.tolist()
    assert np.array_equal(np.asarray(tensors.final_obs), batch.final.obs)
    assert (tensors.seat, tensors.info, tensors.envs) == (None, None, None)


def test_mask_of_ids_has_no_tensor(client: ludex.Client) -> None:
    vec = client.open_vec("tic_tac_toe", 3, mask="ids")
    assert vec.reset(seed=0).torch().mask is None


def test_arrays_are_copied_where_dlpack_refuses_them(
    client: ludex.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(array: Any) -> torch.Tensor:
        raise BufferError("read-only")

    batch = play(client, mask="u1")
    monkeypatch.setattr(torch, "from_dlpack", refuse)
    obs = batch.torch().obs
    assert isinstance(obs, torch.Tensor)
    assert np.array_equal(obs.numpy(), batch.obs)
    assert obs.data_ptr() != batch.obs.ctypes.data
