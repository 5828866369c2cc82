"""The client in the scripts of ``ludex check client``: lost connections, several seats, runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BOT = Path(__file__).with_name("checked_bot.py")


def check(program: str, *options: str) -> str:
    command = [program, "check", "client", *options, "--timeout", "60", "--"]
    done = subprocess.run(
        [*command, sys.executable, str(BOT)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_bot_passes_client_check(program: str) -> None:
    told = check(program, "--level", "runs")
    assert "ok section 12: plays several seats in a run" in told, told


def test_bot_follows_its_queue_to_another_cell(program: str) -> None:
    told = check(program, "--level", "cells", "--only", "another cell")
    assert told.startswith("ok section 7: follows its queue to another cell"), told
