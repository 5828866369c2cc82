"""Logs for Inspect: their numbers equal those of the run, and Inspect's own tools read them."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from browser import wait_for_text
from inspect_ai.analysis import evals_df, messages_df, samples_df
from inspect_ai.log import (
    EvalLog,
    EvalSample,
    headline_metric,
    read_eval_log,
    read_eval_log_sample,
    read_eval_log_sample_summaries,
)
from viewer import running_viewer

import ludex
import ludex.inspect


@dataclass
class Played:
    """A run and its logs."""

    name: str
    data: Path
    verdict: dict[str, Any]
    paths: list[Path]

    @property
    def run(self) -> ludex.RunTables:
        return ludex.read_run(self.name, data=self.data)

    def logs(self) -> dict[str, EvalLog]:
        """Return the logs by agent."""
        logs = [read_eval_log(str(path), resolve_attachments=True) for path in self.paths]
        return {log.eval.metadata["agent"]: log for log in logs if log.eval.metadata}

    def rows(self, agent: str) -> dict[str, list[dict[str, Any]]]:
        """Return the rows of an agent in the table ``matches``, by match."""
        rows: dict[str, list[dict[str, Any]]] = {}
        for row in self.run.rows("matches"):
            if row["agent"] == agent and row["candidate"]:
                rows.setdefault(row["episode"], []).append(row)
        return rows


def play(program: str, data: Path, suite: str, agents: list[str], *more: str) -> Played:
    command = [program, "evaluate", "--data", str(data), "--suite", suite, "--run", suite, "--json"]
    for agent in agents:
        command += ["--agent", agent]
    done = subprocess.run([*command, *more], check=True, capture_output=True, text=True)
    paths = ludex.inspect.write_log(suite, data / "logs" / f"{suite}.eval", data=data)
    return Played(suite, data, json.loads(done.stdout), paths)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def quick(program: str, stub: str, data: Path) -> Played:
    """Two agents of one model, one of which chats, with and without prices."""
    priced = f"{stub} price_in=0.5 price_out=1.5"
    chat = f"{stub} prompting=chat history=4"
    return play(program, data, "quick", [priced, chat], "--scale", "0.1")


@pytest.fixture(scope="module")
def gtbench(program: str, stub: str, data: Path) -> Played:
    """A suite with summaries, variants, calls for several purposes, and an agent without calls."""
    parts = ["--part", "kuhn_poker", "--part", "tic_tac_toe"]
    return play(program, data, "gtbench", [stub, "random"], "--scale", "0.02", *parts)


@pytest.fixture(scope="module")
def botzonebench(program: str, stub: str, data: Path) -> Played:
    """A part in which an agent has two seats of a match."""
    parts = ["--part", "fight_the_landlord"]
    return play(program, data, "botzonebench", [stub], "--scale", "0.02", *parts)


@pytest.fixture(params=["quick", "gtbench", "botzonebench"])
def played(request: pytest.FixtureRequest) -> Played:
    found: Played = request.getfixturevalue(request.param)
    return found


def samples_of(log: EvalLog) -> list[EvalSample]:
    assert log.samples
    return log.samples


def test_samples_are_the_matches_of_each_candidate(played: Played) -> None:
    logs = played.logs()
    assert set(logs) == {row["agent"] for row in played.run.rows("matches") if row["candidate"]}
    for agent, log in logs.items():
        rows = played.rows(agent)
        assert log.status == "success"
        assert len(samples_of(log)) == len(rows)
        for sample in samples_of(log):
            own = rows[sample.metadata["episode"]]
            assert sample.metadata["seats"] == [row["seat"] for row in own]
            assert sample.metadata["refused"] == sum(row["refused"] for row in own)
            assert sample.metadata["points"] == own[0]["points"]
            assert sample.metadata["rules"] >= 1
            assert int(sample.metadata["seed"]) >= 0
            if not sample.metadata["counts"]:
                assert not sample.scores
                continue
            assert sample.scores
            assert sample.scores["refused"].value == sample.metadata["refused"]
            mean = sum(row["return"] for row in own) / len(own)
            assert sample.scores["return"].value == pytest.approx(mean)
            if own[0]["points"] is not None and len(own) == 1:
                words = {1.0: "win", 0.5: "draw", 0.0: "loss"}
                assert sample.scores["outcome"].value == words[own[0]["points"]]


def test_usage_equals_that_of_the_matches(played: Played) -> None:
    for agent, log in played.logs().items():
        rows = [row for rows in played.rows(agent).values() for row in rows]
        used = log.stats.model_usage.values()
        read = sum(usage.input_tokens + (usage.input_tokens_cache_read or 0) for usage in used)
        assert read == sum(row["tokens_in"] for row in rows)
        assert sum(usage.output_tokens for usage in used) == sum(row["tokens_out"] for row in rows)
        costs = [usage.total_cost for usage in used]
        if "price_in" in agent:
            assert sum(costs) == pytest.approx(sum(row["usd"] or 0 for row in rows))
        else:
            assert not any(costs)


def test_mean_scores_equal_those_of_the_report(played: Played) -> None:
    compared = 0
    results = {one["name"]: one["results"] for one in played.run.report()["runs"][0]["agents"]}
    for agent, log in played.logs().items():
        assert log.results
        points = next(score for score in log.results.scores if score.name == "points")
        for part in results[agent]:
            if part["score"] is not None:
                assert points.metrics[part["part"]].value == pytest.approx(part["score"]["value"])
                compared += 1
        counted = [s.metadata["points"] for s in samples_of(log) if s.metadata["counts"]]
        decided = [value for value in counted if value is not None]
        assert points.metrics["mean"].value == pytest.approx(sum(decided) / len(decided))
        assert points.scored_samples == len(decided)
    assert compared > 0


def test_headline_is_the_first_summary_of_the_suite(gtbench: Played) -> None:
    summaries = [one for one in gtbench.verdict["summaries"] if one["summary"] == "nra"]
    values = {one["agent"]: one["value"] for one in summaries}
    for agent, log in gtbench.logs().items():
        found = headline_metric(log)
        assert found is not None
        assert found.name == "nra"
        assert found.metric.value == pytest.approx(values[agent])


def test_headline_without_summaries_is_the_mean_score(quick: Played) -> None:
    for log in quick.logs().values():
        assert log.results
        found = headline_metric(log)
        assert found is not None
        assert (found.score.name, found.name) == ("points", "mean")


def test_conversation_has_each_call_once(played: Played) -> None:
    calls: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for call in played.run.rows("calls"):
        calls.setdefault((call["episode"], call["seat"]), []).append(call)
    compared = 0
    for log in played.logs().values():
        for sample in samples_of(log):
            seats = [(sample.metadata["episode"], seat) for seat in sample.metadata["seats"]]
            own = [call for seat in seats for call in calls.get(seat, [])]
            replies = [m.text for m in sample.messages if m.role == "assistant"]
            assert replies == [call["answer"] for call in own]
            ids = [message.id for message in sample.messages]
            assert len(ids) == len(set(ids))
            events = [event for event in sample.events if event.event == "model"]
            for call, event in zip(own, events, strict=True):
                prompt = [{"role": m.role, "content": m.text} for m in event.input]
                assert prompt == json.loads(call["messages"])
                assert event.output.completion == call["answer"]
                compared += 1
    assert compared == len(played.run.rows("calls"))


def test_chat_repeats_no_message(quick: Played) -> None:
    for agent, log in quick.logs().items():
        if "prompting=chat" in agent:
            longest = max(samples_of(log), key=lambda sample: len(sample.events))
            roles = [message.role for message in longest.messages]
            assert len(longest.events) > 4, "longer than the history"
            assert roles == ["system", *["user", "assistant"] * len(longest.events)]


def test_data_frames_have_the_run(quick: Played, gtbench: Played) -> None:
    paths = [str(path) for played in (quick, gtbench) for path in played.paths]
    evals = evals_df(paths)
    assert sorted(set(evals["task_name"])) == ["gtbench", "quick"]
    assert evals["eval_id"].is_unique
    assert evals["task_id"].is_unique, "logs of one task id are retries of each other"
    samples = samples_df(paths)
    assert samples["sample_id"].is_unique
    rows = [row for played in (quick, gtbench) for row in played.run.rows("matches")]
    counted = [row["points"] or 0 for row in rows if row["candidate"] and row["counts"]]
    assert samples["score_points"].sum() == pytest.approx(sum(counted))
    # Inspect drops a reply that equals the previous one, as samples of a stub do.
    messages = messages_df([str(path) for path in quick.paths])
    assert (messages["role"] == "assistant").sum() == len(quick.run.rows("calls"))


def test_samples_can_be_read_one_by_one(quick: Played) -> None:
    path = str(quick.paths[0])
    summaries = read_eval_log_sample_summaries(path)
    orders = [summary.metadata["order"] for summary in summaries]
    assert orders == sorted(orders)
    sample = read_eval_log_sample(path, id=summaries[0].id, epoch=1)
    assert sample.scores is not None
    assert summaries[0].scores is not None
    assert sample.scores["return"].value == summaries[0].scores["return"].value


def test_log_written_again_is_the_same(quick: Played, tmp_path: Path) -> None:
    again = ludex.inspect.write_log(quick.name, tmp_path / "quick.eval", data=quick.data)
    assert [path.name for path in again] == [path.name for path in quick.paths]
    for one, other in zip(again, quick.paths, strict=True):
        assert read_eval_log(str(one)).model_dump() == read_eval_log(str(other)).model_dump()
    assert sorted(tmp_path.iterdir()) == sorted(again)


def test_command_line_writes_and_inspect_dumps(gtbench: Played, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ludex.inspect", gtbench.name, "--data", str(gtbench.data)]
    out = tmp_path / "logs" / "gt.eval"
    done = subprocess.run([*command, "--out", str(out)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    paths = done.stdout.split()
    assert len(paths) == 8, "two agents in four variants"
    dump = [Path(sys.executable).with_name("inspect"), "log", "dump", paths[0]]
    text = subprocess.run(dump, check=True, capture_output=True, text=True).stdout
    assert json.loads(text)["eval"]["task"] == "gtbench"
    wrong = subprocess.run([*command, "--out", "gt.json"], capture_output=True, text=True)
    assert wrong.returncode == 1
    assert "expected the suffix .eval, got gt.json" in wrong.stderr


def test_reported_usage_of_a_function_is_in_its_log(tmp_path: Path) -> None:
    def agent(turn: ludex.Turn) -> int:
        turn.notes["tokens"] = {"in": 5, "out": 2}
        return turn.legal[0]

    ludex.evaluate(None, "quick", agent, "mine", data=tmp_path, only=["nim"], scale=0.1)
    paths = ludex.inspect.write_log("mine", tmp_path / "mine.eval", data=tmp_path)
    assert paths == [tmp_path / "mine.eval"]
    log = read_eval_log(str(paths[0]))
    played = Played("mine", tmp_path, {}, paths)
    turns = sum(row["turns"] for rows in played.rows("mine").values() for row in rows)
    usage = log.stats.model_usage[log.eval.model]
    assert (usage.input_tokens, usage.output_tokens) == (5 * turns, 2 * turns)
    assert not any(sample.messages for sample in samples_of(log))
    assert str(samples_of(log)[0].input).startswith("Play nim as ")


def test_bundle_and_folder_are_read(quick: Played, program: str, tmp_path: Path) -> None:
    bundle = tmp_path / "quick.tar.gz"
    export = [program, "export", "quick", "--data", quick.data, "--bundle", bundle]
    subprocess.run(export, check=True, capture_output=True)
    for run in (str(bundle), str(quick.data / "runs" / "quick")):
        paths = ludex.inspect.write_log(run, tmp_path / "logs" / "quick.eval", data=tmp_path)
        for one, other in zip(paths, quick.paths, strict=True):
            log = read_eval_log(str(one), header_only=True)
            assert log.results == read_eval_log(str(other), header_only=True).results


def test_missing_run_leaves_no_file(data: Path, tmp_path: Path) -> None:
    with pytest.raises(ludex.LudexError, match="there is no run"):
        ludex.inspect.write_log("other", tmp_path / "other.eval", data=data)
    assert not list(tmp_path.iterdir())


def test_viewer_displays_the_log(quick: Played) -> None:
    path = quick.paths[0]
    with running_viewer(path.parent) as url:
        samples = read_eval_log_sample_summaries(str(path))
        wait_for_text(f"{url}/#/tasks/{path.name}", "points", f"{len(samples)} Samples")
        name = str(samples[0].id).replace("/", "%2F")
        page = f"{url}/#/tasks/{path.name}/samples/sample/{name}/1/messages"
        wait_for_text(page, str(samples[0].id), "USER", "Which move do you make?", "ASSISTANT")


def test_whole_suite_has_a_log(program: str, tmp_path: Path) -> None:
    """A run of a whole suite has no extent in its report."""
    suite = tmp_path / "whole.toml"
    suite.write_text(
        'name = "whole"\nversion = 1\ntitle = "Whole"\n'
        '[[part]]\nid = "nim"\ngame = "nim"\nschedule = "against"\n'
        'opponents = ["random"]\nblocks = 1\n'
    )
    command = [program, "evaluate", "--data", str(tmp_path), "--suite", str(suite)]
    subprocess.run([*command, "--run", "whole", "--agent", "random"], check=True)
    (path,) = ludex.inspect.write_log("whole", tmp_path / "whole.eval", data=tmp_path)
    log = read_eval_log(str(path))
    assert log.eval.dataset.samples == 2
    assert log.eval.metadata is not None
    assert "share" not in log.eval.metadata
