"""The package for verifiers under its own commands: one model, two models, a frozen rival."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import one_world
import pytest
import verifiers.v1 as vf
from ludex_verifiers import LudexConfig, LudexEnv, LudexEnvConfig, LudexTaskset

import ludex

BIN = Path(sys.executable).parent
KEY = "STUB_KEY"


def run(folder: Path, command: str, *options: str) -> str:
    """Run a command of verifiers; return what it prints."""
    done = subprocess.run(
        [str(BIN / command), "ludex-verifiers", *options],
        cwd=folder,
        env={**os.environ, KEY: "none"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def evaluate(folder: Path, endpoint: str, *options: str) -> list[dict[str, Any]]:
    """Run ``vf-eval`` with the stub; return its episodes."""
    model = ["-m", "stub", "--client.base-url", endpoint, "--client.api-key-var", KEY]
    run(folder, "vf-eval", *model, "--no-push", "--no-rich", *options)
    (traces,) = folder.glob("outputs/*/traces.jsonl")
    return [json.loads(line) for line in traces.read_text().splitlines()]


def messages(trace: dict[str, Any]) -> list[dict[str, str]]:
    return [node["message"] for node in trace["nodes"]]


def test_tasks_of_all_games_are_valid(tmp_path: Path) -> None:
    output = run(
        tmp_path,
        "vf-validate",
        *("--taskset.game", "all", "--taskset.num-tasks", "1", "--only-gold"),
        *("--runtime.type", "subprocess", "--no-rich"),
    )
    summary = json.loads(output[output.index("{") :])
    with ludex.serve() as server, ludex.Client(server.url) as client:
        games = len(client.games())
    assert (summary["outcomes"]["valid"], summary["total"]) == (games, games)


def test_untouched_tasks_are_no_solutions(tmp_path: Path) -> None:
    output = run(
        tmp_path,
        "vf-validate",
        *("--taskset.num-tasks", "2", "--runtime.type", "subprocess", "--no-rich"),
    )
    summary = json.loads(output[output.index("{") :])
    assert summary["outcomes"]["invalid"] == summary["outcomes"]["error"] == 0
    assert summary["checks"]["gold"]["valid"] == 2


def test_splits_have_no_seed_in_common() -> None:
    def seeds(split: str) -> set[int]:
        config = LudexConfig(id="ludex-verifiers", game="nim", num_tasks=10, split=split)  # type: ignore[arg-type]
        return {task.data.seed for task in LudexTaskset(config)}

    assert len(seeds("train")) == len(seeds("eval")) == 5
    assert not seeds("train") & seeds("eval")


def test_matches_equal_those_of_the_evaluation(
    program: str, world_model: str, tmp_path: Path
) -> None:
    world = one_world.reference(program, world_model, tmp_path / "reference")
    seeds = list(dict.fromkeys(match.seed for match in world.matches))
    with one_world.recording_server(tmp_path / "store") as url:
        episodes = evaluate(
            tmp_path,
            world_model,
            *("--env.taskset.game", one_world.GAME, "--env.taskset.seeds", json.dumps(seeds)),
            *("--env.taskset.opponents", one_world.OPPONENT, "--env.taskset.url", url),
            *("--env.taskset.settings", json.dumps(one_world.SETTINGS)),
            *("--env.taskset.record", "True"),
        )
    matches = []
    for episode in episodes:
        (trace,) = episode["traces"]
        data = trace["task"]["data"]
        reward = trace["rewards"]["reward"]["score"]
        matches.append(one_world.match_of(data["seed"], data["seat"], messages(trace), reward))
    assert sorted(matches, key=repr) == sorted(world.matches, key=repr)
    assert one_world.recorded_moves(program, tmp_path / "store") == world.moves


@pytest.mark.parametrize("train_rival", [True, False])
def test_two_models_play_each_other(endpoint: str, tmp_path: Path, train_rival: bool) -> None:
    episodes = evaluate(
        tmp_path,
        endpoint,
        *("--env.taskset.game", "tic_tac_toe", "--env.taskset.num-tasks", "4"),
        *("--env.self-play", "True", "--env.train-rival", str(train_rival)),
    )
    assert len(episodes) == 4
    for episode in episodes:
        assert episode["ok"], episode["errors"]
        traces = {trace["agent"]["name"]: trace for trace in episode["traces"]}
        assert traces["rival"]["agent"]["trainable"] == train_rival
        assert traces["player"]["agent"]["trainable"]
        rewards = [trace["rewards"]["reward"]["score"] for trace in traces.values()]
        assert sum(rewards) == 0
        seat = traces["player"]["task"]["data"]["seat"]
        names = ["player", "rival"] if seat == 0 else ["rival", "player"]
        for mark, name in zip("xo", names, strict=True):
            assert messages(traces[name])[1]["content"].startswith(f"You are {mark},")


def test_model_without_moves_loses(program: str, tmp_path: Path) -> None:
    from conftest import running_stub

    with running_stub(program, "--prose", "1") as endpoint:
        (episode,) = evaluate(
            tmp_path,
            endpoint,
            *("--env.taskset.num-tasks", "1", "--env.tries", "2"),
            *("--env.scale", "unit", "--env.penalty", "0.25"),
        )
    (trace,) = episode["traces"]
    assert trace["metrics"]["forfeit"] == 1
    assert trace["metrics"]["unparsed"] == 2
    assert trace["rewards"]["reward"]["score"] == 0
    assert "your answer was refused" in messages(trace)[3]["content"]


def test_seats_are_the_agents_of_the_environment() -> None:
    config = LudexEnvConfig(taskset=LudexConfig(id="ludex-verifiers"))
    assert isinstance(vf.load_environment(config), LudexEnv)
