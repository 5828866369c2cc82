"""Tasks of Inspect: ``inspect eval ludex/connect_four``, ``inspect eval ludex/suite``.

The entry point of the distribution registers ``game`` and ``suite``, and a task with the name of
each game.
"""

from __future__ import annotations

import functools
import secrets
from typing import Any, Literal

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageSystem

from ..catalogue import GAMES
from ..llm import seed_rows
from ..prompting import rules
from ..shared_server import connect
from .episodes import episode_result, play_episode
from .suites import count_matches, matches_result, play_shard, run_report


@task
def game(
    game: str = "tic_tac_toe",
    opponents: str = "random",
    matches: int = 10,
    split: Literal["train", "eval"] = "eval",
    seeds: list[int] | None = None,
    tries: int = 3,
    url: str | None = None,
    record: bool = False,
    settings: dict[str, Any] | None = None,
) -> Task:
    """Return the task of a game: matches against an agent of the server.

    Args:
        game: id of the game, or its whole string with parameters.
        opponents: agent of the server for the other seats.
        matches: number of matches; the model's seats of a seed take turns.
        split: ``"train"`` or ``"eval"``, which have no seed in common.
        seeds: these seeds, each once per seat, instead of those of a split.
        tries: number of refused answers in one turn that end a match, as a forfeit.
        url: server; by default a local one.
        record: store the episodes on the server.
        settings: settings of prompts, such as ``{"rules": "short"}``.
    """
    with connect(url) as client:
        system = rules(game, client=client, **(settings or {}))
        spec = client.describe(game)
    samples = [
        Sample(
            input=[ChatMessageSystem(content=system)],
            id=f"{row['seed']}-{row['seat']}",
            metadata={"game": spec.string, **row},
        )
        for row in seed_rows(matches, split, players=spec.players, seeds=seeds)
    ]
    return Task(
        dataset=MemoryDataset(samples, name=spec.game),
        solver=play_episode(game, opponents, tries, url, record, settings),
        scorer=episode_result(),
    )


@task
def suite(
    suite: str = "quick",
    run: str | None = None,
    data: str = "ludex-data",
    scale: float = 1.0,
    shards: int | None = None,
    arguments: str = "",
) -> Task:
    """Return the task of a suite: a run of ``ludex evaluate``, in shards.

    Args:
        suite: name or file of the suite.
        run: name of the run below ``data``/runs; by default a new name.
        data: data folder.
        scale: share of the suite to play.
        shards: number of samples; by default one for each pair of matches.
        arguments: further arguments of the agent ``llm``, such as ``"prompting=cot"``.
    """
    name = run or f"inspect-{secrets.token_hex(4)}"
    count = shards or max(1, round(count_matches(suite) * scale / 2))
    samples = [
        Sample(input=f"Shard {k} of {count}", id=k, metadata={"shard": f"{k}/{count}"})
        for k in range(1, count + 1)
    ]
    return Task(
        dataset=MemoryDataset(samples, name=suite),
        solver=play_shard(suite, name, data, scale, arguments),
        scorer=[run_report(name, data), matches_result(name, data)],
        metadata={"run": name, "data": data},
    )


def _register(name: str) -> None:
    """Register the task of a game under the name of the game."""

    @task(name=name)
    @functools.wraps(game)
    def matches_of_game(**options: Any) -> Task:
        return game(**{"game": name, **options})


for _name in GAMES:
    _register(_name)
