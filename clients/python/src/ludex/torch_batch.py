"""Batches as tensors of PyTorch, which share the memory of the message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from .columns import Array, Ragged, Views
from .optional_imports import import_optional

import_optional("torch", "torch", user="Batch.torch")

import torch  # noqa: E402

if TYPE_CHECKING:
    from .vec import Batch

Tensors: TypeAlias = torch.Tensor | dict[str, torch.Tensor]


@dataclass(eq=False, slots=True)
class TorchBatch:
    """The arrays of a :class:`ludex.Batch` as tensors, with their shapes and types.

    The tensors share memory with the batch, and PyTorch does not protect it: clone a tensor before
    you write to it. An array that was not requested is ``None``.

    Attributes:
        to_move: ``int8 [R]``.
        seat: ``int8 [R]``.
        obs: a tensor, or a dict of tensors.
        info: a tensor, or a dict of tensors.
        mask: ``uint8``; ``None`` for masks of ids, whose rows have different lengths.
        reward: ``float32 [R, P]``.
        returns: ``float64 [R, P]``.
        terminated: ``bool [R]``.
        truncated: ``bool [R]``.
        length: ``uint32 [R]``.
        episode: ``uint32 [R]``.
        final_at: rows whose episode ended and was reset, ``uint32 [K]``.
        final_obs: final observations of these episodes, first axis K.
        illegal: ``uint32``.
        envs: ``uint32 [R]``.
    """

    to_move: torch.Tensor
    seat: torch.Tensor | None
    obs: Tensors | None
    info: Tensors | None
    mask: torch.Tensor | None
    reward: torch.Tensor
    returns: torch.Tensor | None
    terminated: torch.Tensor
    truncated: torch.Tensor
    length: torch.Tensor
    episode: torch.Tensor
    final_at: torch.Tensor | None
    final_obs: Tensors | None
    illegal: torch.Tensor | None
    envs: torch.Tensor | None


def torch_batch(batch: Batch, *, pin_memory: bool) -> TorchBatch:
    """Return the arrays of a batch as tensors."""

    def one(array: Array) -> torch.Tensor:
        tensor = _shared(array)
        return tensor.pin_memory() if pin_memory else tensor

    def maybe(array: Array | None) -> torch.Tensor | None:
        return None if array is None else one(array)

    def views(arrays: Views | None) -> Tensors | None:
        if isinstance(arrays, dict):
            return {name: one(array) for name, array in arrays.items()}
        return maybe(arrays)

    final = batch.final
    return TorchBatch(
        to_move=one(batch.to_move),
        seat=maybe(batch.seat),
        obs=views(batch.obs),
        info=views(batch.info),
        mask=None if isinstance(batch.mask, Ragged) else maybe(batch.mask),
        reward=one(batch.reward),
        returns=maybe(batch.returns),
        terminated=one(batch.terminated),
        truncated=one(batch.truncated),
        length=one(batch.length),
        episode=one(batch.episode),
        final_at=None if final is None else one(final.at),
        final_obs=None if final is None else views(final.obs),
        illegal=maybe(batch.illegal),
        envs=maybe(batch.envs),
    )


def _shared(array: Array) -> torch.Tensor:
    try:
        return torch.from_dlpack(array)
    except BufferError:
        # Older versions of NumPy or PyTorch do not exchange read-only arrays.
        return torch.from_numpy(array.copy())
