"""Records that are replayed from the view of one seat, with a real server."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ludex
from ludex.replay import Replayer


@pytest.fixture(scope="module")
def client(program: str) -> Iterator[ludex.Client]:
    with ludex.serve() as server, ludex.Client(server.url) as client:
        yield client


def play(program: str, folder: Path, game: str) -> list[dict[str, Any]]:
    out = folder / f"{game}.jsonl"
    command = [program, "match", game, "--seat", "random", "--seat", "random", "--blocks", "3"]
    subprocess.run([*command, "--out", str(out)], check=True, capture_output=True)
    return [json.loads(line) for line in out.read_text().splitlines()]


@pytest.mark.parametrize(
    "game", ["connect_four", "leduc_poker", "iterated_prisoners_dilemma", "elemental_duel"]
)
def test_trajectories_equal_episode_of_same_seed(
    client: ludex.Client, program: str, tmp_path: Path, game: str
) -> None:
    replayer = Replayer(client, game)
    for record in play(program, tmp_path, game):
        env = ludex.pettingzoo.aec(game, url=client._session.urls[0])
        env.reset(seed=int(record["seed"]))
        trajectories = {one.seat: one for one in replayer.trajectories(record)}
        assert set(trajectories) == {0, 1}
        moves = {seat: iter(one.actions) for seat, one in trajectories.items()}
        seen: dict[int, list[Any]] = {0: [], 1: []}
        earned: dict[int, list[float]] = {0: [], 1: []}
        for agent in env.agent_iter():
            obs, reward, terminated, _, _ = env.last()
            seat = env.possible_agents.index(agent)
            seen[seat].append((obs["observation"], obs["action_mask"]))
            earned[seat].append(reward)
            env.step(None if terminated else next(moves[seat]))
        for seat, one in trajectories.items():
            assert len(one.observations) == len(one.actions) + 1 == len(one.masks)
            assert np.array_equal(one.observations, [obs for obs, _ in seen[seat]])
            assert np.array_equal(one.masks, [mask for _, mask in seen[seat]])
            assert one.rewards == pytest.approx(earned[seat][1:])
            assert sum(one.rewards) == pytest.approx(record["returns"][seat])
            assert (one.terminated, one.truncated) == (True, False)
        env.close()
    replayer.close()


def test_forfeit_and_truncation_end_trajectory(
    client: ludex.Client, program: str, tmp_path: Path
) -> None:
    replayer = Replayer(client, "tic_tac_toe")
    record = play(program, tmp_path, "tic_tac_toe")[0]
    refused = {"kind": "move", "seat": 0, "turn": 2, "tries": [{"action": 0}]}
    cut = {**record, "events": [*record["events"][:4], refused], "returns": [-1, 1]}
    first, second = replayer.trajectories({**cut, "reason": "illegal", "at_fault": 0})
    assert (first.rewards, second.rewards) == ([0.0, -1.0], [0.0, 1.0])
    assert (first.terminated, first.truncated) == (True, False)
    (first,) = replayer.trajectories({**cut, "reason": "truncated"}, seats=[0])
    assert (first.terminated, first.truncated) == (False, True)
    replayer.close()


def test_moves_of_start_are_no_decisions(
    client: ludex.Client, program: str, tmp_path: Path
) -> None:
    replayer = Replayer(client, "tic_tac_toe")
    record = play(program, tmp_path, "tic_tac_toe")[0]
    whole = replayer.trajectories(record)[0]
    rest = replayer.trajectories({**record, "start": 2})[0]
    assert rest.actions == whole.actions[1:]
    assert np.array_equal(rest.observations, whole.observations[1:])
    replayer.close()


def test_unsuitable_records_are_refused(client: ludex.Client, program: str, tmp_path: Path) -> None:
    replayer = Replayer(client, "tic_tac_toe")
    record = play(program, tmp_path, "tic_tac_toe")[0]
    with pytest.raises(ludex.LudexError, match="expected rules"):
        replayer.trajectories({**record, "hash": "00"})
    with pytest.raises(ludex.LudexError, match="unfinished episode"):
        replayer.trajectories({name: record[name] for name in record if name != "returns"})
    event = {"kind": "move", "seat": 0, "turn": 0, "document": {"x": 1}}
    with pytest.raises(ludex.LudexError, match="expected an action id"):
        replayer.trajectories({**record, "events": [event]})
    replayer.close()
