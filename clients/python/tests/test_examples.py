"""An example that needs only numpy runs to completion and learns."""

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
