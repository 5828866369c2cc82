"""Measure the steps per second of the adapters, relative to the raw handle.

    python bench/adapters.py [URL] [--game connect_four] [--envs 64] [--seconds 2] [--rounds 5]

The client plays random legal actions on one seat against ``random``. In each round, all adapters
are measured in sequence. The medians of their rates, absolute and relative to the raw handle, are
printed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from steps import Sampler

import ludex
from ludex.gymnasium import LudexVectorEnv

Step = Callable[[Any], Any]


def raw(url: str, game: str, count: int) -> tuple[Any, Step, Callable[[], None]]:
    """Step the handle itself, and decode the next mask."""
    client = ludex.Client(url)
    seats = ["agent", "random"]
    vec = client.open_vec(game, count, seats=seats, autoreset="same_step", mask="u1")
    return vec.reset(seed=1).mask, lambda actions: vec.step(actions).mask, client.close


def gymnasium(mode: str) -> Callable[[str, str, int], tuple[Any, Step, Callable[[], None]]]:
    """Step Gymnasium's vector environment in one of its modes."""

    def make(url: str, game: str, count: int) -> tuple[Any, Step, Callable[[], None]]:
        envs = LudexVectorEnv(game, count, url=url, autoreset_mode=mode)
        first = envs.reset(seed=1)[1]["action_mask"]
        return first, lambda actions: envs.step(actions)[4]["action_mask"], envs.close

    return make


def sb3(url: str, game: str, count: int) -> tuple[Any, Step, Callable[[], None]]:
    """Step Stable-Baselines3's ``VecEnv``; needs the library."""
    envs = ludex.sb3.LudexVecEnv(game, count, url=url)
    envs.reset()

    def step(actions: Any) -> Any:
        envs.step(actions)
        return envs.action_masks().view(np.int8)

    return envs.action_masks().view(np.int8), step, envs.close


WAYS = {
    "raw handle": raw,
    "make_vec SAME_STEP": gymnasium("SameStep"),
    "make_vec NEXT_STEP": gymnasium("NextStep"),
    "LudexVecEnv (SB3)": sb3,
}


def measure(way: Any, url: str, game: str, count: int, seconds: float) -> float:
    mask, step, close = way(url, game, count)
    sampler = Sampler(mask.shape[1], 1)
    steps, begun = 0, time.perf_counter()
    while time.perf_counter() - begun < seconds:
        for _ in range(20):
            mask = step(sampler.draw(mask))
        steps += 20 * count
    rate = steps / (time.perf_counter() - begun)
    close()
    return rate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", nargs="?")
    parser.add_argument("--game", default="connect_four")
    parser.add_argument("--envs", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=5)
    options: Any = parser.parse_args()
    server = None if options.url else ludex.serve()
    url = options.url or (server.url if server else "")
    rounds: list[dict[str, float]] = []
    for _ in range(options.rounds):
        rounds.append({})
        for name, way in WAYS.items():
            with contextlib.suppress(ModuleNotFoundError):
                rate = measure(way, url, options.game, options.envs, options.seconds)
                rounds[-1][name] = rate
    print(f"python {platform.python_version()}, numpy {np.__version__}, {os.cpu_count()} cores")
    for name in rounds[0]:
        rate = statistics.median(one[name] for one in rounds)
        share = statistics.median(one[name] / one["raw handle"] for one in rounds)
        about = f"{options.game}, {options.envs} envs, {name}"
        print(f"{about}: {rate:,.0f} steps/s, {share:.2f} of raw")
    if server:
        server.close()


if __name__ == "__main__":
    main()
