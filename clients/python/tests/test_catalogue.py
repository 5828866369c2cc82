"""The list of games in the package equals the server's."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import ludex.catalogue

FILE = Path(ludex.catalogue.__file__)
HEAD = '''"""The games and the versions of their rules; a test checks that this list is current.

Generated: LUDEX_REGENERATE=1 pytest tests/test_catalogue.py
"""

GAMES: dict[str, int] = {
'''


def test_the_catalogue_is_current(program: str) -> None:
    told = subprocess.run([program, "games", "--json"], capture_output=True, check=True)
    games = json.loads(told.stdout)["games"]
    lines = [f'    "{game["game"]}": {game["rules"]},\n' for game in games]
    text = "".join([HEAD, *lines, "}\n"])
    if os.environ.get("LUDEX_REGENERATE"):
        FILE.write_text(text)
    assert FILE.read_text() == text, "run LUDEX_REGENERATE=1 pytest tests/test_catalogue.py"
