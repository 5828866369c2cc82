"""Cache of positions by history, for :mod:`ludex.openspiel.states`."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any

import msgpack
import numpy as np

from ..adapters.options import AdapterOptions
from ..client import Client
from ..columns import Array, Ragged
from ..env import CHANCE, OVER
from ..errors import LudexError
from ..vec import Batch, VecEnv

# Maximum number of positions per request, and in the cache.
MAX_BATCH, MAX_CACHED = 64, 200_000

Move = tuple[int, Any]
"""Player and action: a seat or ``CHANCE`` with an id, or ``SIMULTANEOUS`` with an id per seat."""

History = tuple[Move, ...]


class PositionCache:
    """A cache of positions, fetched from the server on first access.

    Attributes:
        spec: the game, with the arrays of the layout.
    """

    def __init__(self, client: Client, adapter_options: AdapterOptions, layout: str | None) -> None:
        def open_vec(views: list[str], **options: Any) -> VecEnv:
            vec = client.open_vec(
                adapter_options.game,
                MAX_BATCH,
                adapter_options.params,
                chance="client",
                autoreset="disabled",
                mask="ids",
                observer="all",
                views=views,
                **options,
            )
            if not isinstance(vec, VecEnv):
                raise LudexError("bad_field", "url: expected one server, got several")
            return vec

        self._facts = open_vec(["returns"])
        offered = self._facts.spec.views
        views = [view for view in ("struct", "tensor", "info") if offered.get(view)]
        self._views = open_vec(views, layout=layout)
        self.spec = self._views.spec
        self._known: OrderedDict[History, CachedPosition] = OrderedDict()
        self._packed = {
            "v": 1,
            "hash": self.spec.hash,
            "params": self.spec.params,
            "seed": 0,
            "episode": 0,
            "seats": [],
        }

    def get(self, history: History, siblings: Sequence[History] = ()) -> CachedPosition:
        """Return the position after a history; one request also fetches its siblings."""
        found = self._known.get(history)
        if found is None:
            wanted_too = siblings if len(siblings) <= MAX_BATCH else [history]
            family = list(wanted_too) or [history]
            batch = self._restore(self._facts, family)
            positions = [
                CachedPosition(self, entry, batch, row) for row, entry in enumerate(family)
            ]
            for position in positions:
                position.family = positions
                self._known[position.history] = position
            found = self._known[history]
            while len(self._known) > MAX_CACHED:
                self._known.popitem(last=False)
        return found

    def load_views(self, position: CachedPosition) -> None:
        """Fetch the views of a position and of its nonterminal siblings."""
        family = [entry for entry in position.family if entry is position or not entry.over]
        batch = self._restore(self._views, [entry.history for entry in family])
        for row, entry in enumerate(family):
            entry.views = _views(batch, row, self.spec.players)

    def _restore(self, vec: VecEnv, family: Sequence[History]) -> Batch:
        items = [msgpack.packb({**self._packed, "h": history}) for history in family]
        return vec.restore(items, range(len(items)))

    def names(self, position: CachedPosition, seat: int, actions: list[int]) -> list[str]:
        """Return the names of actions."""
        self._restore(self._facts, [position.history])
        return list(self._facts._view(0, None if seat < 0 else seat, names=actions)["names"])


class CachedPosition:
    """A position, fetched from the server.

    Attributes:
        history: the moves.
        to_move: seat to move, or ``CHANCE``, ``SIMULTANEOUS``, ``OVER``.
        over: True if the episode is over.
        returns: for each seat.
        chance: pairs of outcome and probability.
        legal: ids for each seat.
        family: the positions fetched by the same request.
        views: entries for each seat by view name, if fetched.
    """

    __slots__ = (
        "cache",
        "chance",
        "family",
        "history",
        "legal",
        "over",
        "returns",
        "to_move",
        "views",
    )

    def __init__(self, cache: PositionCache, history: History, batch: Batch, row: int) -> None:
        players = cache.spec.players
        self.cache = cache
        self.history = history
        self.to_move = int(batch.to_move[row])
        self.over = self.to_move == OVER
        self.returns: list[float] = batch.returns[row].tolist()
        self.chance: list[tuple[int, float]] = []
        if batch.chance is not None:
            outcomes = Ragged(batch.chance.at, batch.chance.values).row(row)
            begin = int(batch.chance.at[row])
            weights = batch.chance.probabilities[begin : begin + len(outcomes)]
            self.chance = list(zip(outcomes.tolist(), weights.tolist(), strict=True))
        self.legal: list[list[int]] = [
            batch.mask.row(row * players + seat).tolist() if not self.over else []
            for seat in range(players)
        ]
        self.family: list[CachedPosition] = [self]
        self.views: dict[str, Any] | None = None

    def moves(self) -> Iterator[Move]:
        """Yield the legal moves; nothing if moves are simultaneous."""
        if self.to_move == CHANCE:
            yield from ((CHANCE, outcome) for outcome, _ in self.chance)
        elif self.to_move >= 0:
            yield from ((self.to_move, action) for action in self.legal[self.to_move])

    def view(self, view: str, seat: int) -> Any:
        """Return a seat's view.

        Raises:
            LudexError: ``bad_field``: the game has no such view.
        """
        if self.views is None:
            self.cache.load_views(self)
        found = (self.views or {}).get(view)
        if found is None:
            raise LudexError(
                "bad_field", f"{self.cache.spec.game} has no view {view!r}", path="views"
            )
        return found[seat]


def _views(batch: Batch, row: int, players: int) -> dict[str, Any]:
    begin = row * players
    struct = None if batch.struct is None else batch.struct[begin : begin + players]
    return {"struct": struct, "tensor": _row(batch.obs, row), "info": _row(batch.info, row)}


def _row(views: Any, row: int) -> Array | None:
    if isinstance(views, dict):
        parts = [array[row].reshape(len(array[row]), -1) for array in views.values()]
        return np.concatenate(parts, axis=1)
    return None if views is None else views[row]
