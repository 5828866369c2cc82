"""AlphaZero: the program plays itself with search, and this script learns from its samples.

    pip install 'ludex[baselines]'
    python alphazero.py --game tic_tac_toe --minutes 10 --export tic_tac_toe.onnx
    ludex match tic_tac_toe --seat "puct net=tic_tac_toe.onnx" --seat "anchor level=1"

An iteration exports the network, plays games by `ludex selfplay` with PUCT search, and fits the
policy to the visits and the value to the results of the games of the latest iterations.

Source: D. Silver et al., "A General Reinforcement Learning Algorithm That Masters Chess, Shogi, and
Go through Self-Play", Science 362, 2018.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import ludex
import ludex.onnx
from ludex.process import find_program

Array = np.ndarray[Any, np.dtype[Any]]


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
        return self.policy(body), torch.tanh(self.value(body))


class Trainer:
    """The network, its optimizer and the samples of the latest iterations."""

    def __init__(self, args: argparse.Namespace, folder: Path) -> None:
        self.args, self.folder = args, folder
        torch.manual_seed(args.seed)
        with ludex.Client(args.url or ludex.serve().url) as client:
            self.spec = client.describe(args.game)
        self.network = Network(self.spec, args.hidden)
        self.optimizer = torch.optim.Adam(
            self.network.parameters(), lr=args.lr, weight_decay=args.weight_decay
        )
        self.steps, self.iterations, self.seconds = 0, 0, 0.0
        self.window: deque[dict[str, Array]] = deque(maxlen=args.window)
        if args.checkpoint and args.checkpoint.exists():
            state = torch.load(args.checkpoint, weights_only=True)
            self.network.load_state_dict(state["network"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.steps, self.iterations, self.seconds = state["counts"]
            torch.set_rng_state(state["rng"])
            for samples in state["window"]:
                self.window.append({name: column.numpy() for name, column in samples.items()})
        self.rng = np.random.default_rng([args.seed, self.iterations])

    def save(self) -> None:
        """Write the checkpoint and the policy file."""
        if self.args.checkpoint:
            state = {"network": self.network.state_dict(), "rng": torch.get_rng_state()}
            state["optimizer"] = self.optimizer.state_dict()
            state["counts"] = [self.steps, self.iterations, self.seconds]
            state["window"] = [
                {name: torch.from_numpy(column) for name, column in samples.items()}
                for samples in self.window
            ]
            temporary = self.args.checkpoint.with_suffix(".tmp")
            torch.save(state, temporary)
            os.replace(temporary, self.args.checkpoint)
        if self.args.export:
            ludex.onnx.export(self.network, self.args.export, self.spec)

    def play(self) -> dict[str, float]:
        """Add the samples of an iteration to the window."""
        net, out = self.folder / "net.onnx", self.folder / f"samples-{self.iterations}"
        ludex.onnx.export(self.network, net, self.spec)
        command = [find_program(), "selfplay", self.args.game, "--net", str(net)]
        command += ["--sims", str(self.args.sims), "--games", str(self.args.games)]
        command += ["--shard-games", str(self.args.shard_games), "--c", str(self.args.c)]
        command += ["--seed", str(self.args.seed * 2**32 + self.iterations), "--out", str(out)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"ludex selfplay failed: {done.stderr.strip()}")
        samples = ludex.read_selfplay(out).arrays()
        self.window.append(samples)
        self.iterations += 1
        self.steps += len(samples["obs"])
        first = samples["value"][samples["seat"] == 0, 0]
        return {"positions_per_game": len(samples["obs"]) / self.args.games, "first": first.mean()}

    def learn(self, rate: float) -> dict[str, float]:
        """Make the updates of an iteration; return the mean losses."""
        self.optimizer.param_groups[0]["lr"] = rate
        names = ("obs", "policy", "mask", "value")
        obs, policy, mask, value = (
            torch.from_numpy(np.concatenate([samples[name] for samples in self.window]))
            for name in names
        )
        updates = max(1, self.args.epochs * len(self.window[-1]["obs"]) // self.args.minibatch)
        losses = np.zeros((updates, 2))
        self.network.train()
        for update in range(updates):
            rows = torch.from_numpy(self.rng.integers(len(obs), size=self.args.minibatch))
            logits, predicted = self.network(obs[rows].float())
            logp = torch.log_softmax(logits.masked_fill(mask[rows] == 0, -1e9), dim=1)
            fit = -(policy[rows] * logp).sum(dim=1).mean()
            error = (predicted.squeeze(1) - value[rows, 0]).square().mean()
            self.optimizer.zero_grad()
            (fit + error).backward()
            self.optimizer.step()
            losses[update] = fit.item(), error.item()
        return dict(zip(("policy_loss", "value_error"), losses.mean(axis=0), strict=True))


def parse_args() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--game", default="tic_tac_toe", help="game string [tic_tac_toe]")
    add("--seed", type=int, default=1, help="seed [1]")
    budget = parser.add_mutually_exclusive_group()
    budget.add_argument("--steps", type=int, default=100_000, help="positions in all [100000]")
    budget.add_argument("--minutes", type=float, help="minutes in all, instead of --steps")
    add("--until", type=int, default=0, metavar="STEPS", help="stop early, at this many positions")
    add("--track", metavar="DIR", help="write event files of TensorBoard to this folder")
    add("--checkpoint", type=Path, metavar="FILE", help="continue from this file, and save to it")
    add("--export", type=Path, metavar="FILE", help="write the policy to this ONNX file")
    add("--url", help="URL of a server, for the description of the game [a local one]")
    add("--sims", type=int, default=64, help="simulations per move [64]")
    add("--games", type=int, default=100, help="games of an iteration [100]")
    add("--shard-games", type=int, default=50, help="games that a thread plays at a time [50]")
    add("--c", type=float, default=1.25, help="exploration constant of the search [1.25]")
    add("--window", type=int, default=10, help="iterations whose samples are stored [10]")
    add("--epochs", type=int, default=4, help="uses of each new sample, on average [4]")
    add("--minibatch", type=int, default=256, help="rows of a minibatch [256]")
    add("--hidden", type=int, default=64, help="width of the hidden layers [64]")
    add("--lr", type=float, default=2e-3, help="learning rate, decreasing to 0 [0.002]")
    add("--weight-decay", type=float, default=1e-4, help="weight decay [0.0001]")
    return parser.parse_args()


def main() -> None:
    """Train until the budget is spent."""
    args = parse_args()
    torch.set_num_threads(1)  # the networks are too small for more
    writer: Any = None
    if args.track:
        from torch.utils.tensorboard import SummaryWriter

        writer = SummaryWriter(args.track)
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(args, Path(folder))
        begun = time.monotonic() - trainer.seconds
        while True:
            trainer.seconds = time.monotonic() - begun
            spent = (
                trainer.seconds / 60 / args.minutes if args.minutes else trainer.steps / args.steps
            )
            over = spent >= 1 or 0 < args.until <= trainer.steps
            trainer.save()
            if over:
                break
            means = trainer.play() | trainer.learn(args.lr * (1 - spent))
            shown = ", ".join(f"{name} {value:.3g}" for name, value in means.items())
            print(f"{trainer.steps:>9} steps, {trainer.seconds:4.0f} s: {shown}", flush=True)
            if writer:
                for name, value in means.items():
                    writer.add_scalar(name, value, trainer.steps)


if __name__ == "__main__":
    main()
