"""Conversation of one seat with its language model."""

from __future__ import annotations

from ..answers import ReadAnswer

NO_ANSWER = "(no answer)"
"""Content of an empty answer in the conversation, because endpoints reject empty messages."""


class Conversation:
    """The messages of one seat in an episode, and the counts of its answers.

    Attributes:
        messages: the messages for the next call of the model.
        last: the latest answer; ``None`` before the first.
        counts: number of answers by kind: ``moves``, ``illegal``, ``unparsed``, ``empty``.
    """

    def __init__(self, tries: int, *, chat: bool) -> None:
        self.messages: list[dict[str, str]] = []
        self.last: ReadAnswer | None = None
        self.counts = dict.fromkeys(("moves", "illegal", "unparsed", "empty"), 0)
        self._tries, self._chat = tries, chat
        self._refused_in_turn = 0

    def show(self, prompt: list[dict[str, str]] | None) -> None:
        """Add the prompt of a position; ``None``: the seat does not act."""
        if prompt is None:
            return
        if self._chat and self.messages:
            self.messages.append(prompt[-1])
        else:
            self.messages = list(prompt)

    def add(self, text: str, read: ReadAnswer) -> None:
        """Add an answer of the model."""
        self.last = read
        if read.ok:
            self.counts["moves"] += 1
            self._refused_in_turn = 0
        else:
            self.counts[read.verdict] += 1
            self._refused_in_turn += 1
        if self._chat:
            content = text if text.strip() else NO_ANSWER
            self.messages.append({"role": "assistant", "content": content})

    @property
    def forfeit(self) -> bool:
        """True if the model has used up the tries of its turn."""
        return self._refused_in_turn >= self._tries

    @property
    def refused(self) -> int:
        """Number of refused answers in the episode."""
        return self.counts["illegal"] + self.counts["unparsed"] + self.counts["empty"]
