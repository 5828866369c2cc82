"""Train the baselines with equal budgets, rate their policy files, and write table and curves.

    python table.py --minutes 2                 # trains and rates the rows that are missing
    python table.py --minutes 2 --only pig      # rows whose game or script contains this text
    python table.py --write                     # only writes the page and the picture again

Each row is trained by a script of this folder, one at a time. The program rates the policy file in
matches against anchors of the game's ladder. Snapshots after each quarter of the budget, rated in
fewer matches, are the curve. table.json has the rows; an interrupted call loses only its row.
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
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ludex.process import find_program

HERE = Path(__file__).resolve().parent
DOCS = HERE.parents[2] / "docs"
BEGIN, END = "<!-- baselines -->", "<!-- end of baselines -->"


@dataclass(frozen=True)
class Plan:
    """A row to train: a script with arguments, and the agent that plays its file."""

    game: str
    script: str
    args: str = ""
    agent: str = "net file={file}"
    levels: tuple[int, ...] = (0, 1, 2, 3)


MIXED = "net file={file} temperature=1"
PLANS = [
    Plan("tic_tac_toe", "dqn.py", "--opponent self random", levels=(0, 1)),
    Plan("tic_tac_toe", "alphazero.py", agent="puct net={file} sims=50", levels=(0, 1)),
    Plan("connect_four", "ppo_self_play.py", levels=(0, 1, 2, 3, 4)),
    Plan("connect_four", "dqn.py", "--opponent self random"),
    Plan(
        "connect_four",
        "alphazero.py",
        agent="puct net={file} sims=100",
        levels=(0, 1, 2, 3, 4),
    ),
    Plan("breakthrough", "ppo_self_play.py", "--hidden 56"),
    Plan("reversi", "ppo_self_play.py"),
    Plan("pig", "ppo_self_play.py", levels=(0, 1, 2, 3, 4)),
    Plan("kuhn_poker", "cfr.py", agent=f"{MIXED} view=info", levels=(0, 1, 2)),
    Plan("kuhn_poker", "mmd.py", agent=MIXED, levels=(0, 1, 2)),
    Plan("leduc_poker", "cfr.py", agent=f"{MIXED} view=info"),
    Plan("leduc_poker", "mmd.py", agent=MIXED),
    Plan("liars_dice", "mmd.py", agent=MIXED, levels=(0, 1, 2, 3, 4)),
    Plan("battle_cards", "reinforce_plans.py"),
    Plan("iterated_prisoners_dilemma", "ppo_self_play.py", levels=(0, 1, 2)),
]

#: Games whose tree is small enough for the exploitability of a policy file.
SMALL = ("kuhn_poker", "leduc_poker")


def run(*command: str) -> str:
    """Run a command and return its output; end this program if it fails."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{shlex.join(command)} failed: {done.stderr.strip()}")
    return done.stdout


