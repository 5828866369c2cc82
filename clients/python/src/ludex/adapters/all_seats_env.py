"""Environment in which the client plays every seat, for the multi-agent adapters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgpack
import numpy as np

from ..columns import Array, dense, mask_encoding
from ..env import OVER, SIMULTANEOUS
from ..errors import LudexError
from ..picture import Picture
from ..spec import Spec
from ..transport.guard import ChangeGuard
from ..vec import Batch
from .options import AdapterOptions


class AllSeatsEnv(ChangeGuard):
    """One environment in which the client plays every seat. An illegal action loses the episode.

    An adapter must call :meth:`confirm` after it has built the result of a step or reset. If an
    interrupt prevents this call, the next step is refused.

    Attributes:
        spec: the game.
        acting: ascending seats to act; empty if the episode is over.
        rewards: the rewards of all seats in the last step.
        terminated: True if the episode ended by the rules.
        truncated: True if ``max_steps`` ended the episode.
        illegal: seat whose illegal action ended the episode, if any.
        recall: True if observations are perfect-recall tensors.
    """

    def __init__(
        self,
        adapter_options: AdapterOptions,
        *,
        layout: str | None = None,
        recall: bool | None = False,
    ) -> None:
        """Connect and open the environment.

        Args:
            adapter_options: the game and its server.
            layout: name of an alternative layout of observations, as listed in the spec.
            recall: True if :meth:`obs` returns perfect-recall tensors; ``None``: if the game has
                them.

        Raises:
            LudexError: ``bad_field``: the game has no such array; or an error from the server:
                ``unknown_game``, ``bad_params``, ...
        """
        with adapter_options.client() as client:
            spec = adapter_options.describe(client)
            self.recall = bool(spec.views.get("info")) if recall is None else recall
            view = "info" if self.recall else "tensor"
            spec.array(view)  # raises an error if the game has none
            self._vec = client.open_vec(
                adapter_options.game,
                1,
                adapter_options.params,
                autoreset="disabled",
                observer="all",
                views=[view],
                layout=layout,
                mask=mask_encoding(spec.actions),
                on_illegal="lose",
                max_steps=adapter_options.max_steps,
            )
        self._client = client
        self.spec: Spec = self._vec.spec
        self.acting: list[int] = []
        self.rewards = [0.0] * spec.players
        self.terminated = self.truncated = False
        self.illegal: int | None = None
        self._batch: Batch | None = None
        self._mask = np.zeros((spec.players, spec.actions), np.int8)

    @property
    def is_over(self) -> bool:
        """True if the episode has terminated or was truncated."""
        return self.terminated or self.truncated

    @property
    def is_simultaneous(self) -> bool:
        """True if the acting seats move simultaneously."""
        return self._batch is not None and int(self._batch.to_move[0]) == SIMULTANEOUS

    def reset(self, seed: int | None = None) -> None:
        """Start an episode; without a seed, continue the series of the last seed.

        Raises:
            LudexError: ``bad_seed``, ``session_lost``, ...
        """
        self._discard_change()
        self._move(lambda: self._vec.reset(seed), None)

    def step(self, actions: Mapping[int, Any]) -> None:
        """Play the actions of the acting seats; ignore those of other seats.

        Raises:
            LudexError: ``env_over`` if no episode is running.
            KeyError: the action of a seat that must act is missing.
            TypeError: an action is not an integer.
        """
        if not self.acting:
            raise LudexError("env_over", "the episode is over; call reset() first")
        row = np.full(self.spec.players, -1, np.int64)
        illegal = None
        for seat in self.acting:
            action = _to_integer(actions[seat])
            # -1 means "no action" on the wire, so any invalid number is mapped to an illegal id.
            known = 0 <= action < self.spec.actions
            row[seat] = action if known else self.spec.actions
            if illegal is None and not (known and self._mask[seat, action]):
                illegal = seat
        joint = self.spec.dynamics != "sequential" and self.spec.players > 1
        self._move(lambda: self._vec.step(row[None] if joint else row[self.acting]), illegal)

    def history(self) -> list[list[Any]]:
        """Return the moves so far as pairs of player and action; makes a round trip.

        Raises:
            LudexError: ``env_over``: no episode has started, or an illegal action has ended it.
        """
        self._require_batch()
        if self.illegal is not None:
            raise LudexError(
                "env_over", "the episode ended by an illegal action; call reset() first"
            )
        moves: list[list[Any]] = msgpack.unpackb(self._vec.snapshot()[0])["h"]
        return moves

    def restore(self, moves: Sequence[Sequence[Any]]) -> None:
        """Set the state to the position after ``history``.

        Raises:
            LudexError: ``bad_snapshot``: a move is illegal in its state.
        """
        item = {**msgpack.unpackb(self._vec.snapshot()[0]), "h": moves}
        self._discard_change()
        self._move(lambda: self._vec.restore([msgpack.packb(item)]), None)

    def confirm(self) -> None:
        """Confirm that the caller has received the complete result of the last step or reset."""
        self._confirm()

    def _move(self, do: Callable[[], Batch], illegal: int | None) -> None:
        """Start a change, which ends with :meth:`confirm` or with an error from the server."""
        self._begin()
        try:
            self._take(do())
        except LudexError:
            self._confirm()
            raise
        self.illegal = illegal

    def obs(self, seat: int) -> Array:
        """Return a copy of a seat's observation.

        Raises:
            LudexError: no episode has started.
        """
        batch = self._require_batch()
        view: Array = (batch.info if self.recall else batch.obs)[0, seat].copy()
        return view

    def mask(self, seat: int) -> Array:
        """Return a copy of a seat's legal actions, ``int8 [A]``; zeros if it does not act."""
        mask: Array = self._mask[seat].copy()
        return mask

    def text(self, seat: int | None = None) -> str:
        """Return a seat's view as text, by default of the seat to move; a round trip.

        Raises:
            LudexError: the game has no text view, or no episode has started.
        """
        self._require_batch()
        return self._vec.text(0, seat)

    def picture(self, seat: int | None = None) -> Picture:
        """Return a seat's view as a picture, by default of the seat to move; a round trip.

        Raises:
            LudexError: no episode has started.
        """
        self._require_batch()
        return self._vec.picture(0, seat)

    def close(self) -> None:
        """Close the environment and the connection. Safe to call twice."""
        self._client.close()

    def _require_batch(self) -> Batch:
        if self._batch is None:
            raise LudexError("env_over", "there is no episode yet; call reset() first")
        return self._batch

    def _take(self, batch: Batch) -> None:
        self._batch = batch
        self._mask = dense(batch.mask[0], self.spec.actions)
        self.rewards = [float(reward) for reward in batch.reward[0]]
        self.terminated, self.truncated = bool(batch.terminated[0]), bool(batch.truncated[0])
        to_move = int(batch.to_move[0])
        if to_move == SIMULTANEOUS:
            self.acting = np.flatnonzero(self._mask.any(axis=1)).tolist()
        else:
            self.acting = [] if to_move == OVER else [to_move]


def _to_integer(action: Any) -> int:
    value = np.asarray(action)
    if value.size != 1 or value.dtype.kind not in "iub":
        raise TypeError(f"action: expected an integer, got {action!r}")
    return int(value.item())
