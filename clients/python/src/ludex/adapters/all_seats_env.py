"""Environment in which the client plays every seat, for the multi-agent adapters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgpack
import numpy as np

from ..columns import Array, mask_encoding, pack_ids
from ..env import OVER, SIMULTANEOUS
from ..errors import LudexError
from ..handle import seed_text
from ..picture import Picture
from ..row import Row
from ..spec import Spec
from ..transport.guard import ChangeGuard
from ..vec import VecEnv
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
            opened = client.open_vec(
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
        self._vec = cast(VecEnv, opened)  # a single environment is on one server
        self._client = client
        self.spec: Spec = self._vec.spec
        self._joint = spec.dynamics != "sequential" and spec.players > 1
        self.acting: list[int] = []
        self.rewards = [0.0] * spec.players
        self.terminated = self.truncated = False
        self.illegal: int | None = None
        self._view_name = "info" if self.recall else "obs"
        self._row: Row | None = None

    @property
    def is_over(self) -> bool:
        """True if the episode has terminated or was truncated."""
        return self.terminated or self.truncated

    @property
    def is_simultaneous(self) -> bool:
        """True if the acting seats move simultaneously."""
        return self._row is not None and self._row.to_move == SIMULTANEOUS

    def reset(self, seed: int | None = None) -> None:
        """Start an episode; without a seed, continue the series of the last seed.

        Raises:
            LudexError: ``bad_seed``, ``session_lost``, ...
        """
        self._discard_change()
        self._move("reset", {"seed": seed_text(seed)})

    def step(self, actions: Mapping[int, Any]) -> None:
        """Play the actions of the acting seats; ignore those of other seats.

        Raises:
            LudexError: ``env_over`` if no episode is running.
            KeyError: the action of a seat that must act is missing.
            TypeError: an action is not an integer.
        """
        if not self.acting:
            raise LudexError("env_over", "the episode is over; call reset() first")
        joint, count = self._joint, self.spec.actions
        ids = [-1] * (self.spec.players if joint else 1)
        for seat in self.acting:
            action = _to_integer(actions[seat])
            # -1 means "no action" on the wire, so any invalid number is mapped to an illegal id.
            ids[seat if joint else 0] = action if 0 <= action < count else count
        before, acting = self._row, self.acting
        self._move("step", {"actions": pack_ids(ids)})
        if before is not None and self._row is not None and "illegal" in self._row.frame:
            mask = before.mask(count, self.spec.players)
            moves = ids if joint else ids * self.spec.players
            wrong = (s for s in acting if moves[s] == count or not mask[s, moves[s]])
            self.illegal = next(wrong, acting[0])

    def history(self) -> list[list[Any]]:
        """Return the moves so far as pairs of player and action; makes a round trip.

        Raises:
            LudexError: ``env_over``: no episode has started, or an illegal action has ended it.
        """
        self._require_row()
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
        self._move("restore", {"items": [msgpack.packb(item)]})

    def confirm(self) -> None:
        """Confirm that the caller has received the complete result of the last step or reset."""
        self._confirm()

    def _move(self, kind: str, fields: Mapping[str, Any]) -> None:
        """Start a change, which ends with :meth:`confirm` or with an error from the server."""
        self._begin()
        call = self._vec._call if kind == "step" else self._vec._replace
        try:
            row = Row(call(kind, **fields), self.spec.players)
        except LudexError:
            self._confirm()
            raise
        self._row = row
        self.illegal = None
        self.rewards, self.terminated, self.truncated = row.rewards, row.terminated, row.truncated
        if row.to_move == SIMULTANEOUS:
            mask = row.mask(self.spec.actions, self.spec.players)
            self.acting = np.flatnonzero(mask.any(axis=1)).tolist()
        else:
            self.acting = [] if row.to_move == OVER else [row.to_move]

    def obs(self, seat: int) -> Array:
        """Return a copy of a seat's observation.

        Raises:
            LudexError: no episode has started.
        """
        return self._require_row().array(self._view_name, seat)

    def state(self) -> Array:
        """Return a copy of the observations of all seats, concatenated along the first axis.

        Raises:
            LudexError: no episode has started.
        """
        views = self._require_row().array(self._view_name)
        return views.reshape(-1, *views.shape[2:])

    def mask(self, seat: int) -> Array:
        """Return a copy of a seat's legal actions, ``int8 [A]``; zeros if it does not act.

        Raises:
            LudexError: no episode has started.
        """
        return self._require_row().mask_of(self.spec.actions, self.spec.players, seat)

    def text(self, seat: int | None = None) -> str:
        """Return a seat's view as text, by default of the seat to move; a round trip.

        Raises:
            LudexError: the game has no text view, or no episode has started.
        """
        self._require_row()
        return self._vec.text(0, seat)

    def picture(self, seat: int | None = None) -> Picture:
        """Return a seat's view as a picture, by default of the seat to move; a round trip.

        Raises:
            LudexError: no episode has started.
        """
        self._require_row()
        return self._vec.picture(0, seat)

    def close(self) -> None:
        """Close the environment and the connection. Safe to call twice."""
        self._client.close()

    def _require_row(self) -> Row:
        if self._row is None:
            raise LudexError("env_over", "there is no episode yet; call reset() first")
        return self._row


def _to_integer(action: Any) -> int:
    if type(action) is int:
        return action
    value = np.asarray(action)
    if value.size != 1 or value.dtype.kind not in "iub":
        raise TypeError(f"action: expected an integer, got {action!r}")
    return int(value.item())
