"""The row of a ``batch`` of one environment.

Environments that are stepped alone need a few numbers of each batch. Reading these costs less than
building an array for every column.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from .columns import I1, TENSOR_TYPES, U1, Array, Views, column, dense, tensors
from .errors import LudexError
from .transport.wire import Message


class Row:
    """The row of an environment with P seats.

    Views and legal actions are decoded on request.

    Attributes:
        frame: the message.
        to_move: seat to move, or a negative number as in :class:`ludex.State`.
        rewards: reward of each seat.
        terminated: True if the episode ended by the rules.
        truncated: True if ``max_steps`` ended the episode.
    """

    __slots__ = ("frame", "rewards", "terminated", "to_move", "truncated")

    def __init__(self, frame: Message, players: int) -> None:
        self.frame = frame
        (self.to_move,) = self.numbers("to_move", "<b")
        (self.terminated,) = self.numbers("terminated", "<?")
        (self.truncated,) = self.numbers("truncated", "<?")
        self.rewards = list(self.numbers("reward", f"<{players}f"))

    def numbers(self, name: str, layout: str) -> tuple[Any, ...]:
        """Return the numbers of a column with the ``layout`` of :mod:`struct`.

        Raises:
            LudexError: ``protocol`` if the column has another length.
        """
        try:
            return struct.unpack(layout, self.frame[name])
        except (KeyError, TypeError, struct.error) as error:
            raise _mismatch(name, error) from error

    def legal(self, viewer: int) -> list[int]:
        """Return the legal actions of a viewer from a mask of ids; empty without a mask."""
        mask = self.frame.get("mask")
        if mask is None:
            return []
        begin, end = struct.unpack_from("<2I", mask["o"], 4 * viewer)
        return list(struct.unpack_from(f"<{end - begin}I", mask["a"], 4 * begin))

    def mask(self, actions: int, viewers: int) -> Array:
        """Return the legal actions of all viewers from a mask of bytes or bits: ``int8 [V, A]``."""
        return dense(column(self.frame["mask"], U1, (viewers, -1)), actions)

    def mask_of(self, actions: int, viewers: int = 1, viewer: int = 0) -> Array:
        """Return a new array of the legal actions of a viewer, ``int8 [A]``.

        Raises:
            LudexError: ``protocol`` if the mask has another length.
        """
        data = self.frame["mask"]
        mask: Array
        if len(data) == viewers * actions:
            mask = np.ndarray(
                actions, I1, bytearray(data[viewer * actions : (viewer + 1) * actions])
            )
        else:
            mask = self.mask(actions, viewers)[viewer].copy()
        return mask

    def array(self, name: str, seat: int | None = None) -> Array:
        """Return a new array of the only tensor of ``obs`` or ``info``.

        Args:
            name: the view.
            seat: index on the first axis, for batches with the views of all seats.

        Raises:
            LudexError: ``protocol`` if the tensor has another length.
        """
        try:
            (sent,) = self.frame[name].values()
            data, (_, *shape) = sent["b"], sent["s"]
            if seat is not None:
                players, *shape = shape
                size = len(data) // players
                data = data[seat * size : (seat + 1) * size]
            array: Array = np.ndarray(shape, TENSOR_TYPES[sent["d"]], bytearray(data))
            return array
        except (KeyError, TypeError, ValueError) as error:
            raise _mismatch(name, error) from error

    def view(self, name: str) -> Views | None:
        """Return the tensors ``obs`` or ``info``, read-only; ``None`` if not sent.

        With ``observer="all"``, the first axis is that of the seats.
        """
        sent = self.frame.get(name)
        if sent is None:
            return None
        views = tensors(sent)
        if isinstance(views, dict):
            return {key: array[0] for key, array in views.items()}
        first: Array = views[0]
        return first

    def per_seat(self, name: str) -> list[Any] | None:
        """Return the view ``struct``, ``text`` or ``prompt`` of each seat; ``None`` if not sent."""
        views = self.frame.get(name)
        if views and len(views) == 1 and isinstance(views[0], list):
            return list(views[0])
        return views


def _mismatch(name: str, error: Exception) -> LudexError:
    message = f"column: {name}: expected one row from the server: {error}"
    return LudexError("protocol", message, fault="server")
