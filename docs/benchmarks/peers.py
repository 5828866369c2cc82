"""Ludex beside OpenSpiel and PettingZoo, each pair in one run: `docs/benchmarks/peers.sh` runs it.

mcts: simulations per second of one decision in the first position, one random rollout each, no solver; pyspiel.MCTSBot
(its C++ bot) and our `mcts` (`agents/benches/search.rs`) in turns.
steps: connect_four, random legal actions: PettingZoo's environment in its own process, ours from Python over a loopback
socket, in turns.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import pathlib
import platform
import random
import statistics
import subprocess
import time
from collections.abc import Callable

SIMULATIONS = 1_000
# Ours, OpenSpiel's, and how many times as fast ours is to be.
MCTS = [
    ("tic_tac_toe", "tic_tac_toe", 2),
    ("connect_four", "connect_four", 4),
    ("breakthrough", "breakthrough", 4),
    ("reversi", "othello", 4),
    ("go(board_size=9)", "go(board_size=9)", 4),
    ("chess", "chess", 4),
    ("gomoku", "gomoku", 4),
]


def openspiel_mcts(name: str, seconds: float) -> float:
    import pyspiel

    game = pyspiel.load_game(name)
    state = game.new_initial_state()
    simulations, spent, seed = 0, 0.0, 1
    while spent < seconds:
        rollout = pyspiel.RandomRolloutEvaluator(1, seed)
        bot = pyspiel.MCTSBot(game, rollout, 2.0, SIMULATIONS, 1_000, False, seed, False)
        begun = time.perf_counter()
        bot.step(state)
        spent += time.perf_counter() - begun
        simulations += SIMULATIONS
        seed += 1
    return simulations / spent


def our_mcts(name: str) -> float:
    """The middle estimate of criterion."""
    bench = f"mcts/{name}/{SIMULATIONS}"
    subprocess.run([os.environ["LUDEX_SEARCH"], "--bench", "--exact", bench], check=True, capture_output=True)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", "target")) / "criterion" / "mcts"
    files = target.glob(f"*/{SIMULATIONS}/new/benchmark.json")
    found = [file for file in files if json.loads(file.read_text())["full_id"] == bench]
    estimates = json.loads((found[0].parent / "estimates.json").read_text())
    return SIMULATIONS / (float(estimates["median"]["point_estimate"]) / 1e9)


def pettingzoo_steps(seconds: float) -> float:
    from pettingzoo.classic import connect_four_v3

    env = connect_four_v3.env()
    rng = random.Random(1)
    steps, begun = 0, time.perf_counter()
    while time.perf_counter() - begun < seconds:
        env.reset(seed=steps)
        for _ in env.agent_iter():
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                env.step(None)
            else:
                mask = observation["action_mask"]
                env.step(rng.choice([action for action in range(len(mask)) if mask[action]]))
                steps += 1
    return steps / (time.perf_counter() - begun)


def in_turns(rounds: int, ours: Callable[[], float], theirs: Callable[[], float]) -> tuple[float, float]:
    """The medians of both."""
    pairs = [(ours(), theirs()) for _ in range(rounds)]
    first, second = (statistics.median(column) for column in zip(*pairs, strict=True))
    return first, second


def row(*cells: str) -> None:
    print("| " + " | ".join(cells) + " |", flush=True)


def compare_mcts(seconds: float, rounds: int) -> None:
    row("mcts, simulations/s", "Ludex", "OpenSpiel", "ratio", "wanted")
    row(*["---"] * 5)
    for our_name, their_name, wanted in MCTS:
        ours, theirs = in_turns(
            rounds, lambda name=our_name: our_mcts(name), lambda name=their_name: openspiel_mcts(name, seconds)
        )
        row(our_name, f"{ours:,.0f}", f"{theirs:,.0f}", f"{ours / theirs:.1f}", str(wanted))
    print()


def compare_steps(seconds: float, rounds: int) -> None:
    import ludex
    from steps import measure

    row("connect_four, steps/s", "Ludex from Python", "PettingZoo", "ratio", "wanted")
    row(*["---"] * 5)
    with ludex.serve() as server, ludex.Client(server.url) as client:
        for num_envs, wanted in ((256, "-"), (1_024, "100"), (4_096, "100")):
            ours, theirs = in_turns(
                rounds,
                lambda n=num_envs: measure(client, "connect_four", n, 1, seconds).steps,
                lambda: pettingzoo_steps(seconds),
            )
            label = f"{num_envs:,} per message, one in flight"
            row(label, f"{ours:,.0f}", f"{theirs:,.0f}", f"{ours / theirs:.0f}", wanted)
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["mcts", "steps"], help="one part; both by default")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=3, help="how often each pair takes turns; medians are printed")
    options = parser.parse_args()
    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("open_spiel", "pettingzoo", "numpy")]
    now = datetime.datetime.now(datetime.timezone.utc)
    print(f"{now:%Y-%m-%d %H:%M} UTC, python {platform.python_version()}, {', '.join(versions)}, {os.cpu_count()} CPUs")
    print(f"load average before: {os.getloadavg()[0]:.2f}; medians of {options.rounds} rounds of {options.seconds} s\n")
    if options.only != "steps":
        compare_mcts(options.seconds, options.rounds)
    if options.only != "mcts":
        compare_steps(options.seconds, options.rounds)


if __name__ == "__main__":
    main()
