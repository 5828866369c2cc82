"""The ``rl_environment`` API with a real server."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

import ludex
from ludex.openspiel import rl_environment


@pytest.fixture(scope="module")
def url(program: str) -> Iterator[str]:
    with ludex.serve() as server:
        yield server.url


def test_environment_plays_sequential_game(url: str) -> None:
    env = rl_environment.Environment("tic_tac_toe", discount=0.5, url=url)
    assert (env.name, env.num_players, env.is_turn_based) == ("tic_tac_toe", 2, True)
    assert (env.num_actions_per_step, env.max_game_length) == (1, 9)
    assert env.action_spec() == {"num_actions": 9, "min": 0, "max": 8, "dtype": int}
    assert env.observation_spec()["info_state"] == (18,)
    step = env.reset()
    assert step.first()
    assert step.step_type.first()
    assert (step.rewards, step.discounts) == (None, None)
    assert step.observations["legal_actions"] == [list(range(9)), []]
    assert len(step.observations["info_state"][1]) == 18
    for action in (0, 3, 1, 4):
        step = env.step([action])
        assert step.mid()
        assert (step.rewards, step.discounts) == ([0.0, 0.0], [0.5, 0.5])
    assert (step.current_player(), step.is_simultaneous_move()) == (0, False)
    step = env.step([2])
    assert step.last()
    assert (step.rewards, step.discounts) == ([1.0, -1.0], [0.0, 0.0])
    assert (step.current_player(), step.observations["legal_actions"]) == (ludex.OVER, [[], []])
    # The action after the last step is ignored.
    assert env.step([4]).first()
    with pytest.raises(ludex.LudexError, match="bad_shape"):
        env.step([1, 2])
    env.close()


def test_environment_plays_simultaneous_game(url: str) -> None:
    env = rl_environment.Environment("iterated_prisoners_dilemma", url=url, max_steps=2)
    step = env.reset(seed=0)
    assert step.is_simultaneous_move()
    assert step.observations["legal_actions"] == [[0, 1], [0, 1]]
    assert env.step([0, 1]).rewards == [0.0, 10.0]
    assert env.step([1, 1]).last()
    env.close()


def test_information_state_is_default_observation(url: str) -> None:
    kuhn = rl_environment.Environment("kuhn_poker", url=url)
    assert kuhn.observation_spec()["info_state"] == (11,), "OpenSpiel's information state"
    first = [kuhn.reset(seed=3).observations["info_state"] for _ in range(2)]
    assert np.array_equal(first[0], first[1])
    kuhn.close()
    seen = rl_environment.Environment(
        "kuhn_poker", url=url, observation_type=rl_environment.ObservationType.OBSERVATION
    )
    assert seen.observation_spec()["info_state"] == (7,)
    seen.close()
    board = rl_environment.Environment("tic_tac_toe", url=url, layout="openspiel")
    assert board.observation_spec()["info_state"] == (27,), "OpenSpiel's observation"
    board.close()
    with pytest.raises(ludex.LudexError, match="that is an array, got 'info'"):
        rl_environment.Environment(
            "tic_tac_toe",
            url=url,
            observation_type=rl_environment.ObservationType.INFORMATION_STATE,
        )


# Missing libraries.

MISSING = """
import sys
sys.modules["{module}"] = None
import ludex
try:
    ludex.{adapter}
except ModuleNotFoundError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("adapter", "module", "extra"),
    [
        ("gymnasium", "gymnasium", "gymnasium"),
        ("pettingzoo", "pettingzoo", "pettingzoo"),
        ("sb3", "stable_baselines3", "sb3"),
        ("rllib", "ray", "rllib"),
        ("inspect", "inspect_ai", "inspect"),
    ],
)
def test_missing_library_error_names_extra(adapter: str, module: str, extra: str) -> None:
    code = MISSING.format(adapter=adapter, module=module)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == f"ludex.{adapter} needs {module}: pip install 'ludex[{extra}]'\n", (
        done.stderr
    )


def test_unknown_attribute_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'tensorflow'"):
        ludex.tensorflow  # noqa: B018
