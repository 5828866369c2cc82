"""TorchRL through its PettingZoo wrapper."""

from __future__ import annotations

import torch
from torchrl.envs import PettingZooWrapper
from torchrl.envs.utils import check_env_specs

import ludex


def test_torchrl_plays_sequential_game(url: str) -> None:
    env = PettingZooWrapper(
        ludex.pettingzoo.aec("tic_tac_toe", url=url),
        use_mask=True,
        group_map=None,
        categorical_actions=True,
        seed=1,
    )
    check_env_specs(env)
    steps = env.rollout(20)
    assert 5 <= steps.batch_size[0] <= 9
    env.close()


def test_torchrl_plays_simultaneous_game(url: str) -> None:
    env = PettingZooWrapper(
        ludex.pettingzoo.parallel("iterated_prisoners_dilemma", url=url, max_steps=12),
        categorical_actions=True,
        seed=1,
    )
    check_env_specs(env)
    steps = env.rollout(20)
    assert 1 <= steps.batch_size[0] <= 12
    rewards = steps["next", "player", "reward"]
    assert rewards.shape[1:] == (2, 1)
    assert torch.isin(rewards, torch.tensor([0.0, 1.0, 5.0, 10.0])).all()
    env.close()
