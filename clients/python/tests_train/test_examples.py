"""The examples run to completion; measuring what they learn would take too long."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.mark.parametrize(
    ("example", "few"),
    [
        ("ppo_connect_four", ["--steps", "1000", "--envs", "16"]),
        ("maskable_ppo_connect_four", ["--steps", "1000", "--envs", "16"]),
        ("q_learning_tic_tac_toe", ["--episodes", "300"]),
        ("reinforce_free_style", ["--episodes", "300", "--envs", "64"]),
    ],
)
def test_example_trains(url: str, tmp_path: Path, example: str, few: list[str]) -> None:
    command = [sys.executable, str(EXAMPLES / f"{example}.py"), *few]
    command += ["--games", "4", "--url", url, "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "anchor level=1" in done.stdout
    picture = (tmp_path / f"{example}.png").read_bytes()
    assert picture.startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("example", "few", "last"),
    [
        ("ray_rllib", ["--iterations", "2", "--batch", "200", "--runners", "1"], "1: .* episodes"),
        ("ray_sb3", ["--rounds", "2", "--steps", "512", "--envs", "16"], "1024 steps on 1 servers"),
        ("ray_torchrl", ["--iterations", "2", "--envs", "16"], "1: 1 nodes, return"),
    ],
)
def test_example_trains_on_ray(example: str, few: list[str], last: str) -> None:
    command = [sys.executable, str(EXAMPLES / f"{example}.py"), *few]
    environment = {**os.environ, "RAY_ADDRESS": "local"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.match(last, done.stdout.splitlines()[-1])
