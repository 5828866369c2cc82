"""Episodes of a record from the view of one seat: observations, actions and rewards.

A record (docs/records.md) has the moves and the outcomes of chance. Its observations are recomputed
by an environment that plays them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .client import Client
from .columns import Array
from .env import CHANCE, SIMULTANEOUS, Env, State
from .errors import LudexError
from .spec import Spec

Record = Mapping[str, Any]

# Records of matches that ended for one of these reasons have no result of the players.
UNSCORED_REASONS = {"no_show", "infra_error", "aborted"}


@dataclass
class Trajectory:
    """The T decisions of one seat in an episode.

    Attributes:
        record: the record.
        seat: the seat.
        observations: T + 1 observations of the seat: at its decisions, and at the end.
        masks: T + 1 masks of legal actions, ``int8 [A]``; the last one is zeros.
        actions: T action ids.
        rewards: T rewards, each since the seat's previous decision; they sum to its return.
        terminated: True if the rules or a forfeit ended the episode.
        truncated: True if a bound on the length ended it.
    """

    record: Record
    seat: int
    observations: list[Array] = field(default_factory=list)
    masks: list[Array] = field(default_factory=list)
    actions: list[int] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    terminated: bool = False
    truncated: bool = False


class Replayer:
    """Replays records of one game on a server.

    Attributes:
        spec: the game.
    """

    def __init__(self, client: Client, game: str, params: Mapping[str, Any] | None = None) -> None:
        """Open an environment of the game.

        Raises:
            LudexError: ``bad_field``: the game has no observation array; ``unknown_game``, ...
        """
        client.describe(game, params).array()  # raises an error if the game has none
        self._env: Env = client.open(game, params, chance="client", views=["tensor"])
        self.spec: Spec = self._env.spec

    def trajectories(self, record: Record, seats: Sequence[int] | None = None) -> list[Trajectory]:
        """Return the trajectories of seats, by default of all, that made at least one decision.

        Moves of a given start, which no agent chose, are no decisions.

        Raises:
            LudexError: ``bad_params``: the record has other rules; ``bad_field``: a move of one of
                the seats has no action id, or the record is not complete; ``illegal_action``: the
                record does not belong to the game.
        """
        if record.get("hash") != self.spec.hash:
            raise LudexError(
                "bad_params",
                f"record: expected rules {self.spec.hash} of {self.spec.string}, "
                f"got {record.get('hash')}",
                got=record.get("hash"),
            )
        if "returns" not in record:
            raise LudexError("bad_field", "record: expected returns, got an unfinished episode")
        chosen = range(self.spec.players) if seats is None else seats
        found = {seat: Trajectory(record, seat) for seat in chosen}
        earned = [0.0] * self.spec.players
        state = self._env.reset(seed=0)
        for index, moves in _turns(record):
            if index >= record.get("start", 0) and state.to_move != CHANCE:
                for seat, move in moves.items():
                    if seat in found:
                        self._decide(found[seat], state, move, earned)
            state = self._env.step(self._joined(state, moves))
            earned = [sum(pair) for pair in zip(earned, state.rewards, strict=True)]
        return [
            self._ended(trajectory, state) for trajectory in found.values() if trajectory.actions
        ]

    def close(self) -> None:
        """Close the environment. Safe to call twice."""
        self._env.close()

    def _decide(self, to: Trajectory, state: State, move: Any, earned: list[float]) -> None:
        if not isinstance(move, int):
            raise LudexError("bad_field", f"record: expected an action id, got {move!r}", got=move)
        if to.actions:
            to.rewards.append(earned[to.seat])
        earned[to.seat] = 0.0
        legal = state.legal[to.seat] if state.to_move == SIMULTANEOUS else state.legal
        mask = np.zeros(self.spec.actions, np.int8)
        mask[legal] = 1
        to.observations.append(state.obs[to.seat])
        to.masks.append(mask)
        to.actions.append(move)

    def _joined(self, state: State, moves: dict[int, Any]) -> Any:
        if state.to_move != SIMULTANEOUS:
            return next(iter(moves.values()))
        return [moves.get(seat) for seat in range(self.spec.players)]

    def _ended(self, to: Trajectory, state: State) -> Trajectory:
        to.observations.append(state.obs[to.seat])
        to.masks.append(np.zeros(self.spec.actions, np.int8))
        # After a forfeit, the return differs from the rewards of the moves.
        to.rewards.append(float(to.record["returns"][to.seat]) - sum(to.rewards))
        to.truncated = to.record.get("reason") == "truncated"
        to.terminated = not to.truncated
        return to


def _turns(record: Record) -> Iterator[tuple[int, dict[int, Any]]]:
    """Yield the moves of each turn by seat, with the index of the first event.

    A chance outcome has the seat -1. A joint turn that the end of the match interrupted is omitted.
    """
    moves: dict[int, Any] = {}
    first = 0
    for index, event in enumerate(record["events"]):
        move = event.get("action", event.get("document"))
        if move is None:
            continue  # the refused attempts before a forfeit
        if not moves:
            first = index
        moves[event.get("seat", -1)] = move
        if not event.get("more"):
            yield first, moves
            moves = {}
