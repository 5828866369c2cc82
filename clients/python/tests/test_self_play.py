"""Batched self-play with a real server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ludex
from ludex.columns import Array
from ludex.self_play import SelfPlayVectorEnv

GAMES = {
    "tic_tac_toe": {},
    "kuhn_poker": {"players": 3},
    "iterated_prisoners_dilemma": {},
    "pig": {},
    "chess": {},
}


@pytest.fixture(scope="module")
def url(program: str) -> Iterator[str]:
    with ludex.serve() as server:
        yield server.url


def first_legal(info: dict[str, Any]) -> Array:
    """Return the first legal action of each acting seat, and 0 for other seats."""
    actions: Array = info["action_mask"].argmax(axis=2)
    return actions


@pytest.mark.parametrize("game", list(GAMES))
def test_vector_env_matches_pettingzoo_games(url: str, game: str) -> None:
    settings: dict[str, Any] = {"params": GAMES[game], "max_steps": 40, "url": url}
    envs = SelfPlayVectorEnv(game, 3, autoreset_mode="Disabled", **settings)
    obs, info = envs.reset(seed=5)
    assert envs.observation_space.contains(obs)
    singles = [ludex.pettingzoo.parallel(game, **settings) for _ in range(3)]
    shown = [single.reset(seed=5 + index)[0] for index, single in enumerate(singles)]
    agents = singles[0].possible_agents
    steps, over = 0, np.zeros(3, np.bool_)
    while not over.any():
        masks = info["action_mask"]
        assert np.array_equal(info["acting"], masks.any(axis=2))
        for index, single in enumerate(shown):
            for seat, agent in enumerate(agents):
                assert np.array_equal(obs[index, seat], single[agent]["observation"])
                assert np.array_equal(masks[index, seat], single[agent]["action_mask"])
        actions = first_legal(info)
        obs, rewards, terminated, truncated, info = envs.step(actions)
        for index, single in enumerate(singles):
            told = single.step(dict(zip(agents, actions[index].tolist(), strict=True)))
            shown[index] = told[0]
            assert rewards[index].tolist() == [told[1][agent] for agent in agents]
            assert bool(terminated[index]) == told[2][agents[0]]
            assert bool(truncated[index]) == told[3][agents[0]]
        steps, over = steps + 1, terminated | truncated
    assert steps > 1
    for env in (envs, *singles):
        env.close()


def test_autoreset_modes_yield_same_episodes(url: str) -> None:
    following = SelfPlayVectorEnv("tic_tac_toe", 2, url=url)
    same_step = SelfPlayVectorEnv("tic_tac_toe", 2, url=url, autoreset_mode="SameStep")
    obs, info = following.reset(seed=1)
    assert np.array_equal(obs, same_step.reset(seed=1)[0])
    for _ in range(7):
        actions = first_legal(info)
        obs, rewards, terminated, _, info = following.step(actions)
        again = same_step.step(actions)
        assert np.array_equal(rewards, again[1])
        assert np.array_equal(terminated, again[2])
    assert terminated.all()
    assert rewards.tolist() == [[1, -1]] * 2
    assert not info["acting"].any()
    assert again[4]["_final_obs"].all()
    assert np.array_equal(np.stack(again[4]["final_obs"]), obs)
    # The next step starts the next episode and ignores the actions.
    obs, rewards, terminated, _, info = following.step(np.full((2, 2), 8))
    assert not rewards.any()
    assert not terminated.any()
    assert np.array_equal(obs, again[0])
    assert info["acting"].tolist() == [[True, False]] * 2
    following.close()
    same_step.close()


def test_info_has_legal_ids_with_id_masks(url: str) -> None:
    dense = SelfPlayVectorEnv("fight_the_landlord", 2, url=url)
    listed = SelfPlayVectorEnv("fight_the_landlord", 2, url=url, mask="ids")
    info, other = dense.reset(seed=3)[1], listed.reset(seed=3)[1]
    for _ in range(12):
        assert "action_mask" not in other
        assert np.array_equal(info["acting"], other["acting"])
        for row, mask in enumerate(info["action_mask"].reshape(6, -1)):
            assert other["legal"].row(row).tolist() == np.flatnonzero(mask).tolist()
        actions = first_legal(info)
        info, other = dense.step(actions)[4], listed.step(actions)[4]
    dense.close()
    listed.close()


@pytest.mark.parametrize("action", [0, 9, -1, 2**40])
def test_illegal_action_loses_for_its_seat(url: str, action: int) -> None:
    envs = SelfPlayVectorEnv("tic_tac_toe", 2, url=url, autoreset_mode="Disabled")
    envs.reset(seed=0)
    envs.step(np.zeros((2, 2), np.int64))
    _, rewards, terminated, _, info = envs.step(np.array([[0, action], [0, 1]]))
    assert rewards.tolist() == [[1, -1], [0, 0]]
    assert terminated.tolist() == info["illegal"].tolist() == [True, False]
    with pytest.raises(ludex.LudexError) as caught:
        envs.step(np.full((2, 2), 4))
    assert caught.value.code == "env_over"
    obs, info = envs.reset(options={"reset_mask": np.array([True, False])})
    assert info["acting"].tolist() == [[True, False]] * 2
    assert [int(board.sum()) for board in obs[:, 0]] == [0, 2]
    assert envs.step(np.full((2, 2), 4))[2].tolist() == [False, False]
    envs.close()


def test_invalid_arguments_name_fault(url: str) -> None:
    with pytest.raises(ValueError, match="allowed: 'dense', 'ids'"):
        SelfPlayVectorEnv("tic_tac_toe", url=url, mask="bits")  # type: ignore[arg-type]
    envs = SelfPlayVectorEnv("tic_tac_toe", 2, url=url)
    envs.reset(seed=[4, 5])
    for wrong in ([0, 0], [[0, 0]], [[0.5, 0], [0, 0]]):
        with pytest.raises(ValueError, match=r"expected integers \[2, 2\]"):
            envs.step(np.array(wrong))
    for seeds in ([1], [1, 2, 3]):
        with pytest.raises(ValueError, match="seed: expected 2, one per env"):
            envs.reset(seed=seeds)
    envs.close()
    with pytest.raises(ludex.LudexError, match="this client is closed"):
        envs.step(np.zeros((2, 2), np.int64))
