"""The language-model example with memory, against the stub endpoint."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SCAFFOLD = Path(__file__).parent.parent / "examples" / "scaffold.py"


class Stub:
    """Run ``ludex check llm-stub``, which optionally exits after a number of requests."""

    def __init__(self, program: str, *args: str) -> None:
        pipe = subprocess.PIPE
        command = [program, "check", "llm-stub", "--json", *args]
        self._process = subprocess.Popen(command, stdout=pipe, stderr=subprocess.DEVNULL)
        assert self._process.stdout is not None
        self.url = str(json.loads(self._process.stdout.readline())["url"])

    def __enter__(self) -> Stub:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()


def play(stub: Stub, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCAFFOLD), "--endpoint", stub.url, "--model", "stub"]
    command += ["--price-in", "1", "--price-out", "2", "--scale", "0.05", "--only", "nim", "pig"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_scaffold_keeps_memory_and_reports_usage(program: str, tmp_path: Path) -> None:
    memory = tmp_path / "memory" / "scaffold"
    with Stub(program, "--down-after", "12") as stub:
        interrupted = play(stub, tmp_path)
        assert interrupted.returncode == 1
        assert "in ask" in interrupted.stderr, interrupted.stderr  # only the call failed
    files = list(memory.glob("*.json"))
    under_way = {
        file.stem.rpartition("-")[0]: json.loads(file.read_text())["talk"] for file in files
    }
    assert under_way
    with Stub(program) as stub:
        done = play(stub, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "run scaffold (done)" in done.stdout
    # Notes of early matches are part of later prompts.
    noted = (memory / "notes.txt").read_text().splitlines()
    late = [json.loads(file.read_text())["talk"][0]["content"] for file in memory.glob("*.json")]
    assert any(f"- {note}" in system for note in noted for system in late)

    lines = (tmp_path / "ludex-data/runs/scaffold/episodes.jsonl").read_text().splitlines()
    records: dict[str, Any] = {record["episode"]: record for record in map(json.loads, lines)}
    moves = [
        event
        for record in records.values()
        for event in record["events"]
        if event["kind"] == "move" and record["seats"][event["seat"]]["name"] == "scaffold"
    ]
    assert moves
    for move in moves:
        notes = move["notes"]
        assert notes["calls"] >= 1
        cost = (notes["tokens"]["in"] + 2 * notes["tokens"]["out"]) / 1e6
        assert abs(notes["cost"] - cost) < 1e-12
    # The conversation of an interrupted match is continued.
    for match, before in under_way.items():
        mine = [e for e in records[match]["events"] if e["kind"] == "move" and e.get("notes")]
        answers = [line["content"] for line in before if line["role"] == "assistant"]
        told = [move["notes"]["analysis"] for move in mine]
        assert [answer[:2000] for answer in answers] == told[: len(answers)]
