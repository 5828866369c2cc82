"""Train REINFORCE to build teams in battle_cards by action ids; it needs only numpy.

    pip install ludex                                 # and matplotlib for the curve
    python reinforce_battle_cards.py                  # a few seconds
    python reinforce_battle_cards.py --episodes 2000  # a short trial run

1,024 environments are stepped with one message. The server's `random` plays the other seat, and we
alternate between the two. The policy is a softmax over the legal ids. Its logits are linear in the
cards chosen so far and their number; each side has its own weights.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

import ludex

GAME = "battle_cards"
PLACES, CARDS, IDS = 7, 24, 36
#: Cells of a strategy; the array has own, draft, opponent, `choosing`, `left`, and the side.
CELLS = PLACES * CARDS
SIDE = 3 * CELLS + IDS + 1
#: Features of a side: the number of cards chosen, and how many of each.
FEATURES = PLACES + 1 + CARDS


def features(obs: Any) -> Any:
    """Return the features of the cards chosen so far, separately for each side."""
    draft = obs[:, CELLS : 2 * CELLS].reshape(len(obs), PLACES, CARDS)
    counts = draft.sum(axis=1)
    sizes = np.eye(PLACES + 1)[counts.sum(axis=1)]
    own = np.concatenate([sizes, counts], axis=1)
    out = np.zeros((len(obs), 2, FEATURES))
    out[np.arange(len(obs)), obs[:, SIDE + 1]] = own
    return out.reshape(len(obs), -1)


def chances(weights: Any, x: Any, mask: Any) -> Any:
    """Return the probability of every id."""
    logits = np.where(mask == 1, x @ weights, -np.inf)
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def draw(p: Any, rng: np.random.Generator) -> Any:
    """Sample an id for each row."""
    picked = (p.cumsum(axis=1) > rng.random((len(p), 1))).argmax(axis=1)
    return np.where(p[np.arange(len(p)), picked] > 0, picked, p.argmax(axis=1))


def open_envs(client: ludex.Client, count: int) -> Any:
    """Open environments in which the agent alternates between the seats."""
    return client.open_vec(
        GAME, count, seats=["agent", "random"], rotate="cycle", autoreset="same_step", mask="u1"
    )


def evaluate(client: ludex.Client, weights: Any, games: int) -> float:
    """Play two episodes in each of ``games / 2`` environments; return the win rate."""
    envs = open_envs(client, games // 2)
    batch = envs.reset(seed=10**6)
    ended, wins = np.zeros(len(batch), int), 0
    while (ended < 2).any():
        seats = batch.seat
        p = chances(weights, features(batch.obs), batch.mask)
        batch = envs.step(p.argmax(axis=1))
        counted = batch.terminated & (ended < 2)
        wins += int((batch.reward[np.arange(len(batch)), seats][counted] > 0).sum())
        ended += batch.terminated
    envs.close()
    return wins / (2 * len(batch))


def draw_curve(path: Path, episodes: list[int], curve: list[float]) -> None:
    """Plot the curve to a PNG file, if matplotlib is installed."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        print("no curve: pip install matplotlib")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4))
    axes.plot(episodes, curve, marker=".")
    axes.set(xlabel="episodes", ylabel="wins against random", ylim=(0, 1))
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120, bbox_inches="tight")
    print(f"curve: {path}")


def main() -> None:
    """Train, plot, and play matches against the anchors."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--episodes", type=int, default=60_000, help="episodes in all [60000]")
    parser.add_argument("--envs", type=int, default=1024, help="environments [1024]")
    parser.add_argument("--games", type=int, default=1000, help="games of an evaluation [1000]")
    parser.add_argument("--rate", type=float, default=0.002, help="learning rate [0.002]")
    parser.add_argument("--seed", type=int, default=1, help="seed [1]")
    parser.add_argument("--url", help="a server; by default a local one is started")
    parser.add_argument("--out", type=Path, default=Path("."), help="folder of the curve [.]")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    url = options.url or ludex.serve().url  # the server ends with this program
    rng = np.random.default_rng(options.seed)
    weights = np.zeros((2 * FEATURES, IDS))
    episodes: list[int] = []
    curve: list[float] = []
    with ludex.Client(url) as client:
        envs = open_envs(client, options.envs)
        batch = envs.reset(seed=options.seed)
        rows = np.arange(len(batch))
        traces = np.zeros((len(batch), *weights.shape), np.float32)
        mean, ended, steps = np.zeros(2), 0, 0
        begun = time.monotonic()
        while True:
            if ended >= len(episodes) * options.episodes / 10:
                episodes.append(ended)
                curve.append(evaluate(client, weights, options.games))
                seconds = time.monotonic() - begun
                print(f"{ended:>7} episodes, {steps} steps, {seconds:3.0f} s: wins {curve[-1]:.1%}")
            if ended >= options.episodes:
                break
            x, sides = features(batch.obs), batch.obs[:, SIDE + 1].astype(int)
            p = chances(weights, x, batch.mask)
            actions, seats = draw(p, rng), batch.seat
            p[rows, actions] -= 1.0
            traces -= x[:, :, None] * p[:, None, :]
            batch = envs.step(actions)
            steps += len(batch)
            done = np.flatnonzero(batch.terminated)
            rewards = batch.reward[rows, seats][done]
            for side in (0, 1):
                here = sides[done] == side
                if here.any():
                    gain = rewards[here] - mean[side]
                    weights += options.rate * np.tensordot(gain, traces[done[here]], axes=1)
                    mean[side] += 0.05 * (rewards[here].mean() - mean[side])
            traces[done] = 0.0
            ended += len(done)
    draw_curve(options.out / "reinforce_battle_cards.png", episodes, curve)

    def policy(obs: Any, mask: Any) -> Any:
        return chances(weights, features(obs), mask).argmax(axis=1)

    print(ludex.rate(policy, GAME, anchors=[0, 1], games=options.games, url=url))


if __name__ == "__main__":
    main()
