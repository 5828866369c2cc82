"""Stable-Baselines3 and sb3-contrib."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor

import ludex
from ludex.gymnasium import LudexEnv
from ludex.sb3 import LudexVecEnv


def first_legal(obs: Any, mask: Any) -> Any:
    return mask.argmax(axis=1)


def test_single_env_passes_sb3_checker(url: str) -> None:
    env = LudexEnv("tic_tac_toe", url=url)
    check_env(env)
    env.close()


@pytest.mark.parametrize("opponent", ["random", first_legal])
def test_vec_env_matches_single_envs(url: str, opponent: Any) -> None:
    options: dict[str, Any] = {"url": url, "opponent": opponent, "seat": "alternate"}
    apart = DummyVecEnv([lambda: LudexEnv("connect_four", **options)] * 5)
    whole = LudexVecEnv("connect_four", 5, **options)
    for envs in (apart, whole):
        envs.seed(100)
    assert whole.observation_space == apart.observation_space
    assert whole.action_space == apart.action_space
    assert np.array_equal(whole.reset(), apart.reset())
    rng, ended = np.random.default_rng(0), 0
    for step in range(80):
        masks = get_action_masks(whole)
        assert np.array_equal(masks, get_action_masks(apart))
        assert np.array_equal(masks, whole.action_masks())
        actions = (rng.random(masks.shape) * masks).argmax(axis=1)
        if step % 20 == 5:
            actions[0] = 9
        shown, expected = whole.step(actions), apart.step(actions)
        for one, other in zip(shown[:3], expected[:3], strict=True):
            assert one.dtype == other.dtype
            assert np.array_equal(one, other)
        for one, other in zip(shown[3], expected[3], strict=True):
            assert ("terminal_observation" in one) == ("terminal_observation" in other)
            if "terminal_observation" in other:
                ended += 1
                for name in ("terminal_observation", "TimeLimit.truncated", "illegal", "seat"):
                    assert np.array_equal(one[name], other[name]), name
    assert ended > 10
    apart.close()
    whole.close()


def test_vec_env_renders_frames(url: str) -> None:
    pytest.importorskip("resvg_py", reason="the rasterizer is missing (ludex[render])")
    envs = LudexVecEnv("tic_tac_toe", 2, url=url, render_mode="rgb_array")
    envs.reset()
    assert [image.shape for image in envs.get_images() if image is not None] == [(640, 640, 3)] * 2
    tiled = envs.render()
    assert tiled is not None
    assert tiled.shape == (1280, 640, 3)
    envs.close()


def test_vec_env_answers_attribute_calls(url: str) -> None:
    envs = LudexVecEnv("tic_tac_toe", 3, url=url, render_mode="ansi", max_steps=3)
    assert is_masking_supported(envs)
    assert envs.render_mode == "ansi"
    envs.reset()
    assert [mask().tolist() for mask in envs.get_attr("action_masks")] == [[True] * 9] * 3
    assert len(envs.env_method("action_masks", indices=[0, 2])) == 2
    assert envs.env_method("render", indices=1)[0].count("...") == 3
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        envs.get_attr("nothing")
    envs.set_attr("nothing", 4, indices=1)
    assert envs.get_attr("nothing") == [None, 4, None]
    assert not any(envs.env_is_wrapped(VecMonitor))
    envs.env_method("set_opponent", "mcts sims=2")
    for _ in range(3):
        _, _, over, infos = envs.step(envs.action_masks().argmax(axis=1))
        if over[0]:
            break
    assert over.all()
    assert [info["TimeLimit.truncated"] for info in infos] == [True] * 3
    with pytest.raises(RuntimeError, match="step_async"):
        envs.step_wait()
    with pytest.raises(ludex.LudexError, match="unknown_agent"):
        envs.set_opponent("rondom")
    envs.close()


def test_maskable_ppo_learns(url: str) -> None:
    """The mean return against random play increases from about 0 to 0.6 within seconds."""
    envs = VecMonitor(LudexVecEnv("tic_tac_toe", 32, url=url, opponent="random", seat="alternate"))
    model = MaskablePPO(
        "MlpPolicy", envs, n_steps=64, batch_size=128, learning_rate=1e-3, seed=1, device="cpu"
    )
    before, _ = evaluate_policy(model, envs, n_eval_episodes=300, deterministic=False)
    model.learn(20_000)
    after, _ = evaluate_policy(model, envs, n_eval_episodes=300, deterministic=False)
    assert abs(before) < 0.2, before
    assert after > 0.6, after
    envs.close()


def test_ppo_without_masks_runs(url: str) -> None:
    """Illegal actions lose, so PPO can learn the legal ones."""
    envs = LudexVecEnv("tic_tac_toe", 8, url=url)
    PPO("MlpPolicy", envs, n_steps=16, batch_size=64, device="cpu").learn(256)
    envs.close()
