"""Train Tianshou's DQN on transitions from all nodes of a Ray cluster.

    pip install 'ludex[ray]' tianshou
    python ray_tianshou.py              # a local cluster, or that of RAY_ADDRESS

Each node plays on its own server; its transitions go to the learner's replay buffer.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Discrete
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Batch, VectorReplayBuffer
from tianshou.utils.net.common import Net
from tianshou.utils.torch_utils import policy_within_training_step, torch_train_mode

import ludex.ray

GAME, SHAPE, ACTIONS = "connect_four", (2, 6, 7), 7
EPSILON = 0.1


def add(buffer: Any, rollout: ludex.ray.Rollout) -> None:
    """Add a rollout to the buffer; each environment has a part of its own."""
    count = rollout.action.shape[1]
    places = (rollout.actor * count + np.arange(count)) % buffer.buffer_num
    for step, action in enumerate(rollout.action):
        now, after = (Batch(obs=rollout.obs[t], mask=rollout.mask[t]) for t in (step, step + 1))
        over = {name: getattr(rollout, name)[step] for name in ("terminated", "truncated")}
        row = Batch(obs=now, act=action, rew=rollout.reward[step], obs_next=after, **over)
        buffer.add(row, buffer_ids=places)


def main() -> None:
    """Alternate rollouts and updates."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--envs", type=int, default=64, help="environments of each node")
    parser.add_argument("--updates", type=int, default=32, help="updates of an iteration")
    args = parser.parse_args()
    net = Net(state_shape=SHAPE, action_shape=ACTIONS, hidden_sizes=[128, 128])
    dqn = DQN(
        policy=DiscreteQLearningPolicy(model=net, action_space=Discrete(ACTIONS)),
        optim=AdamOptimizerFactory(lr=1e-3),
        target_update_freq=200,
    )

    def policy(obs: Any, mask: Any) -> Any:
        with torch.no_grad():
            values = net(obs)[0].numpy()
        draws = np.random.random(mask.shape)
        explore = np.random.random((len(mask), 1)) < EPSILON
        return np.where(mask == 1, np.where(explore, draws, values), -np.inf).argmax(axis=1)

    with ludex.ray.Servers() as servers, ludex.ray.Rollouts(servers, GAME, args.envs) as rollouts:
        buffer = VectorReplayBuffer(100_000, args.envs * len(servers.urls))
        for iteration in range(args.iterations):
            found = rollouts.rollout(policy, args.steps, version=iteration)
            for rollout in found:
                add(buffer, rollout)
            with policy_within_training_step(dqn.policy), torch_train_mode(dqn):
                for _ in range(args.updates):
                    dqn.update(buffer, sample_size=256)
            ended = np.concatenate([each.reward[each.terminated] for each in found])
            print(f"{iteration}: {len(found)} nodes, return {ended.mean():+.3f}")


if __name__ == "__main__":
    main()
