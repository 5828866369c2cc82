"""Environments of every kind after a server was restarted, or is gone for good."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from restarted import Restarted

import ludex
from ludex.gymnasium import LudexVectorEnv
from ludex.self_play import SelfPlayVectorEnv

COUNT = 6


def callable_opponent(obs: Any, mask: Any) -> Any:
    return mask.argmax(axis=1)


ENVS: dict[str, Callable[..., Any]] = {
    "one opponent": partial(LudexVectorEnv, "connect_four", COUNT, opponent="random"),
    "pool": partial(
        LudexVectorEnv,
        "connect_four",
        COUNT,
        opponent=["random", "mcts sims=2", callable_opponent],
    ),
    "self-play": partial(SelfPlayVectorEnv, "connect_four", COUNT),
}


def play(envs: Any, steps: int) -> None:
    actions = np.full((COUNT, 2) if isinstance(envs, SelfPlayVectorEnv) else COUNT, 3)
    for _ in range(steps):
        envs.step(actions)


@pytest.mark.parametrize("kind", ENVS)
def test_reset_recovers_from_restarted_server(program: str, tmp_path: Path, kind: str) -> None:
    with Restarted(program, tmp_path) as server:
        envs = ENVS[kind](url=server.url)
        envs.reset()
        play(envs, 2)
        server.again()
        with pytest.raises(ludex.LudexError, match="session_lost"):
            play(envs, 2)
        envs.reset()
        play(envs, 2)
        server.again()
        envs.reset()
        play(envs, 2)
        envs.close()


@pytest.mark.parametrize("kind", ENVS)
def test_reset_recovers_from_dead_server(program: str, kind: str) -> None:
    with ludex.serve() as one, ludex.serve() as two:
        envs = ENVS[kind](url=[one.url, two.url], patience=0.5)
        envs.reset()
        play(envs, 2)
        two.kill()
        with pytest.raises(ludex.LudexError, match="connection_lost"):
            play(envs, 2)
        envs.reset()
        play(envs, 2)
        envs.close()


def test_reset_of_cloned_batch_keeps_its_size(program: str, tmp_path: Path) -> None:
    with Restarted(program, tmp_path) as server, ludex.Client(server.url) as client:
        vec = client.open_vec("connect_four", COUNT)
        vec.reset(1)
        copy = vec.clone([1, 4])
        items = copy.snapshot()
        server.again()
        # The restored batch gets the number of the lost one.
        assert len(copy.restore(items)) == 2
        with pytest.raises(ludex.LudexError, match="session_lost"):
            vec.step([3] * COUNT)
        assert len(vec.reset(1)) == COUNT
        assert len(copy.step([3, 3])) == 2
