"""States that can be copied, and states of an environment, with a real server."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ludex
from ludex.openspiel import rl_environment, states
from ludex.transport.session import Session


@pytest.fixture(scope="module")
def url(program: str) -> Iterator[str]:
    with ludex.serve() as server:
        yield server.url


def test_state_applies_clones_and_undoes_moves(url: str) -> None:
    game = states.load_game("kuhn_poker", url=url)
    state = game.new_initial_state()
    assert (state.is_chance_node(), state.legal_actions()) == (True, [0, 1, 2])
    state.apply_action(2)
    twin, deep = state.clone(), copy.deepcopy(state)
    state.apply_action(0)
    assert twin.history() == deep.history() == [2]
    assert (state.current_player(), state.legal_actions(), state.legal_actions(1)) == (
        0,
        [0, 1],
        [],
    )
    assert state.legal_actions_mask() == [1, 1]
    assert state.action_to_string(0, 1) == state.action_to_string(1)
    assert state.string_to_action(state.action_to_string(1)) == 1
    assert '"card":2' in state.information_state_string(0)
    assert '"card":2' not in state.information_state_string(1)
    assert len(state.information_state_tensor()) == game.information_state_tensor_size() == 11
    end = state.child(1).child(1)
    assert (end.is_terminal(), end.returns(), end.rewards()) == (True, [2.0, -2.0], [2.0, -2.0])
    end.undo_action(1, 1)
    assert end.history_str() == "2, 0, 1"
    assert game.deserialize_state(end.serialize()).history() == end.history()
    with pytest.raises(ludex.LudexError, match="illegal_action") as caught:
        state.apply_action(7)
    assert caught.value.allowed == [0, 1]
    game.close()


def test_traversal_costs_one_message_per_inner_node(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = states.load_game("kuhn_poker", url=url)
    sent: list[str] = []
    call = Session._call

    def count(self: Session, kind: str, bound: bool, fields: Any) -> Any:
        sent.append(kind)
        return call(self, kind, bound, fields)

    monkeypatch.setattr(Session, "_call", count)

    def walk(state: states.State) -> tuple[int, int]:
        if state.is_terminal():
            return 0, 1
        below = [walk(state.child(action)) for action in state.legal_actions()]
        return 1 + sum(inner for inner, _ in below), sum(ends for _, ends in below)

    inner, ends = walk(game.new_initial_state())
    assert (inner, ends) == (28, 30)
    assert len(sent) == inner + 1
    walk(game.new_initial_state())
    assert len(sent) == inner + 1
    game.close()


def test_environment_state_can_be_read_and_set(url: str) -> None:
    env = rl_environment.Environment(
        "kuhn_poker", url=url, players=3, include_full_state=True, enable_legality_check=True
    )
    assert (env.num_players, env.is_chance_node, env.use_observation) == (3, False, False)
    env.seed(5)
    first = env.reset()
    assert env.get_time_step() is first
    env.seed(5)
    assert env.reset() == first
    state = env.get_state
    assert first.observations["serialized_state"] == state.serialize()
    assert state.legal_actions() == first.observations["legal_actions"][0]
    with pytest.raises(ludex.LudexError, match="illegal_action"):
        env.step([9])
    second = env.step([1])
    env.set_state(state)
    assert env.get_time_step().observations == first.observations
    assert env.step([1]).observations == second.observations
    assert env.game.num_players() == 3
    env.close()


def test_observations_are_complete_lists(url: str) -> None:
    env = rl_environment.Environment("go(board_size=19)", url=url)
    seen = set()
    step, rng = env.reset(seed=1), np.random.default_rng(1)
    for _ in range(20):
        seat = step.current_player()
        seen.add(str(step.observations["info_state"][seat]))
        step = env.step([rng.choice(step.observations["legal_actions"][seat])])
    assert isinstance(step.observations["info_state"][0], list)
    assert len(seen) == 20
    env.close()
