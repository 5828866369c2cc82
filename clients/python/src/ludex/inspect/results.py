"""Results of a log: means of the scores, ratings, and the summaries of the suite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from inspect_ai.log import EvalMetric, EvalResults, EvalSample, EvalScore, HeadlineMetric
from inspect_ai.scorer import SampleScore, mean, stderr

from .matches import Row
from .samples import NUMBERS

# Key of the metadata whose values are clusters: the matches of a block share a seed.
CLUSTER = "block"
CLUSTERED = {"cluster": CLUSTER}


class Scores:
    """Scores of the samples of a log, by name."""

    def __init__(self) -> None:
        self.samples = 0
        self._scores: dict[str, list[SampleScore]] = {}

    def add(self, sample: EvalSample) -> None:
        """Add the scores of a sample; those of a match that does not count are absent."""
        self.samples += 1
        metadata = {key: sample.metadata[key] for key in ("part", CLUSTER)}
        for name, score in (sample.scores or {}).items():
            one = SampleScore(score=score, sample_id=sample.id, sample_metadata=metadata)
            self._scores.setdefault(name, []).append(one)

    def results(self, agent: str, run: Mapping[str, Any], ratings: Iterable[Row]) -> EvalResults:
        """Return the results of an agent.

        The headline is the first summary of the suite, or the mean score if it has none. If no game
        has a winner, it is the mean return, in the first part if there are several.

        Args:
            agent: name of the agent.
            run: the run in the data of its report.
            ratings: rows of the table ``ratings``.
        """
        suite = _suite_score(agent, run)
        numbers = [self._number(name) for name in NUMBERS if name in self._scores]
        scores = [*suite, *numbers, *self._outcomes(), *_rating_score(agent, ratings)]
        return EvalResults(
            total_samples=self.samples,
            completed_samples=self.samples,
            scores=scores,
            headline=HeadlineMetric(
                scorer=scores[0].scorer, score=scores[0].name, metric=next(iter(scores[0].metrics))
            )
            if scores
            else None,
        )

    def _number(self, name: str) -> EvalScore:
        scores = self._scores[name]
        parts: dict[str, list[SampleScore]] = {}
        for score in scores:
            parts.setdefault((score.sample_metadata or {})["part"], []).append(score)
        metrics: dict[str, EvalMetric] = {}
        # Returns of several games have several scales.
        if name != "return" or len(parts) == 1:
            metrics["mean"] = EvalMetric(name="mean", value=_value(mean(), scores))
            metrics["stderr"] = EvalMetric(
                name="stderr", value=_value(stderr(cluster=CLUSTER), scores), params=CLUSTERED
            )
        if name in ("points", "return"):
            for part, own in parts.items():
                metrics[part] = EvalMetric(name=part, group="part", value=_value(mean(), own))
        return self._score(name, len(scores), metrics)

    def _outcomes(self) -> list[EvalScore]:
        scores = self._scores.get("outcome", [])
        words = [str(score.score.value) for score in scores]
        shares = {word: words.count(word) / len(words) for word in sorted(set(words))}
        metrics = {word: EvalMetric(name=word, value=share) for word, share in shares.items()}
        return [self._score("outcome", len(scores), metrics)] if scores else []

    def _score(self, name: str, scored: int, metrics: dict[str, EvalMetric]) -> EvalScore:
        return EvalScore(
            name=name,
            scorer=name,
            scored_samples=scored,
            unscored_samples=self.samples - scored,
            metrics=metrics,
        )


def _value(metric: Any, scores: Sequence[SampleScore]) -> float:
    return float(metric(list(scores)))


def _suite_score(agent: str, run: Mapping[str, Any]) -> list[EvalScore]:
    """Return the summaries of the suite for an agent, if it has any."""
    metrics: dict[str, EvalMetric] = {}
    for summary in run.get("summaries") or []:
        for one in summary["scores"]:
            if one["agent"] == agent:
                metrics[summary["summary"]] = EvalMetric(
                    name=summary["summary"],
                    value=one["value"],
                    metadata={"title": summary["title"], "parts": one["parts"]},
                )
    return [EvalScore(name="suite", scorer="suite", metrics=metrics)] if metrics else []


def _rating_score(agent: str, ratings: Iterable[Row]) -> list[EvalScore]:
    metrics = {
        row["part"] or row["scale"]: EvalMetric(
            name=row["part"] or row["scale"],
            value=row["rating"],
            metadata={key: row[key] for key in ("low", "high", "bound", "scale", "blocks")},
        )
        for row in ratings
        if row["agent"] == agent and row["rating"] is not None
    }
    return [EvalScore(name="rating", scorer="rating", metrics=metrics)] if metrics else []
