"""Games of a Ludex server as ``pyspiel.Game`` objects.

::

    import ludex
    from open_spiel.python.algorithms import cfr, exploitability

    game = ludex.openspiel.load_game("kuhn_poker")
    solver = cfr.CFRSolver(game)
    for _ in range(100):
        solver.evaluate_and_update_policy()
    print(exploitability.exploitability(game, solver.average_policy()))

OpenSpiel's algorithms, including those in C++, run on them unmodified. ``state.position`` is the
corresponding state of :mod:`ludex.openspiel.states`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..optional_imports import import_optional
from . import states

import_optional("pyspiel", "openspiel")

import pyspiel  # noqa: E402


class Game(pyspiel.Game):
    """A game, returned by :func:`load_game`.

    Attributes:
        game: the corresponding game of :mod:`ludex.openspiel.states`.
    """

    def __init__(self, game: states.Game) -> None:
        spec = game.spec
        self.game = game
        info = pyspiel.GameInfo(
            num_distinct_actions=spec.actions,
            max_chance_outcomes=spec.max_chance,
            num_players=spec.players,
            min_utility=spec.min_return,
            max_utility=spec.max_return,
            utility_sum=game.utility_sum(),
            max_game_length=spec.max_length,
        )
        super().__init__(_type(game), info, {})

    def new_initial_state(self, text: str | None = None) -> State:
        """Return the initial state, or the state for the text of ``position.serialize()``."""
        state = State(self, self.game.new_initial_state())
        for _, action in [] if text is None else json.loads(text):
            # OpenSpiel has its own history.
            if isinstance(action, list):
                state.apply_actions(action)
            else:
                state.apply_action(action)
        return state

    def make_py_observer(self, kind: Any = None, params: Any = None) -> Observer:
        """Return an observer for OpenSpiel."""
        recall = kind is not None and kind.perfect_recall
        return Observer(self.game, "info" if recall else "tensor")

    def close(self) -> None:
        """Close the connection. Safe to call twice."""
        self.game.close()

    def __str__(self) -> str:
        return self.game.spec.string


class State(pyspiel.State):
    """A state of a :class:`Game`.

    Attributes:
        position: the corresponding state of :mod:`ludex.openspiel.states`.
    """

    def __init__(self, game: Game, position: states.State) -> None:
        super().__init__(game)
        self.position = position

    def current_player(self) -> int:
        """Return the seat to move: -1 chance, -2 simultaneous, -4 terminal."""
        return self.position.current_player()

    def is_terminal(self) -> bool:
        """Return True if the episode is over."""
        return self.position.is_terminal()

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Return pairs of outcome and probability."""
        return self.position.chance_outcomes()

    def returns(self) -> list[float]:
        """Return the sums of rewards so far, one for each player."""
        return self.position.returns()

    def rewards(self) -> list[float]:
        """Return the rewards of the last move, one for each player."""
        return self.position.rewards()

    def _legal_actions(self, player: int) -> list[int]:
        return self.position.legal_actions(player)

    def _apply_action(self, action: int) -> None:
        self.position.apply_action(action)

    def _apply_actions(self, actions: Sequence[int]) -> None:
        self.position.apply_actions(actions)

    def _action_to_string(self, player: int, action: int) -> str:
        return self.position.action_to_string(player, action)

    def __str__(self) -> str:
        return str(self.position)


class Observer:
    """An observer with the interface of OpenSpiel's observers."""

    def __init__(self, game: states.Game, view: str) -> None:
        self._view = view if game.spec.views.get(view) else None
        size = game.tensor_size(view) if self._view else 0
        self.tensor = np.zeros(size, np.float32)
        self.dict = {"observation": self.tensor} if self._view else {}

    def set_from(self, state: State, player: int) -> None:
        """Set the tensor to a player's view of a state."""
        if self._view:
            self.tensor[:] = state.position.tensor(self._view, player)

    def string_from(self, state: State, player: int) -> str:
        """Return a player's view of a state as text."""
        return state.position.information_state_string(player)


def load_game(
    game: str,
    params: Mapping[str, Any] | None = None,
    *,
    url: str | None = None,
    token: str | None = None,
    patience: float | None = None,
    layout: str | None = None,
) -> Game:
    """Open a game; for the arguments see :func:`ludex.openspiel.states.load_game`.

    Raises:
        LudexError: an error from the server: ``unknown_game``, ``bad_params``, ...
    """
    return Game(
        states.load_game(game, params, url=url, token=token, patience=patience, layout=layout)
    )


def _type(game: states.Game) -> Any:
    spec, kinds = game.spec, pyspiel.GameType
    dynamics = "SEQUENTIAL" if spec.dynamics == "sequential" else "SIMULTANEOUS"
    chance = {"explicit": "EXPLICIT_STOCHASTIC", "sampled": "SAMPLED_STOCHASTIC"}
    information = "PERFECT" if spec.information == "perfect" else "IMPERFECT"
    rewards = "TERMINAL" if spec.rewards == "terminal" else "REWARDS"
    return kinds(
        short_name=spec.game,
        long_name=str(spec.raw.get("title", spec.game)),
        dynamics=getattr(kinds.Dynamics, dynamics),
        chance_mode=getattr(kinds.ChanceMode, chance.get(spec.chance, "DETERMINISTIC")),
        information=getattr(kinds.Information, f"{information}_INFORMATION"),
        utility=getattr(kinds.Utility, spec.utility.upper()),
        reward_model=getattr(kinds.RewardModel, rewards),
        max_num_players=spec.players,
        min_num_players=spec.players,
        provides_information_state_string=True,
        provides_information_state_tensor=bool(spec.views.get("info")),
        provides_observation_string=True,
        provides_observation_tensor=bool(spec.views.get("tensor")),
    )
