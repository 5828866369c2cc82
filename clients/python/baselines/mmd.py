"""Magnetic mirror descent in self-play, for games of hidden information: PPO with two penalties.

    pip install 'ludex[baselines]'
    python mmd.py --game leduc_poker --minutes 10 --export leduc_poker.onnx

The loss of PPO gets two KL divergences from the policy: to the policy that collected the rollout,
which keeps the step small, and to a magnet, which makes self-play converge where plain policy
gradients cycle. The magnet is a slow average of the policy, uniform at the start; with
`--magnet-rate 0` it remains uniform.

Sources: S. Sokota et al., "A Unified Approach to Reinforcement Learning, Quantal Response
Equilibria, and Two-Player Zero-Sum Games", ICLR 2023 (arXiv:2206.05825); policy gradients of this
kind in hidden information: M. Rudolph et al., "Reevaluating Policy Gradient Methods for
Imperfect-Information Games", 2025 (arXiv:2502.08938).
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

import ludex
import ludex.onnx
from ludex.self_play import SelfPlayVectorEnv


class Network(nn.Module):
    """Two hidden layers, convolutional for boards, with a policy head and a value head."""

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
    """The network with the outputs of a policy file."""

    def __init__(self, network: Network, heads: list[str], offset: float) -> None:
        super().__init__()
        self.network, self.heads, self.offset = network, heads, offset

    def forward(self, obs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return the outputs named in ``heads``."""
        logits, value = self.network(obs)
        return (logits, value - self.offset) if "value" in self.heads else (logits,)


