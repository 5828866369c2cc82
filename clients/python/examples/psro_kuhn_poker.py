"""Policy-space response oracles (PSRO) in kuhn_poker, with tabular Q-learning.

    pip install 'ludex[gymnasium]'                       # and matplotlib for the curve
    python psro_kuhn_poker.py                            # about a minute
    python psro_kuhn_poker.py --responses 2 --steps 200  # a short trial run

A league starts with `random`. In each round, Q-learning trains a response to the equilibrium of the
members so far, and the response joins the league. The gap is its payoff against that equilibrium,
in chips per game. A small gap means that Q-learning found little to exploit; it is a lower bound of
the exploitability, because a learned response is not exactly the best one.

Source: M. Lanctot and others, "A Unified Game-Theoretic Approach to Multiagent Reinforcement
Learning", NeurIPS 2017.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

import ludex

GAME = "kuhn_poker"
ENVS = 64
EPSILON = 0.2

QTable = dict[bytes, Any]


def values(table: QTable, obs: Any, mask: Any) -> Any:
    """Return the values of all actions; illegal actions get -infinity."""
    rows = np.stack([table[view.tobytes()] for view in obs])
    return np.where(mask == 1, rows, -np.inf)


def respond(url: str, pool: list[Any], steps: int, seed: int) -> Any:
    """Return a greedy policy that Q-learning has trained against opponents drawn from a pool."""
    envs = ludex.gymnasium.LudexVectorEnv(GAME, ENVS, opponent=pool, seat="alternate", url=url)
    rng = np.random.default_rng(seed)
    table: QTable = defaultdict(lambda: np.zeros(envs.game.actions))
    visits: QTable = defaultdict(lambda: np.zeros(envs.game.actions))
    obs, info = envs.reset(seed=seed)
    for _ in range(steps):
        mask = info["action_mask"]
        acting = np.flatnonzero(mask.any(axis=1))  # the others start their next episode
        explored = (rng.random(mask.shape) * mask).argmax(axis=1)
        best = values(table, obs, mask).argmax(axis=1)
        actions = np.where(rng.random(ENVS) < EPSILON, explored, best)
        keys = [view.tobytes() for view in obs]
        obs, reward, terminated, _, info = envs.step(actions)
        following = values(table, obs, info["action_mask"]).max(axis=1)
        targets = reward + np.where(terminated, 0.0, following)
        for env in acting:
            key, action = keys[env], actions[env]
            visits[key][action] += 1
            table[key][action] += (targets[env] - table[key][action]) / visits[key][action] ** 0.7
    envs.close()
    return lambda obs, mask: values(table, obs, mask).argmax(axis=1)


def draw(path: Path, gaps: list[float]) -> None:
    """Plot the gaps to a PNG file, if matplotlib is installed."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        print("no curve: pip install matplotlib")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4))
    axes.plot(range(1, len(gaps) + 1), gaps, marker=".")
    axes.set(xlabel="response", ylabel="payoff against the equilibrium", title="PSRO in kuhn_poker")
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120, bbox_inches="tight")
    print(f"curve: {path}")


def main() -> None:
    """Train the responses, and print the payoffs and the distributions over the members."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--responses", type=int, default=12, help="responses to train [12]")
    parser.add_argument("--steps", type=int, default=2000, help="training steps of each [2000]")
    parser.add_argument("--pairs", type=int, default=5000, help="pairs of games of members [5000]")
    parser.add_argument("--seed", type=int, default=1, help="seed [1]")
    parser.add_argument("--url", help="a server; by default a local one is started")
    parser.add_argument("--out", type=Path, default=Path("."), help="folder of the curve [.]")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    url = options.url or ludex.serve().url  # the server ends with this program
    begun, gaps = time.monotonic(), []
    with ludex.league.League(GAME, pairs=options.pairs, seed=options.seed, url=url) as league:
        league.add("random", "random")
        for index in range(1, options.responses + 1):
            equilibrium = league.strategy("nash")
            policy = respond(url, league.pool("nash", size=100), options.steps, options.seed)
            league.add(f"response {index}", policy)
            gaps.append(float(league.payoffs().mean[-1, :-1] @ equilibrium))
            print(f"response {index}: gap {gaps[-1]:.3f}, {time.monotonic() - begun:3.0f} s")
        print(league.payoffs())
        for kind in ("nash", "alpha_rank"):
            shares = zip(league.members, league.strategy(kind), strict=True)
            print(f"{kind}: {', '.join(f'{name} {share:.2f}' for name, share in shares)}")
    draw(options.out / "psro_kuhn_poker.png", gaps)


if __name__ == "__main__":
    main()
