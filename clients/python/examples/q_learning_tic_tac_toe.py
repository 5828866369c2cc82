"""Train tabular Q-learning in tic_tac_toe; it needs only numpy.

    pip install ludex                                # and matplotlib for the curves
    python q_learning_tic_tac_toe.py                 # a few seconds
    python q_learning_tic_tac_toe.py --episodes 500  # a short trial run

One message steps many environments. The server plays one seat, and we alternate between the two. A
table maps each observation to the values of the actions. In half of the environments the opponent
is `random`, in the others alpha-beta search, which looks far enough ahead to punish mistakes.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

import ludex

GAME = "tic_tac_toe"
OPPONENTS = ["random", "alphabeta depth=4"]
ALPHA, GAMMA = 0.3, 1.0

QTable = dict[bytes, Any]


def open_envs(client: ludex.Client, count: int, opponent: str) -> Any:
    """Open environments in which the agent alternates between the seats."""
    return client.open_vec(
        GAME, count, seats=["agent", opponent], rotate="cycle", autoreset="same_step", mask="u1"
    )


def values(table: QTable, obs: Any, mask: Any) -> Any:
    """Return the values of all actions; illegal actions get -infinity."""
    rows = np.stack([table[view.tobytes()] for view in obs])
    return np.where(mask == 1, rows, -np.inf)


class Learner:
    """The table, and the environments against one opponent."""

    def __init__(self, table: QTable, envs: Any, rng: np.random.Generator, seed: int) -> None:
        self.table, self.envs, self.rng = table, envs, rng
        self.batch = envs.reset(seed=seed)
        self.ended = 0

    def step(self, epsilon: float) -> None:
        """Act in every environment, and update the values."""
        obs, mask = self.batch.obs, self.batch.mask
        best = values(self.table, obs, mask).argmax(axis=1)
        chance = (self.rng.random(mask.shape) * mask).argmax(axis=1)
        actions = np.where(self.rng.random(len(best)) < epsilon, chance, best)
        seats = self.batch.seat
        self.batch = after = self.envs.step(actions)
        rewards = after.reward[np.arange(len(best)), seats]
        # The value of a running episode is that of the best next action.
        future = values(self.table, after.obs, after.mask).max(axis=1)
        future[after.terminated] = 0.0
        for view, action, target in zip(obs, actions, rewards + GAMMA * future, strict=True):
            row = self.table[view.tobytes()]
            row[action] += ALPHA * (target - row[action])
        self.ended += int(after.terminated.sum())


def greedy_policy(table: QTable) -> Any:
    """Return a policy for ``ludex.rate``: a function of observations and masks."""
    return lambda obs, mask: values(table, obs, mask).argmax(axis=1)


def evaluate(client: ludex.Client, table: QTable, opponent: str, games: int) -> tuple[float, float]:
    """Play two episodes in each of ``games / 2`` environments; return win and loss rates."""
    envs = open_envs(client, games // 2, opponent)
    batch = envs.reset(seed=10**6)
    ended = np.zeros(len(batch), int)
    wins = losses = 0
    while (ended < 2).any():
        seats = batch.seat
        batch = envs.step(values(table, batch.obs, batch.mask).argmax(axis=1))
        rewards = batch.reward[np.arange(len(batch)), seats]
        counted = batch.terminated & (ended < 2)
        wins += int((rewards[counted] > 0).sum())
        losses += int((rewards[counted] < 0).sum())
        ended += batch.terminated
    envs.close()
    return wins / (2 * len(batch)), losses / (2 * len(batch))


def draw(path: Path, episodes: list[int], curves: dict[str, list[float]]) -> None:
    """Plot the curves to a PNG file, if matplotlib is installed."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        print("no curves: pip install matplotlib")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4))
    for name, rates in curves.items():
        axes.plot(episodes, rates, marker=".", label=name)
    axes.set(xlabel="episodes", ylim=(0, 1), title="Q-learning in tic_tac_toe")
    axes.grid(alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    figure.savefig(path, dpi=120, bbox_inches="tight")
    print(f"curves: {path}")


def main() -> None:
    """Train, plot, and play matches against the anchors."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--episodes", type=int, default=40_000, help="episodes in all [40000]")
    parser.add_argument("--games", type=int, default=200, help="games of an evaluation [200]")
    parser.add_argument("--seed", type=int, default=1, help="seed [1]")
    parser.add_argument("--url", help="a server; by default a local one is started")
    parser.add_argument("--out", type=Path, default=Path("."), help="folder of the curves [.]")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    url = options.url or ludex.serve().url  # the server ends with this program
    table: QTable = defaultdict(lambda: np.zeros(9))
    rng = np.random.default_rng(options.seed)
    with ludex.Client(url) as client:
        learners = [
            Learner(table, open_envs(client, 64, opponent), rng, options.seed)
            for opponent in OPPONENTS
        ]
        episodes: list[int] = []
        curves: dict[str, list[float]] = {}
        begun = time.monotonic()
        while (ended := sum(learner.ended for learner in learners)) < options.episodes:
            for learner in learners:
                learner.step(epsilon=max(0.02, 0.5 * (1 - ended / options.episodes)))
            if ended >= len(episodes) * options.episodes / 10:
                episodes.append(ended)
                for opponent in OPPONENTS:
                    wins, losses = evaluate(client, table, opponent, options.games)
                    curves.setdefault(f"wins against {opponent}", []).append(wins)
                    curves.setdefault(f"losses against {opponent}", []).append(losses)
                line = ", ".join(f"{name} {rates[-1]:.0%}" for name, rates in curves.items())
                print(f"{ended:>7} episodes, {time.monotonic() - begun:3.0f} s: {line}")
    draw(options.out / "q_learning_tic_tac_toe.png", episodes, curves)
    print(f"{len(table)} positions seen")
    print(ludex.rate(greedy_policy(table), GAME, anchors=[0, 1], games=options.games, url=url))


if __name__ == "__main__":
    main()
