"""The asyncio client with a real server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import ludex
from ludex import aio


@pytest.fixture(scope="module")
def url(program: str) -> Iterator[str]:
    with ludex.serve(args=["--drain-timeout", "0"]) as server:
        yield server.url


def test_concurrent_clients_play_independently(url: str) -> None:
    async def episode(seed: int) -> list[Any]:
        async with await aio.connect(url) as client:
            env = await client.open("connect_four", seats=["agent", "random"])
            state = await env.reset(seed)
            moves = []
            while not state.over:
                moves.append(state.legal[seed % len(state.legal)])
                state = await env.step(moves[-1])
            return [moves, state.returns, await env.text(0)]

    async def main() -> list[list[Any]]:
        return list(await asyncio.gather(*[episode(seed) for seed in (1, 2, 3, 1, 2, 3)]))

    played = asyncio.run(main())
    assert played[:3] == played[3:]


def test_async_methods_return_same_results_as_sync(url: str) -> None:
    async def main() -> None:
        client = await aio.connect(url)
        assert any(entry["game"] == "nim" for entry in await client.games())
        assert (await client.describe("nim")).game == "nim"
        vec = await client.open_vec("tic_tac_toe", 3)
        await vec.reset(seed=1)
        assert (await vec.step([0, 1, 2])).length.tolist() == [1, 1, 1]
        assert (vec.num_envs, vec.spec.game) == (3, "tic_tac_toe")
        env = await client.open("tic_tac_toe")
        await env.reset()
        twin = await env.clone()
        await env.step("x(1,1)")
        assert (await twin.step(0)).length == 1
        with pytest.raises(ludex.LudexError, match="unknown_game"):
            await client.open("tic_tac_to")
        await client.close()
        await client.close()
        with pytest.raises(ludex.LudexError, match="closed"):
            env.sync.step(0)

    asyncio.run(main())


def test_cancelled_step_interrupts_env(url: str) -> None:
    async def main() -> None:
        async with await aio.connect(url) as client:
            env = await client.open("connect_four", seats=["agent", "mcts sims=2000"])
            await env.reset(seed=1)
            step = asyncio.ensure_future(env.step(3))
            await asyncio.sleep(0)
            step.cancel()
            with pytest.raises(asyncio.CancelledError):
                await step
            with pytest.raises(ludex.LudexError, match="interrupted"):
                await env.step(3)
            assert (await env.reset(seed=1)).length == 0

    asyncio.run(main())


def test_play_awaits_async_agent(url: str) -> None:
    async def agent(turn: ludex.Turn) -> int:
        await asyncio.sleep(0)
        return turn.legal[-1]

    async def main() -> list[ludex.MatchResult]:
        return await aio.play(url, game="nim", agent=agent, against="random", games=2)

    assert [result.reason for result in asyncio.run(main())] == ["finished"] * 2


def test_cancelled_play_ends_matches(url: str) -> None:
    async def main() -> None:
        asked = asyncio.Event()

        async def agent(turn: ludex.Turn) -> int:
            asked.set()
            await asyncio.Event().wait()
            return 0

        playing = asyncio.ensure_future(
            aio.play(url, game="nim", agent=agent, against="random", clock={"move_ms": 3_600_000})
        )
        await asked.wait()
        playing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await playing

    asyncio.run(main())
