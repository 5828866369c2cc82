"""Measure episodes per second of a text game, beside TextArena.

    python -m venv arena
    arena/bin/pip install textarena -e clients/python
    arena/bin/python clients/python/bench/textarena_episodes.py [--envs 256] [--seconds 3]

Random legal moves, chosen from the text of the prompt, are played on both seats of tic-tac-toe. A
rate thus includes the text for each turn and the parsing of each answer. In each round, TextArena
and Ludex are measured in sequence; the medians are printed. TextArena runs in this process, and
Ludex in a server, which is started here. TextArena depends on code under the GPL, so the client
does not depend on it, and it has an environment of its own.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import re
import statistics
import time
from collections.abc import Callable
from typing import Any

import ludex
from ludex.llm import SelfPlayEpisode

Play = Callable[[float], tuple[int, float]]
"""Plays for some seconds; returns the episodes and the duration in seconds."""


def textarena(draw: random.Random) -> Play:
    """Play one game after the other in TextArena."""
    import textarena as arena

    env = arena.make("TicTacToe-v0")

    def play(seconds: float) -> tuple[int, float]:
        start, episodes = time.perf_counter(), 0
        while time.perf_counter() - start < seconds:
            env.reset(num_players=2)
            done = False
            while not done:
                _, text = env.get_observation()
                moves = re.findall(r"\[\d\]", text[text.rindex("Available Moves:") :])
                done, _ = env.step(action=draw.choice(moves))
            env.close()
            episodes += 1
        return episodes, time.perf_counter() - start

    return play


def legal_moves(request: str) -> list[str]:
    """Return the legal moves in a request of Ludex."""
    return request.partition("Legal moves:\n")[2].partition("\n\n")[0].splitlines()


def one_by_one(client: ludex.Client, draw: random.Random) -> Play:
    """Play one game after the other in Ludex, with the conversations of both seats."""
    episode = SelfPlayEpisode(client, "tic_tac_toe", seed=0)

    def play(seconds: float) -> tuple[int, float]:
        start, episodes = time.perf_counter(), 0
        while time.perf_counter() - start < seconds:
            episode.reset()
            while not episode.over:
                (seat,) = episode.waiting
                moves = legal_moves(episode.messages(seat)[-1]["content"])
                episode.answer({seat: draw.choice(moves)})
            episodes += 1
        return episodes, time.perf_counter() - start

    return play


def batched(client: ludex.Client, draw: random.Random, count: int) -> Play:
    """Play a batch of games in Ludex, with one message for all."""
    views = ["prompt"]
    envs = client.open_vec("tic_tac_toe", count, views=views, autoreset="same_step")
    batch = envs.reset(seed=0)

    def play(seconds: float) -> tuple[int, float]:
        nonlocal batch
        start, episodes = time.perf_counter(), 0
        while time.perf_counter() - start < seconds:
            batch = envs.step([answer(prompts) for prompts in _by_env(batch, count)])
            episodes += int(batch.terminated.sum())
        return episodes, time.perf_counter() - start

    def answer(prompts: list[Any]) -> ludex.Answer:
        request = next(prompt for prompt in prompts if prompt is not None)[-1]["content"]
        return ludex.Answer(draw.choice(legal_moves(request)))

    return play


def _by_env(batch: ludex.Batch, count: int) -> list[list[Any]]:
    """Return the prompts of the seats of each environment."""
    prompts = batch.prompt or []
    per_env = len(prompts) // count
    return [prompts[at : at + per_env] for at in range(0, len(prompts), per_env)]


def main() -> None:
    """Measure, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--envs", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    draw = random.Random(0)
    with ludex.serve() as server, ludex.Client(server.url) as client:
        plays = {
            "TextArena": textarena(draw),
            "Ludex, one game at a time": one_by_one(client, draw),
            f"Ludex, {args.envs} games at once": batched(client, draw, args.envs),
        }
        rates: dict[str, list[float]] = {name: [] for name in plays}
        for _ in range(args.rounds):
            for name, play in plays.items():
                episodes, seconds = play(args.seconds)
                rates[name].append(episodes / seconds)
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    for name, found in rates.items():
        print(f"{name}: {statistics.median(found):,.0f} episodes/s")


if __name__ == "__main__":
    main()
