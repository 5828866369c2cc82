"""States that can be copied, for search and tree traversal; no library is needed.

Methods have the names of OpenSpiel's ``pyspiel``::

    from ludex.openspiel import states

    game = states.load_game("kuhn_poker")
    state = game.new_initial_state()
    while not state.is_terminal():
        if state.is_chance_node():
            state = state.child(state.chance_outcomes()[0][0])
        else:
            state = state.child(state.legal_actions()[0])

:mod:`ludex.openspiel.pyspiel_games` wraps these states in objects of ``pyspiel``.

A state is its history. Positions are cached, and one request fetches a position with all its
siblings, so a traversal of a tree costs about one message per inner node.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..adapters.options import AdapterOptions
from ..env import CHANCE, SIMULTANEOUS
from ..errors import LudexError
from ..spec import Spec
from .positions import CachedPosition, History, Move, PositionCache


class Game:
    """A game, returned by :func:`load_game`; methods as in ``pyspiel.Game``."""

    def __init__(self, adapter_options: AdapterOptions, *, layout: str | None = None) -> None:
        """Connect and open the game.

        Raises:
            LudexError: an error from the server: ``unknown_game``, ``bad_params``, ...
        """
        self._adapter_options = adapter_options
        with adapter_options.client() as client:
            self.spec: Spec = adapter_options.describe(client)
            self._client = client
            self._positions = PositionCache(client, adapter_options, layout)

    def close(self) -> None:
        """Close the connection. Safe to call twice."""
        self._client.close()

    # Methods of pyspiel.Game.

    def new_initial_state(self) -> State:
        """Return the initial state; a round trip on the first call."""
        return State(self, ())

    def new_initial_states(self) -> list[State]:
        """Return a list with the only initial state."""
        return [self.new_initial_state()]

    def state(self, history: Sequence[Sequence[Any]]) -> State:
        """Return the state after a history: pairs of player and action, as in snapshots.

        Raises:
            LudexError: ``illegal_action``: a move is illegal in its state.
        """
        state = self.new_initial_state()
        for _, action in history:
            if isinstance(action, (list, tuple)):
                state.apply_actions(action)
            else:
                state.apply_action(action)
        return state

    def deserialize_state(self, text: str) -> State:
        """Return the state for the text of :meth:`State.serialize`.

        Raises:
            LudexError: ``illegal_action``: a move is illegal in its state.
        """
        return self.state(json.loads(text))

    def num_players(self) -> int:
        """Return the number of players."""
        return self.spec.players

    def num_distinct_actions(self) -> int:
        """Return the number of action ids."""
        return self.spec.actions

    def max_chance_outcomes(self) -> int:
        """Return the number of chance outcome ids."""
        return self.spec.max_chance

    def policy_tensor_shape(self) -> list[int]:
        """Return the shape of a policy over all actions."""
        return [self.spec.actions]

    def max_game_length(self) -> int:
        """Return the greatest number of moves in an episode."""
        return self.spec.max_length

    def min_utility(self) -> float:
        """Return the lowest return of a player."""
        return self.spec.min_return

    def max_utility(self) -> float:
        """Return the highest return of a player."""
        return self.spec.max_return

    def utility_sum(self) -> float | None:
        """Return the sum of all players' returns, if it is constant."""
        if self.spec.utility == "zero_sum":
            return 0.0
        if self.spec.utility == "constant_sum" and self.spec.players == 2:
            return self.spec.min_return + self.spec.max_return
        return None

    def get_parameters(self) -> dict[str, Any]:
        """Return the parameters."""
        return dict(self.spec.params)

    def tensor_shape(self, view: str) -> list[int]:
        """Return the shape of a seat's ``"tensor"`` or ``"info"``.

        Raises:
            LudexError: the game has no such array.
        """
        return list(self._positions.spec.array(view)["s"])

    def tensor_size(self, view: str) -> int:
        """Return the number of entries of a seat's ``"tensor"`` or ``"info"``."""
        return int(np.prod(self.tensor_shape(view)))

    def observation_tensor_shape(self) -> list[int]:
        """Return the shape of the observation tensor."""
        return self.tensor_shape("tensor")

    def observation_tensor_size(self) -> int:
        """Return the number of entries of the observation tensor."""
        return self.tensor_size("tensor")

    def information_state_tensor_shape(self) -> list[int]:
        """Return the shape of the information-state tensor."""
        return self.tensor_shape("info")

    def information_state_tensor_size(self) -> int:
        """Return the number of entries of the information-state tensor."""
        return self.tensor_size("info")

    def __str__(self) -> str:
        return self.spec.string

    def __repr__(self) -> str:
        return f"<ludex.openspiel.states.Game {self}>"


