"""Prompts and rules for language models, as the server's ``llm`` agents have them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgpack

from .client import Client
from .env import SIMULTANEOUS, Env
from .env import State as EnvState
from .openspiel.states import State
from .shared_server import connect

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
    seed: int = 0,
    client: Client | None = None,
    **settings: Any,
) -> Prompt:
    """Return the prompt that ``llm`` agents would send in a position, without calling a model.

    Args:
        game: id of the game, or its whole string with parameters.
        position: a snapshot (``env.snapshot()``), a state of :mod:`ludex.openspiel.states`, or the
            moves so far. By default the first position in which a seat is to move.
        params: the parameters of the game; those of a snapshot or state are taken from it.
        seat: seat to prompt; by default the first acting seat.
        seed: seed of the chance outcomes before the first position.
        client: a client whose server builds the prompt; by default a local server that all
            environments without a ``url`` share.
        settings: arguments of ``llm`` agents that select method and wording: ``prompting="cot"``,
            ``history=8``, ``legal``, ``format``, ``rules``, ...

    Raises:
        LudexError: ``bad_snapshot``: the moves are not legal; ``bad_field``: the seat is not to
            move, or a setting is unknown; ``unknown_game``, ``not_installed``, ...
    """
    positions = [position]
    return prompts(game, positions, params=params, seat=seat, seed=seed, client=client, **settings)[
        0
    ]


def prompts(
    game: str,
    positions: Sequence[Position],
    *,
    params: Mapping[str, Any] | None = None,
    seat: int | None = None,
    seed: int = 0,
    client: Client | None = None,
    **settings: Any,
) -> list[Prompt]:
    """Return the prompts of several positions of one game, like :func:`prompt`.

    Raises:
        LudexError: as :func:`prompt`.
    """
    found = []
    own = next((_params(position) for position in positions if _params(position)), None)
    with _client(client) as server:
        for position in positions:
            # Chance outcomes of a given position are part of it.
            chance: Any = "server" if _is_start(position) else "client"
            env = server.open(game, own or params, chance=chance, prompt=settings)
            try:
                if _is_start(position):
                    state = env.reset(seed=seed)
                else:
                    state = env.restore(_snapshot(env, position))
                found.append(_prompt(env, state, seat))
            finally:
                env.close()
    return found


def rules(
    game: str,
    *,
    params: Mapping[str, Any] | None = None,
    client: Client | None = None,
    **settings: Any,
) -> str:
    """Return the rules of a game for a language model: the system message of its prompts.

    It has the rules and the notation of moves for these parameters, and the form of the reply.
    For the arguments see :func:`prompt`. Its ``prompting`` is ``"chat"`` by default: one
    conversation for the whole game.

    Raises:
        LudexError: as :func:`prompt`.
    """
    chosen = {"prompting": "chat", **settings}
    return prompt(game, params=params, client=client, **chosen).messages[0]["content"]


@contextlib.contextmanager
def _client(client: Client | None) -> Iterator[Client]:
    if client is not None:
        yield client
        return
    with connect(None) as own:
        yield own


def _is_start(position: Position) -> bool:
    return not isinstance(position, (bytes, State)) and not len(position)


def _params(position: Position) -> dict[str, Any] | None:
    if isinstance(position, State):
        return dict(position.get_game().spec.params)
    if isinstance(position, bytes):
        return dict(msgpack.unpackb(position)["params"])
    return None


def _snapshot(env: Env, position: Position) -> bytes:
    """Return a position as a snapshot of the environment's game."""
    if isinstance(position, bytes):
        return position
    moves = position.moves() if isinstance(position, State) else position
    spec = env.spec
    item = {"v": 1, "hash": spec.hash, "params": spec.params, "seed": 0, "episode": 0, "seats": []}
    packed: bytes = msgpack.packb({**item, "h": [list(move) for move in moves]})
    return packed


def _prompt(env: Env, state: EnvState, seat: int | None) -> Prompt:
    """Return the prompt of an environment's position."""
    messages = env.prompt(seat)
    if state.to_move == SIMULTANEOUS:
        if seat is None:
            seat = next(index for index, legal in enumerate(state.legal) if legal)
        legal = state.legal[seat]
    else:
        seat, legal = state.to_move, state.legal
    return Prompt(seat, messages, legal, env.action_texts(legal, seat))