def train(plan: Plan, minutes: float, seed: int, folder: Path) -> list[Path]:
    """Train in a subprocess; return the policy files after each quarter of the budget."""
    file = folder / "policy.onnx"
    command = [sys.executable, str(HERE / plan.script), "--game", plan.game, "--seed", str(seed)]
    command += ["--minutes", str(minutes), "--export", str(file), *shlex.split(plan.args)]
    snapshots = []
    with (folder / "train.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        begun = time.monotonic()
        try:
            for quarter in (1, 2, 3):
                end = begun + minutes * 15 * quarter
                while time.monotonic() < end and process.poll() is None:
                    time.sleep(0.2)
                if file.exists():
                    snapshots.append(folder / f"policy-{quarter}.onnx")
                    shutil.copy(file, snapshots[-1])
            code = process.wait()
        finally:
            process.kill()
    if code != 0:
        raise SystemExit(f"{plan.script} failed: {(folder / 'train.log').read_text()[-2000:]}")
    return [*snapshots, file]


def rate(plan: Plan, file: Path, blocks: int, folder: Path) -> dict[str, Any]:
    """Play matches against the anchors; return the rating, and score and return by level."""
    agent, records, levels = plan.agent.format(file=file), [], {}
    for level in plan.levels:
        records.append(str(folder / f"{file.stem}-{level}.jsonl"))
        seats = ["--seat", agent, "--seat", f"anchor level={level}"]
        options = ["--blocks", str(blocks), "--out", records[-1], "--json"]
        seat = json.loads(run(find_program(), "match", plan.game, *seats, *options))["seats"][0]
        levels[str(level)] = {"score": seat["score"], "mean_return": seat["mean_return"]}
    rated = json.loads(run(find_program(), "rate", "--unrated", "--json", *records))["ratings"]
    # Records have the canonical form of the agent's spec.
    mine = next(e for e in rated[0]["agents"] if not e["name"].startswith("anchor "))
    numbers = {name: mine.get(name) for name in ("rating", "low", "high")}
    return {"scale": rated[0]["name"], **numbers, "levels": levels}


def measure(plan: Plan, options: argparse.Namespace) -> dict[str, Any]:
    """Train and rate a row."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        *snapshots, file = train(plan, options.minutes, options.seed, folder)
        row = {**asdict(plan), "minutes": options.minutes, "seed": options.seed}
        row |= {"bytes": file.stat().st_size, "blocks": options.blocks}
        row |= rate(plan, file, options.blocks, folder)
        curve = [rate(plan, snapshot, options.curve_blocks, folder) for snapshot in snapshots]
        row["curve"] = [entry["rating"] for entry in curve]
        if plan.game in SMALL:
            view = "info" if "view=info" in plan.agent else "tensor"
            command = (sys.executable, str(HERE / "cfr.py"), "--game", plan.game, "--view", view)
            row["exploitability"] = float(run(*command, "--measure", str(file)).split()[-1])
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, options.keep / f"{plan.game}-{Path(plan.script).stem}.onnx")
    row["commit"] = run("git", "-C", str(HERE), "rev-parse", "--short", "HEAD").strip()
    row["program"] = run(find_program(), "--version").strip()
    row["machine"] = machine()
    return row


def machine() -> str:
    """Return the processor and the number of its cores."""
    processor = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        named = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        processor = named[0].partition(": ")[2] if named else processor
    return f"{processor}, {os.cpu_count()} cores"


def markdown(rows: list[dict[str, Any]]) -> str:
    """Return the table of all rows, with scores or returns, and where they were measured."""
    lines = [
        "| game | command | minutes | agent | rating | 95 % | by level | exploitability | kB |",
        "|---|---|--:|---|--:|---|---|--:|--:|",
    ]
    for row in rows:
        command = f"`{row['script']} {row['args']}`".replace(" `", "`")
        rating, interval, name = "", "", "mean_return"
        if row["rating"] is not None:
            rating, name = f"{row['rating']:.0f}", "score"
            interval = f"{row['low']:.0f} to {row['high']:.0f}"
        levels = ", ".join(f"{level}: {entry[name]:.2f}" for level, entry in row["levels"].items())
        exploitability = row.get("exploitability")
        worst = "" if exploitability is None else f"{exploitability:.4f}"
        agent = f"`{row['agent'].format(file='FILE')}`"
        cells = [row["game"], command, f"{row['minutes']:g}", agent]
        cells += [rating, interval, levels, worst, f"{row['bytes'] / 1000:.0f}"]
        lines.append(f"| {' | '.join(cells)} |")
    notes = {
        f"{row['blocks']} blocks against each level; commit {row['commit']}, {row['program']}, "
        f"{row['machine']}."
        for row in rows
    }
    lines += ["", "Measured with:", "", *(f"- {note}" for note in sorted(notes)), ""]
    return "\n".join([*lines, "![Rating over the minutes of training](pictures/baselines.svg)"])


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Plot the ratings over the minutes of training to an SVG file, one panel for each game."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "baselines"
    from matplotlib import pyplot

    rated = [row for row in rows if row["rating"] is not None]
    games = list(dict.fromkeys(row["game"] for row in rated))
    columns = min(3, len(games))
    lines = -(-len(games) // columns)
    figure, axes = pyplot.subplots(
        lines, columns, figsize=(3.6 * columns, 2.6 * lines), squeeze=False
    )
    for panel in axes.flat[len(games) :]:
        panel.set_axis_off()
    for game, panel in zip(games, axes.flat, strict=False):
        for row in (row for row in rated if row["game"] == game):
            values = [*row["curve"], row["rating"]]
            start = 5 - len(values)
            minutes = [row["minutes"] * quarter / 4 for quarter in range(start, 5)]
            label = f"{Path(row['script']).stem}, {row['minutes']:g} min"
            panel.plot(minutes, values, marker=".", label=label)
        panel.set(title=game, xlabel="minutes", ylabel="rating")
        panel.grid(alpha=0.3)
        panel.legend(fontsize="x-small")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


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
    add("--minutes", type=float, default=2.0, help="training of each row [2]")
    add("--only", default="", help="train only rows whose game or script contains this text")
    add("--seed", type=int, default=1, help="seed of the training [1]")
    add("--blocks", type=int, default=50, help="blocks against each level [50]")
    add("--curve-blocks", type=int, default=20, help="the same for a point of the curve [20]")
    add("--state", type=Path, default=HERE / "table.json", help="file of the rows [table.json]")
    add("--page", type=Path, default=DOCS / "baselines.md", help="page with the marks of the table")
    add("--keep", type=Path, metavar="DIR", help="also store the policy files in this folder")
    add("--write", action="store_true", help="only write the page and the picture")
    return parser.parse_args()


def main() -> None:
    """Train and rate the missing rows; write the page after each."""
    options = parse_args()
    rows = json.loads(options.state.read_text()) if options.state.exists() else []
    plans = [plan for plan in PLANS if options.only in f"{plan.game} {plan.script}"]
    for plan in [] if options.write else plans:
        key = (plan.game, plan.script, plan.args, plan.agent, options.minutes, options.seed)
        names = ("game", "script", "args", "agent", "minutes", "seed")
        if key in [tuple(row[name] for name in names) for row in rows]:
            continue
        print(f"{plan.game}: {plan.script} {plan.args}", flush=True)
        rows.append(measure(plan, options))
        rows.sort(key=lambda row: (row["game"], row["script"], row["minutes"]))
        temporary = options.state.with_suffix(".tmp")
        temporary.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        os.replace(temporary, options.state)
        write(rows, options.page)
    if options.write and rows:
        write(rows, options.page)


if __name__ == "__main__":
    main()
