"""Botzone bot for TicTacToe: wins or blocks if it can, else takes the centre, a corner, a side.

    ludex match tic_tac_toe --seat 'botzone cmd="python3 tic_tac_toe.py"' --seat random

The bot is started for every turn. It reads one line of JSON with all requests and responses of the
match, and prints its response as one line.
"""

import json

LINES = [[(i, 0), (i, 1), (i, 2)] for i in range(3)]
LINES += [[(0, i), (1, i), (2, i)] for i in range(3)]
LINES += [[(0, 0), (1, 1), (2, 2)], [(0, 2), (1, 1), (2, 0)]]
ORDER = [(1, 1), (0, 0), (2, 2), (0, 2), (2, 0), (0, 1), (1, 0), (1, 2), (2, 1)]


def choose(theirs, mine):
    free = [cell for cell in ORDER if cell not in theirs and cell not in mine]
    for owner in (mine, theirs):
        for cell in free:
            if any(cell in line and all(c == cell or c in owner for c in line) for line in LINES):
                return cell
    return free[0]


def main():
    match = json.loads(input())
    # If this bot moves first, its first request is (-1, -1).
    theirs = [(r["x"], r["y"]) for r in match["requests"] if r["x"] >= 0]
    mine = [(r["x"], r["y"]) for r in match["responses"]]
    x, y = choose(theirs, mine)
    print(json.dumps({"response": {"x": x, "y": y}, "debug": f"{len(theirs)} stones of theirs"}))


main()
