"""Train PPO in connect_four against a pool of its earlier policies and random play.

    pip install 'ludex[examples]'
    python self_play_connect_four.py                  # a few minutes on two cores
    python self_play_connect_four.py --steps 20000    # a short trial run

The training uses no search and no anchors; anchors only measure the result. The episode's seed
draws the learner's opponent from the pool. An opponent is a function of observations and masks that
is called for all environments at once, so each earlier policy costs one forward pass per step.
"""

from __future__ import annotations

import argparse
import copy
import time
from typing import Any

import gymnasium
import torch
from ppo_connect_four import (
    ANCHORS,
    ENV,
    GAME,
    PPO,
    ROLLOUT,
    Network,
    draw,
    evaluate,
    options_of,
    policy_of,
)

import ludex

POOL = 8


def train(options: argparse.Namespace, url: str) -> Network:
    """Train, add copies of the network to the pool periodically, and plot the curves."""
    envs: Any = gymnasium.make_vec(
        ENV,
        num_envs=options.envs,
        opponent="random",
        seat="alternate",
        url=url,
        autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP,
    )
    ppo = PPO(envs, options.seed, options.steps)
    iterations = max(1, options.steps // (ROLLOUT * options.envs))
    pool: list[Any] = []
    steps: list[int] = []
    curves: dict[str, list[float]] = {opponent: [] for opponent in ANCHORS}
    begun = time.monotonic()
    for iteration in range(iterations):
        ppo.iterate()
        if iteration % max(1, iterations // 40) == 0:
            pool = [*pool, policy_of(copy.deepcopy(ppo.network))][-POOL:]
            # The newest policy is listed twice, so it is drawn more often.
            envs.set_opponent(["random", *pool, pool[-1]])
        if (iteration + 1) % max(1, iterations // 10) == 0:
            steps.append(ppo.steps)
            for opponent, rates in curves.items():
                rates.append(evaluate(policy_of(ppo.network), opponent, url, options.games))
            wins = ", ".join(f"{name} {rates[-1]:.0%}" for name, rates in curves.items())
            print(f"{ppo.steps:>9} steps, {time.monotonic() - begun:4.0f} s: wins against {wins}")
    envs.close()
    torch.save(ppo.network.state_dict(), options.out / "self_play_connect_four.pt")
    draw(options.out / "self_play_connect_four.png", steps, curves, "Self-play in connect_four")
    return ppo.network


def main() -> None:
    """Train, then play matches against the anchors."""
    options = options_of(__doc__, 600_000)
    url = options.url or ludex.serve().url  # the server ends with this program
    network = train(options, url)
    print(ludex.rate(policy_of(network), GAME, anchors=[0, 1, 2, 3], games=options.games, url=url))


if __name__ == "__main__":
    main()
