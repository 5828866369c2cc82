"""Train RLlib's PPO in self-play; each environment runner uses the server of its node.

    pip install 'ludex[ray,rllib]' torch
    python ray_rllib.py --runners 4     # a local cluster, or that of RAY_ADDRESS

RLlib restarts the runners of a dead node on others, where they find the servers there.
"""

from __future__ import annotations

import argparse
from typing import Any

from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env

import ludex.ray
from ludex.rllib import LudexMultiAgentEnv


def main() -> None:
    """Train, and start servers on new nodes between iterations."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--batch", type=int, default=4_000)
    parser.add_argument("--runners", type=int, default=2)
    args = parser.parse_args()
    with ludex.ray.Servers() as servers:

        def env(config: dict[str, Any]) -> LudexMultiAgentEnv:
            return LudexMultiAgentEnv({**config, "url": servers.local().url, "patience": 5})

        register_env("ludex", env)
        module = RLModuleSpec(module_class=ActionMaskingTorchRLModule)
        config = (
            PPOConfig()
            .environment("ludex", env_config={"game": "tic_tac_toe"})
            .env_runners(num_env_runners=args.runners)
            .fault_tolerance(restart_failed_env_runners=True, restart_failed_sub_environments=True)
            .multi_agent(policies={"all"}, policy_mapping_fn=lambda agent, episode, **_: "all")
            .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={"all": module}))
            .training(train_batch_size=args.batch, minibatch_size=min(128, args.batch))
        )
        algorithm = config.build_algo()
        for iteration in range(args.iterations):
            servers.refresh()
            result = algorithm.train()["env_runners"]
            print(f"{iteration}: {result['num_episodes_lifetime']:.0f} episodes")
        algorithm.stop()


if __name__ == "__main__":
    main()
