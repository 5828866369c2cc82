"""Single environments, whose states are plain Python values."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .answers import Answer, ReadAnswer, answers_field, from_list
from .columns import F8, column, pack_ids, ragged, tensors
from .handle import Handle, seed_text
from .picture import Picture
from .row import Row
from .transport.session import Session
from .transport.wire import Message

CHANCE, SIMULTANEOUS, OVER = -1, -2, -4

Move = int | str | Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class State:
    """The state of an environment, as this client observes it.

    Attributes:
        to_move: the seat to move, or ``CHANCE`` -1, ``SIMULTANEOUS`` -2, ``OVER`` -4.
        legal: ascending ids for the seat to move; at a chance node the outcomes; in a
            simultaneous state one list per seat, empty for seats that do not act; otherwise empty.
        chance: ``[(id, probability)]`` at a chance node of an environment opened with
            ``chance="client"``, else empty.
        rewards: per seat, since this client's previous action.
        returns: per seat, the sum over the episode so far.
        terminated: True if the episode ended by the rules.
        truncated: True if ``max_steps`` ended the episode.
        seat: this client's seat, if it has exactly one.
        length: number of moves so far.
        episode: number of the episode, counted from the last seed.
        obs: tensors, first axis the seats; with ``views=["tensor"]``.
        info: perfect-recall tensors, first axis the seats; with ``views=["info"]``.
        struct: structured views per seat; with ``views=["struct"]``.
        text: texts per seat; with ``views=["text"]``.
        prompt: prompts per seat, each a list of messages ``{"role", "content"}``, ``None`` for a
            seat that does not act; with ``views=["prompt"]``.
        answers: the answers of the step as read, one per seat or a single one; ``None`` if the step
            had none.
    """

    to_move: int
    legal: list[Any]
    chance: list[tuple[int, float]]
    rewards: list[float]
    returns: list[float]
    terminated: bool
    truncated: bool
    seat: int | None
    length: int
    episode: int
    obs: Any
    info: Any
    struct: list[Any] | None
    text: list[str] | None
    prompt: list[list[dict[str, str]] | None] | None = None
    answers: list[ReadAnswer | None] | None = None

    @property
    def answer(self) -> ReadAnswer | None:
        """The first answer of the step as read, if the step had one."""
        return next((answer for answer in self.answers or [] if answer is not None), None)

    @property
    def over(self) -> bool:
        """True if the episode has terminated or was truncated."""
        return self.terminated or self.truncated


class Env(Handle):
    """An environment, opened by :meth:`ludex.Client.open`."""

    def __init__(self, session: Session, opened: Message, request: Mapping[str, Any]) -> None:
        super().__init__(session, opened, request)
        self._to_move = OVER

    def reset(self, seed: int | None = None, *, seats: Sequence[str] | None = None) -> State:
        """Start an episode.

        Args:
            seed: 0..2^64; without a seed, the series of episodes continues.
            seats: new opponents, effective from this episode on.

        If the server was restarted, the environment is opened again first.

        Raises:
            LudexError: ``bad_seed``, ``unknown_agent``, ...
        """
        with self._change(replace_all=True):
            reply = self._replace(
                "reset", seed=seed_text(seed), seats=None if seats is None else list(seats)
            )
            if seats is not None:
                self.seats = list(seats)
            return self._state(reply)

    def step(
        self,
        move: Move | Sequence[Move] = None,
        *,
        answer: str | Sequence[str | None] | None = None,
    ) -> State:
        """Play a move and return the next state.

        Args:
            move: an action id (an outcome id at a chance node), the move as text, or a dict (a
                document). In a simultaneous state, a list with one of these per seat, and -1 or
                ``None`` for a seat that does not act.
            answer: instead of a move, the text of a language model as it wrote it, or a list with
                one per seat. If it is not a legal move, the state does not change: ``state.answer``
                has the verdict, and the next prompt of the turn the refusal.

        Raises:
            LudexError: ``illegal_action`` (``.allowed`` has the legal ids; the state is
                unchanged), ``env_over``, ``bad_shape``; ``interrupted`` after an interrupted step.
            TypeError: the move is of none of these types.
        """
        moves = self._moves(move if answer is None else _answer(answer))
        with self._change():
            return self._state(self._call("step", **moves))

    def action_text(self, action: int, seat: int | None = None) -> str:
        """Return the name of an action id, e.g. ``"x(1,1)"``; a round trip.

        Raises:
            LudexError: the id does not exist.
        """
        return self.action_texts([action], seat)[0]

    def action_texts(self, actions: Sequence[int], seat: int | None = None) -> list[str]:
        """Return the names of several action ids in one round trip.

        Raises:
            LudexError: an id does not exist.
        """
        ids = [operator.index(action) for action in actions]
        return list(self._view(0, seat, names=ids)["names"])

    def parse(self, text: str, seat: int | None = None) -> int | None:
        """Return the action id of a move as text, or ``None`` if illegal; a round trip."""
        action: int | None = self._view(0, seat, parse=[text])["parsed"][0]
        return action

    def text(self, seat: int | None = None) -> str:
        """Return a seat's view as text (by default of the seat to move); a round trip.

        Raises:
            LudexError: the game has no text view, or the seat does not exist.
        """
        return str(self._view(0, seat, views=["text"])["text"])

    def picture(self, seat: int | None = None) -> Picture:
        """Return a seat's view as a picture (by default of the seat to move); a round trip.

        Raises:
            LudexError: the seat does not exist.
        """
        return Picture.from_wire(self._view(0, seat, views=["picture"])["picture"])

    def struct(self, seat: int | None = None) -> Any:
        """Return a seat's structured view; a round trip.

        Raises:
            LudexError: the seat does not exist.
        """
        return self._view(0, seat, views=["struct"])["struct"]

    def schema(self, seat: int | None = None) -> str | None:
        """Return the name of the document schema for the seat's move; a round trip.

        The name is a key of the spec's ``document_schemas``. ``None``: the seat does not act, or
        takes no document now.

        Raises:
            LudexError: the seat does not exist.
        """
        return self._view(0, seat).get("schema")

    def prompt(self, seat: int | None = None, **settings: Any) -> list[dict[str, str]]:
        """Return the prompt for a language model in a seat (by default the seat to move).

        The messages, ``{"role", "content"}``, are those of an ``llm`` agent; a round trip.

        Args:
            seat: a seat that is to move.
            settings: ``prompting``, ``history``, ``legal``, ``format`` and other settings of
                prompts; by default those of ``open``.

        Raises:
            LudexError: the seat is not to move, or a setting is unknown.
        """
        reply = self._view(0, seat, views=["prompt"], prompt=settings or None)
        messages: list[dict[str, str]] = reply["prompt"]
        return messages

    def read_answer(self, text: str, seat: int | None = None) -> ReadAnswer:
        """Read the text of a language model as its answer, without playing it; a round trip.

        Raises:
            LudexError: the seat is not to move.
        """
        return ReadAnswer.from_wire(self._view(0, seat, answers=[str(text)])["answers"][0])

    def tensor(self, seat: int | None = None) -> Any:
        """Return a seat's tensor: the array if the game has one, otherwise a dict; a round trip.

        Raises:
            LudexError: the game has no tensor, or the seat does not exist.
        """
        return tensors(self._view(0, seat, views=["tensor"])["tensor"])

    def info(self, seat: int | None = None) -> Any:
        """Return a seat's perfect-recall tensor; a round trip.

        Raises:
            LudexError: the game has no such tensor, or the seat does not exist.
        """
        return tensors(self._view(0, seat, views=["info"])["info"])

    def snapshot(self) -> bytes:
        """Return the state for :meth:`restore`, in this or another process."""
        item: bytes = self._call("snapshot")["items"][0]
        return item

    def restore(self, snapshot: bytes) -> State:
        """Restore a snapshot. If the server was restarted, open the environment again first.

        Raises:
            LudexError: ``bad_snapshot``: it belongs to another game, or its state is unreachable.
        """
        with self._change(replace_all=True):
            return self._state(self._replace("restore", items=[snapshot]))

    def clone(self, *, seed: int | None = None) -> Env:
        """Return a new environment with the same state and the same future chance events.

        Args:
            seed: if given, draw different future chance events from this seed.

        Raises:
            LudexError: ``limit``.
        """
        opened = self._call("clone", seed=seed_text(seed))
        env = Env(self._session, opened, {**self._request, "seats": self.seats})
        env._to_move = self._to_move
        return env

    def _moves(self, move: Move | Sequence[Move]) -> dict[str, Any]:
        if type(move) is int and not self._joint:
            return {"actions": pack_ids([move])}
        seats = self.spec.players if self._joint else 1
        if isinstance(move, (list, tuple)) or (hasattr(move, "__array__") and move.ndim):  # type: ignore[union-attr]
            row = list(move)  # type: ignore[arg-type]
        else:
            row = [None] * seats
            row[max(self._to_move, 0) if seats > 1 else 0] = move
        answers = answers_field(row)
        if answers is not None:
            return answers
        if any(isinstance(entry, (str, Mapping)) for entry in row):
            return {"moves": [_plain(entry) for entry in row]}
        return {"actions": pack_ids([-1 if e is None else operator.index(e) for e in row])}

    @property
    def _joint(self) -> bool:
        """Return True if moves have a column for each seat."""
        return self.spec.dynamics != "sequential" and self.seats.count("agent") > 1

    def _state(self, frame: Message) -> State:
        players = self.spec.players
        row = Row(frame, players)
        self._to_move = row.to_move
        chance = _outcomes(frame.get("chance"))
        return State(
            to_move=row.to_move,
            legal=_legal(row, players, chance),
            chance=chance,
            rewards=row.rewards,
            returns=list(row.numbers("returns", f"<{players}d")) if "returns" in frame else [],
            terminated=row.terminated,
            truncated=row.truncated,
            seat=row.numbers("seat", "<b")[0] if "seat" in frame else None,
            length=row.numbers("length", "<I")[0],
            episode=row.numbers("episode", "<I")[0],
            obs=row.view("obs"),
            info=row.view("info"),
            struct=row.per_seat("struct"),
            text=row.per_seat("text"),
            prompt=frame.get("prompt"),
            answers=from_list(frame.get("answers")),
        )


def _answer(answer: str | Sequence[str | None]) -> Answer | list[Answer | None]:
    if isinstance(answer, str):
        return Answer(answer)
    return [None if entry is None else Answer(entry) for entry in answer]


def _plain(entry: Any) -> Any:
    if entry is None or isinstance(entry, str):
        return entry
    return dict(entry) if isinstance(entry, Mapping) else operator.index(entry)


def _outcomes(chance: Message | None) -> list[tuple[int, float]]:
    if chance is None:
        return []
    ids, weights = ragged(chance).values.tolist(), column(chance["p"], F8).tolist()
    return list(zip(ids, weights, strict=True))


def _legal(row: Row, players: int, chance: list[tuple[int, float]]) -> list[Any]:
    if row.to_move == CHANCE:
        return [outcome for outcome, _ in chance]
    if row.to_move == SIMULTANEOUS:
        return [row.legal(seat) for seat in range(players)]
    return [] if row.to_move == OVER else row.legal(row.to_move)
