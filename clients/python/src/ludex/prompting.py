"""What a language model is asked in a position: the prompts of the ``llm`` agents, for any use."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgpack

from .errors import LudexError
from .openspiel.states import State
from .process import find_program

Position = bytes | State | Sequence[Sequence[Any]]
"""A snapshot, a state of :mod:`ludex.openspiel.states`, or the moves: pairs of who (a seat, -1 for chance, -2
for a joint move) and what (an action id, an outcome, or an id for each seat)."""


@dataclass(frozen=True)
class Prompt:
    """What a language model is asked in a position.

    Attributes:
        seat: who is asked.
        messages: the messages of the first call, ``{"role", "content"}``, as chat endpoints take
            them. The first has the rules, the last the position and the form of the answer.
        legal: ascending action ids.
        names: their names, in the same order; an answer holds one of them.
    """

    seat: int
    messages: list[dict[str, str]]
    legal: list[int]
    names: list[str]

    @property
    def text(self) -> str:
        """The messages as one text."""
        return "\n\n".join(message["content"] for message in self.messages)


def prompt(
    game: str,
    position: Position = (),
    *,
    params: Mapping[str, Any] | None = None,
    seat: int | None = None,
    agent: str = "llm model=none",
) -> Prompt:
    """Return what the ``llm`` agents ask their model in a position. No model is called.

    The program on this machine writes the prompt (about 50 ms); :func:`prompts` asks for many at
    once.

    Args:
        game: id of the game, or its whole string with parameters.
        position: a snapshot (``env.snapshot()``), a state of :mod:`ludex.openspiel.states`, or the moves so
            far. By default the start.
        params: the parameters of the game; those of a snapshot or state are taken from it.
        seat: who is asked; by default the first seat that acts.
        agent: an ``llm`` spec whose arguments choose method and wording: ``"llm model=none
            prompting=cot history=8"``.

    Raises:
        LudexError: ``bad_field`` with the program's reason; ``not_installed``.
    """
    return prompts(game, [position], params=params, seat=seat, agent=agent)[0]


def prompts(
    game: str,
    positions: Sequence[Position],
    *,
    params: Mapping[str, Any] | None = None,
    seat: int | None = None,
    agent: str = "llm model=none",
) -> list[Prompt]:
    """Return the prompts of several positions of one game, like :func:`prompt`.

    Raises:
        LudexError: as :func:`prompt`.
    """
    rules, questions = dict(params or {}), []
    for position in positions:
        if isinstance(position, State):
            rules = position.get_game().spec.params
            moves: Any = position.moves()
        elif isinstance(position, bytes):
            item = msgpack.unpackb(position)
            rules, moves = item["params"], item["h"]
        else:
            moves = [list(move) for move in position]
        questions.append(json.dumps({"h": moves, "seat": seat}))
    if not questions:
        return []  # without a question the program prints the prompt at the start, for people
    command = [find_program(), "prompt", game, "--params", json.dumps(rules), "--agent", agent]
    done = subprocess.run(
        command, input="\n".join(questions), capture_output=True, text=True, check=False
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    failed = next((answer["error"] for answer in answers if "error" in answer), None)
    if failed is not None or len(answers) != len(questions):
        raise LudexError("bad_field", failed or done.stderr.strip()[-2000:])
    return [Prompt(**answer) for answer in answers]
