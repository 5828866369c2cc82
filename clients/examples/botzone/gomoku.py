"""Botzone bot for Gomoku that keeps running and rates cells by the lines that a stone extends or blocks.

    ludex match gomoku --seat 'botzone cmd="python3 gomoku.py"' --seat random

After its first answer, the bot prints the line that requests to keep it running. From then on, the bot
reads one request per turn instead of the whole match, and tracks the board itself.
"""

import json
import sys

SIZE = 15
KEEP_RUNNING = ">>>BOTZONE_REQUEST_KEEP_RUNNING<<<"
FREE, MINE, THEIRS = 0, 1, 2
# The value of five points in a line, by the number of stones of one side, without stones of the other.
MAKES = [1, 20, 200, 2000, 1000000]
STOPS = [0, 10, 120, 1500, 100000]

WINDOWS = [
    [(x + k * dx, y + k * dy) for k in range(5)]
    for x in range(SIZE)
    for y in range(SIZE)
    for dx, dy in ((1, 0), (0, 1), (1, 1), (1, -1))
    if 0 <= x + 4 * dx < SIZE and 0 <= y + 4 * dy < SIZE
]


def choose(board):
    worth = {}
    for window in WINDOWS:
        stones = [board.get(point, FREE) for point in window]
        mine, theirs = stones.count(MINE), stones.count(THEIRS)
        if mine and theirs:
            continue
        value = STOPS[theirs] if theirs else MAKES[mine]
        for point, stone in zip(window, stones):
            if stone == FREE:
                worth[point] = worth.get(point, 0) + value
    free = [(x, y) for x in range(SIZE) for y in range(SIZE) if (x, y) not in board]
    # Among equal points, choose the one nearest to the center.
    return max(free, key=lambda p: (worth.get(p, 0), -abs(p[0] - 7) - abs(p[1] - 7), p))


def put(board, point, side):
    if point["x"] >= 0:
        board[point["x"], point["y"]] = side


def main():
    board = {}
    match = json.loads(sys.stdin.readline())
    for point in match["responses"]:
        put(board, point, MINE)
    for point in match["requests"]:
        put(board, point, THEIRS)
    while True:
        x, y = choose(board)
        board[x, y] = MINE
        print(json.dumps({"response": {"x": x, "y": y}}))
        print(KEEP_RUNNING, flush=True)
        line = sys.stdin.readline()
        if not line:
            return
        put(board, json.loads(line), THEIRS)


main()
