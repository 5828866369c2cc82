"""OpenSpiel's ``rl_environment`` API; no library is needed.

Agents written for OpenSpiel run against Ludex after a change of the import. OpenSpiel's own
``Environment`` also accepts a game of :mod:`ludex.openspiel`::

    from ludex.openspiel import rl_environment

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
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..adapters.all_seats_env import AllSeatsEnv
from ..adapters.options import AdapterOptions
from ..env import OVER, SIMULTANEOUS
from ..errors import LudexError
from .states import Game, State

SIMULTANEOUS_PLAYER_ID = SIMULTANEOUS


class StepType(enum.Enum):
    """Type of a time step."""

    FIRST = 0
    MID = 1
    LAST = 2

    def first(self) -> bool:
        """Return True for the first step of an episode."""
        return self is StepType.FIRST

    def mid(self) -> bool:
        """Return True for a step between the first and the last."""
        return self is StepType.MID

    def last(self) -> bool:
        """Return True for the last step of an episode."""
        return self is StepType.LAST


class TimeStep(NamedTuple):
    """A time step, returned by :meth:`Environment.reset` and :meth:`Environment.step`.

    Attributes:
        observations: ``info_state``: a flat list of numbers for each player; ``legal_actions``:
            a list of ids for each; ``current_player``: a seat, -2 if simultaneous, -4 at
            the end; ``serialized_state``: empty, or with ``include_full_state`` the history as
            text, for :meth:`ludex.openspiel.states.Game.deserialize_state`.
        rewards: one for each player; ``None`` in the first step.
        discounts: one for each player, 0 in the last step; ``None`` in the first.
        step_type: type of the step.
    """

    observations: dict[str, Any]
    rewards: list[float] | None
    discounts: list[float] | None
    step_type: StepType

    def first(self) -> bool:
        """Return True for the first step of an episode."""
        return self.step_type is StepType.FIRST

    def mid(self) -> bool:
        """Return True for a step between the first and the last."""
        return self.step_type is StepType.MID

    def last(self) -> bool:
        """Return True for the last step of an episode."""
        return self.step_type is StepType.LAST

    def is_simultaneous_move(self) -> bool:
        """Return True if several players act simultaneously."""
        return self.current_player() == SIMULTANEOUS_PLAYER_ID

    def current_player(self) -> int:
        """Return the player to act."""
        return int(self.observations["current_player"])


class ObservationType(enum.Enum):
    """Type of observation in ``info_state``."""

    OBSERVATION = 0
    INFORMATION_STATE = 1


class Environment:
    """An environment whose caller plays every seat. An illegal action loses the episode."""

    def __init__(
        self,
        game: Any,
        discount: float = 1.0,
        *,
        include_full_state: bool = False,
        enable_legality_check: bool = False,
        observation_type: ObservationType | None = None,
        params: Mapping[str, Any] | None = None,
        url: str | Sequence[str] | None = None,
        token: str | None = None,
        max_steps: int | None = None,
        patience: float | None = None,
        layout: str | None = None,
        **settings: Any,
    ) -> None:
        """Open the environment.

        Args:
            game: id of the game, or the game string with parameters; or a game of ``pyspiel``
                whose string is that of a game of the server.
            discount: value of ``discounts`` before the last step.
            include_full_state: True to include ``serialized_state`` in observations.
            enable_legality_check: True to raise an error for an illegal action, which otherwise
                loses the episode.
            observation_type: by default the information state if the game has one, as in
                OpenSpiel.
            params: parameters of the game.
            url: server URL; by default a local server that all environments of this process share.
            token: access token.
            max_steps: maximum number of moves of all seats before an episode is truncated.
            patience: seconds to retry a lost connection; by default
                as long as the server keeps the session.
            layout: ``"openspiel"``: observations in OpenSpiel's layout, if the game has it.
            settings: further parameters of the game, in OpenSpiel's form: ``players=3``.

        Raises:
            LudexError: ``bad_field``: the game has no such observation; or an error from the
                server: ``unknown_game``, ``bad_params``, ...
        """
        recall = None if layout is None else False
        if observation_type is not None:
            recall = observation_type is ObservationType.INFORMATION_STATE
        named = {**(params or {}), **settings}
        self._adapter_options = AdapterOptions(
            str(game), named, url, token, max_steps, patience=patience
        )
        self._env = AllSeatsEnv(self._adapter_options, layout=layout, recall=recall)
        self._layout = layout
        self._discount = discount
        self._full = include_full_state
        self._check = enable_legality_check
        self._ended = True
        self._seed: int | None = None
        self._game: Game | None = None
        self._last: TimeStep | None = None

    @property
    def game(self) -> Game:
        """The game, with states that can be copied; opened on a separate connection."""
        if self._game is None:
            self._game = Game(replace(self._adapter_options, max_steps=None), layout=self._layout)
        return self._game

    @property
    def get_state(self) -> State:
        """A copy of the current state.

        Raises:
            LudexError: no episode has started, or an illegal action has ended it.
        """
        return self.game.state(self._env.history())

    def set_state(self, state: State) -> None:
        """Replace the current state by a state of :attr:`game`.

        Raises:
            LudexError: ``bad_snapshot``: the state belongs to another game.
        """
        self._env.restore(state.moves())
        self._ended = self._env.is_over
        self._last = None
        self._env.confirm()

    @property
    def is_chance_node(self) -> bool:
        """Always False, since the server draws chance outcomes."""
        return False

    @property
    def use_observation(self) -> bool:
        """True if ``info_state`` is the observation, False if it is the information state."""
        return not self._env.recall

    def seed(self, seed: int | None = None) -> None:
        """Set the seed of the next :meth:`reset`."""
        self._seed = seed

    def get_time_step(self) -> TimeStep:
        """Return the last time step; after :meth:`set_state`, that of the new state.

        Raises:
            LudexError: no episode has started.
        """
        if self._last is None:
            self._last = self._time_step()
        return self._last

    @property
    def name(self) -> str:
        """Id of the game."""
        return self._env.spec.game

    @property
    def num_players(self) -> int:
        """Number of players."""
        return self._env.spec.players

    @property
    def is_turn_based(self) -> bool:
        """True if players act one at a time."""
        return self._env.spec.dynamics == "sequential"

    @property
    def num_actions_per_step(self) -> int:
        """Number of actions that :meth:`step` takes."""
        return 1 if self.is_turn_based else self.num_players

    @property
    def max_game_length(self) -> int:
        """The greatest number of moves in an episode."""
        return self._env.spec.max_length

    def observation_spec(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the observations; start an episode if none is running."""
        if self._ended:
            self.reset()
        size = len(self._state(0))
        return {
            "info_state": (size,),
            "legal_actions": (self._env.spec.actions,),
            "current_player": (),
            "serialized_state": (),
        }

    def action_spec(self) -> dict[str, Any]:
        """Return the number of actions and their bounds."""
        count = self._env.spec.actions
        return {"num_actions": count, "min": 0, "max": count - 1, "dtype": int}

    def reset(self, seed: int | None = None) -> TimeStep:
        """Start an episode; without a seed, continue the series of the last seed.

        Raises:
            LudexError: ``bad_seed``, ``session_lost``, ...
        """
        self._env.reset(self._seed if seed is None else seed)
        self._seed = None
        self._ended = False
        step = TimeStep(self._observations(), None, None, StepType.FIRST)
        self._last = step
        self._env.confirm()
        return step

    def step(self, actions: Sequence[Any]) -> TimeStep:
        """Play an action or a joint action; after the last step, start a new episode instead.

        Args:
            actions: one action; in a game that is not turn-based, one for each player. Actions of
                players who do not act are ignored.

        Raises:
            LudexError: ``bad_shape``: the number of actions is wrong; ``illegal_action`` with
                ``enable_legality_check``; ``session_lost``, ...
            TypeError: an action is not an integer.
        """
        if len(actions) != self.num_actions_per_step:
            raise LudexError(
                "bad_shape",
                f"{self.name}: expected {self.num_actions_per_step} actions, got {len(actions)}",
                got=len(actions),
                allowed=[self.num_actions_per_step],
            )
        if self._ended:
            return self.reset()
        env = self._env
        each = list(actions) * (self.num_players if self.is_turn_based else 1)
        moves = {seat: each[seat] for seat in env.acting}
        if self._check:
            self._legal(moves)
        env.step(moves)
        self._ended = env.is_over
        self._last = step = self._time_step()
        env.confirm()
        return step

    def _legal(self, moves: Mapping[int, Any]) -> None:
        for seat, action in moves.items():
            allowed = np.flatnonzero(self._env.mask(seat)).tolist()
            if action not in allowed:
                raise LudexError(
                    "illegal_action",
                    f"action of player {seat}: expected a legal action, got {action}",
                    got=action,
                    allowed=allowed,
                )

    def _time_step(self) -> TimeStep:
        env = self._env
        discount = 0.0 if env.is_over else self._discount
        return TimeStep(
            self._observations(),
            list(env.rewards),
            [discount] * self.num_players,
            StepType.LAST if env.is_over else StepType.MID,
        )

    def close(self) -> None:
        """Close the environment and its connections. Safe to call twice."""
        self._env.close()
        if self._game is not None:
            self._game.close()

    def _observations(self) -> dict[str, Any]:
        env, players = self._env, range(self.num_players)
        if env.is_simultaneous:
            current = SIMULTANEOUS_PLAYER_ID
        else:
            current = env.acting[0] if env.acting else OVER
        return {
            "info_state": [self._state(seat) for seat in players],
            "legal_actions": [np.flatnonzero(env.mask(seat)).tolist() for seat in players],
            "current_player": current,
            "serialized_state": self.get_state.serialize() if self._full else [],
        }

    def _state(self, seat: int) -> list[float]:
        # A list as in OpenSpiel, whose tabular agents use its text as a key.
        flat: list[float] = self._env.obs(seat).astype(np.float64).ravel().tolist()
        return flat
