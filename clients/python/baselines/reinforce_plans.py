"""REINFORCE with a learned baseline, for games of plans, whose parts are chosen one by one.

    pip install 'ludex[baselines]'
    python reinforce_plans.py --game battle_cards --minutes 2 --export battle_cards.onnx

A plan (a team, a line of towers) is a short episode: each action adds a part, and the return comes
at the end. The gradient of an episode weighs all its actions by the return above the baseline,
which is the value that the network predicts before each action. The episode's seed draws the
opponent from those given; `self` is the current policy.

Sources: R. J. Williams, "Simple Statistical Gradient-Following Algorithms for Connectionist
Reinforcement Learning", Machine Learning 8, 1992; baselines: R. S. Sutton and A. G. Barto,
"Reinforcement Learning", 2nd edition, 2018, section 13.4.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from torch import nn

import ludex
import ludex.onnx
from ludex.gymnasium import LudexVectorEnv

Array = np.ndarray[Any, np.dtype[Any]]


class Network(nn.Module):
    """Two hidden layers, with a policy head and a value head."""

    def __init__(self, spec: ludex.Spec, hidden: int) -> None:
        super().__init__()
        array = spec.array()
        # Most numbers are 0 or 1; where some are counts, they are scaled less than by their bound.
        self.scale = float(array["high"]) ** 0.5
        inputs = int(np.prod(array["s"]))
        self.body = nn.Sequential(
            nn.Flatten(), nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU()
        )
        self.policy = nn.Linear(hidden, spec.actions)
        self.value = nn.Linear(hidden, 1)
        nn.init.zeros_(self.policy.weight)
        nn.init.zeros_(self.value.weight)

    def forward(self, obs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits ``[N, A]`` and values ``[N, 1]`` for observations ``float32 [N, ...]``."""
        body = self.body(obs / self.scale)
        return self.policy(body), self.value(body)

    def evaluate(self, obs: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return log probabilities, about -1e9 for illegal actions, and values ``[N]``."""
        logits, value = self(obs.float())
        logp = torch.log_softmax(logits.masked_fill(mask == 0, -1e9), dim=1)
        return logp, value.squeeze(1)


class Policy(nn.Module):
    """The network with values between the bounds of the game's returns."""

    def __init__(self, network: Network, offset: float) -> None:
        super().__init__()
        self.network, self.offset = network, offset

    def forward(self, obs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits ``[N, A]`` and values ``[N, 1]``."""
        logits, value = self.network(obs)
        return logits, value - self.offset


class Trainer:
    """The network, its optimizer, the environments and their unfinished episodes."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        torch.manual_seed(args.seed)
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
        if spec.rewards != "terminal":
            raise SystemExit(f"game: expected a reward at the end only, got {spec.string}")
        self.span = spec.max_return - spec.min_return
        self.network = Network(spec, args.hidden)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=args.lr)
        self.steps, self.seconds = 0, 0.0
        if args.checkpoint and args.checkpoint.exists():
            state = torch.load(args.checkpoint, weights_only=True)
            self.network.load_state_dict(state["network"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.steps, self.seconds = state["counts"]
            torch.set_rng_state(state["rng"])
        self.obs, self.info = self.envs.reset(seed=args.seed * 2**32 + self.steps)
        self.pending: list[list[tuple[Array, Array, int]]] = [[] for _ in range(args.envs)]

    def save(self) -> None:
        """Write the checkpoint and the policy file."""
        if self.args.checkpoint:
            state = {"network": self.network.state_dict(), "rng": torch.get_rng_state()}
            state["optimizer"] = self.optimizer.state_dict()
            state["counts"] = [self.steps, self.seconds]
            temporary = self.args.checkpoint.with_suffix(".tmp")
            torch.save(state, temporary)
            os.replace(temporary, self.args.checkpoint)
        if self.args.export:
            offset = (self.spec.max_return + self.spec.min_return) / self.span
            ludex.onnx.export(Policy(self.network, offset), self.args.export, self.spec)

    @torch.no_grad()
    def act(self, obs: Array, mask: Array) -> Array:
        """Sample an action for each row."""
        logp, _ = self.network.evaluate(torch.from_numpy(obs), torch.from_numpy(mask))
        actions: Array = torch.distributions.Categorical(logits=logp).sample().numpy()
        return actions

    def collect(self) -> tuple[list[Array], float]:
        """Play until enough episodes have ended; return their rows and the mean return."""
        rows: list[tuple[Array, Array, int]] = []
        gains: list[float] = []
        returns: list[float] = []
        while len(returns) < self.args.episodes:
            mask = self.info["action_mask"]
            actions = self.act(self.obs, mask)
            for episode, *row in zip(self.pending, self.obs, mask, actions.tolist(), strict=True):
                episode.append((row[0], row[1], row[2]))
            self.obs, rewards, ended, cut, self.info = self.envs.step(actions)
            for env in np.flatnonzero(ended | cut):
                rows += self.pending[env]
                gains += [2 * float(rewards[env]) / self.span] * len(self.pending[env])
                returns.append(float(rewards[env]))
                self.pending[env] = []
        self.steps += len(rows)
        columns = [np.stack(column) for column in zip(*rows, strict=True)]
        return [*columns, np.array(gains, np.float32)], float(np.mean(returns))

    def learn(self, columns: list[Array], rate: float) -> dict[str, float]:
        """Make one update from whole episodes."""
        self.optimizer.param_groups[0]["lr"] = rate
        obs, mask, actions, gains = (torch.from_numpy(column) for column in columns)
        logp, value = self.network.evaluate(obs, mask)
        chosen = logp.gather(1, actions[:, None]).squeeze(1)
        entropy = -(logp.exp() * logp.clamp(min=-30)).sum(dim=1).mean()
        error = (value - gains).square().mean()
        loss = 0.5 * error - (chosen * (gains - value.detach())).mean()
        self.optimizer.zero_grad()
        (loss - self.args.entropy * entropy).backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 0.5)
        self.optimizer.step()
        return {"entropy": entropy.item(), "value_error": error.item()}


def parse_args() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--game", default="battle_cards", help="game string [battle_cards]")
    add("--seed", type=int, default=1, help="seed [1]")
    budget = parser.add_mutually_exclusive_group()
    budget.add_argument("--steps", type=int, default=1_000_000, help="actions in all [1000000]")
    budget.add_argument("--minutes", type=float, help="minutes in all, instead of --steps")
    add("--until", type=int, default=0, metavar="STEPS", help="stop early, at this many actions")
    add("--track", metavar="DIR", help="write event files of TensorBoard to this folder")
    add("--checkpoint", type=Path, metavar="FILE", help="continue from this file, and save to it")
    add("--export", type=Path, metavar="FILE", help="write the policy to this ONNX file")
    add("--save-every", type=int, default=20, help="updates between two saves [20]")
    add("--url", help="URL of a server [a local one]")
    add("--opponent", nargs="+", default=["self"], help="self, or agents of the server [self]")
    add("--envs", type=int, default=128, help="environments [128]")
    add("--episodes", type=int, default=256, help="episodes of an update [256]")
    add("--hidden", type=int, default=64, help="width of the hidden layers [64]")
    add("--lr", type=float, default=2e-3, help="learning rate, decreasing to 0 [0.002]")
    add("--entropy", type=float, default=0.01, help="weight of the entropy [0.01]")
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
    while True:
        trainer.seconds = time.monotonic() - begun
        spent = trainer.seconds / 60 / args.minutes if args.minutes else trainer.steps / args.steps
        over = spent >= 1 or 0 < args.until <= trainer.steps
        if iteration % args.save_every == 0 or over:
            trainer.save()
        if over:
            break
        columns, mean = trainer.collect()
        means = {"return": mean} | trainer.learn(columns, args.lr * (1 - spent))
        iteration += 1
        if iteration % args.save_every == 0:
            shown = ", ".join(f"{name} {value:.3g}" for name, value in means.items())
            print(f"{trainer.steps:>9} steps, {trainer.seconds:4.0f} s: {shown}", flush=True)
        if writer:
            for name, value in means.items():
                writer.add_scalar(name, value, trainer.steps)
    trainer.envs.close()


if __name__ == "__main__":
    main()
