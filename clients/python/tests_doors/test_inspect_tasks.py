"""The tasks for Inspect under its own command, in its logs and in its viewer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import one_world
import pytest
from inspect_ai.log import EvalLog, EvalSample, read_eval_log

import ludex
import ludex.inspect
from ludex.catalogue import GAMES

INSPECT = Path(sys.executable).parent / "inspect"


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    with ludex.serve(tmp_path / "store") as server:
        yield server.url


def run(folder: Path, endpoint: str, task: str, *options: str) -> EvalLog:
    """Run a task with the model of an endpoint; return its log."""
    command = [str(INSPECT), "eval", task, "--model", "openai-api/stub/m", "--display", "none"]
    done = subprocess.run(
        [*command, "--log-dir", "logs", *options],
        cwd=folder,
        env={**os.environ, "STUB_BASE_URL": endpoint, "STUB_API_KEY": "none"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (log,) = (folder / "logs").glob("*.eval")
    return read_eval_log(str(log), resolve_attachments=True)


def samples(log: EvalLog) -> list[EvalSample]:
    assert log.status == "success", log.error
    assert log.samples
    return log.samples


def test_every_game_is_a_task() -> None:
    program = "from inspect_ai._util.registry import registry_find, registry_info as info\n"
    program += "from inspect_ai._util.entrypoints import ensure_entry_points\n"
    program += "ensure_entry_points('ludex')\n"
    program += "print([info(t).name for t in registry_find(lambda i: i.type == 'task')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    found = {name.partition("/")[2] for name in json.loads(done.stdout.replace("'", '"'))}
    assert found >= {"game", "suite", *GAMES}, done.stderr


def test_matches_have_scores(endpoint: str, url: str, tmp_path: Path) -> None:
    log = run(tmp_path, endpoint, "ludex/kuhn_poker", "-T", "matches=6", "-T", f"url={url}")
    assert log.eval.task == "ludex/kuhn_poker"
    assert len(samples(log)) == 6
    for sample in samples(log):
        assert sample.scores
        value = sample.scores["episode_result"].value
        assert isinstance(value, dict)
        turns = [message for message in sample.messages if message.role == "assistant"]
        assert value["moves"] + value["refused"] == len(turns)
        assert value["return"] in (-2, -1, 1, 2)
    assert log.results
    returns = next(score for score in log.results.scores if score.name == "return")
    values = [sample.scores["episode_result"].value["return"] for sample in samples(log)]  # type: ignore[index, call-overload]
    assert returns.metrics["mean"].value == pytest.approx(sum(values) / len(values))


def test_limit_of_a_task_ends_a_match(endpoint: str, url: str, tmp_path: Path) -> None:
    options = ["-T", f"url={url}", "-T", "matches=1", "--message-limit", "4"]
    log = run(tmp_path, endpoint, "ludex/connect_four", *options)
    (sample,) = samples(log)
    assert sample.limit
    assert sample.limit.type == "message"
    assert sample.scores
    value = sample.scores["episode_result"].value
    assert isinstance(value, dict)
    assert (value["moves"], value["return"]) == (1, -1)


def test_matches_equal_those_of_the_evaluation(
    program: str, world_model: str, url: str, tmp_path: Path
) -> None:
    world = one_world.reference(program, world_model, tmp_path / "reference")
    seeds = list(dict.fromkeys(match.seed for match in world.matches))
    arguments = {"game": one_world.GAME, "opponents": one_world.OPPONENT, "matches": 100}
    arguments |= {"seeds": seeds, "url": url, "record": True, "settings": one_world.SETTINGS}
    file = tmp_path / "arguments.json"
    file.write_text(json.dumps(arguments))
    log = run(tmp_path, world_model, "ludex/game", "--task-config", str(file))
    matches = []
    for sample in samples(log):
        talk = [{"role": m.role, "content": m.text} for m in sample.messages]
        seed, seat = sample.metadata["seed"], sample.metadata["seat"]
        assert sample.scores
        result = sample.scores["episode_result"].value["return"]  # type: ignore[index, call-overload]
        matches.append(one_world.match_of(seed, seat, talk, result))  # type: ignore[arg-type]
    assert sorted(matches, key=repr) == sorted(world.matches, key=repr)
    assert one_world.recorded_moves(program, tmp_path / "store") == world.moves


def test_suite_is_one_run_whose_report_is_a_metric(endpoint: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    options = [f"data={data}", "run=trial", "scale=0.1", "arguments=prompting=chat"]
    log = run(tmp_path, endpoint, "ludex/suite", *(o for one in options for o in ("-T", one)))
    tables = ludex.read_run("trial", data=data)
    rows = [row for row in tables.rows("matches") if row["candidate"] and row["counts"]]
    assert log.results
    by_name = {score.name: score for score in log.results.scores}
    (agent,) = tables.report()["runs"][0]["agents"]
    wanted = {one["part"]: one["score"]["value"] for one in agent["results"] if one["score"]}
    metrics = by_name["run_report"].metrics
    assert {name: metric.value for name, metric in metrics.items()} == pytest.approx(wanted)
    # Each match is in one sample, with its result and its conversation.
    seen = {}
    calls_of = Counter(call["episode"] for call in tables.rows("calls"))
    for sample in samples(log):
        assert sample.scores
        own = (sample.scores["matches_result"].metadata or {})["matches"]
        seen |= {(row["episode"], row["seat"]): row["return"] for row in own}
        calls = [event for event in sample.events if event.event == "model"]
        # The first call of a shard checks the endpoint.
        assert len(calls) == 1 + sum(calls_of[row["episode"]] for row in own)
        replies = [message for message in sample.messages if message.role == "assistant"]
        assert len(replies) == len(calls)
    assert len(seen) == len(rows)
    # The same run as a log with a sample for each match.
    (path,) = ludex.inspect.write_log("trial", tmp_path / "matches.eval", data=data)
    assert len(samples(read_eval_log(str(path)))) == len(rows)


def test_limit_of_a_task_ends_a_shard(endpoint: str, tmp_path: Path) -> None:
    options = ["-T", "scale=0.1", "-T", "data=data", "--limit", "1", "--token-limit", "1000"]
    log = run(tmp_path, endpoint, "ludex/suite", *options)
    (sample,) = samples(log)
    assert sample.limit
    assert sample.limit.type == "token"


def test_limited_suite_has_no_report(endpoint: str, tmp_path: Path) -> None:
    options = ["-T", "scale=0.1", "-T", "shards=6", "-T", "data=data", "--limit", "2"]
    log = run(tmp_path, endpoint, "ludex/suite", *options)
    assert len(samples(log)) == 2
    assert log.results
    by_name = {score.name: score for score in log.results.scores}
    assert "points" in by_name
    assert not by_name["run_report"].metrics


def test_gateway_refuses_unknown_keys() -> None:
    from http.client import HTTPConnection
    from urllib.parse import urlsplit

    from ludex.inspect.gateway import Gateway

    where = urlsplit(Gateway().url)
    for headers in ({}, {"Authorization": "Bearer "}, {"Authorization": "Bearer guess"}):
        connection = HTTPConnection(where.hostname or "", where.port)
        connection.request("POST", "/v1/chat/completions", b"{}", headers)
        assert connection.getresponse().status == 401
        connection.close()
