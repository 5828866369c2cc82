"""Time steps as in OpenSpiel's ``rl_environment``; no library is needed.

Agents that were written for OpenSpiel run against Ludex if you change the import::

    from ludex import rl_environment

    env = rl_environment.Environment("connect_four")
    time_step = env.reset()
    while not time_step.last():
        player = time_step.observations["current_player"]
        action = time_step.observations["legal_actions"][player][0]
        time_step = env.step([action])
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .env import OVER, SIMULTANEOUS
from .errors import LudexError
from .opening import Opening
from .table import Table

SIMULTANEOUS_PLAYER_ID = SIMULTANEOUS


class StepType(enum.Enum):
    """The place of a time step in its episode."""

    FIRST = 0
    MID = 1
    LAST = 2

    def first(self) -> bool:
        """Whether it begins an episode."""
        return self is StepType.FIRST

    def mid(self) -> bool:
        """Whether it neither begins nor ends one."""
        return self is StepType.MID

    def last(self) -> bool:
        """Whether it ends an episode."""
        return self is StepType.LAST


class TimeStep(NamedTuple):
    """What :meth:`Environment.reset` and :meth:`Environment.step` return.

    Attributes:
        observations: ``info_state``: a flat ``float32`` array for each player; ``legal_actions``:
            a list of ids for each; ``current_player``: a seat, -2 if several act together, -4 at
            the end; ``serialized_state``: always empty.
        rewards: one for each player; ``None`` in the first step.
        discounts: one for each player, 0 in the last step; ``None`` in the first.
        step_type: the place of the step in its episode.
    """

    observations: dict[str, Any]
    rewards: list[float] | None
    discounts: list[float] | None
    step_type: StepType

    def first(self) -> bool:
        """Whether it begins an episode."""
        return self.step_type is StepType.FIRST

    def mid(self) -> bool:
        """Whether it neither begins nor ends one."""
        return self.step_type is StepType.MID

    def last(self) -> bool:
        """Whether it ends an episode."""
        return self.step_type is StepType.LAST

    def is_simultaneous_move(self) -> bool:
        """Whether several players act together."""
        return self.current_player() == SIMULTANEOUS_PLAYER_ID

    def current_player(self) -> int:
        """Return the player to act."""
        return int(self.observations["current_player"])


class ObservationType(enum.Enum):
    """The contents of ``info_state``."""

    OBSERVATION = 0
    INFORMATION_STATE = 1


class Environment:
    """A game in which you play every seat. An illegal action loses the episode."""

    def __init__(
        self,
        game: str,
        discount: float = 1.0,
        *,
        observation_type: ObservationType | None = None,
        params: Mapping[str, Any] | None = None,
        url: str | Sequence[str] | None = None,
        token: str | None = None,
        max_steps: int | None = None,
        patience: float | None = None,
        layout: str | None = None,
    ) -> None:
        """Open the environment.

        Args:
            game: id of the game, or its whole string with parameters.
            discount: the value of ``discounts`` before the last step.
            observation_type: by default the information state if the game has one, as in
                OpenSpiel.
            params: parameters of the game.
            url: the server; by default a local one that all environments of this process share.
            token: access token.
            max_steps: truncate an episode after this many moves of all seats.
            patience: how many seconds to try to reconnect when the connection is lost; by default
                as long as the server keeps the session.
            layout: ``"openspiel"``: observations with OpenSpiel's arrays, if the game has them.

        Raises:
            LudexError: ``bad_field``: the game has no such observation; or an error of the server:
                ``unknown_game``, ``bad_params``, ...
        """
        recall = None if layout is None else False
        if observation_type is not None:
            recall = observation_type is ObservationType.INFORMATION_STATE
        opening = Opening(game, params, url, token, max_steps, patience=patience)
        self._table = Table(opening, layout=layout, recall=recall)
        self._discount = discount
        self._ended = True

    @property
    def name(self) -> str:
        """Id of the game."""
        return self._table.spec.game

    @property
    def num_players(self) -> int:
        """How many players the game has."""
        return self._table.spec.players

    @property
    def is_turn_based(self) -> bool:
        """Whether players act one at a time."""
        return self._table.spec.dynamics == "sequential"

    @property
    def num_actions_per_step(self) -> int:
        """How many actions :meth:`step` takes."""
        return 1 if self.is_turn_based else self.num_players

    @property
    def max_game_length(self) -> int:
        """The greatest number of moves in an episode."""
        return self._table.spec.max_length

    def observation_spec(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the observations; if no episode is running, begin one."""
        if self._ended:
            self.reset()
        size = len(self._state(0))
        return {
            "info_state": (size,),
            "legal_actions": (self._table.spec.actions,),
            "current_player": (),
            "serialized_state": (),
        }

    def action_spec(self) -> dict[str, Any]:
        """Return the number of actions and their bounds."""
        count = self._table.spec.actions
        return {"num_actions": count, "min": 0, "max": count - 1, "dtype": int}

    def reset(self, seed: int | None = None) -> TimeStep:
        """Begin an episode; without a seed the series of the last seed continues.

        Raises:
            LudexError: ``bad_seed``, ``session_lost``, ...
        """
        self._table.reset(seed)
        self._ended = False
        step = TimeStep(self._observations(), None, None, StepType.FIRST)
        self._table.seen()
        return step

    def step(self, actions: Sequence[Any]) -> TimeStep:
        """Play an action or a joint action; after the last step, begin a new episode instead.

        Args:
            actions: one action; in a game that is not turn-based, one for each player. Only the
                actions of the players to act count.

        Raises:
            LudexError: ``bad_shape``: the number of actions is wrong; ``session_lost``, ...
            TypeError: an action is not an integer.
        """
        if len(actions) != self.num_actions_per_step:
            raise LudexError(
                "bad_shape",
                f"{self.name} takes {self.num_actions_per_step} actions, not {len(actions)}",
                got=len(actions),
                allowed=[self.num_actions_per_step],
            )
        if self._ended:
            return self.reset()
        table = self._table
        each = list(actions) * (self.num_players if self.is_turn_based else 1)
        table.step({seat: each[seat] for seat in table.acting})
        self._ended = table.over
        discount = 0.0 if table.over else self._discount
        step = TimeStep(
            self._observations(),
            list(table.rewards),
            [discount] * self.num_players,
            StepType.LAST if table.over else StepType.MID,
        )
        table.seen()
        return step

    def close(self) -> None:
        """Close the environment and its connection. May be called twice."""
        self._table.close()

    def _observations(self) -> dict[str, Any]:
        table, players = self._table, range(self.num_players)
        if table.together:
            current = SIMULTANEOUS_PLAYER_ID
        else:
            current = table.acting[0] if table.acting else OVER
        return {
            "info_state": [self._state(seat) for seat in players],
            "legal_actions": [np.flatnonzero(table.mask(seat)).tolist() for seat in players],
            "current_player": current,
            "serialized_state": [],
        }

    def _state(self, seat: int) -> Any:
        return self._table.obs(seat).astype(np.float32).ravel()
