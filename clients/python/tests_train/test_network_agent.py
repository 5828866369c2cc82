"""A policy is trained, exported, rated as an agent of the program, and played over the wire."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import ludex
from ludex.process import find_program

BASELINES = Path(__file__).parent.parent / "baselines"


@pytest.fixture(scope="module")
def policy(url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train connect_four for about a minute on one core."""
    file = tmp_path_factory.mktemp("policy") / "c4.onnx"
    command = [sys.executable, str(BASELINES / "ppo_self_play.py"), "--game", "connect_four"]
    command += ["--url", url, "--steps", "400000", "--seed", "1", "--export", str(file)]
    subprocess.run(command, check=True, capture_output=True)
    return file


def run(*command: str) -> str:
    done = subprocess.run([find_program(), *command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_trained_file_is_rated_above_random(policy: Path, tmp_path: Path) -> None:
    agent, records = f"net file={policy}", []
    for level in (0, 1):
        records.append(str(tmp_path / f"level-{level}.jsonl"))
        seats = ["--seat", agent, "--seat", f"anchor level={level}"]
        run("match", "connect_four", *seats, "--blocks", "40", "--out", records[-1])
    (rated,) = json.loads(run("rate", "--unrated", "--json", *records))["ratings"]
    entries = {entry["name"]: entry for entry in rated["agents"]}
    assert entries[agent]["low"] > entries["anchor level=0"]["rating"], entries


def test_trained_file_plays_matches_and_environments_of_a_server(policy: Path) -> None:
    with ludex.serve(args=["--agent", f'trained=net file="{policy}"']) as server:
        (result,) = ludex.play(
            server.url, game="connect_four", agent=lambda turn: turn.legal[0], against="trained"
        )
        assert result.reason == "finished"
        with ludex.Client(server.url) as client:
            batch = client.open_vec("connect_four", 16, seats=["agent", "trained"]).reset(seed=1)
            assert len(batch) == 16
            with pytest.raises(ludex.LudexError, match="operator"):
                client.open("connect_four", seats=["agent", f"net file={policy}"])
