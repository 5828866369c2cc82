"""The list of games in the package matches the server."""

from __future__ import annotations

import json
import subprocess

from ludex.catalogue import GAMES


def test_catalogue_matches_server(program: str) -> None:
    done = subprocess.run([program, "games", "--json"], capture_output=True, check=True)
    games = {game["game"]: game["rules"] for game in json.loads(done.stdout)["games"]}
    assert games == GAMES, "run tests/run --bless"
