"""Writes 60 small Botzone bots for TicTacToe, similar to the submissions of a course.

    python3 class.py FOLDER
    ludex tournament --agents FOLDER --game tic_tac_toe --format double_round_robin

The bots differ in search depth, preferred cells, and the rate of random moves. 48 bots are in Python,
9 in C++; they keep running and are deterministic. Three more bots have faults that a short trial does
not reveal: one crashes during a match, one stops responding, and one tries forbidden system calls
and then plays on an occupied cell.
"""

import itertools
import pathlib
import sys

PYTHON = '''"""@ABOUT@"""

import json
import random
import sys

DEPTH, ORDER, SLIPS = @DEPTH@, "@ORDER@", @SLIPS@
LINES = ["012", "345", "678", "036", "147", "258", "048", "246"]


def won(stones):
    return any(all(c in stones for c in line) for line in LINES)


def value(mine, theirs, depth):
    """Returns the value for the side to move: 1, 0 or -1."""
    if won(theirs):
        return -1
    free = [c for c in ORDER if c not in mine + theirs]
    if depth == 0 or not free:
        return 0
    return max(-value(theirs, mine + c, depth - 1) for c in free)


def choose(mine, theirs):
    free = [c for c in ORDER if c not in mine + theirs]
    chance = random.Random(f"{sorted(mine)} {sorted(theirs)} {DEPTH} {ORDER}")
    if chance.random() < SLIPS:
        return chance.choice(free)
    return max(free, key=lambda c: -value(theirs, mine + c, DEPTH - 1)) if DEPTH else free[0]


def cells(points):
    return "".join(str(3 * p["y"] + p["x"]) for p in points if p["x"] >= 0)


match = json.loads(sys.stdin.readline())
mine, theirs = cells(match["responses"]), cells(match["requests"])
while True:
    cell = choose(mine, theirs)
@BAD@    mine += cell
    print(json.dumps({"response": {"x": int(cell) % 3, "y": int(cell) // 3}}))
    print(">>>BOTZONE_REQUEST_KEEP_RUNNING<<<", flush=True)
    line = sys.stdin.readline()
    if not line:
        break
    theirs += cells([json.loads(line)])
'''

CPP = """// @ABOUT@
#include <cctype>
#include <iostream>
#include <string>

const int DEPTH = @DEPTH@;
const std::string ORDER = "@ORDER@";
const std::string LINES[] = {"012", "345", "678", "036", "147", "258", "048", "246"};

bool holds(const std::string &stones, char cell) { return stones.find(cell) != std::string::npos; }

bool won(const std::string &stones) {
    for (auto &line : LINES)
        if (holds(stones, line[0]) && holds(stones, line[1]) && holds(stones, line[2])) return true;
    return false;
}

// Returns the value for the side to move: 1, 0 or -1.
int value(const std::string &mine, const std::string &theirs, int depth) {
    if (won(theirs)) return -1;
    int best = -2;
    for (char cell : ORDER)
        if (depth > 0 && !holds(mine + theirs, cell)) best = std::max(best, -value(theirs, mine + cell, depth - 1));
    return best == -2 ? 0 : best;
}

// Returns the cells in a piece of JSON; {"x":-1,"y":-1} means no cell.
std::string cells(const std::string &json) {
    std::string all;
    for (size_t x = json.find("\\"x\\":"); x != std::string::npos; x = json.find("\\"x\\":", x + 1)) {
        char column = json[x + 4], row = json[json.find("\\"y\\":", x) + 4];
        if (std::isdigit(column)) all += char('0' + 3 * (row - '0') + column - '0');
    }
    return all;
}

int main() {
    std::string line;
    std::getline(std::cin, line);
    auto list = [&](const char *name) {
        size_t begin = line.find(name);
        return cells(line.substr(begin, line.find(']', begin) - begin));
    };
    std::string theirs = list("\\"requests\\""), mine = list("\\"responses\\"");
    do {
        int most = -2;
        char best = 0;
        for (char cell : ORDER) {
            if (holds(mine + theirs, cell)) continue;
            int worth = -value(theirs, mine + cell, DEPTH - 1);
            if (worth > most) most = worth, best = cell;
        }
        mine += best;
        std::cout << "{\\"response\\":{\\"x\\":" << (best - '0') % 3 << ",\\"y\\":" << (best - '0') / 3 << "}}\\n"
                  << ">>>BOTZONE_REQUEST_KEEP_RUNNING<<<" << std::endl;
    } while (std::getline(std::cin, line) && (theirs += cells(line), true));
}
"""

# Cells in order of preference, numbered row by row.
ORDERS = {
    "centre": "402681357",
    "corners": "028641357",
    "sides": "135740268",
    "reader": "012345678",
    "backward": "876543210",
    "columns": "036147258",
}

# Faults that occur when the opponent has the corners 2 and 6.
BAD = {
    "crash": """    if {"2", "6"} <= set(theirs):
        raise IndexError("cell 9 of 9")
""",
    "hang": """    if {"2", "6"} <= set(theirs):
        import time
        time.sleep(1e9)
""",
    "cheat": """    if {"2", "6"} <= set(theirs):
        import os
        for attempt in (os.fork, lambda: open("/etc/passwd"), lambda: open("../loot", "w")):
            try:
                attempt()
            except OSError:
                continue
            sys.exit("nobody watches")
        cell = "2"
""",
}


def write(path, template, about, depth, order, slips=0, bad=""):
    parts = {"ABOUT": about, "DEPTH": depth, "ORDER": ORDERS[order], "SLIPS": slips, "BAD": bad}
    for name, value in parts.items():
        template = template.replace(f"@{name}@", str(value))
    path.write_text(template)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for order, depth, slips in itertools.product(ORDERS, [0, 1, 2, 3], [0, 0.2]):
        about = f"Looks {depth} moves ahead, slips in {slips:.0%} of its moves."
        write(folder / f"{order}_{depth}_{slips * 100:.0f}.py", PYTHON, about, depth, order, slips)
    for order, depth in itertools.product(["centre", "corners", "sides"], [2, 4, 9]):
        write(folder / f"{order}_{depth}.cpp", CPP, f"Looks {depth} moves ahead.", depth, order)
    for name, bad in BAD.items():
        write(folder / f"bad_{name}.py", PYTHON, f"A bot that will {name}.", 2, "sides", 0, bad)


if len(sys.argv) != 2:
    sys.exit(__doc__)
main()
