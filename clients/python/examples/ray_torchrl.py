"""Train PPO with TorchRL's losses on rollouts from all nodes of a Ray cluster.

    pip install 'ludex[ray]' torchrl
    python ray_torchrl.py               # a local cluster, or that of RAY_ADDRESS

Each node plays on its own server and returns rollouts; the learner never waits for a lost node.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import torch
from tensordict import TensorDict
from tensordict.nn import ProbabilisticTensorDictModule, ProbabilisticTensorDictSequential
from tensordict.nn import TensorDictModule as Module
from torch import nn
from torchrl.modules import MaskedCategorical
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

import ludex.ray

GAME, CELLS, ACTIONS = "connect_four", 2 * 6 * 7, 7


def batch_of(rollout: ludex.ray.Rollout, actor: Any) -> TensorDict:
    """Return a rollout as TorchRL expects it, ``[n, T]``, with the log probabilities."""
    obs = torch.tensor(rollout.obs).float().flatten(2).transpose(0, 1)
    mask = torch.tensor(rollout.mask).bool().transpose(0, 1)
    over = torch.tensor(rollout.terminated | rollout.truncated).T[..., None]
    count, steps = over.shape[:2]
    after = {"obs": obs[:, 1:], "mask": mask[:, 1:], "done": over, "terminated": over}
    after["reward"] = torch.tensor(rollout.reward).T[..., None]
    batch = TensorDict({"obs": obs[:, :-1], "mask": mask[:, :-1], "next": after}, [count, steps])
    batch["action"] = torch.tensor(rollout.action).T
    batch["action_log_prob"] = actor.get_dist(batch).log_prob(batch["action"]).detach()
    return batch


def main() -> None:
    """Alternate rollouts and updates."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=int, default=50)
    parser.add_argument("--steps", type=int, default=32)
    parser.add_argument("--envs", type=int, default=128, help="environments of each node")
    args = parser.parse_args()
    net = nn.Sequential(nn.Linear(CELLS, 128), nn.Tanh(), nn.Linear(128, ACTIONS))
    critic = Module(
        nn.Sequential(nn.Linear(CELLS, 128), nn.Tanh(), nn.Linear(128, 1)), ["obs"], ["state_value"]
    )
    sample = ProbabilisticTensorDictModule(
        ["logits", "mask"], ["action"], distribution_class=MaskedCategorical, return_log_prob=True
    )
    actor = ProbabilisticTensorDictSequential(Module(net, ["obs"], ["logits"]), sample)
    loss, gae = ClipPPOLoss(actor, critic), GAE(gamma=0.99, lmbda=0.95, value_network=critic)
    optimizer = torch.optim.Adam(loss.parameters(), lr=1e-3)

    def policy(obs: Any, mask: Any) -> Any:
        with torch.no_grad():
            logits = net(torch.as_tensor(obs).float().flatten(1))
        logits = logits.masked_fill(torch.as_tensor(mask) == 0, -torch.inf)
        return torch.distributions.Categorical(logits=logits).sample().numpy()

    with ludex.ray.Servers() as servers, ludex.ray.Rollouts(servers, GAME, args.envs) as rollouts:
        for iteration in range(args.iterations):
            found = rollouts.rollout(policy, args.steps, version=iteration)
            batch = torch.cat([gae(batch_of(each, actor)) for each in found])
            for _ in range(4):
                terms = loss(batch)
                optimizer.zero_grad()
                (terms["loss_objective"] + terms["loss_critic"] + terms["loss_entropy"]).backward()
                optimizer.step()
            ended = np.concatenate([each.reward[each.terminated] for each in found])
            print(f"{iteration}: {len(found)} nodes, return {ended.mean():+.3f}")


if __name__ == "__main__":
    main()
