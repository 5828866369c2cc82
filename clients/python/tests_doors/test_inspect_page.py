"""The commands for Inspect on the page on training language models, and their logs."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from browser import wait_for_text
from inspect_ai.log import EvalLog, read_eval_log
from page import listed_versions, run_commands
from viewer import running_viewer


def test_commands_of_the_page_write_logs(endpoint: str, tmp_path: Path) -> None:
    access = {"STUB_BASE_URL": endpoint, "STUB_API_KEY": "none"}
    listed = run_commands("Inspect", tmp_path, MODEL="openai-api/stub/m", **access)
    logs = {log.eval.task: path for path, log in _logs(tmp_path / "logs")}
    assert set(logs) == {"ludex/connect_four", "ludex/suite", "quick"}
    assert all(path.name in listed for path in logs.values())
    with running_viewer(tmp_path / "logs") as url:
        game, suite = logs["ludex/connect_four"].name, logs["ludex/suite"].name
        wait_for_text(f"{url}/#/tasks/{game}", "connect_four", "4 Samples", "forfeit")
        wait_for_text(f"{url}/#/tasks/{suite}", "run_report", "Shard 7 of 7")


def _logs(folder: Path) -> list[tuple[Path, EvalLog]]:
    return [(path, read_eval_log(str(path))) for path in folder.glob("*.eval")]


def test_page_lists_the_installed_versions() -> None:
    listed = listed_versions()
    for package in ("inspect_ai",):
        assert version(package) == listed[package]
