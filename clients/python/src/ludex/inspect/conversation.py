"""Conversation of an agent with its model, from rows of the table ``calls``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from inspect_ai.event import ModelEvent
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    ModelOutput,
    ModelUsage,
    StopReason,
)

from .matches import Row

# Finish reasons of endpoints whose name in Inspect differs.
_STOP_REASONS: dict[str | None, StopReason] = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "content_filter": "content_filter",
    "refusal": "content_filter",
}

# Message as its role and text, by which messages of several calls are recognized.
_Text = tuple[str, str]


class Conversation:
    """Messages and model events of the calls of one agent in one match.

    A call contains its whole prompt. Messages that the previous call or the end of the conversation
    already has appear once, so a chat reads as a chat, and separate questions follow each other. A
    call that an agent reports without its texts has an event only.

    Args:
        id: prefix of the ids of messages and events.
        model: model of calls that name none.
        started: start of the match.
        calls: rows of the table ``calls``.

    Attributes:
        messages: all messages in order, with the replies to refused attempts.
        events: an event for each call. Calls have a duration but no time of day, so each event
            starts when the previous call of the agent in the match ends.
    """

    def __init__(self, id: str, model: str, started: str, calls: Iterable[Row]) -> None:
        self.messages: list[ChatMessage] = []
        self.events: list[ModelEvent] = []
        self._id = id
        self._model = model
        self._texts: list[_Text] = []
        # Prompt and reply of the previous call.
        self._last: list[_Text] = []
        self._last_messages: list[ChatMessage] = []
        self._now = datetime.fromisoformat(started.replace("Z", "+00:00"))
        self._working = 0.0
        for call in sorted(calls, key=_place):
            self._add(call)

    @property
    def input(self) -> list[ChatMessage]:
        """Prompt of the first call; empty without calls."""
        return list(self.events[0].input) if self.events else []

    @property
    def output(self) -> ModelOutput:
        """Reply to the last call; empty without calls."""
        return self.events[-1].output if self.events else ModelOutput()

    @property
    def usage(self) -> dict[str, ModelUsage]:
        """Usage by model."""
        usages: dict[str, list[ModelUsage]] = {}
        for event in self.events:
            if event.output.usage is not None:
                usages.setdefault(event.model, []).append(event.output.usage)
        return {model: total_usage(used) for model, used in usages.items()}

    def _add(self, call: Row) -> None:
        texts = [(message["role"], message["content"]) for message in json.loads(call["messages"])]
        prompt = self._prompt(texts)
        reply = self._reply(call)
        if texts or call["answer"]:
            self._append(("assistant", call["answer"]), reply)
        self._last = [*texts, ("assistant", call["answer"])]
        self._last_messages = [*prompt, reply]
        seconds = call["ms"] / 1000
        ends = self._now + timedelta(seconds=seconds)
        model = call["model"] or self._model
        output = ModelOutput(
            model=model,
            choices=[ChatCompletionChoice(message=reply, stop_reason=_stop_reason(call["finish"]))],
            usage=call_usage(call),
            time=seconds,
        )
        event = ModelEvent(
            uuid=f"{self._id}/call/{len(self.events)}",
            timestamp=self._now,
            working_start=self._working,
            model=model,
            input=prompt,
            tools=[],
            tool_choice="none",
            config=GenerateConfig(),
            output=output,
            retries=call["retries"] or None,
            completed=ends,
            working_time=seconds,
            metadata=_call_metadata(call),
        )
        self.events.append(event)
        self._now = ends
        self._working += seconds

    def _prompt(self, texts: Sequence[_Text]) -> list[ChatMessage]:
        """Return the messages of a prompt and append those that are new."""
        shared = 0
        while shared < min(len(texts), len(self._last)) and texts[shared] == self._last[shared]:
            shared += 1
        rest = texts[shared:]
        # A chat with a limited history repeats the end of the conversation only.
        repeated = next(
            (n for n in range(len(rest), 0, -1) if self._texts[-n:] == list(rest[:n])), 0
        )
        prompt = self._last_messages[:shared]
        prompt += self.messages[len(self.messages) - repeated :]
        for role, text in rest[repeated:]:
            message = _MESSAGES[role](id=self._next_id(), content=text)
            self._append((role, text), message)
            prompt.append(message)
        return prompt

    def _reply(self, call: Row) -> ChatMessageAssistant:
        text: str = call["answer"]
        return ChatMessageAssistant(
            id=self._next_id(),
            content=[ContentReasoning(reasoning=call["reasoning"]), ContentText(text=text)]
            if call["reasoning"]
            else text,
            source="generate",
            model=call["model"] or self._model,
            metadata=_call_metadata(call),
        )

    def _append(self, text: _Text, message: ChatMessage) -> None:
        self._texts.append(text)
        self.messages.append(message)

    def _next_id(self) -> str:
        return f"{self._id}/message/{len(self.messages)}"


_MESSAGES: dict[str, Any] = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}


def call_usage(call: Row) -> ModelUsage:
    """Return the usage of a call; Inspect counts cached input tokens separately."""
    cached: int | None = call["cached_tokens"]
    return ModelUsage(
        input_tokens=call["tokens_in"] - (cached or 0),
        output_tokens=call["tokens_out"],
        total_tokens=call["tokens_in"] + call["tokens_out"],
        input_tokens_cache_read=cached,
        reasoning_tokens=call["reasoning_tokens"],
        total_cost=call["usd"],
    )


def total_usage(usages: Sequence[ModelUsage]) -> ModelUsage:
    """Return the sum of usages; its cost is unknown if one of the costs is."""
    total = sum(usages[1:], usages[0])
    if any(usage.total_cost is None for usage in usages):
        total.total_cost = None
    return total


def _place(call: Row) -> tuple[int, int, int, int]:
    return call["seat"], call["turn"], call["attempt"], call["step"]


def _stop_reason(finish: str | None) -> StopReason:
    return _STOP_REASONS.get(finish, "unknown")


def _call_metadata(call: Row) -> dict[str, Any]:
    columns = ("seat", "turn", "attempt", "step", "purpose", "verdict", "estimated")
    metadata = {column: call[column] for column in columns}
    return {**metadata, "move": call["read"], "finish": call["finish"]}
