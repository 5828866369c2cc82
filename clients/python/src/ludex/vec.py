"""Batches of environments, which are stepped by one message and return NumPy arrays."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence, Sized
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .answers import ReadAnswer, answers_field, from_list
from .columns import BOOL, F4, F8, I1, I4, U1, U4, Array, Ragged, column, packed, ragged, tensors
from .handle import Handle, encode_indices, seed_text
from .picture import Picture
from .transport.guard import ChangeGuard
from .transport.wire import Message

if TYPE_CHECKING:
    from .torch_batch import TorchBatch

IN_FLIGHT = 2


class Final(NamedTuple):
    """Final data of the K episodes that ``same_step`` reset in this batch.

    As in :class:`Batch`, a view that was not requested is ``None``.

    Attributes:
        at: rows of the batch, ``uint32 [K]``.
        seat: the client's seat in the ended episodes, if it had exactly one, ``int8 [K]``.
        obs: final observations, like ``Batch.obs``, first axis K.
        info: perfect-recall tensors, in the form of ``obs``.
        struct: list of K structured views.
        text: list of K texts.
        returns: the returns of the ended episodes, ``float64 [K, P]``.
        length: the lengths of the ended episodes in moves, ``uint32 [K]``.
    """

    at: Array
    seat: Any
    obs: Any
    info: Any
    struct: list[Any] | None
    text: list[str] | None
    returns: Any
    length: Any


class Skipped(NamedTuple):
    """The K episodes that ended before the client could act.

    Attributes:
        at: rows of the batch, ``uint32 [K]``.
        returns: returns of the skipped episodes, ``float64 [K, P]``.
    """

    at: Array
    returns: Array


class Chance(NamedTuple):
    """Outcomes of the rows at chance nodes; row i is ``values[at[i]:at[i + 1]]``.

    Attributes:
        at: offsets, ``uint32 [R + 1]``.
        values: outcome ids, ``uint32``.
        probabilities: ``float64``, one for each of ``values``.
    """

    at: Array
    values: Array
    probabilities: Array


@dataclass(eq=False, slots=True)
class Batch:
    """R rows, one per requested environment in the requested order; P seats; A actions.

    Arrays are read-only views of the message. A field that was not requested is ``None``.

    Attributes:
        to_move: ``int8 [R]``: seat >= 0, -1 chance, -2 simultaneous, -4 over.
        seat: ``int8 [R]``: the client's seat, if it has exactly one.
        obs: the array if the game has one tensor, else a dict; first axis R, or ``[R, P, ...]``
            with ``observer="all"``.
        info: perfect-recall tensors, in the form of ``obs``.
        struct: list of R structured views.
        text: list of R views as text.
        prompt: list of R prompts, each a list of messages ``{"role", "content"}``, ``None`` for a
            seat that does not act; R x P prompts with ``observer="all"``.
        answers: list of the answers of the step as read, ``None`` where there was none.
        mask: legal actions of the observed seat: ``uint8 [R, A]``; ``uint8
            [R, ceil(A/8)]`` with ``mask="bits"`` (least significant bit first); a
            :class:`Ragged` with ``mask="ids"``. With ``observer="all"`` one row per seat:
            ``[R, P, A]``, and R x P rows when ragged.
        chance: outcomes, with ``chance="client"`` only.
        reward: ``float32 [R, P]``: rewards since the client's previous action.
        returns: ``float64 [R, P]``, rewards of the episode so far (view ``returns``).
        terminated: ``bool [R]``: ended by the rules.
        truncated: ``bool [R]``: ended by ``max_steps``.
        length: ``uint32 [R]``: number of moves so far.
        episode: ``uint32 [R]``: number of the episode.
        final: data of episodes that were reset in this step (``same_step``).
        illegal: ``uint32``: rows whose episode an illegal action ended (``on_illegal="lose"``).
        skipped: episodes that ended before the client could act.
        envs: ``uint32 [R]``: the environments, if the request listed them, or :meth:`VecEnv.recv`
            was called with ``min_ready``.
    """

    to_move: Array
    seat: Any
    obs: Any
    info: Any
    struct: list[Any] | None
    text: list[str] | None
    mask: Any
    chance: Chance | None
    reward: Array
    returns: Any
    terminated: Array
    truncated: Array
    length: Array
    episode: Array
    final: Final | None
    illegal: Array | None
    skipped: Skipped | None
    envs: Array | None
    prompt: list[list[dict[str, str]] | None] | None = None
    answers: list[ReadAnswer | None] | None = None

    def __len__(self) -> int:
        return len(self.to_move)

    def torch(self, *, pin_memory: bool = False) -> TorchBatch:
        """Return the arrays as tensors of PyTorch, which share the memory of the message.

        Clone a tensor before you write to it: the arrays are read-only, but PyTorch has no
        read-only tensors.

        Args:
            pin_memory: True to copy the tensors to page-locked memory, from which
                ``tensor.to("cuda", non_blocking=True)`` is asynchronous. Needs a GPU.

        Raises:
            ModuleNotFoundError: PyTorch is not installed (``ludex[torch]``).
        """
        from .torch_batch import torch_batch

        return torch_batch(self, pin_memory=pin_memory)


def decode_batch(frame: Message, players: int, actions: int, *, every_seat: bool) -> Batch:
    """Decode a ``batch`` message.

    Raises:
        LudexError: ``protocol`` if the shapes of columns differ.
    """
    get = frame.get
    to_move = column(get("to_move"), I1)
    rows = len(to_move)
    per_seat = (rows, players)
    chance, envs = get("chance"), get("envs")
    obs, info = get("obs"), get("info")
    seat, returns, illegal = get("seat"), get("returns"), get("illegal")
    final, skipped, mask = get("final"), get("skipped"), get("mask")
    return Batch(
        to_move=to_move,
        seat=None if seat is None else column(seat, I1, (rows,)),
        obs=None if obs is None else tensors(obs),
        info=None if info is None else tensors(info),
        struct=get("struct"),
        text=get("text"),
        mask=None if mask is None else _mask(mask, rows, players if every_seat else 0, actions),
        chance=None if chance is None else Chance(*ragged(chance), column(chance["p"], F8)),
        reward=column(get("reward"), F4, per_seat),
        returns=None if returns is None else column(returns, F8, per_seat),
        terminated=column(get("terminated"), BOOL, (rows,)),
        truncated=column(get("truncated"), BOOL, (rows,)),
        length=column(get("length"), U4, (rows,)),
        episode=column(get("episode"), U4, (rows,)),
        final=None if final is None else _final(final, players),
        illegal=None if illegal is None else column(illegal, U4),
        skipped=None if skipped is None else _skipped(skipped, players),
        envs=None if envs is None else column(envs, U4),
        prompt=get("prompt"),
        answers=from_list(get("answers")),
    )


def _mask(value: Any, rows: int, players: int, actions: int) -> Array | Ragged:
    if isinstance(value, dict):
        return ragged(value)
    shape = (rows, players) if players else (rows,)
    bits = len(value) != rows * max(players, 1) * actions
    return column(value, U1, (*shape, -(-actions // 8) if bits else actions))


def _final(value: Message, players: int) -> Final:
    get = value.get
    seat, obs, info = get("seat"), get("obs"), get("info")
    returns, length = get("returns"), get("length")
    return Final(
        at=column(get("at"), U4),
        seat=None if seat is None else column(seat, I1),
        obs=None if obs is None else tensors(obs),
        info=None if info is None else tensors(info),
        struct=get("struct"),
        text=get("text"),
        returns=None if returns is None else column(returns, F8, (-1, players)),
        length=None if length is None else column(length, U4),
    )


def _skipped(value: Message, players: int) -> Skipped:
    return Skipped(column(value["at"], U4), column(value["returns"], F8, (-1, players)))


class BatchViews(ChangeGuard):
    """Methods common to batches on one server and on several servers."""

    _pending: Sized

    @property
    def in_flight(self) -> int:
        """Number of steps sent whose batches have not been received."""
        return len(self._pending)

    def text(self, index: int = 0, seat: int | None = None) -> str:
        """Return a seat's view of one environment as text; a round trip.

        Raises:
            LudexError: the game has no such view, ``unknown_env``, ...
        """
        return str(self._view(index, seat, views=["text"])["text"])

    def picture(self, index: int = 0, seat: int | None = None) -> Picture:
        """Return a seat's view of one environment as a picture; a round trip.

        Raises:
            LudexError: ``unknown_env``, ...
        """
        return Picture.from_wire(self._view(index, seat, views=["picture"])["picture"])

    def struct(self, index: int = 0, seat: int | None = None) -> Any:
        """Return a seat's structured view of one environment; a round trip.

        Raises:
            LudexError: ``unknown_env``, ...
        """
        return self._view(index, seat, views=["struct"])["struct"]

    def prompt(
        self, index: int = 0, seat: int | None = None, **settings: Any
    ) -> list[dict[str, str]]:
        """Return the prompt of a seat of one environment, like :meth:`ludex.Env.prompt`.

        Raises:
            LudexError: ``unknown_env``; the seat is not to move, ...
        """
        reply = self._view(index, seat, views=["prompt"], prompt=settings or None)
        messages: list[dict[str, str]] = reply["prompt"]
        return messages

    def schema(self, index: int = 0, seat: int | None = None) -> str | None:
        """Return the name of the document schema for the seat's move; a round trip.

        The name is a key of the spec's ``document_schemas``. ``None``: the seat does not act, or
        takes no document now.

        Raises:
            LudexError: ``unknown_env``, ...
        """
        return self._view(index, seat).get("schema")

    def _check_none_in_flight(self) -> None:
        if self.in_flight and not self._unconfirmed:
            raise RuntimeError(f"{self.in_flight} batches are in flight: call recv() first")

    def _follow(self) -> bool:
        """Move the environments if the client's servers have changed. Return True if they have."""
        return False

    if TYPE_CHECKING:

        def _view(self, index: int, seat: int | None, **fields: Any) -> Message: ...


