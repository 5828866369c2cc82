"""Measure evaluation and rollouts on a local Ray cluster of one and of two one-CPU nodes.

    python bench/cluster.py --rounds 3

The figures are CPU seconds of all processes of the cluster, since other work on the machine changes
them less than seconds of a clock. Each round measures both clusters. The output has the median of
each figure and of the ratio of the two clusters, the inputs of the computation in docs/ray.md.
Linux only.
"""

from __future__ import annotations

import argparse
import os
import resource
import secrets
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import ray
from ray.cluster_utils import Cluster

import ludex.ray

GAME = "connect_four"
ENVS, STEPS = 1_024, 512
SHARDS = (4, 24)
MARK = f"LUDEX_BENCH={secrets.token_hex(8)}"
TICKS = os.sysconf("SC_CLK_TCK")


def first_legal(obs: Any, mask: Any) -> Any:
    """Choose the first legal action, so that the policy costs nothing."""
    return mask.argmax(axis=1)


def cluster_seconds() -> float:
    """Return the CPU seconds that the processes of the cluster and their children have used."""
    ticks = 0
    for process in Path("/proc").iterdir():
        try:
            if MARK in (process / "environ").read_bytes().decode(errors="replace"):
                fields = (process / "stat").read_text().rpartition(")")[2].split()
                ticks += sum(map(int, fields[11:15]))
        except OSError:
            continue
    return ticks / TICKS


def merge_seconds() -> float:
    """Return the CPU seconds of finished children of this process, which are those of merges."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure_evaluation(agent: str, scale: float) -> dict[str, float]:
    """Return milliseconds per match of the shards, and per shard and match of the merge."""
    merges: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for shards in SHARDS:
            cluster, merge = cluster_seconds(), merge_seconds()
            played = ludex.ray.evaluate(
                "quick",
                [agent],
                f"s{shards}",
                shards=shards,
                args=["--scale", str(scale)],
                data=folder,
            )
            cluster, merges[shards] = cluster_seconds() - cluster, merge_seconds() - merge
        matches = len(played.rows("episodes"))
    few, many = SHARDS
    each = (merges[many] - merges[few]) / (many - few)
    return {
        "matches": matches,
        "shards, CPU ms per match": 1e3 * cluster / matches,
        "merge, CPU ms per shard": 1e3 * each,
        "merge, CPU ms per match": 1e3 * (merges[few] - few * each) / matches,
    }


def measure_rollouts() -> dict[str, float]:
    """Return the costs of an environment step for all actors and their servers."""
    with (
        ludex.ray.Servers(args=["--workers", "1"]) as servers,
        ludex.ray.Rollouts(servers, GAME, ENVS, opponent="random") as rollouts,
    ):
        rollouts.rollout(first_legal, 2)
        before = cluster_seconds()
        found = rollouts.rollout(first_legal, STEPS)
        seconds, steps = cluster_seconds() - before, len(found) * STEPS * ENVS
        size = sum(part.nbytes for each in found for part in each if isinstance(part, np.ndarray))
        return {"rollouts, CPU us per step": 1e6 * seconds / steps, "bytes per step": size / steps}


def measure(nodes: int, agent: str, scale: float) -> dict[str, float]:
    """Return the figures of a cluster."""
    settings = {
        "num_cpus": 1,
        "include_dashboard": False,
        "object_store_memory": 1_000_000_000,
        "env_vars": dict([MARK.split("=")]),
    }
    cluster = Cluster(initialize_head=True, head_node_args=settings)
    for _ in range(nodes - 1):
        cluster.add_node(**settings)
    cluster.wait_for_nodes()
    ray.init(address=cluster.address, log_to_driver=False)
    try:
        measure_evaluation("random", 0.1)  # starts Ray's workers
        return {**measure_evaluation(agent, scale), **measure_rollouts()}
    finally:
        ray.shutdown()
        cluster.shutdown()


def main() -> None:
    """Print the median of each figure for both clusters, and of their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--agent", default="mcts sims=20000")
    parser.add_argument("--scale", type=float, default=1.0)
    args = parser.parse_args()
    began = time.perf_counter()
    rounds = [
        {nodes: measure(nodes, args.agent, args.scale) for nodes in (1, 2)}
        for _ in range(args.rounds)
    ]
    for name in rounds[0][1]:
        one, two = (median(each[nodes][name] for each in rounds) for nodes in (1, 2))
        ratio = median(each[2][name] / each[1][name] for each in rounds)
        print(f"{name:26} one node {one:9.3f}   two nodes {two:9.3f}   ratio {ratio:.3f}")
    print(f"{args.rounds} rounds in {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
