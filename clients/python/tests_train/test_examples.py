"""The examples run to completion; measuring what they learn would take too long."""

from __future__ import annotations

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
        ("self_play_connect_four", ["--steps", "1000", "--envs", "16"]),
        ("q_learning_tic_tac_toe", ["--episodes", "300"]),
        ("reinforce_battle_cards", ["--episodes", "300", "--envs", "64"]),
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
