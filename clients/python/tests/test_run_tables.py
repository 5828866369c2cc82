"""Tables of runs: metrics computed from them equal those of the program."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import ludex
from ludex.process import find_program

EXAMPLE = Path(__file__).parents[1] / "examples" / "recompute_metrics.py"


def play(
    data: Path, suite: str, parts: list[str], agents: tuple[str, ...] = ("random", "anchor level=1")
) -> None:
    command = [find_program(), "evaluate", "--data", str(data), "--suite", suite, "--run", suite]
    command += ["--scale", "0.02", "--json"]
    for agent in agents:
        command += ["--agent", agent]
    for part in parts:
        command += ["--part", part]
    subprocess.run(command, check=True, capture_output=True)


@pytest.mark.parametrize(
    ("suite", "parts"),
    [
        ("gtbench", ["kuhn_poker", "negotiation"]),
        ("botzonebench", ["gomoku", "fight_the_landlord"]),
        ("llmarena", ["connect_four"]),
        ("advgamebench", ["battle_cards"]),
        ("qitown", ["tic_tac_toe", "free_style"]),
    ],
)
def test_metric_of_suite_equals_that_of_program(
    tmp_path: Path, suite: str, parts: list[str]
) -> None:
    play(tmp_path, suite, parts)
    command = [sys.executable, str(EXAMPLE), suite, "--data", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "are equal" in done.stdout


def test_tables_have_order_of_plan_and_one_value_per_cell(tmp_path: Path) -> None:
    play(tmp_path, "qitown", ["tic_tac_toe"], ("random", "anchor level=1", "mcts sims=5"))
    run = ludex.read_run("qitown", data=tmp_path)
    matches = run.rows("matches")
    assert len(matches) == 2 * 3 * 3, "two seats of three pairs in three cycles"
    orders = [row["order"] for row in matches]
    assert orders == sorted(orders)
    assert {row["cycle"] for row in matches} == {0, 1, 2}
    for table in ("matches", "moves", "marks", "labels", "ratings"):
        for row in run.rows(table):
            assert not any(isinstance(value, (list, dict)) for value in row.values())
    moves = {row["episode"]: row["moves"] for row in matches}
    assert len(run.rows("moves")) == sum(moves.values())
    pandas = pytest.importorskip(
        "pandas", reason="pandas is not installed: pip install 'ludex[pandas]'"
    )
    assert isinstance(run.matches, pandas.DataFrame)
    csv = tmp_path / "matches.csv"
    export = [find_program(), "export", "qitown", "--data", str(tmp_path), "--table", "matches"]
    subprocess.run([*export, "--format", "csv", "--out", str(csv)], check=True)
    read = pandas.read_csv(csv)
    assert list(read.columns) == list(run.matches.columns)
    assert read["points"].sum() == run.matches["points"].sum()


def test_rows_can_be_read_one_by_one(tmp_path: Path) -> None:
    play(tmp_path, "qitown", ["tic_tac_toe"])
    run = ludex.read_run("qitown", data=tmp_path)
    assert list(run.iter_rows("matches")) == run.rows("matches")
    records = {record["episode"] for record in run.iter_rows("episodes")}
    assert records == {row["episode"] for row in run.rows("matches")}


def test_report_has_suite_and_summaries(tmp_path: Path) -> None:
    play(tmp_path, "qitown", ["tic_tac_toe"])
    about = ludex.read_run("qitown", data=tmp_path).report()["runs"][0]
    assert (about["run"], about["suite"]) == ("qitown", "qitown")
    assert [summary["summary"] for summary in about["summaries"]] == ["elo", "pss"]


def test_missing_run_is_an_error(tmp_path: Path) -> None:
    play(tmp_path, "qitown", ["tic_tac_toe"])
    other = ludex.read_run("other", data=tmp_path)
    with pytest.raises(ludex.LudexError, match="there is no run"):
        other.rows("matches")
    with pytest.raises(ludex.LudexError):
        other.report()
    assert json.loads((tmp_path / "runs" / "qitown" / "run.json").read_text())["run"] == "qitown"
