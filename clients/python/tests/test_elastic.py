"""Batches whose servers join, leave and die."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from test_sharded import same

import ludex
from ludex.gymnasium import LudexVectorEnv
from ludex.self_play import SelfPlayVectorEnv

COUNT = 7


@pytest.fixture(scope="module")
def urls(program: str) -> Iterator[list[str]]:
    with ludex.serve() as one, ludex.serve() as two, ludex.serve() as three:
        yield [one.url, two.url, three.url]


def spread(vec: Any) -> dict[str, int]:
    """Return the number of environments of each server."""
    assert isinstance(vec, ludex.ShardedVecEnv)
    return {shard._session.urls[0].rstrip("/"): shard.num_envs for shard in vec.shards}


def trace(vec: Any, steps: int) -> list[ludex.Batch]:
    return [vec.step(np.full(COUNT, step % 2)) for step in range(steps)]


def test_servers_join_and_leave_at_reset(urls: list[str]) -> None:
    one, two, three = urls
    with ludex.Client(one) as alone, ludex.Client([one]) as client:
        expected = alone.open_vec("kuhn_poker", COUNT, autoreset="same_step")
        vec = client.open_vec("kuhn_poker", COUNT, autoreset="same_step")
        changes = [
            ([one], [7]),
            ([one, two], [4, 3]),
            ([two, three, one], [3, 2, 2]),
            ([three], [7]),
        ]
        for number, (servers, counts) in enumerate(changes):
            before = spread(vec)
            client.set_servers(servers)
            if number > 0:
                vec.step(np.zeros(COUNT, np.int64))
            assert spread(vec) == before, "environments stay until a reset"
            same(vec.reset(seed=5), expected.reset(seed=5))
            assert spread(vec) == dict(zip(servers, counts, strict=True))
            for left, right in zip(trace(vec, 9), trace(expected, 9), strict=True):
                same(left, right)


def test_unseeded_reset_continues_series_on_new_servers(urls: list[str]) -> None:
    with ludex.Client(urls[0]) as alone, ludex.Client(urls[:1]) as client:
        expected = alone.open_vec("kuhn_poker", COUNT, autoreset="same_step")
        vec = client.open_vec("kuhn_poker", COUNT, autoreset="same_step")
        for each in (expected, vec):
            each.reset(seed=5)
            trace(each, 4)
        client.set_servers(urls[1:])
        same(vec.reset(), expected.reset())
        assert list(spread(vec)) == urls[1:]
        for left, right in zip(trace(vec, 9), trace(expected, 9), strict=True):
            same(left, right)


def test_async_reset_moves_and_handles_keep_their_opponents(urls: list[str]) -> None:
    seats = [["agent", "random"], ["agent", "mcts sims=2"]]
    with ludex.Client(urls[0]) as alone, ludex.Client(urls[:1]) as client:
        expected, vec = (
            each.open_vec("connect_four", COUNT, shards=3, seats=seats) for each in (alone, client)
        )
        assert isinstance(expected, ludex.ShardedVecEnv)
        assert isinstance(vec, ludex.ShardedVecEnv)
        for servers in (urls, urls[1:2]):
            client.set_servers(servers)
            for each in (expected, vec):
                each.async_reset(seed=6)
            same(vec.recv(), expected.recv())
            assert {shard._session.urls[0].rstrip("/") for shard in vec.shards} == set(servers)
            assert [shard.num_envs for shard in vec.shards] == [3, 2, 2]
            for left, right in zip(trace(vec, 3), trace(expected, 3), strict=True):
                same(left, right)


def test_former_server_is_disconnected_after_the_last_batch_left(urls: list[str]) -> None:
    with ludex.Client(urls[:2]) as client:
        vecs = [client.open_vec("kuhn_poker", COUNT) for _ in range(2)]
        leaving = client._pool.sessions[0]
        client.set_servers(urls[1:])
        vecs[0].reset(1)
        assert not leaving.closed
        vecs[1].reset(1)
        assert leaving.closed
        assert [list(spread(vec)) for vec in vecs] == [urls[1:]] * 2


def test_killed_server_leaves_and_its_successor_joins(program: str) -> None:
    with ludex.serve() as one, ludex.serve() as two, ludex.serve() as three:
        client = ludex.Client([one.url, two.url], patience=0.5)
        with client:
            vec = client.open_vec("kuhn_poker", COUNT)
            before = vec.reset(seed=3)
            two.kill()
            with pytest.raises(ludex.LudexError, match="connection_lost"):
                vec.step(np.zeros(COUNT, np.int64))
            same(vec.reset(seed=3), before)
            assert spread(vec) == {one.url: 7}
            client.set_servers([one.url, three.url])
            same(vec.reset(seed=3), before)
            assert spread(vec) == {one.url: 4, three.url: 3}
            # The first server dies; the client's other requests go to the next one.
            one.kill()
            same(vec.reset(seed=3), before)
            assert spread(vec) == {three.url: 7}
            assert client.describe("kuhn_poker").game == "kuhn_poker"


def test_refused_move_is_repeated_at_next_reset(program: str, urls: list[str]) -> None:
    with ludex.serve(args=["--limit", "owner_envs=3"]) as small, ludex.Client(urls[:1]) as client:
        vec = client.open_vec("kuhn_poker", COUNT)
        before = vec.reset(seed=3)
        client.set_servers([small.url])
        with pytest.raises(ludex.LudexError, match="limit"):
            vec.reset(seed=3)
        client.set_servers([small.url, *urls])
        same(vec.reset(seed=3), before)
        assert spread(vec) == dict(zip([small.url, *urls], [2, 2, 2, 1], strict=True))


def test_invalid_servers_are_refused(urls: list[str]) -> None:
    with ludex.Client(urls[0]) as alone, pytest.raises(ludex.LudexError, match="a list of servers"):
        alone.set_servers(urls)
    with ludex.Client(urls) as client:
        with pytest.raises(ludex.LudexError, match="at least one server"):
            client.set_servers([])
        with pytest.raises(ValueError, match="expected 3, one per server, got 2"):
            client.set_servers(urls, [None, None])
        vec = client.open_vec("kuhn_poker", COUNT)
        assert list(spread(vec)) == urls, "a refused change changes nothing"


def callable_opponent(obs: Any, mask: Any) -> Any:
    return mask.argmax(axis=1)


ADAPTERS: dict[str, Callable[..., Any]] = {
    "one opponent": partial(LudexVectorEnv, opponent="random", seat="random"),
    "same step": partial(LudexVectorEnv, opponent="random", autoreset_mode="SameStep"),
    "pool": partial(LudexVectorEnv, opponent=["random", "mcts sims=2", callable_opponent]),
    "self-play": SelfPlayVectorEnv,
}


@pytest.mark.parametrize("kind", ADAPTERS)
def test_adapters_continue_on_changed_servers(program: str, urls: list[str], kind: str) -> None:
    def play(envs: Any, reset: list[Callable[[], None]]) -> list[Any]:
        seen = []
        for number, change in enumerate(reset):
            change()
            obs, infos = envs.reset(seed=11 if number == 0 else None)
            seen.append((obs.tolist(), infos["action_mask"].tolist()))
            for _ in range(12):
                masks = infos["action_mask"]
                obs, rewards, *_, infos = envs.step(masks.argmax(axis=-1))
                seen.append((obs.tolist(), rewards.tolist()))
        return seen

    def nothing() -> None:
        pass

    alone = ADAPTERS[kind]("connect_four", COUNT, url=urls[0])
    expected = play(alone, [nothing] * 3)
    alone.close()
    envs = ADAPTERS[kind]("connect_four", COUNT, url=urls[:1])
    changes = [partial(envs.set_servers, urls), partial(envs.set_servers, urls[1:])]
    assert play(envs, [nothing, *changes]) == expected
    envs.close()


@pytest.mark.parametrize("kind", ["one opponent", "pool"])
def test_series_survive_killed_server(program: str, urls: list[str], kind: str) -> None:
    def first(envs: Any) -> list[Any]:
        return [envs.reset()[0].tolist() for _ in range(2)]

    alone = ADAPTERS[kind]("kuhn_poker", COUNT, url=urls[0])
    alone.reset(seed=2)
    expected = first(alone)
    alone.close()
    with ludex.serve() as dying:
        envs = ADAPTERS[kind]("kuhn_poker", COUNT, url=[dying.url, urls[0]], patience=0.5)
        envs.reset(seed=2)
        dying.kill()
        assert first(envs) == expected
        envs.close()
