"""Compares Ludex with OpenSpiel, RLCard and PettingZoo, each pair in one run; started by `docs/benchmarks/peers.sh`.

mcts: simulations per second of one decision in the first position, one random rollout each, no solver; pyspiel.MCTSBot
(its C++ bot) and our `mcts` (`agents/benches/search.rs`) in turns.
play: decisions per second of random play in one process, with a list of legal actions for each: ours through the erased,
checked interface (`games/benches/steps.rs`), the others with the loop that their users write in Python.
steps: connect_four and leduc_poker with random legal actions: PettingZoo's environment in its own process and ours from
Python over a loopback socket, in turns.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import importlib
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
# Our name, OpenSpiel's name, and the ratio of speeds that is the target.
MCTS = [
    ("tic_tac_toe", "tic_tac_toe", 2),
    ("connect_four", "connect_four", 4),
    ("breakthrough", "breakthrough", 4),
    ("reversi", "othello", 4),
    ("go(board_size=9)", "go(board_size=9)", 4),
    ("chess", "chess", 4),
    ("gomoku", "gomoku", 4),
]

# Our name; OpenSpiel's string or a key for it; RLCard's and PettingZoo's names; the target ratio to the fastest of them.
PLAY = [
    ("texas_holdem", "hunl fcpa", "no-limit-holdem", "texas_holdem_no_limit_v6", 10),
    ("hanabi", "hanabi", None, "hanabi_v5", 10),
    ("leduc_poker", "leduc_poker", "leduc-holdem", "leduc_holdem_v4", 10),
    ("liars_dice", "liars_dice", None, None, 10),
    ("fight_the_landlord", None, "doudizhu", None, 3),
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


def measured(executable: str, bench: str) -> tuple[float, int]:
    """Run one of our benchmarks; return the median seconds and the number of elements of one iteration."""
    subprocess.run([executable, "--bench", "--exact", bench], check=True, capture_output=True)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", "target")) / "criterion"
    for file in target.glob("*/*/*/new/benchmark.json"):
        about = json.loads(file.read_text())
        if about["full_id"] == bench:
            estimates = json.loads((file.parent / "estimates.json").read_text())
            return estimates["median"]["point_estimate"] / 1e9, about["throughput"]["Elements"]
    raise FileNotFoundError(f"{bench} was not measured")


def our_mcts(name: str) -> float:
    spent, simulations = measured(os.environ["LUDEX_SEARCH"], f"mcts/{name}/{SIMULATIONS}")
    return simulations / spent


def our_play(name: str) -> float:
    spent, decisions = measured(os.environ["LUDEX_STEPS"], f"single/{name}/checked")
    return decisions / spent


def openspiel_play(name: str, seconds: float) -> float:
    import pyspiel

    game = pyspiel.load_game(pyspiel.hunl_game_string("fcpa") if name == "hunl fcpa" else name)
    rng, decisions, begun = random.Random(1), 0, time.perf_counter()
    while time.perf_counter() - begun < seconds:
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                outcomes, weights = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(rng.choices(outcomes, weights)[0])
            else:
                state.apply_action(rng.choice(state.legal_actions()))
                decisions += 1
    return decisions / (time.perf_counter() - begun)


def rlcard_play(name: str, seconds: float) -> float:
    import rlcard

    env, rng = rlcard.make(name), random.Random(1)
    decisions, begun = 0, time.perf_counter()
    while time.perf_counter() - begun < seconds:
        state, _ = env.reset()
        while not env.is_over():
            state, _ = env.step(rng.choice(list(state["legal_actions"])))
            decisions += 1
    return decisions / (time.perf_counter() - begun)


def pettingzoo_play(module: str, seconds: float) -> float:
    env = importlib.import_module(f"pettingzoo.classic.{module}").env()
    rng, decisions, begun = random.Random(1), 0, time.perf_counter()
    while time.perf_counter() - begun < seconds:
        env.reset(seed=decisions)
        for _ in env.agent_iter():
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                env.step(None)
            else:
                mask = observation["action_mask"]
                env.step(rng.choice([action for action in range(len(mask)) if mask[action]]))
                decisions += 1
    return decisions / (time.perf_counter() - begun)


def in_turns(rounds: int, *measures: Callable[[], float]) -> list[float]:
    """Run the measures in turns and return the median of each."""
    found = [[measure() for measure in measures] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*found, strict=True)]


def row(*cells: str) -> None:
    print("| " + " | ".join(cells) + " |", flush=True)


def compare_mcts(seconds: float, rounds: int) -> None:
    row("mcts, simulations/s", "Ludex", "OpenSpiel", "ratio", "wanted")
    row(*["---"] * 5)
    for our_name, their_name, wanted in MCTS:
        ours, theirs = in_turns(
            rounds, functools.partial(our_mcts, our_name), functools.partial(openspiel_mcts, their_name, seconds)
        )
        row(our_name, f"{ours:,.0f}", f"{theirs:,.0f}", f"{ours / theirs:.1f}", str(wanted))
    print()


def compare_play(seconds: float, rounds: int) -> None:
    row("random play, decisions/s", "Ludex", "OpenSpiel", "RLCard", "PettingZoo", "ratio to the fastest", "wanted")
    row(*["---"] * 7)
    for name, openspiel, rlcard, pettingzoo, wanted in PLAY:
        peers = [(openspiel_play, openspiel), (rlcard_play, rlcard), (pettingzoo_play, pettingzoo)]
        there = [functools.partial(play, peer, seconds) for play, peer in peers if peer]
        ours, *theirs = in_turns(rounds, functools.partial(our_play, name), *there)
        left = iter(theirs)
        cells = [f"{next(left):,.0f}" if peer else "-" for _, peer in peers]
        row(name, f"{ours:,.0f}", *cells, f"{ours / max(theirs):.0f}", str(wanted))
    print()


def compare_steps(seconds: float, rounds: int) -> None:
    import ludex
    from steps import measure

    row("steps/s, one in flight", "Ludex from Python", "PettingZoo", "ratio", "wanted")
    row(*["---"] * 5)
    with ludex.serve() as server, ludex.Client(server.url) as client:
        for game, module in (("connect_four", "connect_four_v3"), ("leduc_poker", "leduc_holdem_v4")):
            for num_envs in (256, 1_024, 4_096):
                ours, theirs = in_turns(
                    rounds,
                    lambda game=game, n=num_envs: measure(client, game, n, 1, seconds).steps,
                    functools.partial(pettingzoo_play, module, seconds),
                )
                label = f"{game}, {num_envs:,} per message"
                wanted = "-" if num_envs == 256 else "100"
                row(label, f"{ours:,.0f}", f"{theirs:,.0f}", f"{ours / theirs:.0f}", wanted)
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["mcts", "play", "steps"], help="one part; all by default")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=3, help="rounds in which the programs take turns; medians are printed")
    options = parser.parse_args()
    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("open_spiel", "pettingzoo", "rlcard", "numpy")]
    now = datetime.datetime.now(datetime.timezone.utc)
    print(f"{now:%Y-%m-%d %H:%M} UTC, python {platform.python_version()}, {', '.join(versions)}, {os.cpu_count()} CPUs")
    print(f"load average before: {os.getloadavg()[0]:.2f}; medians of {options.rounds} rounds of {options.seconds} s\n")
    for name, part in (("mcts", compare_mcts), ("play", compare_play), ("steps", compare_steps)):
        if options.only in (None, name):
            part(options.seconds, options.rounds)


if __name__ == "__main__":
    main()