class Trainer:
    """The network, its optimizer and its environments."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        torch.manual_seed(args.seed)
        self.envs = SelfPlayVectorEnv(
            args.game, args.envs, url=args.url, autoreset_mode=AutoresetMode.SAME_STEP
        )
        self.spec = spec = self.envs.game
        span = spec.max_return - spec.min_return
        self.terminal = spec.rewards == "terminal"
        # Returns are learned in a span of 2, except where rewards add up over many steps.
        self.scale = 2 / span if self.terminal else args.reward_scale
        self.offset = (spec.max_return + spec.min_return) / span
        self.network = Network(spec, args.hidden)
        self.magnet = copy.deepcopy(self.network).requires_grad_(False)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=args.lr, eps=1e-5)
        self.steps, self.seconds = 0, 0.0
        if args.checkpoint and args.checkpoint.exists():
            state = torch.load(args.checkpoint, weights_only=True)
            self.network.load_state_dict(state["network"])
            self.magnet.load_state_dict(state["magnet"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.steps, self.seconds = state["steps"], state["seconds"]
            torch.set_rng_state(state["rng"])
        self.obs, self.info = self.envs.reset(seed=args.seed * 2**32 + self.steps)

    def save(self) -> None:
        """Write the checkpoint and the policy file."""
        if self.args.checkpoint:
            state = {"network": self.network.state_dict(), "rng": torch.get_rng_state()}
            state |= {"optimizer": self.optimizer.state_dict()}
            state |= {"magnet": self.magnet.state_dict()}
            state |= {"steps": self.steps, "seconds": self.seconds}
            temporary = self.args.checkpoint.with_suffix(".tmp")
            torch.save(state, temporary)
            os.replace(temporary, self.args.checkpoint)
        if self.args.export:
            heads = ["policy", "value"] if self.terminal else ["policy"]
            policy = Policy(self.network, heads, self.offset)
            ludex.onnx.export(policy, self.args.export, self.spec, heads=heads)

    @torch.no_grad()
    def collect(self) -> tuple[list[torch.Tensor], dict[str, float]]:
        """Play ``rollout`` steps; return the rows to train on, and means of the rollout."""
        args, steps = self.args, self.args.rollout
        lead = (steps, *self.info["acting"].shape)
        obs = np.empty((steps, *self.obs.shape), self.obs.dtype)
        masks = np.empty((*lead, self.spec.actions), np.int8)
        acting, rewards = np.empty(lead, np.bool_), np.empty(lead, np.float32)
        actions, logps = np.zeros(lead, np.int64), np.zeros(masks.shape, np.float32)
        values, over = np.zeros(lead, np.float32), np.empty(lead[:2], np.bool_)
        for t in range(steps):
            obs[t], masks[t], acting[t] = self.obs, self.info["action_mask"], self.info["acting"]
            rows = acting[t]
            logp, value = self.network.evaluate(
                torch.from_numpy(obs[t][rows]), torch.from_numpy(masks[t][rows])
            )
            chosen = torch.distributions.Categorical(logits=logp).sample()
            actions[t][rows], values[t][rows] = chosen.numpy(), value.numpy()
            logps[t][rows] = logp.numpy()
            self.obs, rewards[t], ended, cut, self.info = self.envs.step(actions[t])
            over[t] = ended | cut
        self.steps += int(acting.sum())
        advantages, usable = np.zeros(lead, np.float32), np.zeros(lead, np.bool_)
        # For each seat: its later rewards, and value and advantage of its next action, if known.
        later = np.zeros((3, *lead[1:]), np.float32)
        known = np.zeros(lead[1:], np.bool_)
        for t in reversed(range(steps)):
            later[:, over[t]] = 0.0
            known[over[t]] = True
            later[0] += rewards[t] * self.scale
            reward, value, advantage = later
            delta = reward + args.gamma * value - values[t]
            advantages[t] = delta + args.gamma * args.gae_lambda * advantage * known
            now = acting[t]
            usable[t] = now & known
            later[0][now] = 0.0
            later[1][now] = values[t][now]
            later[2][now] = (advantages[t] * known)[now]
            known |= now
        targets = advantages + values
        columns = [obs, masks, actions, logps, advantages, targets]
        means = {"episode_length": steps * args.envs / max(1, int(over.sum()))}
        return [torch.from_numpy(column[usable]) for column in columns], means

    def learn(self, columns: list[torch.Tensor], rate: float) -> dict[str, float]:
        """Update the network, then the magnet; return means of the last epoch."""
        args = self.args
        self.optimizer.param_groups[0]["lr"] = rate
        obs, masks, actions, before, advantages, targets = columns
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        with torch.no_grad():
            magnet, _ = self.magnet.evaluate(obs, masks)
        for _ in range(args.epochs):
            for rows in torch.randperm(len(obs)).split(args.minibatch):
                logp, value = self.network.evaluate(obs[rows], masks[rows])
                change = (logp - before[rows]).gather(1, actions[rows, None]).squeeze(1)
                clipped = change.exp().clamp(1 - args.clip, 1 + args.clip)
                gain = torch.minimum(change.exp() * advantages[rows], clipped * advantages[rows])
                to_old = (logp.exp() * (logp - before[rows])).sum(dim=1).mean()
                to_magnet = (logp.exp() * (logp - magnet[rows])).sum(dim=1).mean()
                error = (value - targets[rows]).square().mean()
                loss = 0.5 * error - gain.mean()
                loss = loss + args.old * to_old + args.magnet * to_magnet
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.network.parameters(), 0.5)
                self.optimizer.step()
        for slow, fast in zip(self.magnet.parameters(), self.network.parameters(), strict=True):
            slow.lerp_(fast.detach(), args.magnet_rate)
        return {"kl_old": to_old.item(), "kl_magnet": to_magnet.item(), "value_error": error.item()}


def parse_args() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--game", default="leduc_poker", help="game string [leduc_poker]")
    add("--seed", type=int, default=1, help="seed [1]")
    budget = parser.add_mutually_exclusive_group()
    budget.add_argument("--steps", type=int, default=1_000_000, help="actions in all [1000000]")
    budget.add_argument("--minutes", type=float, help="minutes in all, instead of --steps")
    add("--until", type=int, default=0, metavar="STEPS", help="stop early, at this many actions")
    add("--track", metavar="DIR", help="write event files of TensorBoard to this folder")
    add("--checkpoint", type=Path, metavar="FILE", help="continue from this file, and save to it")
    add("--export", type=Path, metavar="FILE", help="write the policy to this ONNX file")
    add("--save-every", type=int, default=20, help="iterations between two saves [20]")
    add("--url", help="URL of a server [a local one]")
    add("--envs", type=int, default=64, help="environments [64]")
    add("--rollout", type=int, default=64, help="steps of an iteration [64]")
    add("--hidden", type=int, default=64, help="width of the hidden layers [64]")
    add("--lr", type=float, default=1e-3, help="learning rate, decreasing to 0 [0.001]")
    add("--epochs", type=int, default=8, help="epochs of an iteration [8]")
    add("--minibatch", type=int, default=512, help="rows of a minibatch [512]")
    add("--gamma", type=float, default=1.0, help="discount [1]")
    add("--gae-lambda", type=float, default=0.95, help="lambda of the advantages [0.95]")
    add("--clip", type=float, default=0.2, help="clip range of the ratio [0.2]")
    add("--old", type=float, default=0.1, help="weight of the divergence to the old policy [0.1]")
    add("--magnet", type=float, default=0.2, help="weight of the divergence to the magnet [0.2]")
    add("--magnet-rate", type=float, default=0.002, help="policy's share per iteration [0.002]")
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
    while True:
        trainer.seconds = time.monotonic() - begun
        spent = trainer.seconds / 60 / args.minutes if args.minutes else trainer.steps / args.steps
        over = spent >= 1 or 0 < args.until <= trainer.steps
        if iteration % args.save_every == 0 or over:
            trainer.save()
        if over:
            break
        columns, means = trainer.collect()
        means |= trainer.learn(columns, args.lr * (1 - spent))
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
