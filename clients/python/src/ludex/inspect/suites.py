"""Solver, scorers and metric of suites: each sample plays a shard of one run."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from inspect_ai.model import get_model
from inspect_ai.scorer import (
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    Value,
    mean,
    metric,
    scorer,
    stderr,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver

from ..errors import LudexError
from ..process import find_program
from ..run_tables import read_run
from .gateway import Gateway

KEY_VARIABLE = "LUDEX_INSPECT_KEY"


@solver
def play_shard(suite: str, run: str, data: str, scale: float, arguments: str) -> Solver:
    """Play the shard in the metadata of the sample with ``ludex evaluate``.

    The program calls the model of Inspect through a gateway. Requests, replies and usage are in
    the transcript of the sample.

    Args:
        suite: name or file of the suite.
        run: name of the run.
        data: data folder.
        scale: share of the suite to play.
        arguments: further arguments of the agent ``llm``, such as ``"prompting=cot"``.
    """
    gateway = Gateway()

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        model = str(get_model())
        agent = f"llm model={model} base_url={gateway.url} key_env={KEY_VARIABLE} {arguments}"
        with gateway.caller() as caller:
            command = [find_program(), "evaluate", "--data", data, "--suite", suite, "--run", run]
            command += ["--shard", state.metadata["shard"], "--scale", str(scale)]
            process = await asyncio.create_subprocess_exec(
                *command,
                *("--agent", agent.strip(), "--json"),
                env={**os.environ, KEY_VARIABLE: caller.key},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
            try:
                _, errors = await process.communicate()
            finally:
                # A limit may have ended the sample before the program.
                if process.returncode is None:
                    process.kill()
            state.messages = list(caller.messages) or state.messages
        if caller.failure is not None:
            raise caller.failure
        if process.returncode:
            raise LudexError("bad_field", f"ludex evaluate: {errors.decode().strip()}")
        return state

    return solve


def shard_name(run: str, shard: str) -> str:
    """Return the name of the run folder of a shard such as ``2/8``."""
    return f"{run}.{shard.replace('/', '-of-')}"


@scorer(metrics={"*": [mean(), stderr()]})
def matches_result(run: str, data: str) -> Scorer:
    """Score the matches of a shard: means of the model's points, returns and refused answers.

    The explanation and the metadata have each match.
    """

    async def score(state: TaskState, target: Target) -> Score:
        name = shard_name(run, state.metadata["shard"])
        try:
            rows = await asyncio.to_thread(_rows, name, data)
        except LudexError as error:
            return Score.unscored(explanation=f"the shard has no run: {error}")
        if not rows:
            return Score.unscored(explanation="the shard has no match")
        columns = {
            key: [row[key] for row in rows if row[key] is not None]
            for key in ("points", "return", "refused")
        }
        value = {key: sum(found) / len(found) for key, found in columns.items() if found}
        lines = [
            f"{row['part']} against {row['opponent']}, seat {row['seat']}: return {row['return']}"
            for row in rows
        ]
        return Score(value=value, explanation="\n".join(lines), metadata={"matches": rows})

    return score


def _rows(name: str, data: str) -> list[dict[str, Any]]:
    """Return the counted results of the model in a shard."""
    rows = read_run(name, data=data).rows("matches")
    return [row for row in rows if row["candidate"] and row["counts"]]


@metric
def report() -> Metric:
    """Return the scores of the parts, and the summaries of the suite, in the report of the run.

    The shards are merged into the run first. While some have not been played, there is no value.
    """

    def compute(scores: list[SampleScore]) -> Value:
        shards = {str(score.score.answer) for score in scores}
        about = scores[0].score.metadata if scores else None
        if about is None or len(shards) < about["shards"]:
            return {}
        run, data = about["run"], about["data"]
        if not (Path(data) / "runs" / run).exists():
            _merge([shard_name(run, shard) for shard in sorted(shards)], data)
        return report_values(read_run(run, data=data).report()["runs"][0])

    return compute


@scorer(metrics=[report()])
def run_report(run: str, data: str) -> Scorer:
    """Score a shard by 1 if it has been played to its end; the metric reads the whole run."""

    async def score(state: TaskState, target: Target) -> Score:
        shard = state.metadata["shard"]
        about = {"run": run, "data": data, "shards": int(shard.partition("/")[2])}
        return Score(value=1, answer=shard, metadata=about)

    return score


def report_values(run: Mapping[str, Any]) -> dict[str, str | int | float | bool | None]:
    """Return the model's score in each part of a run, and the summaries of the suite.

    Args:
        run: the run in the data of its report.
    """
    (agent,) = run["agents"]
    parts = {one["part"]: one["score"]["value"] for one in agent["results"] if one["score"]}
    summaries = {
        summary["summary"]: score["value"]
        for summary in run.get("summaries") or []
        for score in summary["scores"]
    }
    return parts | summaries


def _merge(shards: Sequence[str], data: str) -> None:
    """Merge the run folders of all shards into one run."""
    command = [find_program(), "evaluate", "--data", data, "--merge", *shards, "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise LudexError("bad_field", f"ludex evaluate --merge: {done.stderr.strip()}")


def count_matches(suite: str) -> int:
    """Return the number of matches in the plan of a suite for one model.

    Raises:
        LudexError: ``unknown_suite``; ``bad_field`` if the matches depend on other candidates.
    """
    done = subprocess.run(
        [find_program(), "suites", suite, "--json"], capture_output=True, text=True
    )
    if done.returncode:
        raise LudexError("unknown_suite", done.stderr.strip(), got=suite)
    matches = json.loads(done.stdout)["matches"]
    if not matches:
        raise LudexError("bad_field", f"the candidates of {suite} play each other only", got=suite)
    return int(matches)
