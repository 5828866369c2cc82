"""Train the baselines by budgets of steps, rate their policy files, and write table and curves.

    python table.py                     # trains and rates what is missing of two budgets
    python table.py --only pig          # rows whose game or script contains this text
    python table.py --budgets 3         # continues the rows that have a third budget
    python table.py --write             # only writes the page and the picture again

Each row is one training by a script of this folder, in stages that continue the checkpoint of the
last. The schedules of a stage are those of its budget. After a stage, the program rates the policy
file in matches against anchors of the game's ladder. An interrupted call repeats only its stage.

Minutes are processor time of the training with its server, user and system, since other load does
not change it. The script needs a system with wait4, such as Linux or macOS.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ludex.process import find_program

HERE = Path(__file__).resolve().parent
DOCS = HERE.parents[2] / "docs"
BEGIN, END = "<!-- baselines -->", "<!-- end of baselines -->"


@dataclass(frozen=True)
class Plan:
    """A row to train: a script with arguments, its budgets, and the agent that plays its file.

    The budgets are steps in all: about 2 and 10 minutes, and in some rows 60.
    """

    game: str
    script: str
    budgets: tuple[int, ...]
    args: str = ""
    agent: str = "net file={file}"
    levels: tuple[int, ...] = (0, 1, 2, 3)

    @property
    def name(self) -> str:
        """Name for files and messages."""
        return f"{self.game}-{Path(self.script).stem}"

    def stages(self, count: int) -> list[tuple[int, int]]:
        """Return the steps at the end of each stage, and its budget."""
        stages, start = [], 0
        for budget in self.budgets[:count]:
            parts = range(1, 5) if start else (1, 2, 4)
            stages += [(start + (budget - start) * part // 4, budget) for part in parts]
            start = budget
        return stages


MIXED = "net file={file} temperature=1"
PLANS = [
    Plan("connect_four", "ppo_self_play.py", (400_000, 2_000_000), levels=(0, 1, 2, 3, 4)),
    Plan("leduc_poker", "mmd.py", (2_000_000, 10_000_000), agent=MIXED),
    Plan("breakthrough", "ppo_self_play.py", (200_000, 1_000_000), "--hidden 56"),
    Plan("liars_dice", "mmd.py", (1_600_000, 8_000_000), agent=MIXED, levels=(0, 1, 2, 3, 4)),
    Plan("reversi", "ppo_self_play.py", (300_000, 1_500_000)),
    Plan("tic_tac_toe", "dqn.py", (300_000, 1_500_000), "--opponent self random", levels=(0, 1)),
    Plan("battle_cards", "reinforce_plans.py", (1_500_000, 7_500_000)),
    Plan("pig", "ppo_self_play.py", (3_000_000, 15_000_000), levels=(0, 1, 2, 3, 4)),
    Plan(
        "connect_four",
        "alphazero.py",
        (60_000, 300_000),
        agent="puct net={file} sims=100",
        levels=(0, 1, 2, 3, 4),
    ),
    Plan("kuhn_poker", "mmd.py", (2_000_000, 10_000_000), agent=MIXED, levels=(0, 1, 2)),
    Plan("leduc_poker", "cfr.py", (200, 1_000), agent=f"{MIXED} view=info"),
]

#: Games whose tree is small enough for the exploitability of a policy file.
SMALL = ("kuhn_poker", "leduc_poker")

#: Guards the rows and the files of the table while rows are trained at the same time.
LOCK = threading.Lock()


def run(*command: str) -> str:
    """Run a command and return its output; end this program if it fails."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{shlex.join(command)} failed: {done.stderr.strip()}")
    return done.stdout


def train(command: list[str], log: Path) -> float:
    """Run a training; return its minutes of processor time."""
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        try:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        finally:
            process.kill()
    if process.returncode != 0:
        raise SystemExit(f"{shlex.join(command)} failed: {log.read_text()[-2000:]}")
    return (usage.ru_utime + usage.ru_stime) / 60


