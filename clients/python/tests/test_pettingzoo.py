"""The PettingZoo adapter with a real server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from pettingzoo.test import (
    api_test,
    parallel_api_test,
    parallel_seed_test,
    render_test,
    seed_test,
    state_test,
)

import ludex
from ludex.catalogue import GAMES

# Warnings that PettingZoo's own classic games raise, too: dict observations, empty boards.
EXPECTED = pytest.mark.filterwarnings(
    "ignore:Observation is not a NumPy array",
    "ignore:Observation numpy array is all zeros",
    "ignore:Observation space for each agent probably should be",
    "ignore:State has more than 3 dimensions",
    "ignore:State numpy array is all zeros",
    "ignore:The state contains negative numbers",
)


@pytest.fixture(scope="module")
def url(program: str) -> Iterator[str]:
    with ludex.serve() as server:
        yield server.url


@EXPECTED
@pytest.mark.parametrize("game", list(GAMES))
def test_each_game_passes_api_tests(url: str, game: str) -> None:
    env = ludex.pettingzoo.aec(game, url=url)
    api_test(env, num_cycles=200)
    env.close()
    seed_test(lambda: ludex.pettingzoo.aec(game, url=url), num_cycles=50)
    parallel = ludex.pettingzoo.parallel(game, url=url)
    parallel_api_test(parallel, num_cycles=60)
    parallel.close()
    parallel_seed_test(lambda: ludex.pettingzoo.parallel(game, url=url), num_cycles=50)


@EXPECTED
@pytest.mark.parametrize("game", list(GAMES))
def test_each_game_passes_state_test(url: str, game: str) -> None:
    env, parallel = ludex.pettingzoo.aec(game, url=url), ludex.pettingzoo.parallel(game, url=url)
    state_test(env, parallel)
    env.close()
    parallel.close()


@pytest.mark.parametrize("game", ["connect_four", "leduc_poker"])
def test_state_has_observations_of_all_agents(url: str, game: str) -> None:
    env = ludex.pettingzoo.aec(game, url=url)
    with pytest.raises(ludex.LudexError, match="no episode yet"):
        env.state()
    env.reset(seed=3)
    env.step(int(env.last()[0]["action_mask"].argmax()))
    both = [env.observe(agent)["observation"] for agent in env.possible_agents]
    assert np.array_equal(env.state(), np.concatenate(both))
    assert env.state().dtype == env.state_space.dtype
    env.state()[:] = 1  # a copy may be changed
    assert np.array_equal(env.state(), np.concatenate(both))
    parallel = ludex.pettingzoo.parallel(game, url=url)
    assert parallel.agents == []
    obs, _ = parallel.reset(seed=3)
    whole = [obs[agent]["observation"] for agent in parallel.possible_agents]
    assert np.array_equal(parallel.state(), np.concatenate(whole))
    env.close()
    parallel.close()


def test_calls_in_wrong_order_raise(url: str) -> None:
    env = ludex.pettingzoo.aec("tic_tac_toe", url=url)
    for early in (env.agent_iter, lambda: env.step(0), lambda: env.observe("player_0")):
        with pytest.raises(AssertionError, match="needs to be called before"):
            early()
    with pytest.raises(AttributeError):
        _ = env.agents
    env.reset(seed=1)
    agents = env.agent_iter()
    next(agents)
    with pytest.raises(AssertionError, match="need to call step"):
        next(agents)
    assert len(list(env.agent_iter(0))) == 0
    env.close()


def test_rendering_passes_pettingzoo_test(url: str) -> None:
    pytest.importorskip("resvg_py", reason="the rasterizer is missing (ludex[render])")
    opened: list[Any] = []

    def make(render_mode: str) -> Any:
        opened.append(ludex.pettingzoo.aec("tic_tac_toe", url=url, render_mode=render_mode))
        return opened[-1]

    render_test(make)
    for env in opened:
        env.close()


def test_human_mode_prints_last_mover(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    env = ludex.pettingzoo.aec("tic_tac_toe", url=url, render_mode="human")
    env.reset(seed=1)
    env.step(4)
    assert capsys.readouterr().out == "player_0 played 4\n...\n.x.\n...\n"
    env.close()
    game = "iterated_prisoners_dilemma"
    parallel = ludex.pettingzoo.parallel(game, url=url, render_mode="human")
    parallel.reset(seed=1)
    parallel.step({"player_0": 0, "player_1": 1})
    assert capsys.readouterr().out.startswith("player_0 played 0\nplayer_1 played 1\n")
    parallel.close()


def test_aec_plays_sequential_game(url: str) -> None:
    env = ludex.pettingzoo.aec("tic_tac_toe", url=url)
    env.reset(seed=1)
    assert str(env) == "tic_tac_toe_v1"
    seen = []
    for agent in env.agent_iter():
        obs, reward, terminated, truncated, info = env.last()
        assert set(obs) == {"observation", "action_mask"}
        assert obs["action_mask"].dtype == np.int8
        seen.append((agent, reward, terminated, int(obs["action_mask"].sum())))
        assert (truncated, info) == (False, {"illegal": False})
        waiting = next(other for other in env.possible_agents if other != agent)
        assert not env.observe(waiting)["action_mask"].any() or terminated
        obs["observation"][:] = 7  # a copy may be changed
        env.step(None if terminated else int(obs["action_mask"].argmax()))
    assert seen == [
        *(("player_0", 0, False, 9), ("player_1", 0, False, 8), ("player_0", 0, False, 7)),
        *(("player_1", 0, False, 6), ("player_0", 0, False, 5), ("player_1", 0, False, 4)),
        *(("player_0", 0, False, 3), ("player_0", 1, True, 0), ("player_1", -1, True, 0)),
    ]
    env.close()


def test_aec_applies_simultaneous_moves_together(url: str) -> None:
    env = ludex.pettingzoo.aec("iterated_prisoners_dilemma", url=url, max_steps=2)
    env.reset(seed=0)
    env.step(0)
    assert env.agent_selection == "player_1"
    assert not env.observe("player_1")["observation"].any(), "nothing has happened yet"
    assert env.rewards == {"player_0": 0, "player_1": 0}
    env.step(1)
    assert env.rewards == {"player_0": 0.0, "player_1": 10.0}
    assert env.agent_selection == "player_0"
    env.step(1)
    assert env.last()[1] == 10.0
    env.step(1)
    assert env.rewards == {"player_0": 1.0, "player_1": 1.0}
    assert env.last()[3], "truncated by max_steps"
    env.close()


def test_parallel_plays_simultaneous_game(url: str) -> None:
    env = ludex.pettingzoo.parallel(
        "iterated_prisoners_dilemma", url=url, params={"preset": "axelrod"}
    )
    obs, infos = env.reset(seed=5)
    assert set(obs) == set(infos) == {"player_0", "player_1"}
    assert obs["player_0"]["action_mask"].tolist() == [1, 1]
    obs, rewards, terminated, _, infos = env.step({"player_0": 0, "player_1": 1})
    assert rewards == {"player_0": 0.0, "player_1": 5.0}
    # Each agent observes its own action first.
    assert not np.array_equal(obs["player_0"]["observation"], obs["player_1"]["observation"])
    assert not any(terminated.values())
    with pytest.raises(KeyError):
        env.step({"player_0": 0})
    for wrong in ("x", 0.5, [0, 1]):
        with pytest.raises(TypeError, match="expected an integer"):
            env.step({"player_0": wrong, "player_1": 0})
    while env.agents:
        *_, infos = env.step({agent: 0 for agent in env.agents})
    with pytest.raises(ludex.LudexError, match="env_over"):
        env.step({"player_0": 0, "player_1": 0})
    env.close()
    # In a sequential game, the other agent's action is ignored.
    turns = ludex.pettingzoo.parallel("tic_tac_toe", url=url)
    obs, _ = turns.reset(seed=0)
    assert [int(obs[agent]["action_mask"].sum()) for agent in turns.agents] == [9, 0]
    obs, *_ = turns.step({"player_0": 4, "player_1": 4})
    assert [int(obs[agent]["action_mask"].sum()) for agent in turns.agents] == [0, 8]
    turns.close()


@pytest.mark.parametrize("action", [4, 99, -1])
def test_illegal_action_loses_episode(url: str, action: int) -> None:
    env = ludex.pettingzoo.aec("tic_tac_toe", url=url)
    env.reset(seed=1)
    env.step(4)
    env.step(action)
    assert env.terminations == {"player_0": True, "player_1": True}
    assert env.rewards == {"player_0": 1.0, "player_1": -1.0}
    assert env.infos == {"player_0": {"illegal": False}, "player_1": {"illegal": True}}
    env.close()
    both = ludex.pettingzoo.parallel("iterated_prisoners_dilemma", url=url)
    both.reset(seed=0)
    _, _, terminated, _, infos = both.step({"player_0": 0, "player_1": 9})
    assert all(terminated.values())
    assert infos["player_1"]["illegal"]
    assert not infos["player_0"]["illegal"]
    both.close()


def test_invalid_arguments_name_fault(url: str) -> None:
    with pytest.raises(ludex.LudexError) as caught:
        ludex.pettingzoo.aec("tic_tak_toe", url=url)
    assert caught.value.nearest == "tic_tac_toe"
    with pytest.raises(ludex.LudexError, match="bad_params"):
        ludex.pettingzoo.parallel("connect_four", params={"row": 3}, url=url)
