"""The baselines train, save, resume and export; equal seeds give equal weights."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import ludex.onnx

BASELINES = Path(__file__).parent.parent / "baselines"
PPO = ["--envs", "8", "--rollout", "16", "--save-every", "2"]
DQN = ["--envs", "8", "--warm-up", "100", "--opponent", "self", "--save-every", "20"]
PLANS = ["--envs", "16", "--episodes", "16", "--save-every", "2"]
SCRIPTS = [
    ("ppo_self_play", "connect_four", 500, PPO),
    ("ppo_self_play", "iterated_prisoners_dilemma", 500, PPO),
    ("mmd", "leduc_poker", 500, PPO),
    ("dqn", "tic_tac_toe", 600, DQN),
    ("reinforce_plans", "battle_cards", 600, PLANS),
    ("cfr", "kuhn_poker", 50, ["--save-every", "10", "--view", "tensor"]),
    ("alphazero", "tic_tac_toe", 100, ["--sims", "4", "--games", "8"]),
]


def run(script: str, *options: str) -> str:
    command = [sys.executable, str(BASELINES / f"{script}.py"), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def weights(file: Path) -> list[np.ndarray]:
    model = onnx.load(file, load_external_data=False)
    return [onnx.numpy_helper.to_array(entry) for entry in model.graph.initializer]


@pytest.mark.parametrize(("script", "game", "steps", "few"), SCRIPTS)
def test_baseline_trains_and_resumes(
    url: str, tmp_path: Path, script: str, game: str, steps: int, few: list[str]
) -> None:
    common = ["--url", url, "--game", game, *few]
    outputs = [tmp_path / name for name in ("a.onnx", "b.onnx", "c.onnx")]
    checkpoint, track = tmp_path / "checkpoint", tmp_path / "track"
    once = ["--steps", str(steps), "--checkpoint", str(checkpoint), "--track", str(track)]
    run(script, *common, *once, "--export", str(outputs[0]))
    ludex.onnx.check(outputs[0], game, url=url)
    assert outputs[0].stat().st_size < 300_000
    assert list(track.glob("events.out.tfevents.*"))

    run(script, *common, "--steps", str(steps), "--export", str(outputs[1]))
    first, second = weights(outputs[0]), weights(outputs[1])
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))

    twice = ["--steps", str(9 * steps), "--until", str(2 * steps), "--checkpoint", str(checkpoint)]
    shown = run(script, *common, *twice, "--export", str(outputs[2]))
    counts = [int(count) for count in re.findall(r"^ *(\d+) steps", shown, re.MULTILINE)]
    assert min(counts) >= steps, "the second run continues the first"
    assert max(counts) < 4 * steps, "and stops before its budget is spent"
    assert not all(np.array_equal(a, b) for a, b in zip(first, weights(outputs[2]), strict=True))


def test_mmd_is_less_exploitable_than_uniform(url: str, tmp_path: Path) -> None:
    file = str(tmp_path / "kuhn.onnx")
    common = ["--url", url, "--game", "kuhn_poker"]
    run("mmd", *common, "--steps", "100000", "--export", file)
    shown = run("cfr", *common, "--view", "tensor", "--measure", file)
    exploitability = float(shown.split()[-1])
    # The uniform policy has 0.458.
    assert exploitability < 0.15, shown


def test_cfr_converges(url: str, tmp_path: Path) -> None:
    file = tmp_path / "kuhn.onnx"
    common = ["--url", url, "--game", "kuhn_poker"]
    shown = run("cfr", *common, "--steps", "200", "--export", str(file))
    found = [float(value) for value in re.findall(r"exploitability (\d+\.\d+)", shown)]
    assert found[0] == pytest.approx(11 / 24, abs=1e-4), "the uniform policy of Kuhn poker"
    assert found[-1] < 0.005
    ludex.onnx.check(file, "kuhn_poker", view="info", url=url)
    measured = run("cfr", *common, "--measure", str(file))
    assert float(measured.split()[-1]) == pytest.approx(found[-1], abs=1e-4), "the file is exact"


def test_table_resumes_and_adds_a_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(BASELINES))
    table = importlib.import_module("table")
    agent = f"{table.MIXED} view=info"
    plan = table.Plan("kuhn_poker", "cfr.py", (40, 200), agent=agent, levels=(0,))
    monkeypatch.setattr(table, "PLANS", [plan])
    state, page = tmp_path / "table.json", tmp_path / "page.md"
    (tmp_path / "pictures").mkdir()
    page.write_text(f"Before.\n{table.BEGIN}\n{table.END}\nAfter.\n")

    def points(budgets: int) -> list[dict[str, float]]:
        command = ["table.py", "--budgets", str(budgets), "--blocks", "2", "--curve-blocks", "2"]
        command += ["--state", str(state), "--page", str(page), "--work", str(tmp_path / "work")]
        monkeypatch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit) as ended:
            table.main()
        assert ended.value.code == 0, capsys.readouterr().out
        rows = json.loads(state.read_text())
        assert len(rows) == 1
        return rows[0]["points"]

    first = points(1)
    assert [point["steps"] for point in first] == [10, 20, 40]
    second = points(2)
    assert second[:3] == first, "stages are measured once"
    assert [point["steps"] for point in second[3:]] == [80, 120, 160, 200]
    assert second[-1]["exploitability"] < first[0]["exploitability"]
    minutes = [point["minutes"] for point in second]
    assert minutes == sorted(minutes)
    written = page.read_text()
    assert written.startswith("Before.\n")
    assert written.endswith("After.\n")
    assert written.count("| kuhn_poker |") == 2, "a line for each budget"
    assert (tmp_path / "pictures" / "baselines.svg").exists()