def rate(plan: Plan, file: Path, blocks: int, seed: int) -> dict[str, Any]:
    """Play matches against the anchors; return the rating, and the score by level."""
    agent, records, levels = plan.agent.format(file=file), [], {}
    for level in plan.levels:
        records.append(str(file.with_name(f"{level}.jsonl")))
        seats = ["--seat", agent, "--seat", f"anchor level={level}"]
        options = ["--blocks", str(blocks), "--seed", str(seed), "--jobs", "1", "--json"]
        played = run(find_program(), "match", plan.game, *seats, *options, "--out", records[-1])
        levels[str(level)] = json.loads(played)["seats"][0]["score"]
    rated = json.loads(run(find_program(), "rate", "--unrated", "--json", *records))["ratings"]
    # Records have the canonical form of the agent's spec.
    mine = next(e for e in rated[0]["agents"] if not e["name"].startswith("anchor "))
    numbers = {name: mine[name] for name in ("rating", "low", "high")}
    anchors = {name.removeprefix("anchor "): r for name, r in rated[0]["constants"].items()}
    return {"blocks": blocks, **numbers, "levels": levels, "anchors": anchors}


def measure(
    plan: Plan, before: dict[str, Any] | None, steps: int, budget: int, options: argparse.Namespace
) -> dict[str, Any]:
    """Train and rate a stage; return its point of the curve."""
    stored = options.work / f"{plan.name}-{options.seed}"
    stored.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=stored) as name:
        file, checkpoint = Path(name) / "policy.onnx", Path(name) / "checkpoint"
        if before:
            shutil.copy(stored / f"{before['steps']}.checkpoint", checkpoint)
        command = [sys.executable, str(HERE / plan.script), "--game", plan.game]
        command += ["--seed", str(options.seed), "--steps", str(budget), "--until", str(steps)]
        command += ["--checkpoint", str(checkpoint), "--export", str(file)]
        minutes = train([*command, *shlex.split(plan.args)], stored / f"{steps}.log")
        minutes += before["minutes"] if before else 0.0
        point: dict[str, Any] = {"steps": steps, "budget": steps == budget, "minutes": minutes}
        blocks = options.blocks if steps == budget else options.curve_blocks
        point |= rate(plan, file, blocks, options.seed)
        if plan.game in SMALL:
            view = "info" if "view=info" in plan.agent else "tensor"
            solver = (sys.executable, str(HERE / "cfr.py"), "--game", plan.game, "--view", view)
            measured = run(*solver, "--measure", str(file))
            point["exploitability"] = float(measured.split()[-1])
        point["bytes"] = file.stat().st_size
        os.replace(checkpoint, stored / f"{steps}.checkpoint")
        os.replace(file, stored / f"{steps}.onnx")
    return {**point, **options.origin}


def origin() -> dict[str, str]:
    """Return the commit of the checkout, the program, and the processor with its cores."""
    commit = run("git", "-C", str(HERE), "rev-parse", "--short", "HEAD").strip()
    program = run(find_program(), "--version").strip()
    processor = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        named = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        processor = named[0].partition(": ")[2] if named else processor
    machine = f"{processor}, {os.cpu_count()} cores"
    return {"commit": commit, "program": program, "machine": machine}


def row_of(plan: Plan, rows: list[dict[str, Any]], seed: int) -> dict[str, Any]:
    """Return the row of a plan, which is added if it is missing."""
    fields = {name: getattr(plan, name) for name in ("game", "script", "args", "agent")}
    fields["seed"] = seed
    for row in rows:
        if all(row[name] == value for name, value in fields.items()):
            return row
    rows.append(fields | {"points": []})
    return rows[-1]


def attempt(
    plan: Plan, count: int, rows: list[dict[str, Any]], options: argparse.Namespace
) -> bool:
    """Advance a row; print why and return False if a command fails."""
    try:
        advance(plan, count, rows, options)
    except SystemExit as error:
        print(f"{plan.name}: {error}", flush=True)
        return False
    return True


def advance(
    plan: Plan, count: int, rows: list[dict[str, Any]], options: argparse.Namespace
) -> None:
    """Train and rate the missing stages of a plan's first budgets; write them after each."""
    with LOCK:
        points = row_of(plan, rows, options.seed)["points"]
    stages = plan.stages(len(plan.budgets))
    if [point["steps"] for point in points] != [steps for steps, _ in stages[: len(points)]]:
        points.clear()  # measured with other budgets
    for steps, budget in plan.stages(count)[len(points) :]:
        point = measure(plan, points[-1] if points else None, steps, budget, options)
        shown = f"{point['rating']:.0f} ({point['low']:.0f} to {point['high']:.0f})"
        print(f"{plan.name}: {steps} steps, {point['minutes']:.1f} min: {shown}", flush=True)
        with LOCK:
            points.append(point)
            rows.sort(key=lambda row: (row["game"], row["script"]))
            temporary = options.state.with_suffix(".tmp")
            temporary.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
            os.replace(temporary, options.state)
            if steps == budget:
                write(rows, options.page)


