"""Examples that need no framework of deep learning run to completion and learn."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import ludex

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_reinforce_learns_hidden_numbers(program: str, tmp_path: Path) -> None:
    with ludex.serve() as server:
        command = [sys.executable, str(EXAMPLES / "reinforce_free_style.py"), "--url", server.url]
        command += ["--episodes", "6000", "--games", "200", "--out", str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    wins = [float(share) for share in re.findall(r"wins (\d+\.\d)%", done.stdout)]
    assert len(wins) >= 3, done.stdout
    assert wins[-1] > wins[0] + 20, wins


def test_psro_finds_response_to_random(program: str, tmp_path: Path) -> None:
    with ludex.serve() as server:
        command = [sys.executable, str(EXAMPLES / "psro_kuhn_poker.py"), "--url", server.url]
        command += ["--responses", "2", "--steps", "500", "--pairs", "1000", "--out", str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    gaps = [float(gap) for gap in re.findall(r"gap (-?\d\.\d+)", done.stdout)]
    assert len(gaps) == 2, done.stdout
    assert gaps[0] > 0.2, "the best response to random gains 11/24 chips"
    assert re.search(r"nash: random \d\.\d\d, response 1", done.stdout)
