"""A standing ladder with twelve agents of known order: how long they wait, and whether the table finds the order.

    python3 docs/benchmarks/ladder.py target/release/ludex 300

starts a server on loopback with a ladder of connect_four and twelve clients for a number of seconds, and prints the table, the matches per
minute, the mean wait and Spearman's rank correlation between the ratings and the number of simulations.
"""

import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

SIMS = [2, 4, 6, 10, 15, 25, 40, 60, 100, 160, 250, 400]


def spearman(pairs: list[tuple[float, float]]) -> float:
    """Of values without ties."""
    n = len(pairs)
    ranks = [{v: k for k, v in enumerate(sorted(column))} for column in zip(*pairs, strict=True)]
    squares = sum((ranks[0][a] - ranks[1][b]) ** 2 for a, b in pairs)
    return 1 - 6 * squares / (n * (n * n - 1))


def main() -> None:
    program, seconds = sys.argv[1], int(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log").open("w")
        serve = [program, "serve", "--json", "--listen", "127.0.0.1:0", "--data", f"{folder}/data"]
        serve += ["--ladder", "connect_four", "--until-stdin-closes"]
        server = subprocess.Popen(serve, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        url = json.loads(server.stdout.readline())["url"]
        join = [program, "join", url, "--game", "connect_four", "--queue", "ladder", "--rated", "--matches", "0"]
        names = {f"m{sims}": sims for sims in SIMS}
        clients = [
            subprocess.Popen([*join, "--agent", f"mcts sims={sims}", "--name", name], stdout=log, stderr=log)
            for name, sims in names.items()
        ]
        begun = time.monotonic()
        page = {}
        while time.monotonic() - begun < seconds:
            time.sleep(min(30, seconds / 10))
            page = json.load(urllib.request.urlopen(f"http{url[2:]}/ladders/connect_four"))
            rows = [(row["rating"], names[row["agent"]]) for row in page["table"] if row["agent"] in names]
            minutes = (time.monotonic() - begun) / 60
            rho = spearman(rows) if len(rows) > 2 else float("nan")
            print(
                f"{minutes:4.1f} min: {page['matches']} matches, {page['matches'] / minutes:.0f} per minute, "
                f"mean wait {page['mean_wait_ms']} ms, Spearman {rho:.3f}, refused {page['refused']}",
                flush=True,
            )
        for client in clients:
            client.terminate()
        for client in clients:
            client.wait()
        server.stdin.close()
        server.wait()
    for row in page["table"]:
        print(f"{row['rating']:7.0f} {row['deviation']:5.0f} {row.get('games', '-'):>5} {row['standing']:<12} {row['agent']}")


if __name__ == "__main__":
    main()
