"""Recomputes the marks of a game of plans, and compares them with `ludex show --marks`.

    python3 marks.py RECORDS [LUDEX]

It uses the record, the answers of `ludex games analyze` and the tables on the game's page. It exits with 1 if
a mark differs.
"""

import json
import math
import subprocess
import sys
from collections import Counter
from pathlib import Path

PAGES = Path(__file__).parents[3] / "games/src"
SIDES = {
    "tower_defense": ("human", "demon"),
    "battle_cards": ("invader", "defender"),
    "elemental_duel": ("invader", "defender"),
}
BUDGETS = {"tower_defense": (2000, 1500), "battle_cards": (20, 20), "elemental_duel": (20, 20)}
ELEMENTS = (("Fire", "Water", "Dark"), ("Wood", "Earth", "Light"))


def run(ludex, *args, text=None):
    return subprocess.run([ludex, *args], input=text, capture_output=True, text=True).stdout


def table(page, first):
    """Returns the rows of the page's table whose first column has this heading."""
    rows, heads = [], []
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if not heads:
            # Before the table.
            if cells and cells[0] == first:
                heads = cells
        elif not cells:
            break
        elif not cells[0].startswith("---"):
            rows.append(dict(zip(heads, cells)))
    return rows


class Game:
    """Tables and battles of a game."""

    def __init__(self, name, params, ludex):
        self.name, self.params, self.ludex = name, params, ludex
        page = (PAGES / f"{name}.md").read_text()
        heads = {"tower_defense": ("human unit", "demon"), "battle_cards": ("invader", "defender")}
        self.rows = [table(page, head) for head in heads.get(name, ())]
        if name == "elemental_duel":
            skills = table(page, "element")
            self.rows = [[row for row in skills if row["element"] in side] for side in ELEMENTS]
        self.column = "skill" if name == "elemental_duel" else None
        scale = params["budget_scale"]
        self.budgets = [math.floor(base * scale + 0.5) for base in BUDGETS[name]]

    def row(self, side, name):
        key = self.column or next(iter(self.rows[side][0]))
        return next(row for row in self.rows[side] if row[key] == name)

    def roles(self, side, name):
        return set(self.row(side, name)["roles"].split(", "))

    def cost(self, side, name):
        repo = self.params.get("rules") == "repo"
        return 100 if repo and name == "AntiAirSoldier" else int(self.row(side, name)["cost"])

    def pieces(self, side, plan):
        """Returns (name, place, cost) of each piece."""
        units = next(value for key, value in plan.items() if not key.startswith("target"))
        if self.name == "tower_defense":
            return [(u["name"], (u.get("x"), u["y"]), self.cost(side, u["name"])) for u in units]
        if self.name == "battle_cards":
            gold = {"Bronze": 1, "Gold": 3}
            return [(u["name"], u["tier"], gold[u["tier"]] * self.cost(side, u["name"])) for u in units]
        return [(s, n, self.cost(side, s)) for u in units for n, s in enumerate(u["skills"])]

    def battle(self, plans):
        terms = ("budget_scale", "rules", "hp_invader", "hp_defender", "mode")
        question = {key: self.params[key] for key in terms if key in self.params}
        question |= {side: plan or {"none": True} for side, plan in zip(SIDES[self.name], plans)}
        question["log"] = True
        return json.loads(run(self.ludex, "games", "analyze", self.name, text=json.dumps(question)))

    def value(self, plans, answer):
        """Returns the value of a battle for side 0."""
        summary, log = answer["summary"], answer["log"]
        if self.name == "tower_defense":
            if answer["winner"] == "human":
                return 1 + summary["survivors_cost"] / self.budgets[0]
            dead = {event[2] for event in log if event[1] == "dead"}
            spawned = [event for event in log if event[1] == "spawn"]
            gone = sum(self.cost(1, event[3]) for event in spawned if event[2] in dead)
            return gone / answer["costs"][1] - 1
        if self.name == "elemental_duel":
            most = self.params["hp_invader"], self.params["hp_defender"]
            own, other = ([max(hp, 0) for hp in side] for side in summary["hp"])
            return sum(own) / (3 * most[0]) - sum(other) / (3 * most[1])
        shares = []
        for side, letter in enumerate("id"):
            health = {}
            for n, (name, tier, _) in enumerate(self.pieces(side, plans[side])):
                health[f"{letter}{n}"] = int(self.row(side, name)["health"]) * (2 if tier == "Gold" else 1)
            for event in log:
                if event[0] == "buff" and event[2] in health:
                    health[event[2]] += event[4]
            left = sum(unit[2] for unit in summary["survivors"] if (answer["winner"] == "invader") == (side == 0))
            shares.append(min(1, left / sum(health.values())))
        return shares[0] - shares[1]

    def likeness(self, side, a, b):
        a, b = self.pieces(side, a), self.pieces(side, b)
        x, y = (Counter((piece[0], piece[1]) for piece in plan) for plan in (a, b))
        u, v = Counter(), Counter()
        for plan, sums in ((a, u), (b, v)):
            for name, _, cost in plan:
                sums[name] += cost
        product = lambda p, q: sum(p[k] * q[k] for k in p)
        r, s = (set().union(*(self.roles(side, piece[0]) for piece in plan)) for plan in (a, b))
        return {
            "structural": (x & y).total() / (x | y).total(),
            "semantic": product(u, v) / math.sqrt(product(u, u) * product(v, v)),
            "functional": len(r & s) / len(r | s),
        }


