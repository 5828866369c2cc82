"""The client in the scripts of ``ludex check client``: lost connections, several seats, runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BOT = Path(__file__).with_name("checked_bot.py")


def test_bot_passes_client_check(program: str) -> None:
    command = [program, "check", "client", "--level", "runs", "--timeout", "60", "--"]
    done = subprocess.run(
        [*command, sys.executable, str(BOT)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok section 12: plays several seats in a run" in done.stdout, done.stdout
