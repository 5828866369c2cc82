"""Solver and scorer of single matches: the model plays episodes against agents of the server."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from inspect_ai.model import ChatMessageUser
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import store

from ..aio import connect
from ..llm import AsyncEpisode
from ..shared_server import shared_url

# Key of the result of an episode in the store of its sample.
RESULT = "ludex:episode"


@solver
def play_episode(
    game: str,
    opponents: str = "random",
    tries: int = 3,
    url: str | None = None,
    record: bool = False,
    settings: Mapping[str, Any] | None = None,
) -> Solver:
    """Play the episode of the seed and seat in the metadata of the sample, as one conversation.

    Args:
        game: id of the game, or its whole string with parameters.
        opponents: agent of the server for the other seats.
        tries: number of refused answers in one turn that end the episode, as a forfeit.
        url: server; by default the shared local one.
        record: store the episodes on the server.
        settings: settings of prompts, such as ``{"rules": "short"}``.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        where = await asyncio.to_thread(shared_url) if url is None else url
        options = {"tries": tries, "record": record, **(settings or {})}
        options |= {"seed": state.metadata["seed"], "seat": state.metadata["seat"]}
        async with (
            await connect(where) as client,
            await AsyncEpisode.open(client, game, opponents, **options) as episode,
        ):
            _store(episode)
            while not episode.over:
                state.messages.append(ChatMessageUser(content=episode.question))
                state = await generate(state)
                await episode.answer(state.output.completion)
                # After each answer, since a limit of the task may end the sample.
                _store(episode)
        return state

    return solve


def _store(episode: AsyncEpisode) -> None:
    store().set(RESULT, episode.metrics)


@scorer(
    metrics={
        "return": [mean(), stderr(cluster="seed")],
        "refused": [mean()],
        "forfeit": [mean()],
        "moves": [mean()],
    }
)
def episode_result() -> Scorer:
    """Score a match by its return, the refused answers, forfeit and the moves of the model."""

    async def score(state: TaskState, target: Target) -> Score:
        result = store().get(RESULT)
        if result is None:
            return Score.unscored(explanation="the episode has not started")
        refused = result["illegal"] + result["unparsed"] + result["empty"]
        value = {key: result[key] for key in ("return", "forfeit", "moves")}
        return Score(
            value={**value, "refused": refused}, answer=state.output.completion, metadata=result
        )

    return score
