"""Measure environment steps per second over a real socket, with random legal actions.

    python bench/steps.py [URL] [--game connect_four] [--seconds 3]

Without a URL, a server is started. With one handle, every step waits for its batch. With two
handles, one batch is in flight while actions for the other handle are drawn.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import ludex

# Number of random bytes per draw.
COINS = 1 << 16


class Sampler:
    """A sampler of one legal action per row of a mask, without a loop over rows.

    For up to 8 actions it uses a table, indexed by the row's bits and a random byte. The
    probabilities are then equal to within 1 part in 32, which is enough for a benchmark.
    """

    def __init__(self, actions: int, seed: int) -> None:
        self._random = np.random.Generator(np.random.SFC64(seed))
        self._coins = np.empty(0, np.uint8)
        self._table: npt.NDArray[np.int32] | None = None
        if actions <= 8:
            table = np.zeros((1 << actions, 256), np.int32)
            for bits in range(1, 1 << actions):
                legal = [action for action in range(actions) if bits >> action & 1]
                table[bits] = [legal[coin * len(legal) >> 8] for coin in range(256)]
            self._table = table.ravel()
            # The weight of each action in the index of a row's table entry; exact in a float.
            self._places = np.array([256 << action for action in range(actions)], np.float32)

    def draw(self, mask: npt.NDArray[np.uint8]) -> npt.NDArray[np.int32]:
        if self._table is None:
            keys = self._random.random(mask.shape, np.float32) * mask
            return np.asarray(keys.argmax(axis=1), np.int32)
        rows = len(mask)
        if len(self._coins) < rows:
            self._coins = np.frombuffer(self._random.bytes(COINS + rows), np.uint8)
        where = (mask.astype(np.float32) @ self._places).astype(np.intp)
        where += self._coins[:rows]
        self._coins = self._coins[rows:]
        return self._table[where]


def measure(client: ludex.Client, game: str, num_envs: int, handles: int, seconds: float) -> Rate:
    """Step ``handles`` batches in turn; one is in flight while actions of another are drawn."""
    vecs = [
        client.open_vec(game, num_envs=num_envs, autoreset="same_step", mask="u1")
        for _ in range(handles)
    ]
    sampler = Sampler(vecs[0].spec.actions, 1)
    batches = [vec.reset(seed=0) for vec in vecs]
    for vec, batch in zip(vecs[1:], batches[1:], strict=True):
        vec.send(sampler.draw(batch.mask))
    messages, started, busy = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - started < seconds:
        for _ in range(20):
            for index, vec in enumerate(vecs):
                vec.send(sampler.draw(batches[index].mask))
                ready = (index + 1) % handles
                batches[ready] = vecs[ready].recv()
        messages += 20 * handles
    elapsed = time.perf_counter() - started
    busy = time.process_time() - busy
    for vec in vecs:
        if vec.in_flight:
            vec.recv()
        vec.close()
    return Rate(messages * num_envs / elapsed, busy / elapsed)


class Rate(NamedTuple):
    """Return environment steps per second, and the CPU share of this process."""

    steps: float
    busy: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", nargs="?")
    parser.add_argument("--game", default="connect_four")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--envs", type=int, nargs="*", default=[256, 1024, 4096])
    options: Any = parser.parse_args()
    server = None if options.url else ludex.serve()
    url = options.url or (server.url if server else "")
    print(f"python {platform.python_version()}, numpy {np.__version__}, {os.cpu_count()} cores")
    with ludex.Client(url) as client:
        for num_envs in options.envs:
            for handles in (1, 2):
                rate = measure(client, options.game, num_envs, handles, options.seconds)
                print(
                    f"{options.game}: {num_envs} per message, {handles} handle(s): "
                    f"{rate.steps / 1e6:.2f} M steps/s, client busy {rate.busy:.0%}"
                )
    if server:
        server.close()


if __name__ == "__main__":
    main()
