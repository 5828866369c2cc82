"""RLlib's new API stack, with its own action masks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule

from ludex.rllib import LudexMultiAgentEnv


def test_env_observes_acting_seats_only(url: str) -> None:
    env = LudexMultiAgentEnv({"game": "tic_tac_toe", "url": url, "flatten": False})
    obs, infos = env.reset(seed=1)
    assert (list(obs), infos) == (["player_0"], {})
    assert obs["player_0"]["observations"].shape == (2, 3, 3)
    assert env.observation_spaces["player_0"].contains(obs["player_0"])
    for turn, action in enumerate((0, 3, 1, 4)):
        obs, rewards, terminated, truncated, infos = env.step({f"player_{turn % 2}": action})
        assert list(obs) == [f"player_{(turn + 1) % 2}"]
        assert rewards == {f"player_{(turn + 1) % 2}": 0.0}
        assert (terminated["__all__"], truncated["__all__"]) == (False, False)
    obs, rewards, terminated, truncated, infos = env.step({"player_0": 2})
    assert sorted(obs) == ["player_0", "player_1"], "all agents observe the end"
    assert rewards == {"player_0": 1.0, "player_1": -1.0}
    assert terminated == {"player_0": True, "player_1": True, "__all__": True}
    assert infos == {"player_0": {"illegal": False}, "player_1": {"illegal": False}}
    assert "x" in env.render()
    env.close()
    both = LudexMultiAgentEnv({"game": "iterated_prisoners_dilemma", "url": url})
    obs, _ = both.reset(seed=1)
    assert sorted(obs) == ["player_0", "player_1"]
    assert obs["player_0"]["observations"].dtype == np.float32
    assert obs["player_0"]["observations"].ndim == 1
    *_, infos = both.step({"player_0": 0, "player_1": 7})
    assert infos["player_1"]["illegal"]
    both.close()


def test_invalid_config_names_fault() -> None:
    for config, fault in (({}, "expected a game"), ({"game": "tic_tac_toe", "gama": 1}, "gama")):
        with pytest.raises(TypeError, match=f"env_config: .*{fault}.* game, params"):
            LudexMultiAgentEnv(config)


def test_ppo_trains(url: str) -> None:
    module = RLModuleSpec(
        module_class=ActionMaskingTorchRLModule,
        model_config={"head_fcnet_hiddens": [64], "head_fcnet_activation": "relu"},
    )
    config: Any = (
        PPOConfig()
        .environment(LudexMultiAgentEnv, env_config={"game": "tic_tac_toe", "url": url})
        .env_runners(num_env_runners=0)
        .multi_agent(policies={"all"}, policy_mapping_fn=lambda agent, episode, **_: "all")
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={"all": module}))
        .training(train_batch_size=400, minibatch_size=100, num_epochs=2)
    )
    algorithm = config.build_algo()
    for _ in range(2):
        result = algorithm.train()
    runners = result["env_runners"]
    assert runners["num_episodes_lifetime"] > 50
    # With masks, no episode ends before its fifth move, and zero-sum returns cancel out.
    assert runners["episode_len_min"] >= 5
    assert abs(runners["episode_return_mean"]) < 1e-6
    algorithm.stop()
