"""Evaluations and tournaments whose shards are played on the nodes of a Ray cluster."""

from __future__ import annotations

import json
import os
import secrets
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ray

from ..errors import LudexError
from ..run_tables import RunTables, read_run
from .nodes import living_nodes, on_node
from .shards import Plan, ProgramKilled, play_shard, remove_folder, run_program

SHARDS_PER_CPU = 4
MAX_DEFAULT_SHARDS = 1_000
CLEANING_SECONDS = 30.0

OnShard = Callable[[int, int], None]


def evaluate(
    suite: str | os.PathLike[str],
    agents: Sequence[str],
    run: str = "ray",
    *,
    shards: int | None = None,
    storage: str | os.PathLike[str] | None = None,
    data: str | os.PathLike[str] = "./ludex-data",
    num_cpus: float = 1.0,
    jobs: int = 1,
    retries: int = 3,
    args: Sequence[str] = (),
    on_shard: OnShard | None = None,
) -> RunTables:
    """Evaluate agents by a suite on all nodes, and return the merged run.

    Each shard is a Ray task that runs ``ludex evaluate --shard K/N`` and returns a bundle. The
    caller verifies all bundles and merges them by ``ludex evaluate --merge`` into ``data``. The run
    equals that of one machine except for times and the digests over them. The shard of a lost node
    is played again on another one.

    Args:
        suite: name of a suite of the program, or the path of a TOML file. The file is sent to the
            nodes without files that it names; its table ``[files]`` may contain them.
        agents: specs of the agents, such as ``"mcts sims=100"``. Programs, files and keys that an
            agent needs must be on every node.
        run: name of the run.
        shards: number of shards N; by default four for each CPU of the cluster, at most 1,000.
        storage: folder that all nodes share. Shards are then played in it as the data folder, and a
            repeated shard or call continues instead of starting anew. By default, shards are in
            temporary folders of the nodes.
        data: data folder of the merged run on the caller's machine.
        num_cpus: CPUs that Ray reserves for each shard.
        jobs: number of matches that a shard plays in parallel; for language models e.g. 8.
        retries: number of times that a shard is played again after the loss of its node.
        args: further arguments of ``ludex evaluate``, such as ``["--scale", "0.1"]``. They must be
            valid with ``--shard``.
        on_shard: called with the numbers of finished and all shards after each shard.

    Raises:
        LudexError: ``conflict``: ``data`` contains the run; ``bad_field``: the program refuses a
            setting, or shards do not fit together; ``not_installed``: a node lacks the program.
        ray.exceptions.RayError: a shard was lost more than ``retries`` times.
        OSError: the suite file cannot be read.
        ValueError: ``agents`` is empty, or a number is below 1.
    """
    if isinstance(agents, str) or not agents:
        raise ValueError(f"agents: expected a list of at least one spec, got {agents!r}")
    if jobs < 1 or (shards is not None and shards < 1):
        raise ValueError(f"jobs, shards: expected at least 1, got {jobs} and {shards}")
    target = Path(data, "runs", run)
    if target.exists():
        raise LudexError(
            "conflict",
            f"{target} contains a run; remove the run or use another name",
            path="run",
            got=run,
        )
    living_nodes()  # connects to Ray
    name = os.fspath(suite)
    is_file = name.endswith(".toml") or os.path.sep in name
    plan = Plan(
        identifier=secrets.token_hex(8),
        suite=name,
        suite_toml=Path(name).read_text(encoding="utf-8") if is_file else None,
        agents=tuple(agents),
        run=run,
        shards=shards or _default_shards(),
        jobs=jobs,
        args=tuple(args),
        storage=None if storage is None else os.path.abspath(storage),
    )
    with tempfile.TemporaryDirectory(prefix="ludex-merge-") as folder:
        bundles = [str(Path(folder, f"{number}.tar.gz")) for number in range(1, plan.shards + 1)]
        try:
            _play(plan, bundles, num_cpus, retries, on_shard)
        finally:
            _clean(plan)
        run_program(["evaluate", "--merge", *bundles, "--data", os.fspath(data)])
    return read_run(run, data=data)


def tournament(
    game: str,
    agents: Sequence[str],
    run: str = "ray-tournament",
    *,
    blocks: int = 1,
    **options: Any,
) -> RunTables:
    """Play a round robin of agents on all nodes, and return the merged run.

    The tournament is a suite with one part, in which every pair of agents plays ``blocks`` blocks:
    matches on one seed, once with each seating. Its report has scores, Elo ratings and a
    crosstable. Formats whose pairings depend on results (Swiss, ladder) cannot be divided; play
    them with ``ludex tournament``.

    Args:
        game: the game, such as ``"connect_four(rows=4,columns=4)"``.
        agents: specs of at least two agents.
        run: name of the run.
        blocks: number of blocks of each pair.
        options: keyword arguments of :func:`evaluate`.

    Raises:
        LudexError: as :func:`evaluate`.
        ray.exceptions.RayError: as :func:`evaluate`.
        ValueError: there are fewer than two agents, or a number is below 1.
    """
    if isinstance(agents, str) or len(agents) < 2:
        raise ValueError(f"agents: expected a list of at least two specs, got {agents!r}")
    if blocks < 1:
        raise ValueError(f"blocks: expected at least 1, got {blocks}")
    with tempfile.TemporaryDirectory(prefix="ludex-merge-") as folder:
        suite = Path(folder, "tournament.toml")
        suite.write_text(
            TOURNAMENT.format(game=json.dumps(game, ensure_ascii=False), blocks=int(blocks)),
            encoding="utf-8",
        )
        return evaluate(suite, agents, run, **options)


TOURNAMENT = """\
name = "tournament"
version = 1
title = "Round robin"
headline = "standings"
ratings = false

[[part]]
id = "all"
game = {game}
schedule = "round_robin"
blocks = {blocks}
metrics = ["score_rate", "elo_cycles"]

[[figure]]
id = "standings"
title = "Standings"
kind = "table"
rows = "agent"
cell = ["score_rate", "elo_cycles"]
highlight = "best"
"""


def _default_shards() -> int:
    cpus = int(ray.cluster_resources().get("CPU", 1))
    return max(1, min(SHARDS_PER_CPU * cpus, MAX_DEFAULT_SHARDS))


def _play(
    plan: Plan, bundles: list[str], num_cpus: float, retries: int, on_shard: OnShard | None
) -> None:
    """Play all shards and write their bundles, in the order of the shards."""
    task = ray.remote(play_shard).options(
        num_cpus=num_cpus,
        max_retries=retries,
        retry_exceptions=[ProgramKilled],
        scheduling_strategy="SPREAD",
    )
    pending = {task.remote(plan, number): number for number in range(1, plan.shards + 1)}
    try:
        while pending:
            (ready, *_), _ = ray.wait(list(pending), num_returns=1)
            content = ray.get(ready)
            number = pending.pop(ready)
            # The last reference frees the object in Ray's store.
            del ready
            Path(bundles[number - 1]).write_bytes(content)
            if on_shard is not None:
                on_shard(plan.shards - len(pending), plan.shards)
    finally:
        for left in pending:
            ray.cancel(left, force=True)


def _clean(plan: Plan) -> None:
    """Remove the temporary folders of the plan on all living nodes."""
    tasks = [
        ray.remote(remove_folder)
        .options(num_cpus=0, max_retries=0, scheduling_strategy=on_node(node))
        .remote(plan)
        for node in living_nodes()
    ]
    ray.wait(tasks, num_returns=len(tasks), timeout=CLEANING_SECONDS)