class State:
    """A state of a game; methods as in ``pyspiel.State``."""

    def __init__(
        self, game: Game, history: History, position: CachedPosition | None = None
    ) -> None:
        self._game = game
        self._history = history
        self._position = position or game._positions.get(history)

    # Player to move.

    def get_game(self) -> Game:
        """Return the game."""
        return self._game

    def current_player(self) -> int:
        """Return the seat to move: -1 chance, -2 simultaneous, -4 terminal."""
        return self._position.to_move

    def is_terminal(self) -> bool:
        """Return True if the episode is over."""
        return self._position.over

    def is_chance_node(self) -> bool:
        """Return True if chance is to move."""
        return self._position.to_move == CHANCE

    def is_simultaneous_node(self) -> bool:
        """Return True if several players are to move simultaneously."""
        return self._position.to_move == SIMULTANEOUS

    def is_player_node(self) -> bool:
        """Return True if one player is to move."""
        return self._position.to_move >= 0

    def is_mean_field_node(self) -> bool:
        """Return False, since there are no mean field games."""
        return False

    def num_players(self) -> int:
        """Return the number of players."""
        return self._game.spec.players

    def num_distinct_actions(self) -> int:
        """Return the number of action ids."""
        return self._game.spec.actions

    # Moves.

    def legal_actions(self, player: int | None = None) -> list[int]:
        """Return legal action ids of a player, by default the one to move; outcomes for chance."""
        mover = self._position.to_move
        if player is None:
            player = mover
        if player == CHANCE or mover == CHANCE:
            return [outcome for outcome, _ in self._position.chance] if player == mover else []
        return list(self._position.legal[player]) if player >= 0 else []

    def legal_actions_mask(self, player: int | None = None) -> list[int]:
        """Return the legal actions as a list of zeros and ones."""
        count = self._game.spec.max_chance if self.is_chance_node() else self._game.spec.actions
        mask = [0] * count
        for action in self.legal_actions(player):
            mask[action] = 1
        return mask

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Return pairs of outcome and probability."""
        return list(self._position.chance)

    def apply_action(self, action: Any) -> None:
        """Play an action of the player to move, or a chance outcome.

        Raises:
            LudexError: ``illegal_action``, ``env_over``; the state is unchanged.
        """
        position, move = self._position, (self._position.to_move, int(action))
        if position.over:
            raise LudexError("env_over", "the episode is over")
        known = list(position.moves())
        if move not in known:
            raise LudexError(
                "illegal_action",
                f"action: expected a legal action, got {action}",
                got=action,
                allowed=[entry for _, entry in known],
            )
        self._go(move, [(*self._history, entry) for entry in known])

    def apply_actions(self, actions: Sequence[Any]) -> None:
        """Play a joint action; entries of players who do not act are ignored.

        Raises:
            LudexError: ``illegal_action``; the state is unchanged.
        """
        if not self.is_simultaneous_node():
            raise LudexError("bad_shape", "expected a simultaneous state; call apply_action()")
        row = []
        for seat, legal in enumerate(self._position.legal):
            action = int(actions[seat]) if legal else -1
            if legal and action not in legal:
                raise LudexError(
                    "illegal_action",
                    f"action of seat {seat}: expected a legal action, got {action}",
                    got=action,
                    allowed=legal,
                )
            row.append(action)
        self._go((SIMULTANEOUS, tuple(row)), ())

    def _go(self, move: Move, family: Sequence[History]) -> None:
        history = (*self._history, move)
        self._position = self._game._positions.get(history, family)
        self._history = history

    def undo_action(self, player: int, action: int) -> None:
        """Undo the last move."""
        self._history = self._history[:-1]
        self._position = self._game._positions.get(self._history)

    def child(self, action: Any) -> State:
        """Return the state after an action, without changing this state.

        Raises:
            LudexError: as :meth:`apply_action`.
        """
        child = self.clone()
        child.apply_action(action)
        return child

    def clone(self) -> State:
        """Return an equal state."""
        return State(self._game, self._history, self._position)

    def __deepcopy__(self, memo: Any) -> State:
        return self.clone()

    def action_to_string(self, player: int, action: int | None = None) -> str:
        """Return the name of an action. A player may precede the action, as in pyspiel."""
        if action is None:
            player, action = self.current_player(), player
        return self._game._positions.names(self._position, player, [int(action)])[0]

    def string_to_action(self, player: int | str, text: str | None = None) -> int:
        """Return the legal action with this name.

        Raises:
            LudexError: ``illegal_action``.
        """
        if text is None:
            player, text = self.current_player(), str(player)
        actions = self.legal_actions(int(player))
        names = self._game._positions.names(self._position, int(player), actions)
        if text not in names:
            why = f"action: expected the name of a legal action, got {text!r}"
            raise LudexError("illegal_action", why, allowed=names)
        return actions[names.index(text)]

    # History.

    def history(self) -> list[int]:
        """Return the ids of all moves, with joint moves flattened."""
        return [
            action
            for _, played in self._history
            for action in (played if isinstance(played, tuple) else (played,))
        ]

    def moves(self) -> list[Move]:
        """Return the history as pairs of player and action, as in snapshots."""
        return list(self._history)

    def history_str(self) -> str:
        """Return the history as text, which is unique to the state."""
        return ", ".join(map(str, self.history()))

    def move_number(self) -> int:
        """Return the number of moves so far, including those of chance."""
        return len(self._history)

    def serialize(self) -> str:
        """Return the history as JSON, for :meth:`Game.deserialize_state`."""
        return json.dumps(self._history)

    # Results.

    def returns(self) -> list[float]:
        """Return the sums of rewards so far, one for each player."""
        return list(self._position.returns)

    def rewards(self) -> list[float]:
        """Return the rewards of the last move, one for each player."""
        if not self._history:
            return [0.0] * self.num_players()
        before = self._game._positions.get(self._history[:-1]).returns
        return [now - then for now, then in zip(self._position.returns, before, strict=True)]

    def player_return(self, player: int) -> float:
        """Return a player's sum of rewards."""
        return self._position.returns[player]

    def player_reward(self, player: int) -> float:
        """Return a player's reward of the last move."""
        return self.rewards()[player]

    # Views.

    def information_state_string(self, player: int | None = None) -> str:
        """Return the information state of a player (by default the one to move) as text."""
        seat = self.current_player() if player is None else player
        struct = self._position.view("struct", seat)
        return f"{seat} {json.dumps(struct, sort_keys=True, separators=(',', ':'))}"

    def observation_string(self, player: int | None = None) -> str:
        """Return the same as :meth:`information_state_string`."""
        return self.information_state_string(player)

    def information_state_tensor(self, player: int | None = None) -> list[float]:
        """Return the information-state tensor of a player as a flat list of numbers.

        Raises:
            LudexError: the game has no such tensor.
        """
        return self.tensor("info", player)

    def observation_tensor(self, player: int | None = None) -> list[float]:
        """Return the observation tensor of a player as a flat list of numbers.

        Raises:
            LudexError: the game has no such tensor.
        """
        return self.tensor("tensor", player)

    def tensor(self, view: str, player: int | None = None) -> list[float]:
        """Return a player's ``"tensor"`` or ``"info"`` as a flat list of numbers."""
        seat = self.current_player() if player is None else player
        flat: list[float] = self._position.view(view, seat).astype(np.float64).ravel().tolist()
        return flat

    def __str__(self) -> str:
        return f"{self._game}: {self.history_str()}"


def load_game(
    game: str,
    params: Mapping[str, Any] | None = None,
    *,
    url: str | None = None,
    token: str | None = None,
    patience: float | None = None,
    layout: str | None = None,
) -> Game:
    """Open a game.

    Args:
        game: id of the game, or the game string with parameters; OpenSpiel's names are accepted.
        params: the parameters of the game.
        url: server URL; by default a local server that all environments of this process share.
        token: access token.
        patience: seconds to retry a lost connection.
        layout: ``"openspiel"``: tensors in OpenSpiel's layout, if the game has it.

    Raises:
        LudexError: an error from the server: ``unknown_game``, ``bad_params``, ...
    """
    return Game(AdapterOptions(game, params, url, token, patience=patience), layout=layout)
