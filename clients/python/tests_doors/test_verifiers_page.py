"""The commands for verifiers on the page on training language models."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

from page import listed_versions, run_commands


def test_commands_of_the_page_work(endpoint: str, tmp_path: Path) -> None:
    run_commands("verifiers", tmp_path, MODEL="stub", URL=endpoint, KEY="none")
    sizes = []
    for traces in tmp_path.glob("outputs/*/traces.jsonl"):
        episodes = [json.loads(line) for line in traces.read_text().splitlines()]
        assert all(episode["ok"] for episode in episodes)
        sizes.append((len(episodes), {len(episode["traces"]) for episode in episodes}))
    assert sorted(sizes, key=repr) == [(4, {1}), (4, {2})]


def test_page_lists_the_installed_versions() -> None:
    listed = listed_versions()
    for package in ("verifiers",):
        assert version(package) == listed[package]
