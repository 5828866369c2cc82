"""Fan calculations of PyMahjongGB and random games of RLCard's mahjong, per second on one core.

Run it with a Python that has PyMahjongGB and rlcard, from the root of the source; `cargo bench -p ludex-games --bench mahjong`
and `--bench steps -- mcr_mahjong` are the other side.
"""

from __future__ import annotations

import gzip
import json
import random
import time

import rlcard
from MahjongGB import MahjongFanCalculator

FLAGS = ["flowers", "self_drawn", "fourth_tile", "about_kong", "wall_last", "seat_wind", "prevalent_wind"]
SECONDS = 10.0


def fans() -> float:
    with gzip.open("tests/data/oracles/mcr_fans.json.gz") as file:
        vectors = [v for v in json.load(file)["vectors"] if v["win_ok"]]
    hands = [
        (tuple(map(tuple, v["pack"])), tuple(v["hand"]), v["win"], *(v.get(f, 0) for f in FLAGS)) for v in vectors
    ]
    done, begun = 0, time.perf_counter()
    while time.perf_counter() - begun < SECONDS:
        for hand in hands:
            MahjongFanCalculator(*hand)
        done += len(hands)
    return done / (time.perf_counter() - begun)


def steps() -> tuple[float, float]:
    env, rng = rlcard.make("mahjong"), random.Random(1)
    decisions, games, begun = 0, 0, time.perf_counter()
    while time.perf_counter() - begun < SECONDS:
        state, _ = env.reset()
        while not env.is_over():
            state, _ = env.step(rng.choice(list(state["legal_actions"])))
            decisions += 1
        games += 1
    spent = time.perf_counter() - begun
    return decisions / spent, games / spent


if __name__ == "__main__":
    print(f"PyMahjongGB: {fans():.0f} fan calculations/s")
    print("RLCard mahjong: {:.0f} decisions/s, {:.2f} games/s".format(*steps()))
