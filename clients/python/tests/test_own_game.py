"""The example of a custom game: served by its program, played from Python, verified."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "own-game" / "play.py"


def test_own_game_is_served_played_and_verified() -> None:
    program = os.environ.get("OWN_GAME_BIN")
    if program is None:
        # tests/run always sets the path; a missing program is then a failure.
        pytest.skip("OWN_GAME_BIN is not set: cargo build -p own-game")
    environ = {**os.environ, "LUDEX_BIN": program}
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)],
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "verified: " in done.stdout, done.stdout