def built(game, side, ids):
    """Returns the plan for action ids, as described in the page's section Actions; None for `keep`."""
    names = [row[game.column or next(iter(row))] for row in game.rows[side]]
    others = [row[next(iter(row))] for row in game.rows[1 - side]]
    if ids == [1]:
        return None
    ids = ids[:-1]
    if game.name == "tower_defense":
        units = []
        for unit, place, second, tick in zip(*[iter(ids)] * 4):
            x, y = divmod(place - 15, 5)
            where = {"x": x, "y": y} if side == 0 else {"y": place - 151}
            units.append({"name": names[unit - 2], **where, "spawn_time": 1000 * (second - 70) + 50 * (tick - 131)})
        return {("humans", "demons")[side]: units}
    if game.name == "elemental_duel":
        six = lambda element: [r["skill"] for r in game.rows[side] if r["element"] == ELEMENTS[side][element]]
        teams = [
            {"element": ELEMENTS[side][e - 2], "skills": [six(e - 2)[s - 5] for s in skills]}
            for e, *skills in zip(*[iter(ids)] * 4)
        ]
        return {("invaders", "defenders")[side]: teams}
    cards = [{"name": names[(a - 2) // 2], "tier": ("Bronze", "Gold")[a % 2]} for a in ids if a < 24]
    wishes = [(others + [("Soldier", "Skeleton")[side]])[a - 24] for a in ids if a >= 24]
    plan = {("invaders", "defenders")[side]: cards}
    return plan | ({f"target_priority_for_{('invaders', 'defenders')[side]}": wishes} if wishes else {})


def submissions(record):
    """Returns the submissions in order: (seat, document or list of ids)."""
    begun = {0: [], 1: []}
    for event in record["events"]:
        seat = event["seat"]
        if "document" in event:
            begun[seat] = []
            yield seat, event["document"]
        else:
            begun[seat].append(event["action"])
            if event["action"] in (0, 1):
                yield seat, begun[seat]
                begun[seat] = []


def marks(record, ludex):
    """Returns all marks of a record, as {(seat, round or attempt, name): value}."""
    params = record["params"]
    game = Game(record["game"], params, ludex)
    swaps = params["roles"] == "alternate"
    rounds = 1 if params["format"] == "duel" else params["rounds"]
    side_of = lambda n, seat: 1 - seat if swaps and n % 2 else seat
    queue = {0: [], 1: []}
    for seat, what in submissions(record):
        queue[seat].append(what)
    out, stands, absent, last = {}, {}, set(), {}

    def submit(seat, side, attempt=None):
        """Takes the next submission; returns True if the seat may submit again."""
        what = queue[seat].pop(0)
        plan = built(game, side, what) if isinstance(what, list) else what
        keeps = plan is None or plan.get("keep")
        if keeps:
            return False
        none = bool(plan.get("none"))
        pair = [None, None]
        pair[side] = None if none else plan
        answer = game.battle(pair)
        cost, words = answer["costs"][side], answer["violations"][side]
        if attempt:
            found = {"attempt": attempt, "cost": cost, "violation": (words or ["none"])[0]}
            out.update({(seat, f"initial {side} {attempt}", name): value for name, value in found.items()})
            if "over_budget" in words and attempt < params["tries"]:
                return True
        if none:
            absent.add((seat, side))
        else:
            stands[seat, side] = plan
            absent.discard((seat, side))
        return False

    for phase in range(1 + swaps):
        for seat in (0, 1):
            attempt = 1
            while submit(seat, side_of(phase, seat), attempt):
                attempt += 1
    asked = {}
    for n in range(rounds):
        played = [None if (seat, side_of(n, seat)) in absent else stands.get((seat, side_of(n, seat))) for seat in (0, 1)]
        plans = played if side_of(n, 0) == 0 else played[::-1]
        answer = game.battle(plans)
        battle = not any(answer["violations"])
        value = game.value(plans, answer) if battle else None
        for seat in (0, 1):
            side = side_of(n, seat)
            won = answer["winner"] == SIDES[game.name][side]
            words, cost = answer["violations"][side], answer["costs"][side]
            before, flaws = last.get((seat, side), (None, []))
            revised = bool(before and played[seat] and before != played[seat])
            worth = (value if side == 0 else -value) if battle else (1 if won else -1)
            kept = asked.get((seat, side), False) and not revised and bool(before and played[seat])
            found = {
                "round": n + 1, "won": int(won), "cost": cost, "budget": game.budgets[side],
                "over": int(cost > game.budgets[side]), "violation": (words or ["none"])[0],
                "revised": int(revised), "kept": int(kept), "value": worth,
            }  # fmt: skip
            if before and played[seat] and not words and not flaws:
                found |= game.likeness(side, played[seat], before)
            out.update({(seat, f"round {n + 1}", name): v for name, v in found.items()})
            if played[seat]:
                last[seat, side] = played[seat], words
            absent.discard((seat, side))
            asked[seat, side] = False
        played_rounds = n + 1
        if played_rounds == rounds:
            break
        if params["revise"] == "alternate":
            revisers = [params["first"] if played_rounds % 2 else 1 - params["first"]]
        else:
            revisers = [0, 1] if not swaps or played_rounds + 2 <= rounds else []
        for seat in revisers:
            side = side_of(n, seat)
            asked[seat, side] = True
            submit(seat, side)
    return out


def told(path, episode, ludex):
    """Returns the marks that the program prints, under the same keys."""
    out, key, initial = {}, {}, Counter()
    for line in run(ludex, "show", path, "--marks").splitlines():
        mark = json.loads(line)
        if mark["episode"] != episode:
            continue
        seat, name, value = mark["seat"], mark["name"], mark["value"]
        if name == "attempt":
            initial[seat] += value == 1
            key[seat] = "initial", initial[seat], int(value)
        if name == "round":
            key[seat] = f"round {int(value)}"
        out[seat, key[seat], name] = value
    return out


def main():
    path, ludex = sys.argv[1], (sys.argv[2:] or ["ludex"])[0]
    wrong = 0
    for line in open(path):
        record = json.loads(line)
        swaps = record["params"]["roles"] == "alternate"
        mine = {}
        for (seat, key, name), value in marks(record, ludex).items():
            if key.startswith("initial"):
                _, side, attempt = key.split()
                key = "initial", 1 + (swaps and int(side) != seat), int(attempt)
            mine[seat, key, name] = value
        theirs = told(path, record["episode"], ludex)
        same = lambda a, b: a == b if isinstance(a, str) or isinstance(b, str) else math.isclose(a, b, abs_tol=1e-9)
        differ = [k for k in mine.keys() | theirs.keys() if not (k in mine and k in theirs and same(mine[k], theirs[k]))]
        for k in sorted(differ, key=str):
            print(f"{record['episode']}: {k}: counted {mine.get(k)}, printed {theirs.get(k)}")
        wrong += len(differ)
        print(f"{record['episode']}: {record['game']}: {len(mine)} marks, {len(differ)} differ")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
