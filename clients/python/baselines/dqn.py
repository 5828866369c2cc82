"""Masked double DQN against agents of the server, or against itself.

    pip install 'ludex[baselines]'
    python dqn.py --game connect_four --opponent self random --minutes 10 --export connect_four.onnx

The episode's seed draws the opponent from those given; `self` is the current policy with the same
exploration. The policy file has the values of the actions, divided by a temperature, as logits.

Sources: V. Mnih et al., "Human-Level Control through Deep Reinforcement Learning", Nature 518,
2015; H. van Hasselt et al., "Deep Reinforcement Learning with Double Q-learning", AAAI 2016.
"""

from __future__ import annotations

import argparse
import copy
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from torch import nn

import ludex.onnx
from ludex.gymnasium import LudexVectorEnv

Array = np.ndarray[Any, np.dtype[Any]]


class Network(nn.Module):
    """Two hidden layers, convolutional for boards, with the values of the actions."""

    def __init__(self, spec: ludex.Spec, hidden: int) -> None:
        super().__init__()
        array = spec.array()
        shape = array["s"]
        # Most numbers are 0 or 1; where some are counts, they are scaled less than by their bound.
        self.scale = float(array["high"]) ** 0.5
        body: list[nn.Module]
        if len(shape) == 3:
            cells = shape[1] * shape[2]
            narrow = max(2, 256 // cells)
            body = [nn.Conv2d(shape[0], 32, 3, padding=1), nn.ReLU()]
            body += [nn.Conv2d(32, 32, 3, padding=1), nn.ReLU()]
            body += [nn.Conv2d(32, narrow, 1), nn.ReLU(), nn.Flatten()]
            body += [nn.Linear(narrow * cells, hidden), nn.ReLU()]
        else:
            body = [nn.Flatten(), nn.Linear(int(np.prod(shape)), hidden), nn.ReLU()]
            body += [nn.Linear(hidden, hidden), nn.ReLU()]
        self.body = nn.Sequential(*body)
        self.values = nn.Linear(hidden, spec.actions)
        nn.init.zeros_(self.values.weight)

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        """Return values ``[N, A]`` for observations ``float32 [N, ...]``."""
        values: torch.Tensor = self.values(self.body(obs / self.scale))
        return values

    def evaluate(self, obs: Array, mask: Array) -> torch.Tensor:
        """Return the values of the actions, -1e9 for illegal ones."""
        values: torch.Tensor = self(torch.from_numpy(obs).float())
        return values.masked_fill(torch.from_numpy(mask) == 0, -1e9)


class Policy(nn.Module):
    """The network with logits as outputs."""

    def __init__(self, network: Network, temperature: float) -> None:
        super().__init__()
        self.network, self.temperature = network, temperature

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        """Return logits ``[N, A]``."""
        return self.network(obs) / self.temperature


class Replay:
    """A ring of the latest transitions."""

    NAMES = ("obs", "action", "reward", "running", "next_obs", "next_mask")

    def __init__(self, size: int, obs: Array, actions: int) -> None:
        self.size, self.count = size, 0
        self.obs = np.zeros((size, *obs.shape[1:]), obs.dtype)
        self.next_obs, self.next_mask = self.obs.copy(), np.zeros((size, actions), np.int8)
        self.action, self.reward = np.zeros(size, np.int64), np.zeros(size, np.float32)
        self.running = np.zeros(size, np.float32)

    def add(self, *columns: Array) -> None:
        """Add a row of each environment."""
        at = (self.count + np.arange(len(columns[0]))) % self.size
        for name, column in zip(self.NAMES, columns, strict=True):
            getattr(self, name)[at] = column
        self.count += len(at)

    def state_dict(self) -> dict[str, Any]:
        """Return the columns as tensors, and the count."""
        columns = {name: torch.from_numpy(getattr(self, name)) for name in self.NAMES}
        return {"count": self.count, **columns}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Replace the transitions."""
        self.count = state["count"]
        for name in self.NAMES:
            getattr(self, name)[:] = state[name].numpy()


class Trainer:
    """The networks, their optimizer, the transitions and the environments."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        torch.manual_seed(args.seed)
        self.epsilon = 1.0
        opponents = [self.act if name == "self" else name for name in args.opponent]
        self.envs = LudexVectorEnv(
            args.game,
            args.envs,
            opponent=opponents,
            seat="alternate",
            url=args.url,
            autoreset_mode=AutoresetMode.SAME_STEP,
        )
        self.spec = spec = self.envs.game
        step = spec.rewards == "step"
        self.scale = args.reward_scale if step else 2 / (spec.max_return - spec.min_return)
        self.network = Network(spec, args.hidden)
        self.target = copy.deepcopy(self.network)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=args.lr)
        self.steps, self.seconds, self.updates = 0, 0.0, 0
        state: dict[str, Any] = {}
        if args.checkpoint and args.checkpoint.exists():
            state = torch.load(args.checkpoint, weights_only=True)
            self.network.load_state_dict(state["network"])
            self.target.load_state_dict(state["target"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.steps, self.seconds, self.updates = state["counts"]
            torch.set_rng_state(state["rng"])
        self.rng = np.random.default_rng([args.seed, self.steps])
        self.obs, self.info = self.envs.reset(seed=args.seed * 2**32 + self.steps)
        self.replay = Replay(args.replay, self.obs, spec.actions)
        if state:
            self.replay.load_state_dict(state["replay"])

    def save(self) -> None:
        """Write the checkpoint and the policy file."""
        if self.args.checkpoint:
            state = {"network": self.network.state_dict(), "target": self.target.state_dict()}
            state |= {"optimizer": self.optimizer.state_dict(), "rng": torch.get_rng_state()}
            state["counts"] = [self.steps, self.seconds, self.updates]
            state["replay"] = self.replay.state_dict()
            temporary = self.args.checkpoint.with_suffix(".tmp")
            torch.save(state, temporary)
            os.replace(temporary, self.args.checkpoint)
        if self.args.export:
            policy = Policy(self.network, self.args.temperature)
            ludex.onnx.export(policy, self.args.export, self.spec, heads=["policy"])

    @torch.no_grad()
    def act(self, obs: Array, mask: Array) -> Array:
        """Return the best action of each row; with probability ``epsilon`` a random one."""
        best = self.network.evaluate(obs, mask).argmax(dim=1).numpy()
        any_action = (self.rng.random(mask.shape) * mask).argmax(axis=1)
        actions: Array = np.where(self.rng.random(len(best)) < self.epsilon, any_action, best)
        return actions

    def step(self) -> list[float]:
        """Play an action in each environment; return the last rewards of ended episodes."""
        obs, actions = self.obs, self.act(self.obs, self.info["action_mask"])
        self.obs, rewards, ended, cut, self.info = self.envs.step(actions)
        following, over = self.obs.copy(), ended | cut
        for row in np.flatnonzero(over):
            following[row] = self.info["final_obs"][row]
        columns = rewards * self.scale, ~over, following, self.info["action_mask"]
        self.replay.add(obs, actions, *columns)
        self.steps += len(obs)
        return list(rewards[over])

    def learn(self) -> float:
        """Make one update from a minibatch; return its error."""
        args, replay = self.args, self.replay
        rows = self.rng.integers(min(replay.count, replay.size), size=args.minibatch)
        following, mask = replay.next_obs[rows], replay.next_mask[rows]
        with torch.no_grad():
            best = self.network.evaluate(following, mask).argmax(dim=1, keepdim=True)
            later = self.target.evaluate(following, mask).gather(1, best).squeeze(1)
            later *= args.gamma * torch.from_numpy(replay.running[rows])
            goal = torch.from_numpy(replay.reward[rows]) + later
        values = self.network(torch.from_numpy(replay.obs[rows]).float())
        chosen = values.gather(1, torch.from_numpy(replay.action[rows])[:, None]).squeeze(1)
        loss = nn.functional.smooth_l1_loss(chosen, goal)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 10.0)
        self.optimizer.step()
        self.updates += 1
        if self.updates % args.target_every == 0:
            self.target.load_state_dict(self.network.state_dict())
        return float(loss.item())


def parse_args() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--game", default="connect_four", help="game string [connect_four]")
    add("--seed", type=int, default=1, help="seed [1]")
    budget = parser.add_mutually_exclusive_group()
    budget.add_argument("--steps", type=int, default=1_000_000, help="actions in all [1000000]")
    budget.add_argument("--minutes", type=float, help="minutes in all, instead of --steps")
    add("--until", type=int, default=0, metavar="STEPS", help="stop early, at this many actions")
    add("--track", metavar="DIR", help="write event files of TensorBoard to this folder")
    add("--checkpoint", type=Path, metavar="FILE", help="continue from this file, and save to it")
    add("--export", type=Path, metavar="FILE", help="write the policy to this ONNX file")
    add("--save-every", type=int, default=500, help="steps of all environments between saves [500]")
    add("--url", help="URL of a server [a local one]")
    add("--opponent", nargs="+", default=["self"], help="self, or agents of the server [self]")
    add("--envs", type=int, default=64, help="environments [64]")
    add("--hidden", type=int, default=64, help="width of the hidden layers [64]")
    add("--lr", type=float, default=5e-4, help="learning rate [0.0005]")
    add("--updates", type=int, default=2, help="updates for each step of the environments [2]")
    add("--minibatch", type=int, default=256, help="rows of a minibatch [256]")
    add("--replay", type=int, default=100_000, help="transitions to store [100000]")
    add("--warm-up", type=int, default=5_000, help="transitions before the first update [5000]")
    add("--target-every", type=int, default=500, help="updates between target networks [500]")
    add("--gamma", type=float, default=0.99, help="discount [0.99]")
    add("--epsilon", type=float, default=0.05, help="final exploration [0.05]")
    add("--exploration", type=float, default=0.3, help="share of the budget with more [0.3]")
    add("--temperature", type=float, default=0.05, help="divides the exported values [0.05]")
    add("--reward-scale", type=float, default=0.1, help="factor, for rewards of each step [0.1]")
    return parser.parse_args()


def main() -> None:
    """Train until the budget is spent."""
    args = parse_args()
    torch.set_num_threads(1)  # the networks are too small for more
    trainer = Trainer(args)
    writer: Any = None
    if args.track:
        from torch.utils.tensorboard import SummaryWriter

        writer = SummaryWriter(args.track)
    begun, iteration = time.monotonic() - trainer.seconds, 0
    errors: list[float] = []
    rewards: list[float] = []
    while True:
        trainer.seconds = time.monotonic() - begun
        spent = trainer.seconds / 60 / args.minutes if args.minutes else trainer.steps / args.steps
        over = spent >= 1 or 0 < args.until <= trainer.steps
        if iteration % args.save_every == 0 or over:
            trainer.save()
        if over:
            break
        left = max(0.0, 1 - spent / args.exploration)
        trainer.epsilon = args.epsilon + (1 - args.epsilon) * left
        rewards += trainer.step()
        if trainer.replay.count >= min(args.warm_up, args.replay):
            errors += [trainer.learn() for _ in range(args.updates)]
        iteration += 1
        if iteration % args.save_every == 0:
            means = {"last_reward": float(np.mean(rewards or [np.nan]))}
            means["error"] = float(np.mean(errors or [np.nan]))
            errors, rewards = [], []
            shown = ", ".join(f"{name} {value:.3g}" for name, value in means.items())
            print(f"{trainer.steps:>9} steps, {trainer.seconds:4.0f} s: {shown}", flush=True)
            if writer:
                for name, value in means.items():
                    writer.add_scalar(name, value, trainer.steps)
    trainer.envs.close()


if __name__ == "__main__":
    main()