def markdown(rows: list[dict[str, Any]]) -> str:
    """Return the table with a line per row and budget, and where they were measured."""
    lines = [
        "| game | command | agent | steps | minutes | rating | 95 % | by level | exploitability |",
        "|---|---|---|--:|--:|--:|---|---|--:|",
    ]
    notes = set()
    for row in rows:
        command = f"`{row['script']} {row['args']}`".replace(" `", "`")
        agent = f"`{row['agent'].format(file='FILE')}`"
        for point in (point for point in row["points"] if point["budget"]):
            levels = ", ".join(f"{level}: {score:.2f}" for level, score in point["levels"].items())
            worst = f"{point['exploitability']:.4f}" if "exploitability" in point else ""
            cells = [row["game"], command, agent, f"{point['steps']:,}", f"{point['minutes']:.1f}"]
            cells += [f"{point['rating']:.0f}", f"{point['low']:.0f} to {point['high']:.0f}"]
            lines.append(f"| {' | '.join([*cells, levels, worst])} |")
            notes.add(
                f"{point['blocks']} blocks against each level; commit {point['commit']}, "
                f"{point['program']}, {point['machine']}, seed {row['seed']}."
            )
    lines += ["", "Measured with:", "", *(f"- {note}" for note in sorted(notes)), ""]
    return "\n".join([*lines, "![Rating over the minutes of training](pictures/baselines.svg)"])


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Plot the ratings over the minutes of training to an SVG file, one panel for each game."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "baselines"
    from matplotlib import pyplot

    rows = [row for row in rows if row["points"]]
    games = list(dict.fromkeys(row["game"] for row in rows))
    columns = min(3, len(games))
    lines = -(-len(games) // columns)
    figure, axes = pyplot.subplots(
        lines, columns, figsize=(3.6 * columns, 2.6 * lines), squeeze=False
    )
    for panel in axes.flat[len(games) :]:
        panel.set_axis_off()
    for game, panel in zip(games, axes.flat, strict=False):
        for row in (row for row in rows if row["game"] == game):
            minutes, ratings, low, high = (
                [point[name] for point in row["points"]]
                for name in ("minutes", "rating", "low", "high")
            )
            panel.plot(minutes, ratings, marker=".", label=Path(row["script"]).stem)
            panel.fill_between(minutes, low, high, alpha=0.15)
            for name, rating in row["points"][-1]["anchors"].items():
                panel.axhline(rating, color="gray", linewidth=0.7, linestyle=":")
                panel.annotate(name, (1, rating), xycoords=("axes fraction", "data"), fontsize=6)
        panel.set(title=game, xlabel="minutes", ylabel="rating")
        panel.set_xlim(left=0)
        panel.legend(fontsize="x-small")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def write(rows: list[dict[str, Any]], page: Path) -> None:
    """Replace the table between the marks of the page, and its picture."""
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n{markdown(rows)}\n\n{END}{after}", encoding="utf-8")
    draw(rows, page.parent / "pictures" / "baselines.svg")


def parse_args() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--budgets", type=int, default=2, help="train this many budgets of each row [2]")
    add("--only", default="", help="train only rows whose game or script contains this text")
    add("--jobs", type=int, default=1, help="rows to train at the same time [1]")
    add("--seed", type=int, default=1, help="seed of training and matches [1]")
    add("--blocks", type=int, default=100, help="blocks against each level [100]")
    add("--curve-blocks", type=int, default=40, help="the same between the budgets [40]")
    add("--work", type=Path, default=HERE / "target", help="folder of the checkpoints [target]")
    add("--state", type=Path, default=HERE / "table.json", help="file of the rows [table.json]")
    add("--page", type=Path, default=DOCS / "baselines.md", help="page with the marks of the table")
    add("--write", action="store_true", help="only write the page and the picture")
    return parser.parse_args()


def main() -> None:
    """Train and rate the missing stages, the first budget of every row before the second."""
    options = parse_args()
    rows = json.loads(options.state.read_text()) if options.state.exists() else []
    if options.write:
        write(rows, options.page)
        return
    options.origin = origin()
    plans = [plan for plan in PLANS if options.only in f"{plan.game} {plan.script}"]
    done: list[bool] = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for count in range(1, options.budgets + 1):
            done += pool.map(lambda plan, count=count: attempt(plan, count, rows, options), plans)
    raise SystemExit(0 if all(done) else 1)


if __name__ == "__main__":
    main()
