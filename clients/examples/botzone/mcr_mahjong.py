"""Botzone bot for ChineseStandardMahjong: keeps tiles with neighbors, claims pungs, and never declares HU.

    ludex match mcr_mahjong --seat 'botzone cmd="python3 mcr_mahjong.py"' --seat random --seat random --seat random

The bot reads JSON, or simplified interaction with the argument `simple`. It keeps running, or is started
for every turn with the argument `once`.
"""

import json
import sys

SIMPLE, ONCE = "simple" in sys.argv, "once" in sys.argv


def read_match():
    """Reads the requests so far; later requests arrive one by one."""
    if not SIMPLE:
        return json.loads(sys.stdin.readline())["requests"]
    turns = int(sys.stdin.readline())
    lines = [sys.stdin.readline().strip() for _ in range(2 * turns - 1)]
    # Two more lines: the data that a program may store.
    sys.stdin.readline()
    sys.stdin.readline()
    return lines[::2]


def read_request():
    line = sys.stdin.readline()
    if not line:
        sys.exit()
    return line.strip() if SIMPLE else json.loads(line)


class Hand:
    def __init__(self):
        self.seat, self.tiles, self.last = 0, [], ""
        self.walls = [21] * 4

    def worst(self, tiles):
        """Returns the tile with the fewest equal or adjacent tiles; honors have no adjacent tiles."""

        def near(tile):
            return sum(
                3 if other == tile else 1
                for other in tiles
                if other[0] == tile[0] and (other == tile or tile[0] in "WBT" and abs(int(other[1]) - int(tile[1])) < 3)
            )

        return min(tiles, key=near)

    def hear(self, request):
        """Handles a request and replies."""
        kind, *words = request.split()
        if kind == "0":
            self.seat = int(words[0])
        elif kind == "1":
            self.tiles = words[4:]
        elif kind == "2":
            self.walls[self.seat] -= 1
            self.tiles.append(words[0])
            return f"PLAY {self.worst(self.tiles)}"
        elif kind == "3":
            return self.event(int(words[0]), words[1], words[2:])
        return "PASS"

    def event(self, seat, what, tiles):
        offered, self.last = self.last, tiles[-1] if tiles else ""
        if what == "DRAW":
            self.walls[seat] -= 1
        if seat == self.seat:
            if what == "PENG":
                self.tiles.remove(offered)
                self.tiles.remove(offered)
            if what in ("PLAY", "PENG"):
                self.tiles.remove(tiles[-1])
        elif what in ("PLAY", "PENG", "CHI") and self.tiles.count(self.last) == 2 and self.walls[(seat + 1) % 4]:
            rest = [tile for tile in self.tiles if tile != self.last]
            return f"PENG {self.worst(rest)}"
        return "PASS"


hand = Hand()
for request in read_match():
    response = hand.hear(request)
while True:
    print(response if SIMPLE else json.dumps({"response": response}))
    if ONCE:
        break
    print(">>>BOTZONE_REQUEST_KEEP_RUNNING<<<", flush=True)
    response = hand.hear(read_request())
