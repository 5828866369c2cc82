"""Environment: one model against agents of the server, or two models against each other."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any, Literal

import verifiers.v1 as vf

import ludex.aio
from ludex.llm import AsyncSelfPlayEpisode, Reward
from ludex.shared_server import shared_url

from .taskset import LudexData, LudexTask


def _seat() -> vf.AgentConfig:
    """Return the defaults of a seat: the harness of this package, on this machine."""
    return vf.AgentConfig(runtime=vf.SubprocessConfig())


class LudexEnvConfig(vf.EnvConfig):
    """Settings of the environment; each `AgentConfig` is a seat."""

    player: vf.AgentConfig = _seat()
    rival: vf.AgentConfig = _seat()
    """Model of the other seats with `self_play`."""
    self_play: bool = False
    """True: `rival` has the other seats; False: agents of the server have them."""
    train_rival: bool = True
    """False: `rival` is a frozen opponent, whose traces are not trained on."""
    tries: int = 3
    """Number of refused answers in one turn that end the episode, as a forfeit."""
    scale: Literal["return", "unit"] = "return"
    """`unit`: rewards from 0 to 1."""
    penalty: float = 0.0
    """Subtracted from the reward for each refused answer."""


class LudexEnv(vf.Env[LudexEnvConfig]):
    """Episodes in which each model has a conversation of its own."""

    async def setup(self, agents: vf.Agents) -> None:
        """Freeze the rival if it is not trained."""
        agents.rival.trainable = self.config.train_rival

    async def run(self, task: vf.Task, agents: vf.Agents) -> None:
        """Play the episode, and record the reward and the metrics of each model."""
        assert isinstance(task, LudexTask)
        url = task.data.url or await asyncio.to_thread(shared_url)
        async with AsyncExitStack() as ending:
            client = await ending.enter_async_context(await ludex.aio.connect(url))
            episode = await ending.enter_async_context(await self._open(client, task.data))
            talks: dict[int, Any] = {}
            for seat in episode.sync.seats:
                agent = agents.player if seat == task.data.seat else agents.rival
                talks[seat] = await ending.enter_async_context(agent.interaction(task))
            await _play(episode, talks)
            for seat, talk in talks.items():
                talk.trace.record_reward("reward", episode.sync.reward(seat), 1.0)
                for name, value in episode.sync.metrics(seat).items():
                    talk.trace.record_metric(name, value)

    async def _open(self, client: ludex.aio.AsyncClient, data: LudexData) -> AsyncSelfPlayEpisode:
        own = self.config
        players = (await client.describe(data.game)).players
        seats = ["agent" if own.self_play else data.opponents] * players
        seats[data.seat] = "agent"
        return await AsyncSelfPlayEpisode.open(
            client,
            data.game,
            seats,
            seed=data.seed,
            tries=own.tries,
            reward=Reward(own.scale, penalty=own.penalty),
            record=data.record,
            **data.settings,
        )


async def _play(episode: AsyncSelfPlayEpisode, talks: dict[int, Any]) -> None:
    """Play until the end, or until a conversation has reached a limit."""
    while not episode.over:
        seats = episode.waiting
        requests = [talks[seat].turn(episode.messages(seat)[-1]["content"]) for seat in seats]
        segments = await asyncio.gather(*requests)
        if any(segment.terminated for segment in segments):
            return
        answers = [segment.last_reply or "" for segment in segments]
        await episode.answer(dict(zip(seats, answers, strict=True)))
