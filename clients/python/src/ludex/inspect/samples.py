"""Samples of a log: one for each match of a candidate."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from inspect_ai.log import EvalSample
from inspect_ai.model import ModelUsage
from inspect_ai.scorer import Score

from .conversation import Conversation
from .matches import AgentMatch, Row

# Scores of a sample whose metrics are a mean and its standard error.
NUMBERS = ("points", "return", "refused", "forfeit")


def build_sample(match: AgentMatch, model: str, calls: Iterable[Row]) -> EvalSample:
    """Return the sample of a match.

    A match that does not count has no scores, so that no metric uses it; its result is in the
    metadata.

    Args:
        match: match of a candidate.
        model: model of the log, for calls and usage that name none.
        calls: rows of the table ``calls`` of the match; those of other seats are ignored.
    """
    record = match.record
    started = record.started if record else "1970-01-01T00:00:00Z"
    seats = match.seats
    own = (call for call in calls if call["seat"] in seats)
    talk = Conversation(match.id, model, started, own)
    row = match.rows[0]
    return EvalSample(
        id=match.id,
        epoch=1,
        uuid=match.id,
        input=talk.input or _task(match),
        target="win" if match.points is not None else "highest return",
        messages=talk.messages,
        output=talk.output,
        events=list(talk.events),
        scores=_scores(match) if match.counts else None,
        metadata={
            "part": row["part"],
            "game": record.game if record else None,
            "params": record.params if record else {},
            "rules": record.rules if record else None,
            "seed": record.seed if record else None,
            "opponent": row["opponent"],
            "level": row["level"],
            "episode": match.episode,
            # Matches on one seed with swapped seats; a match alone is a block of its own.
            "block": row["block"] or match.episode,
            "cycle": row["cycle"],
            "order": row["order"],
            "seats": seats,
            "role": row["role"],
            "first": any(row["first"] for row in match.rows),
            "counts": match.counts,
            "points": match.points,
            "return": match.mean_return,
            "outcome": match.outcome,
            "reason": row["reason"],
            "moves": row["moves"],
            "turns": match.total("turns"),
            "refused": match.total("refused"),
        },
        model_usage=talk.usage or _reported_usage(match, model),
        started_at=started,
        completed_at=record.ended if record else None,
        total_time=_seconds(started, record.ended) if record and record.ended else None,
        working_time=sum(event.working_time or 0.0 for event in talk.events),
        turn_count=match.total("turns"),
    )


def _task(match: AgentMatch) -> str:
    """Return the input of a match without calls."""
    row = match.rows[0]
    seat = row["role"] or f"seat {row['seat']}"
    return f"Play {match.record.game if match.record else row['part']} as {seat}."


def _scores(match: AgentMatch) -> dict[str, Score]:
    row = match.rows[0]
    values: dict[str, Any] = {
        "points": match.points,
        "return": match.mean_return,
        "outcome": match.outcome,
        "refused": match.total("refused"),
        "forfeit": int(any(row["at_fault"] for row in match.rows)),
    }
    why = f"{row['reason']} after {row['moves']} moves against {row['opponent']}"
    return {
        name: Score(value=value, answer=match.outcome, explanation=why)
        for name, value in values.items()
        if value is not None
    }


def _reported_usage(match: AgentMatch, model: str) -> dict[str, ModelUsage]:
    """Return the usage that an agent without stored calls reports."""
    tokens_in, tokens_out = match.total("tokens_in"), match.total("tokens_out")
    cost = match.total("usd")
    if not tokens_in and not tokens_out and cost is None:
        return {}
    usage = ModelUsage(
        input_tokens=tokens_in,
        output_tokens=tokens_out,
        total_tokens=tokens_in + tokens_out,
        total_cost=cost,
    )
    return {model: usage}


def _seconds(started: str, ended: str) -> float:
    begin, end = (datetime.fromisoformat(at.replace("Z", "+00:00")) for at in (started, ended))
    return (end - begin).total_seconds()
