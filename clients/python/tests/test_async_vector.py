"""Rows that are received as soon as they are ready, with a real server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ludex
from ludex.async_vector import LudexAsyncVectorEnv
from ludex.columns import Array

ENVS, TURNS = 6, 25
GAME = "connect_four"
# The second opponent needs longer for a move.
OPPONENTS = ["random", "mcts sims=300"]


@pytest.fixture(scope="module")
def url(program: str) -> Iterator[str]:
    with ludex.serve() as server:
        yield server.url


def make(url: str, **options: Any) -> LudexAsyncVectorEnv:
    return LudexAsyncVectorEnv(GAME, ENVS, url=url, **{"shards": 3, **options})


def action(mask: Array, env: int, turn: int) -> int:
    """Choose a legal action that depends only on environment and turn."""
    legal = np.flatnonzero(mask)
    return int(legal[(7 * turn + env) % len(legal)]) if legal.size else 0


def trace(envs: LudexAsyncVectorEnv, min_ready: int) -> list[list[Any]]:
    """Play ``TURNS`` turns of each environment; return the rows of each environment."""
    rows: list[list[Any]] = [[] for _ in range(ENVS)]
    envs.async_reset(seed=11)
    flying = ENVS
    while flying:
        obs, reward, terminated, truncated, info = envs.recv(min(min_ready, flying))
        ids = info["env_id"].tolist()
        assert len(ids) >= min(min_ready, flying)
        assert ids == sorted(set(ids))
        assert all(len(entry) == len(ids) for entry in (obs, reward, truncated, *info.values()))
        flying -= len(ids)
        moves, again = [], []
        for at, env in enumerate(ids):
            seen = [obs[at].tolist(), reward[at], terminated[at], truncated[at]]
            named = ("action_mask", "seat", "opponent", "illegal")
            rows[env].append([*seen, *(info[name][at].tolist() for name in named)])
            if len(rows[env]) < TURNS:
                moves.append(action(info["action_mask"][at], env, len(rows[env])))
                again.append(env)
        if again:
            envs.send(np.array(moves), again)
            flying += len(again)
    return rows


@pytest.mark.parametrize("seat", [1, "alternate"])
def test_rows_do_not_depend_on_order_of_arrival(url: str, seat: Any) -> None:
    envs = make(url, opponent=OPPONENTS, seat=seat)
    whole = trace(envs, ENVS)
    assert trace(envs, 1) == whole
    assert trace(envs, 3) == whole
    assert any(row[2] for row in whole[0]), "an episode has ended"
    assert [rows[0][6] for rows in whole] == [0, 0, 1, 1, 0, 0]
    envs.close()


def test_steps_equal_those_of_synchronous_environments(url: str) -> None:
    envs = make(url, seat="alternate")
    synchronous = ludex.gymnasium.LudexVectorEnv(GAME, ENVS, url=url, seat="alternate")
    ours: Any = envs.reset(seed=5)
    theirs: Any = synchronous.reset(seed=5)
    for turn in range(TURNS):
        assert all(np.array_equal(a, b) for a, b in zip(ours[:-1], theirs[:-1], strict=True))
        for name in ("action_mask", "seat", "opponent", "illegal"):
            assert np.array_equal(ours[-1][name], theirs[-1][name])
        masks = ours[-1]["action_mask"]
        moves = np.array([action(mask, env, turn) for env, mask in enumerate(masks)])
        moves[turn % ENVS] = -5 if turn % 4 == 0 else moves[turn % ENVS]  # an illegal action
        ours, theirs = envs.step(moves), synchronous.step(moves)
    envs.close()
    synchronous.close()


def test_invalid_calls_are_refused(url: str) -> None:
    envs = make(url)
    with pytest.raises(RuntimeError, match="call send"):
        envs.recv()
    envs.async_reset(seed=1)
    with pytest.raises(RuntimeError, match="environment 2 is in flight"):
        envs.send([0], [2])
    for wrong in (0, ENVS + 1):
        with pytest.raises(ValueError, match=f"expected 1..={ENVS}"):
            envs.recv(wrong)
    envs.recv(ENVS)
    with pytest.raises(ValueError, match="integers"):
        envs.send([0.5], [2])
    with pytest.raises(ValueError, match="integers"):
        envs.send([0, 1], [2])
    envs.send([0, 1], [2, 4])
    obs, _ = envs.reset(seed=1)  # drops the rows in flight
    assert len(obs) == ENVS
    envs.close()
    with pytest.raises(ValueError, match="shards: expected"):
        make(url, shards=ENVS + 1)
    with pytest.raises(ValueError, match="at most 2 lists"):
        make(url, shards=2, opponent=["random"] * 3)
    with pytest.raises(ValueError, match="seat: got 2"):
        make(url, seat=2)
