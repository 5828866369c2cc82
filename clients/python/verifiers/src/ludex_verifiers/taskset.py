"""Tasks: episodes of the games of a server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Literal

import verifiers.v1 as vf
from pydantic import Field

import ludex
from ludex.llm import Episode, seed_rows
from ludex.shared_server import connect


class LudexConfig(vf.TasksetConfig):
    """Settings of the taskset."""

    game: str = "tic_tac_toe"
    """Id of a game, or its whole string with parameters; `all`: every game of the server."""
    opponents: str = "random"
    """Agent of the server for the seats without a model."""
    split: Literal["train", "eval"] = "train"
    """The splits have no seed in common."""
    num_tasks: int = 100
    """Number of tasks per game; the model's seats of a seed take turns."""
    seeds: list[int] | None = None
    """These seeds, each once per seat, instead of those of a split."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Settings of prompts, such as `{"rules": "short"}`."""
    url: str | None = None
    """Server; by default a local one for this process."""
    record: bool = False
    """Store the episodes on the server."""


class LudexData(vf.TaskData):
    """Data of a task: the game, the agent of the other seats, the seed and the model's seat."""

    game: str
    opponents: str
    seed: int
    seat: int
    settings: dict[str, Any]
    url: str | None
    record: bool


class LudexTask(vf.Task[LudexData]):
    """An episode."""

    async def validate(self, runtime: vf.Runtime) -> bool:
        """Return True if the episode starts with the system prompt of the task and a request."""
        return await asyncio.to_thread(self._starts)

    def _starts(self) -> bool:
        data = self.data
        options = {"seat": data.seat, "seed": data.seed, **data.settings}
        with (
            connect(data.url) as client,
            Episode(client, data.game, data.opponents, **options) as episode,
        ):
            return episode.system == data.system_prompt and bool(episode.question)


class LudexTaskset(vf.Taskset[LudexTask, LudexConfig]):
    """Episodes of a game, or of all games, against agents of the server."""

    def load(self) -> Iterator[LudexTask]:
        """Yield the tasks.

        Raises:
            LudexError: ``unknown_game``, ``bad_params``, or no server.
        """
        own = self.config
        with connect(own.url) as client:
            games = [entry["game"] for entry in client.games()] if own.game == "all" else [own.game]
            for game in games:
                system = ludex.rules(game, client=client, **own.settings)
                players = client.describe(game).players
                for row in seed_rows(own.num_tasks, own.split, players=players, seeds=own.seeds):
                    data = LudexData(
                        name=f"{game}, seed {row['seed']}, seat {row['seat']}",
                        system_prompt=system,
                        prompt=None,
                        game=game,
                        opponents=own.opponents,
                        settings=own.settings,
                        url=own.url,
                        record=own.record,
                        **row,
                    )
                    yield LudexTask(data, own.task)
