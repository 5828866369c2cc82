"""Computes a metric of each published suite again, from the tables of a run.

    ludex evaluate --suite gtbench --scale 0.02 --run try --agent random --agent "anchor level=1"
    python recompute_metrics.py try --suite gtbench

reads the tables with ``ludex.read_run`` and compares each value with that of
``ludex rate RUN --metric``. It needs no library besides ludex;
``read_run("try").matches`` is the same table as a data frame.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import ludex
from ludex.process import find_program

Row = dict[str, Any]
# The value of each agent in each part.
Values = dict[tuple[str, str], float]


def own(rows: Iterable[Row]) -> list[Row]:
    """Return the rows that count for an agent under evaluation."""
    return [row for row in rows if row["counts"] and row["candidate"]]


def by_agent(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    """Return the rows of each agent in each part."""
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["part"], row["agent"]].append(row)
    return groups


def nra(run: ludex.RunTables) -> Values:
    """GTBench: (sum of own returns - sum of the opponent's) / sum of both sizes, for two seats."""
    returns = {(row["episode"], row["seat"]): row["return"] for row in run.rows("matches")}
    values: Values = {}
    for key, rows in by_agent(own(run.rows("matches"))).items():
        pairs = [(row["return"], returns[row["episode"], 1 - row["seat"]]) for row in rows]
        size = sum(abs(a) + abs(b) for a, b in pairs)
        values[key] = sum(a - b for a, b in pairs) / size if size else 0.0
    return values


def level(run: ludex.RunTables) -> Values:
    """BotzoneBench: the first level at which fewer than half of the decided matches were won."""
    values: Values = {}
    for key, rows in by_agent(
        row for row in own(run.rows("matches")) if row["level"] is not None
    ).items():
        if key[0] == "tic_tac_toe":
            continue  # draws pass its levels
        # An agent on several seats has the points of its side once for each match.
        points = {(row["level"], row["episode"]): row["points"] for row in rows}
        levels = sorted({place for place, _ in points})
        values[key] = levels[-1] + 1
        for at in levels:
            decided = [won for (place, _), won in points.items() if place == at and won != 0.5]
            if not decided or sum(decided) / len(decided) < 0.5:
                values[key] = at
                break
    return values


def board_reward(run: ludex.RunTables) -> Values:
    """LLMArena: the sum of the mark over a match, and the mean of the matches."""
    values: Values = {}
    for key, rows in by_agent(
        row for row in own(run.rows("marks")) if row["mark"] == "board_reward"
    ).items():
        sums: dict[str, float] = defaultdict(float)
        for row in rows:
            sums[row["episode"]] += row["value"]
        values[key] = sum(sums.values()) / len(sums)
    return values


def win_rate(run: ludex.RunTables) -> Values:
    """AdvGameBench: won rounds / rounds."""
    won = by_agent(row for row in own(run.rows("marks")) if row["mark"] == "won")
    return {key: sum(row["value"] for row in rows) / len(rows) for key, rows in won.items()}


def elo_cycles(run: ludex.RunTables, k: float = 32, start: float = 1500) -> Values:
    """Qi Town: sequential Elo in the order of the plan, from the start in each cycle; the mean."""
    rounds: dict[tuple[str, int], dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in run.rows("matches"):
        if row["counts"]:
            rounds[row["part"], row["cycle"]][row["order"]].append(row)
    finals: dict[tuple[str, str], list[float]] = defaultdict(list)
    for (part, _), games in rounds.items():
        elo: dict[str, float] = defaultdict(lambda: start)
        for _, (a, b) in sorted(games.items()):
            gap = elo[b["agent"]] - elo[a["agent"]]
            change = k * (a["points"] - 1 / (1 + 10 ** (gap / 400)))
            elo[a["agent"]] += change
            elo[b["agent"]] -= change
        for agent, rating in elo.items():
            finals[part, agent].append(rating)
    return {key: sum(all_cycles) / len(all_cycles) for key, all_cycles in finals.items()}


# The metric of each suite, with its arguments for `ludex rate`.
METRICS: dict[str, tuple[Callable[[ludex.RunTables], Values], list[str]]] = {
    "gtbench": (nra, ["nra", "form=reward"]),
    "botzonebench": (level, ["level", "of=level"]),
    "llmarena": (board_reward, ["mean", "of=board_reward", "per=match"]),
    "advgamebench": (win_rate, ["wr"]),
    "qitown": (elo_cycles, ["elo_cycles"]),
}


def rated(name: str, data: str, metric: list[str]) -> Values:
    """Return the values that ``ludex rate`` prints."""
    command = [find_program(), "rate", name, "--data", data, "--json", "--metric", metric[0]]
    for arg in metric[1:]:
        command += ["--metric-arg", arg]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)["values"]
    return {(one["part"], one["agent"]): one["value"]["value"] for one in found}


def main() -> None:
    """Compare the metric of a suite in a run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", help="name, folder or bundle of a run of a published suite")
    parser.add_argument(
        "--suite", choices=METRICS, help="suite of the run [default: the name of the run]"
    )
    parser.add_argument("--data", default="./ludex-data", help="data folder [%(default)s]")
    args = parser.parse_args()
    compute, metric = METRICS[args.suite or args.run]
    values = compute(ludex.read_run(args.run, data=args.data))
    told = rated(args.run, args.data, metric)
    compared = 0
    for (part, agent), value in sorted(values.items()):
        if (part, agent) not in told:
            continue
        compared += 1
        same = abs(value - told[part, agent]) < 1e-9 * max(1.0, abs(value))
        verdict = "equal" if same else f"differs from {told[part, agent]}"
        print(f"{part:<28} {agent:<28} {value:12.6f} {verdict}")
        if not same:
            raise SystemExit(1)
    if compared == 0:
        raise SystemExit("no value to compare")
    print(f"{compared} values of {' '.join(metric)} are equal")


if __name__ == "__main__":
    main()