class VecEnv(Handle, BatchViews):
    """A batch of environments, opened by :meth:`ludex.Client.open_vec`.

    :meth:`step` waits for its batch; :meth:`send` and :meth:`recv` split it in two. With two
    batches in flight (of two halves of the environments, or one step behind), computation overlaps
    with the network.
    """

    def __init__(self, session: Any, opened: Message, request: dict[str, Any]) -> None:
        super().__init__(session, opened, request)
        self._every_seat = request.get("observer") == "all"
        self._pending: deque[int] = deque()

    def reset(
        self,
        seed: int | None = None,
        *,
        seeds: Sequence[int] | None = None,
        envs: Sequence[int] | Array | None = None,
        seats: Sequence[str] | None = None,
    ) -> Batch:
        """Start new episodes.

        Args:
            seed: environment i gets the seed ``seed + i`` (modulo 2^64) and episode number 0.
            seeds: one seed for each of ``envs``, instead of ``seed``.
            envs: the environments; by default all.
            seats: new opponents, effective in each environment at its next episode.

        If the server was restarted, a reset of all environments opens them again first.

        Raises:
            LudexError: ``bad_seed``, ``unknown_env``, ``unknown_agent``, ...
            RuntimeError: batches are in flight.
        """
        named, texts = encode_indices(envs), None if seeds is None else [*map(seed_text, seeds)]
        self._check_none_in_flight()
        with self._change(replace_all=envs is None):
            call = self._replace if envs is None else self._call
            reply = call(
                "reset",
                envs=named,
                seed=seed_text(seed),
                seeds=texts,
                seats=None if seats is None else list(seats),
            )
            if seats is not None:
                self.seats = list(seats)
            return self._batch(reply)

    def step(self, actions: Any, envs: Sequence[int] | Array | None = None) -> Batch:
        """Play one move in every environment, or in ``envs``, and return the next batch.

        Args:
            actions: ``[R]`` action ids, or ``[R, P]`` if the game is not sequential and the client
                has more than one seat: columns of seats that do not act are -1. A row of -1 leaves
                the environment unchanged. A list may also contain moves as text, dicts (documents)
                and ``None``; or :class:`ludex.Answer` and ``None``. A row with an answer that is
                not a legal move does not change.
            envs: the environments; by default all.

        Raises:
            LudexError: ``illegal_action`` (``.index`` is the row; no environment has moved),
                ``env_over``, ``bad_shape``, ...
            RuntimeError: batches are in flight.
        """
        named, moves = encode_indices(envs), moves_field(actions)
        self._check_none_in_flight()
        with self._change():
            return self._batch(self._call("step", envs=named, **moves))

    def send(self, actions: Any, envs: Sequence[int] | Array | None = None) -> None:
        """Send a step without waiting for its batch; at most two may be in flight.

        Raises:
            LudexError: the connection cannot be resumed.
            RuntimeError: two batches are already in flight.
        """
        named, moves = encode_indices(envs), moves_field(actions)
        if len(self._pending) >= IN_FLIGHT and not self._unconfirmed:
            raise RuntimeError(f"{IN_FLIGHT} batches are in flight: call recv() first")
        with self._change():
            self._pending.append(self._post("step", envs=named, **moves))

    def async_reset(self, seed: int | None = None) -> None:
        """Start new episodes in all environments without waiting; :meth:`recv` returns the batch.

        Args:
            seed: as for :meth:`reset`.

        Raises:
            LudexError: ``bad_seed``, or the connection cannot be resumed.
            RuntimeError: batches are in flight.
        """
        text = seed_text(seed)
        self._check_none_in_flight()
        with self._change(replace_all=True):
            self._revive()
            self._pending.append(self._post("reset", seed=text))

    def recv(self, min_ready: int | None = None) -> Batch:
        """Return the batch of the oldest pending :meth:`send`.

        Args:
            min_ready: as for :meth:`ShardedVecEnv.recv`. The server answers the rows of one
                handle together, so this only sets ``envs`` of the batch.

        Raises:
            LudexError: the step was refused; the environments are unchanged.
            RuntimeError: no batch is in flight.
        """
        if not self._pending and not self._unconfirmed:
            raise RuntimeError("recv(): expected a batch in flight; call send() first")
        with self._change():
            batch = self._batch(self._session.wait(self._pending.popleft()))
        if min_ready is not None and batch.envs is None:
            batch.envs = np.arange(len(batch), dtype=np.uint32)
        return batch

    @property
    def _is_answered(self) -> bool:
        """True if the server has answered the oldest pending :meth:`send`."""
        return not self._session.is_pending(self._pending[0])

    def snapshot(self, envs: Sequence[int] | Array | None = None) -> list[bytes]:
        """Return the states of the environments (or ``envs``) for :meth:`restore`.

        Raises:
            LudexError: ``unknown_env``, ...
        """
        self._check_none_in_flight()
        items: list[bytes] = self._call("snapshot", envs=encode_indices(envs))["items"]
        return items

    def restore(self, items: Sequence[bytes], envs: Sequence[int] | Array | None = None) -> Batch:
        """Restore snapshots, one for each environment (or each of ``envs``).

        If the server was restarted, snapshots for all environments open them again first.

        Raises:
            LudexError: ``bad_snapshot``: it belongs to another game, or its state is unreachable.
        """
        named = encode_indices(envs)
        self._check_none_in_flight()
        with self._change(replace_all=envs is None):
            call = self._replace if envs is None else self._call
            return self._batch(call("restore", envs=named, items=list(items)))

    def clone(
        self, envs: Sequence[int] | Array | None = None, *, seed: int | None = None
    ) -> VecEnv:
        """Return a new batch with the same states and the same future chance events.

        Args:
            envs: the environments; by default all.
            seed: if given, draw different future chance events from this seed.

        Raises:
            LudexError: ``limit``, ``unknown_env``, ...
        """
        self._check_none_in_flight()
        opened = self._call("clone", envs=encode_indices(envs), seed=seed_text(seed))
        request = {**self._request, "count": opened["count"], "seats": self.seats}
        return VecEnv(self._session, opened, request)

    def _discard_sent(self, count: int) -> None:
        """Drop the batches in flight after the oldest ``count``."""
        while len(self._pending) > count:
            self._session.forget([self._pending.pop()])

    def _discard_change(self) -> None:
        self._session.forget(self._pending)
        self._pending.clear()
        super()._discard_change()

    def _batch(self, frame: Message) -> Batch:
        return decode_batch(
            frame, self.spec.players, self.spec.actions, every_seat=self._every_seat
        )


def moves_field(actions: Any) -> dict[str, Any]:
    """Return the field for moves: ``actions`` (a column) for ids only, otherwise ``moves``."""
    answers = answers_field(list(actions)) if isinstance(actions, (list, tuple)) else None
    if answers is not None:
        return answers
    if isinstance(actions, (list, tuple)) and any(_is_structured(entry) for entry in actions):
        return {"moves": [entry if _is_structured(entry) else int(entry) for entry in actions]}
    return {"actions": packed(actions, I4)}


def _is_structured(entry: Any) -> bool:
    return entry is None or isinstance(entry, (str, dict))
