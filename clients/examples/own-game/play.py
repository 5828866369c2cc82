"""Serves the game of this crate, plays it from Python, and verifies a record.

    cargo build --release
    LUDEX_BIN=target/release/own-game python play.py
"""

import os
import subprocess
import tempfile
import urllib.request
from pathlib import Path

import ludex

program = os.environ["LUDEX_BIN"]
with ludex.serve() as server, ludex.Client(server.url) as client:
    # The game is in the catalogue, and this program plays a seat of an environment.
    assert "subtract_square" in [entry["game"] for entry in client.games()]
    env = client.open("subtract_square(pile=20)", seats=["agent", "square_player"])
    state = env.reset(seed=1)
    while not state.over:
        state = env.step(state.legal[-1])
    print("environment:", state.returns, env.text(seat=0))

    # A match against the agent: 20 objects are a lost position for the player to move.
    def largest(turn: ludex.Turn) -> int:
        """Take the largest square."""
        return turn.legal[-1]

    [result] = ludex.play(
        server.url,
        game="subtract_square(pile=20)",
        agent=largest,
        against="anchor level=1",
        seat=0,
        rated=True,
    )
    assert result.my_outcome == "loss", result
    print("match:", result.match, result.outcome)

    # The record, replayed by the rules of the game.
    record = server.url.replace("ws://", "http://") + str(result.record)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "episodes.jsonl"
        with urllib.request.urlopen(record) as answer:
            file.write_bytes(answer.read().strip() + b"\n")
        subprocess.run([program, "verify", str(file)], check=True)
