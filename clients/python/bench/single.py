"""Measure the turns per second of one environment at a time, side by side.

    python bench/single.py [URL] [--game connect_four] [--turns 300] [--rounds 60]

The policy draws random legal actions. In each round, all interfaces are measured in sequence; in
``client.open`` and Gymnasium, ``random`` of the server plays the other seat. The medians of the
rates, and of the rates relative to the reference in the same round, are printed. The reference of
``aec`` is PettingZoo's own game, if pygame is installed, and else ``client.open`` on all seats.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import make

import ludex
from ludex.adapters.registration import env_name
from ludex.catalogue import GAMES

Play = Callable[[int, random.Random], None]


def states(client: ludex.Client, game: str, seats: list[str], views: list[str]) -> Play:
    env = client.open(game, seats=seats, views=views)

    def play(turns: int, rng: random.Random) -> None:
        state = env.reset(seed=1)
        for _ in range(turns):
            state = env.reset() if state.over else env.step(rng.choice(state.legal))

    return play


def gymnasium(url: str, game: str) -> Play:
    env = make(f"ludex/{env_name(game)}-v{GAMES[game]}", url=url)

    def play(turns: int, rng: random.Random) -> None:
        _, info = env.reset(seed=1)
        over = False
        for _ in range(turns):
            if over:
                _, info = env.reset()
                over = False
            else:
                _, _, terminated, truncated, info = env.step(_draw(info["action_mask"], rng))
                over = terminated or truncated

    return play


def aec(env: Any) -> Play:
    """Play an AEC environment; turns after the end of an episode are not counted."""

    def play(turns: int, rng: random.Random) -> None:
        played = 0
        while played < turns:
            env.reset()
            for _ in env.agent_iter():
                observation, _, terminated, truncated, _ = env.last()
                if terminated or truncated:
                    break
                env.step(_draw(observation["action_mask"], rng))
                played += 1

    return play


def _draw(mask: Any, rng: random.Random) -> int:
    return rng.choice([action for action, legal in enumerate(mask.tolist()) if legal])


def interfaces(client: ludex.Client, url: str, game: str) -> dict[str, tuple[Play, str]]:
    """Return each interface and the name of its reference."""
    opponent, both = ["agent", "random"], ["agent", "agent"]
    found: dict[str, tuple[Play, str]] = {
        "client.open": (states(client, game, opponent, []), "client.open"),
        "client.open, tensor": (states(client, game, opponent, ["tensor"]), "client.open"),
        "gymnasium.make": (gymnasium(url, game), "client.open, tensor"),
        "client.open, all seats": (states(client, game, both, []), "client.open, all seats"),
        "ludex.pettingzoo.aec": (
            aec(ludex.pettingzoo.aec(game, url=url)),
            "client.open, all seats",
        ),
    }
    if game == "connect_four":
        try:
            from pettingzoo.classic import connect_four_v3
        except ModuleNotFoundError:
            return found
        own = "PettingZoo's connect_four_v3"
        found[own] = (aec(connect_four_v3.env()), own)
        found["ludex.pettingzoo.aec"] = (found["ludex.pettingzoo.aec"][0], own)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", nargs="?")
    parser.add_argument("--game", default="connect_four")
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=60)
    options: Any = parser.parse_args()
    server = None if options.url else ludex.serve()
    url = options.url or (server.url if server else "")
    rounds: list[dict[str, float]] = []
    with ludex.Client(url) as client:
        found = interfaces(client, url, options.game)
        for index in range(options.rounds):
            rounds.append({})
            for name, (play, _) in found.items():
                begun = time.perf_counter()
                play(options.turns, random.Random(index))
                rounds[-1][name] = options.turns / (time.perf_counter() - begun)
    print(f"python {platform.python_version()}, numpy {np.__version__}, {os.cpu_count()} cores")
    for name, (_, reference) in found.items():
        rate = statistics.median(one[name] for one in rounds)
        share = statistics.median(one[name] / one[reference] for one in rounds)
        print(f"{options.game}, {name}: {rate:,.0f} turns/s, {share:.2f} of {reference}")
    if server:
        server.close()


if __name__ == "__main__":
    main()
