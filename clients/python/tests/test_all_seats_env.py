"""A three-player match: two bots of this client and a server agent, over real sockets.

One bot's connection is cut repeatedly; the other bot's process is killed and started again.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

from proxy import Proxy

import ludex

MATCHES = 30
GAME = "kuhn_poker(players=3)"

# Plays until it is killed. A line per turn lets the test kill it within a match.
BOT = """
import sys, ludex
def agent(turn):
    print("turn", flush=True)
    return turn.legal[turn.turn % len(turn.legal)]
ludex.play(sys.argv[1], game=sys.argv[2], agent=agent, queue="table", rated=True, games=0,
           name="phoenix", reclaim=True)
"""


class Mortal:
    """Run the bot in processes that are killed after the given numbers of turns."""

    def __init__(self, url: str, lives: list[int]) -> None:
        self._command = [sys.executable, "-c", BOT, url, GAME]
        self._lives = lives
        self.deaths = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._live)
        self._thread.start()

    def _live(self) -> None:
        for turns in [*self._lives, sys.maxsize]:
            if self._over.is_set():
                return
            with subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True) as bot:
                self._bot = bot
                assert bot.stdout is not None
                for played, _ in enumerate(bot.stdout, 1):
                    if played == turns:
                        break
                bot.kill()
                self.deaths += turns != sys.maxsize

    def end(self) -> None:
        self._over.set()
        self._bot.kill()
        self._thread.join()


def test_poker_match_survives_cut_and_kill(program: str, tmp_path: Path) -> None:
    with ludex.serve(data=tmp_path) as server, Proxy(server.url) as proxy:
        join = [program, "join", server.url, "--game", GAME, "--agent", "mcts sims=50", "--json"]
        rust = subprocess.Popen(
            [*join, "--queue", "table", "--rated", "--matches", str(MATCHES)],
            stdout=subprocess.PIPE,
        )
        mortal = Mortal(server.url, lives=[3, 1, 6])
        turns: list[tuple[str, int, int]] = []

        def agent(turn: ludex.Turn) -> int:
            turns.append((turn.match, turn.turn, turn.attempt))
            if len(turns) % 5 == 0:
                proxy.cut()
            return turn.legal[len(turns) % len(turn.legal)]

        results = ludex.play(
            proxy.url, game=GAME, agent=agent, queue="table", rated=True, games=MATCHES, name="cut"
        )
        told = json.loads(rust.communicate(timeout=60)[0])
        mortal.end()
    assert Counter(result.reason for result in results) == {"finished": MATCHES}
    assert {result.match for result in results} == {match["match"] for match in told["matches"]}
    assert len(turns) == len(set(turns)), "a turn was requested twice"
    assert proxy.cuts >= 5
    assert mortal.deaths == 3
    verify = [program, "verify", "--json", "--data", str(tmp_path)]
    verified = json.loads(subprocess.run(verify, capture_output=True, check=True).stdout)
    assert verified == {"verified": MATCHES, "refused": []}
