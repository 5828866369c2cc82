"""Prompts that ``llm`` agents would send, for any position."""

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
"""A snapshot, a state of :mod:`ludex.openspiel.states`, or the moves: pairs of a player (a seat, -1
for chance, -2 for a joint move) and an action (an id, an outcome, or an id for each seat)."""


@dataclass(frozen=True)
class Prompt:
    """The prompt for a language model in a position.

    Attributes:
        seat: seat to move.
        messages: the messages of the first call, ``{"role", "content"}``, in the form of chat
            endpoints. The first has the rules, the last the position and the reply format.
        legal: ascending action ids.
        names: action names in the same order; a reply contains one of them.
    """

    seat: int
    messages: list[dict[str, str]]
    legal: list[int]
    names: list[str]

    @property
    def text(self) -> str:
        """The messages, joined into one text."""
        return "\n\n".join(message["content"] for message in self.messages)


def prompt(
    game: str,
    position: Position = (),
    *,
    params: Mapping[str, Any] | None = None,
    seat: int | None = None,
    agent: str = "llm model=none",
) -> Prompt:
    """Return the prompt that ``llm`` agents would send in a position, without calling a model.

    The local ``ludex`` program builds the prompt (about 50 ms); :func:`prompts` builds several per
    call.

    Args:
        game: id of the game, or its whole string with parameters.
        position: a snapshot (``env.snapshot()``), a state of :mod:`ludex.openspiel.states`, or the
            moves so far. By default the initial position.
        params: the parameters of the game; those of a snapshot or state are taken from it.
        seat: seat to prompt; by default the first acting seat.
        agent: an ``llm`` spec whose arguments select method and wording: ``"llm model=none
            prompting=cot history=8"``.

    Raises:
        LudexError: ``bad_field`` with the program's message; ``not_installed``.
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
    rules, requests = dict(params or {}), []
    for position in positions:
        if isinstance(position, State):
            rules = position.get_game().spec.params
            moves: Any = position.moves()
        elif isinstance(position, bytes):
            item = msgpack.unpackb(position)
            rules, moves = item["params"], item["h"]
        else:
            moves = [list(move) for move in position]
        requests.append(json.dumps({"h": moves, "seat": seat}))
    if not requests:
        return []  # without requests the program prints the initial prompt for people
    command = [
        find_program(),
        "games",
        "prompt",
        game,
        "--params",
        json.dumps(rules),
        "--agent",
        agent,
    ]
    done = subprocess.run(
        command, input="\n".join(requests), capture_output=True, text=True, check=False
    )
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    failed = next((reply["error"] for reply in replies if "error" in reply), None)
    if failed is not None or len(replies) != len(requests):
        raise LudexError("bad_field", failed or done.stderr.strip()[-2000:])
    return [Prompt(**reply) for reply in replies]
