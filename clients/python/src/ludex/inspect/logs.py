"""Logs of a run: :func:`write_log`."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import inspect_ai
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalLog,
    EvalPlan,
    EvalPlanStep,
    EvalSpec,
    EvalStats,
)
from inspect_ai.model import ModelUsage

from ..__about__ import __version__
from ..errors import LudexError
from ..run_tables import RunTables, read_run
from .conversation import total_usage
from .log_file import LogFile
from .matches import AgentMatch, Row, by_episode, candidate_matches
from .results import Scores
from .samples import build_sample

# Longest part of an agent's name in the name of a file, in characters.
MAX_SLUG = 60


class AgentLog:
    """Log of one candidate of a run."""

    def __init__(self, agent: str, run: Mapping[str, Any], file: LogFile) -> None:
        self._agent = agent
        self._run = run
        self._file = file
        about: Mapping[str, Any] = next((a for a in run["agents"] if a["name"] == agent), {})
        self._settings = dict(about.get("model") or ())
        self._spec = about.get("spec")
        self._model = self._settings.get("Model") or agent
        self._scores = Scores()
        self._usage: dict[str, list[ModelUsage]] = {}
        self._ids: list[tuple[int, str]] = []
        self._period: list[str] = []

    def add(self, match: AgentMatch, calls: Iterable[Row]) -> None:
        """Write the sample of a match."""
        sample = build_sample(match, self._model, calls)
        order = match.rows[0]["order"]
        self._file.add(sample, order)
        self._scores.add(sample)
        for model, usage in sample.model_usage.items():
            self._usage.setdefault(model, []).append(usage)
        self._ids.append((order, match.id))
        if match.record:
            self._period += [match.record.started, match.record.ended or match.record.started]

    def finish(self, ratings: Iterable[Row]) -> Path:
        """Write the header and return the path of the log."""
        results = self._scores.results(self._agent, self._run, ratings)
        stats = EvalStats(
            started_at=min(self._period, default=""),
            completed_at=max(self._period, default=""),
            model_usage={model: total_usage(usage) for model, usage in self._usage.items()},
        )
        plan = EvalPlan(
            name="ludex", steps=[EvalPlanStep(solver=self._agent, params=self._settings)]
        )
        header = EvalLog(
            status="success", eval=self._spec_of_log(), plan=plan, results=results, stats=stats
        )
        header.eval.headline_metric = results.headline
        self._file.finish(header)
        return self._file.path

    def _spec_of_log(self) -> EvalSpec:
        run = self._run
        keys = ("run", "suite", "version", "digest", "seeds", "share", "program")
        return EvalSpec(
            eval_id=_id(run["run"], run["begun"], self._agent),
            run_id=_id(run["run"], run["begun"]),
            created=run["begun"],
            task=run["suite"],
            # The viewer regards logs of one task id as retries and shows the latest alone.
            task_id=_id(run["run"], run["begun"], run["suite"], self._agent),
            task_version=run["version"],
            task_display_name=run["title"],
            task_args={"run": run["run"], "agent": self._agent},
            solver=self._agent,
            dataset=EvalDataset(
                name=run["suite"],
                samples=len(self._ids),
                sample_ids=[id for _, id in sorted(self._ids)],
            ),
            model=self._model,
            model_base_url=self._settings.get("Endpoint"),
            config=EvalConfig(epochs=1),
            packages={"inspect_ai": inspect_ai.__version__, "ludex": __version__},
            metadata={
                "agent": self._agent,
                "spec": self._spec,
                **{key: run[key] for key in keys if key in run},
            },
        )


def write_log(
    run: str, path: str | os.PathLike[str], *, data: str | os.PathLike[str] = "./ludex-data"
) -> list[Path]:
    """Write a run as ``.eval`` logs for Inspect, one for each candidate, and return their paths.

    A log has a sample for each match. Its messages are the conversation with the model, and its
    scores are the candidate's points, return, outcome, refused attempts and forfeit. The table
    ``calls`` is read and written match by match, so its size does not matter.

    Args:
        run: name below ``data``/runs, or the path of a folder or bundle.
        path: path of the log, with the suffix ``.eval``. With several candidates, the name of each
            is inserted before the suffix.
        data: data folder of ``ludex evaluate`` or ``ludex serve``.

    Raises:
        LudexError: ``not_installed`` without the program ``ludex``; ``bad_field`` if the path has
            another suffix, or if the run cannot be read or no candidate has played.
    """
    path = Path(path)
    if path.suffix != ".eval":
        raise LudexError(
            "bad_field", f"path: expected the suffix .eval, got {path.name}", path="path"
        )
    tables = read_run(run, data=data)
    matches = candidate_matches(tables)
    if not matches:
        raise LudexError("bad_field", f"no candidate of {run} has played a match", got=run)
    about = tables.report()["runs"][0]
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(LogFile(path)) for path in _paths(path, list(matches))]
        logs = {
            agent: AgentLog(agent, about, file) for agent, file in zip(matches, files, strict=True)
        }
        _write_samples(tables, matches, logs)
        ratings = tables.rows("ratings")
        return [log.finish(ratings) for log in logs.values()]


def _write_samples(
    tables: RunTables, matches: Mapping[str, list[AgentMatch]], logs: Mapping[str, AgentLog]
) -> None:
    """Write the samples of all logs in one pass over the calls, which are grouped by match."""
    remaining = by_episode(itertools.chain.from_iterable(matches.values()))
    for episode, rows in itertools.groupby(tables.iter_rows("calls"), lambda row: row["episode"]):
        calls = list(rows)
        for match in remaining.pop(episode, []):
            logs[match.agent].add(match, calls)
    for match in itertools.chain.from_iterable(remaining.values()):
        logs[match.agent].add(match, [])


def _paths(path: Path, agents: Sequence[str]) -> list[Path]:
    """Return the path of each log, with the letters and digits of the name of each of several."""
    if len(agents) == 1:
        return [path]
    slugs: list[str] = []
    for agent in agents:
        slug = re.sub(r"[^a-z0-9]+", "-", agent.lower()).strip("-")
        if len(slug) > MAX_SLUG:  # specs differ at their ends
            slug = f"{slug[: MAX_SLUG // 2]}-{slug[-MAX_SLUG // 2 :]}"
        again = sum(re.fullmatch(re.escape(slug) + r"(\.\d+)?", one) is not None for one in slugs)
        slugs.append(f"{slug}.{again + 1}" if again else slug)
    return [path.with_name(f"{path.stem}-{slug}.eval") for slug in slugs]


def _id(*words: str) -> str:
    """Return an id that depends on the words only, so a log written again has the same ids."""
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:22]
