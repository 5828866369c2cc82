"""Codec of columns and tensors, the arrays in messages (docs/protocol.md, section 1).

Decoded arrays are read-only views of the received bytes, not copies.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from .errors import LudexError

U1 = np.dtype("u1")
I1 = np.dtype("i1")
U4 = np.dtype("<u4")
I4 = np.dtype("<i4")
F4 = np.dtype("<f4")
F8 = np.dtype("<f8")
BOOL = np.dtype("?")

I2 = np.dtype("<i2")

TENSOR_TYPES: dict[str, np.dtype[Any]] = {"u1": U1, "i1": I1, "i2": I2, "i4": I4, "f4": F4}
"""NumPy types by their names in messages."""

DENSE_ACTIONS = 512
"""Maximum number of actions for masks of bytes; larger masks are sent as bits."""

Array = npt.NDArray[Any]
Views = Array | dict[str, Array]


class Ragged(NamedTuple):
    """Lists of different lengths in two flat arrays; row i is ``values[at[i]:at[i + 1]]``.

    Attributes:
        at: offsets, ``uint32 [rows + 1]``.
        values: the concatenated rows, ``uint32``.
    """

    at: Array
    values: Array

    def row(self, index: int) -> Array:
        """Return row ``index`` as a view.

        Raises:
            IndexError: the row does not exist.
        """
        if not 0 <= index < len(self.at) - 1:
            raise IndexError(index)
        return self.values[self.at[index] : self.at[index + 1]]


def column(value: Any, dtype: np.dtype[Any], shape: tuple[int, ...] | None = None) -> Array:
    """Decode a column of ``dtype``, reshaped to ``shape``.

    Raises:
        LudexError: ``protocol`` if the bytes do not match type and shape.
    """
    try:
        if isinstance(value, bytes):
            array = np.frombuffer(value, dtype)
        else:
            array = np.array(value, dtype)
            array.flags.writeable = False
        return array if shape is None or array.shape == shape else array.reshape(shape)
    except (ValueError, TypeError) as error:
        raise LudexError(
            "protocol", f"column: expected {dtype} {shape} from the server: {error}", fault="server"
        ) from error


def tensor(value: Any) -> Array:
    """Decode a tensor ``{d, s, b}``.

    Raises:
        LudexError: ``protocol`` if the value is not a tensor.
    """
    try:
        dtype = TENSOR_TYPES[value["d"]]
        shape = tuple(value["s"])
        data = value["b"] if "b" in value else value["v"]
    except (KeyError, TypeError) as error:
        raise LudexError("protocol", f"expected a tensor, got {error!r}", fault="server") from error
    return column(data, dtype, shape)


def tensors(value: Any) -> Views:
    """Decode tensors ``{name: tensor}``; if there is only one, return its array."""
    arrays = {name: tensor(entry) for name, entry in value.items()}
    if len(arrays) == 1:
        (array,) = arrays.values()
        return array
    return arrays


def ragged(value: Any) -> Ragged:
    """Decode a ragged column ``{o, a}`` of offsets and values."""
    return Ragged(column(value["o"], U4), column(value["a"], U4))


def mask_encoding(actions: int) -> Literal["u1", "bits"]:
    """Return the mask encoding that adapters request for a game with ``actions`` actions."""
    return "u1" if actions <= DENSE_ACTIONS else "bits"


def dense(mask: Array, actions: int) -> Array:
    """Convert a mask in either encoding of :func:`mask_encoding` to ``int8 [..., A]``."""
    if mask.shape[-1] != actions:
        mask = np.unpackbits(mask, axis=-1, count=actions, bitorder="little")
    return mask.view(np.int8)


def pack_ids(ids: Sequence[int]) -> bytes:
    """Encode a few action ids as a column.

    Raises:
        ValueError: an id does not fit ``int32``.
    """
    try:
        return struct.pack(f"<{len(ids)}i", *ids)
    except struct.error:
        return packed(ids, I4)


def packed(values: Any, dtype: np.dtype[Any]) -> bytes:
    """Encode numbers as a column, in C order.

    Raises:
        ValueError: a number does not fit ``dtype``.
    """
    array = np.asarray(values)
    if array.dtype != dtype and array.size:
        if array.dtype.kind not in "iub":
            raise ValueError(f"expected integers, got {array.dtype}")
        bounds = np.iinfo(dtype)
        if array.min() < bounds.min or array.max() > bounds.max:
            raise ValueError(
                f"expected numbers in {bounds.min}..{bounds.max}, got {array.min()}..{array.max()}"
            )
    return np.ascontiguousarray(array, dtype).tobytes()
