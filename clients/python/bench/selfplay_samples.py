"""Measure the samples per second of self-play here and by OpenSpiel's AlphaZero in Python.

    python bench/selfplay_samples.py NET.onnx [--game connect_four] [--sims 100] [--rounds 3]

Needs the packages ``open_spiel`` and ``onnxruntime``, and a program with networks. Both sides use
one process or thread per core, the same network and the same number of simulations per move. The
side of OpenSpiel is what its AlphaZero actors run: its ``MCTSBot`` with PUCT, noise at the root and
an evaluator with a cache. Only the evaluator's network is replaced: instead of its learner's
framework, onnxruntime evaluates the file. The sides play in turn; medians are printed.
"""

from __future__ import annotations

import argparse
import functools
import json
import multiprocessing
import os
import platform
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import ludex
from ludex.process import find_program


def play_openspiel(net: str, name: str, sims: int, seconds: float, seed: int) -> float:
    """Play games in this process; return the samples per second."""
    import onnxruntime
    import pyspiel
    from open_spiel.python.algorithms import mcts

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(net, options, providers=["CPUExecutionProvider"])
    shape = [int(axis) for axis in session.get_inputs()[0].shape[1:]]
    # The first planes of OpenSpiel's observation; their meaning does not affect the time.
    size = int(np.prod(shape))

    @functools.lru_cache(maxsize=1 << 16)
    def evaluate(observation: bytes) -> tuple[float, Any]:
        array = np.frombuffer(observation, np.float32)
        policy, value = session.run(["policy", "value"], {"obs": array.reshape(1, *shape)})
        weights = np.exp(policy[0] - policy[0].max())
        return float(value.reshape(-1)[0]), weights

    class Evaluator(mcts.Evaluator):  # type: ignore[misc]
        def _both(self, state: Any) -> tuple[float, Any]:
            array = np.array(state.observation_tensor(), np.float32)[:size]
            return evaluate(np.resize(array, size).tobytes())

        def evaluate(self, state: Any) -> Any:
            value = self._both(state)[0]
            return np.array([value, -value])

        def prior(self, state: Any) -> Any:
            weights = self._both(state)[1]
            legal = state.legal_actions()
            total = weights[legal].sum()
            return [(action, weights[action] / total) for action in legal]

    game = pyspiel.load_game(name)
    random = np.random.RandomState(seed)
    bot = mcts.MCTSBot(
        game,
        1.25,
        sims,
        Evaluator(),
        solve=False,
        random_state=random,
        dirichlet_noise=(0.25, 1.0),
        child_selection_fn=mcts.SearchNode.puct_value,
    )
    samples, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        state = game.new_initial_state()
        while not state.is_terminal():
            root = bot.mcts_search(state)
            visits = np.zeros(game.num_distinct_actions())
            for child in root.children:
                visits[child.action] = child.explore_count
            state.apply_action(int(random.choice(len(visits), p=visits / visits.sum())))
            samples += 1
    return samples / (time.perf_counter() - start)


def rate_openspiel(net: str, game: str, sims: int, seconds: float, seed: int) -> float:
    cores = os.cpu_count() or 1
    with multiprocessing.get_context("spawn").Pool(cores) as pool:
        jobs = [(net, game, sims, seconds, seed * cores + i) for i in range(cores)]
        return sum(pool.starmap(play_openspiel, jobs))


def rate_ludex(net: str, game: str, sims: int, games: int, seed: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "samples")
        command = [str(find_program()), "selfplay", game, "--net", net, "--out", out, "--json"]
        command += ["--sims", str(sims), "--games", str(games), "--seed", str(seed)]
        command += ["--shard-games", str(max(1, games // (2 * (os.cpu_count() or 1))))]
        done = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        return float(done["samples"] / done["seconds"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("net")
    parser.add_argument("--game", default="connect_four")
    parser.add_argument("--sims", type=int, default=100)
    parser.add_argument("--games", type=int, default=512)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    print(f"{platform.platform()}, {os.cpu_count()} cores, ludex {ludex.__version__}")
    own, other = [], []
    for seed in range(args.rounds):
        own.append(rate_ludex(args.net, args.game, args.sims, args.games, seed))
        other.append(rate_openspiel(args.net, args.game, args.sims, args.seconds, seed))
    quotient = statistics.median(a / b for a, b in zip(own, other, strict=True))
    print(
        f"{args.game}, {args.sims} simulations, samples per second: ludex "
        f"{statistics.median(own):,.1f}, OpenSpiel {statistics.median(other):,.1f}; "
        f"quotient {quotient:.1f}"
    )


if __name__ == "__main__":
    main()
