"""Batches of environments that span several handles, on one server or on several."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .columns import Array, Ragged, Views
from .errors import LudexError
from .handle import seed_text
from .spec import Spec
from .transport.pool import SessionPool
from .transport.session import Session, wait_for_any
from .transport.wire import Message
from .vec import IN_FLIGHT, Batch, BatchViews, Chance, Final, Skipped, VecEnv, moves_field

T = TypeVar("T")


class _Share(NamedTuple):
    """The part of a call that concerns one handle.

    Attributes:
        vec: the environments of the handle.
        envs: indices into ``vec``, in the order of the call; ``None``: all.
        rows: positions in the call.
    """

    vec: VecEnv
    envs: Array | None
    rows: Array


class ShardedVecEnv(BatchViews):
    """A batch of environments in several handles, with the interface of :class:`VecEnv`.

    Returned by :meth:`ludex.Client.open_vec` of a client with a list of URLs, or with ``shards``.
    The handles step their shares concurrently. Seeds follow the index in the whole batch, so the
    results equal those of one handle.

    Environments move only in a reset or restore of all of them: away from a server that no longer
    answers, and to the servers that :meth:`ludex.Client.set_servers` names.

    If the part of a step of one handle is refused, for example because of an illegal action, the
    environments of the other handles have moved nevertheless. Arrays are copies, not views of
    messages.

    Attributes:
        spec: the game.
        num_envs: number of environments, with indices 0..num_envs.
    """

    def __init__(
        self, pool: SessionPool, shards: Sequence[VecEnv], *, per_server: bool = True
    ) -> None:
        """Join handles.

        Args:
            pool: the client's servers.
            shards: the handles, in the order of their environments.
            per_server: True if each server has one handle, so that the number of handles follows
                that of the servers.

        Raises:
            LudexError: ``bad_params``: servers have different rules.
        """
        self.spec: Spec = shards[0].spec
        self.shards = list(shards)
        counts = [vec.num_envs for vec in shards]
        self.num_envs = sum(counts)
        self._begins = np.cumsum([0, *counts])
        self._pool = pool
        self._version = pool.version
        self._per_server = per_server
        self._pending: list[list[_Share]] = []
        # Received rows that wait for others, and True after a part of a send was returned.
        self._ready: list[tuple[_Share, Batch]] = []
        self._partial = False
        if any(vec.spec.hash != self.spec.hash for vec in shards):
            self.close()
            raise LudexError(
                "bad_params", f"expected servers with equal rules of {self.spec.string}"
            )

    @property
    def seats(self) -> list[str]:
        """The player of each seat; ``"agent"`` is the client."""
        return self.shards[0].seats

    @property
    def in_flight(self) -> int:
        """Number of steps sent whose batches have not been received completely."""
        return len(self._pending) + bool(self._ready)

    @property
    def closed(self) -> bool:
        """True if at least one of the environments no longer exists."""
        return any(vec.closed for vec in self.shards)

    def close(self) -> None:
        """Free the environments on all servers. Safe to call twice.

        Raises:
            LudexError: a connection cannot be resumed.
        """
        self._all(self.shards, VecEnv.close)

    def reset(
        self,
        seed: int | None = None,
        *,
        seeds: Sequence[int] | None = None,
        envs: Sequence[int] | Array | None = None,
        seats: Sequence[str] | None = None,
    ) -> Batch:
        """Start new episodes, like :meth:`VecEnv.reset`.

        A reset of all environments first spreads them over the servers again, if a server no longer
        answers or :meth:`ludex.Client.set_servers` was called. Without seeds, each environment then
        continues its series of episodes, except those of a lost server, which start new series.

        Raises:
            LudexError: ``bad_seed``, ``unknown_env``, ``unknown_agent``, ...
            ValueError: the numbers of seeds and environments differ.
            RuntimeError: batches are in flight.
        """
        self._check_none_in_flight()
        if seeds is not None and len(seeds) != self._rows(envs):
            raise ValueError(f"seeds: expected {self._rows(envs)}, one per env, got {len(seeds)}")

        def reset(share: _Share) -> Batch:
            own = None if seeds is None else [seeds[row] for row in share.rows.tolist()]
            base = None if seed is None else self._base(share, seed)
            return share.vec.reset(base, seeds=own, envs=share.envs, seats=seats)

        shares = self._shares(envs)
        if seats is not None and len(shares) < len(self.shards):
            raise ValueError(
                "seats: expected environments of every server, since seats change on all servers"
            )
        with self._change(replace_all=envs is None):
            return self._replace(shares, reset)

    def step(self, actions: Any, envs: Sequence[int] | Array | None = None) -> Batch:
        """Play one move in every environment, or in ``envs``, like :meth:`VecEnv.step`.

        Raises:
            LudexError: ``illegal_action``, ``env_over``, ``bad_shape``, ...: the environments of
                the server that refused are unchanged; the others have moved.
            ValueError: the numbers of entries and environments differ.
            RuntimeError: batches are in flight.
        """
        self._check_none_in_flight()
        moves, shares = self._moves(actions, envs), self._shares(envs)
        with self._change():
            self._send(moves, shares)
            return self._recv()

    def send(self, actions: Any, envs: Sequence[int] | Array | None = None) -> None:
        """Send a step without waiting, like :meth:`VecEnv.send`.

        Raises:
            LudexError: a connection cannot be resumed.
            ValueError: the numbers of entries and environments differ.
            RuntimeError: two batches of one of the handles are already in flight.
        """
        moves, shares = self._moves(actions, envs), self._shares(envs)
        full = any(share.vec.in_flight >= IN_FLIGHT for share in shares)
        if full and not self._unconfirmed:
            raise RuntimeError(f"{IN_FLIGHT} batches are in flight: call recv() first")
        with self._change():
            self._send(moves, shares)

    def _moves(self, actions: Any, envs: Sequence[int] | Array | None) -> Any:
        """Check the actions before they are sent to any server."""
        if not isinstance(actions, (list, tuple)):
            actions = np.asarray(actions)
        if len(actions) != self._rows(envs):
            count = self._rows(envs)
            raise ValueError(f"actions: expected {count}, one per env, got {len(actions)}")
        moves_field(actions)
        return actions

    def _send(self, actions: Any, shares: list[_Share]) -> None:
        def send(share: _Share) -> None:
            if isinstance(actions, np.ndarray):
                share.vec.send(actions[share.rows], share.envs)
            else:
                share.vec.send([actions[row] for row in share.rows.tolist()], share.envs)

        counts = [share.vec.in_flight for share in shares]
        try:
            self._all(shares, send)
        except LudexError:
            # The other servers execute their shares, whose batches are dropped.
            for share, count in zip(shares, counts, strict=True):
                share.vec._discard_sent(count)
            raise
        self._pending.append(shares)

    def async_reset(self, seed: int | None = None) -> None:
        """Start new episodes in all environments without waiting for them.

        :meth:`recv` returns their rows.

        Raises:
            LudexError: ``bad_seed``, or a connection cannot be resumed.
            RuntimeError: batches are in flight.
        """
        seed_text(seed)
        self._check_none_in_flight()
        with self._change(replace_all=True):
            self._follow()
            shares = self._shares(None)
            bases = [None if seed is None else self._base(share, seed) for share in shares]
            for share, base in zip(shares, bases, strict=True):
                share.vec.async_reset(base)
            self._pending.append(shares)

    def recv(self, min_ready: int | None = None) -> Batch:
        """Return the batch of the oldest pending :meth:`send`, or the rows that are ready.

        Each handle answers its rows of a step together. Rows of handles whose opponents need longer
        therefore become ready later, and ``min_ready`` may return more rows than it demands.

        Args:
            min_ready: return as soon as this number of rows is ready, from any pending
                :meth:`send` or :meth:`async_reset`. ``batch.envs`` has their environments, in
                ascending order. Without it, a call after one with it returns all rows in flight.

        Raises:
            LudexError: a server refused its share of that step. With ``min_ready``, the other rows
                remain to be received.
            RuntimeError: nothing is in flight.
            ValueError: ``min_ready`` is not in 1..=the number of rows in flight.
        """
        if not self.in_flight and not self._unconfirmed:
            raise RuntimeError("recv(): expected a batch in flight; call send() first")
        if min_ready is None and not self._partial:
            with self._change():
                return self._recv()
        shares = [share for send in self._pending for share in send]
        count = sum(len(share.rows) for share in [*shares, *(share for share, _ in self._ready)])
        demanded = count if min_ready is None else min_ready
        if not self._unconfirmed and not 1 <= demanded <= count:
            raise ValueError(f"min_ready: expected 1..={count} (rows in flight), got {min_ready}")
        with self._change():
            return self._recv_ready(demanded)

    def _recv(self) -> Batch:
        shares = self._pending.pop(0)
        return self._join(shares, self._all(shares, lambda share: share.vec.recv()))

    def _recv_ready(self, count: int) -> Batch:
        while sum(len(share.rows) for share, _ in self._ready) < count:
            for share in self._answered():
                rest = ([other for other in send if other is not share] for send in self._pending)
                self._pending = [send for send in rest if send]
                self._partial = bool(self._pending or self._ready)
                self._ready.append((share, share.vec.recv()))
        ready, self._ready = self._ready, []
        self._partial = bool(self._pending)
        envs = [self._global(share) for share, _ in ready]
        at = np.argsort(np.argsort(np.concatenate(envs), kind="stable"))
        ends = np.cumsum([len(rows) for rows in envs])
        shares = [
            _Share(
                share.vec, np.arange(share.vec.num_envs) if share.envs is None else share.envs, rows
            )
            for (share, _), rows in zip(ready, np.split(at, ends[:-1]), strict=True)
        ]
        return self._join(shares, [batch for _, batch in ready])

    def _answered(self) -> list[_Share]:
        """Wait for an answer; return the oldest share of each handle that is answered."""
        shares = [share for send in reversed(self._pending) for share in send]
        oldest = {id(share.vec): share for share in shares}
        sessions = list({id(share.vec._session): share.vec._session for share in shares}.values())
        while True:
            answered = [
                share
                for share in shares
                if oldest[id(share.vec)] is share and share.vec._is_answered
            ]
            if answered:
                return answered
            wait_for_any(sessions)

    def snapshot(self, envs: Sequence[int] | Array | None = None) -> list[bytes]:
        """Return the states of the environments (or ``envs``) for :meth:`restore`.

        Raises:
            LudexError: ``unknown_env``, ...
        """
        self._check_none_in_flight()
        shares = self._shares(envs)
        parts = self._all(shares, lambda share: share.vec.snapshot(share.envs))
        return _scatter(shares, parts)

    def restore(self, items: Sequence[bytes], envs: Sequence[int] | Array | None = None) -> Batch:
        """Restore snapshots, one for each environment (or each of ``envs``).

        Raises:
            LudexError: ``bad_snapshot``: it belongs to another game, or its state is unreachable.
            ValueError: the numbers of snapshots and environments differ.
        """
        self._check_none_in_flight()
        if len(items) != self._rows(envs):
            raise ValueError(f"items: expected {self._rows(envs)}, one per env, got {len(items)}")

        def restore(share: _Share) -> Batch:
            return share.vec.restore([items[row] for row in share.rows.tolist()], share.envs)

        shares = self._shares(envs)
        with self._change(replace_all=envs is None):
            return self._replace(shares, restore)

    def clone(
        self, envs: Sequence[int] | Array | None = None, *, seed: int | None = None
    ) -> ShardedVecEnv:
        """Return a new batch with equal states and the same future chance events.

        Args:
            envs: the environments in ascending order, because each copy stays on its server.
            seed: if given, draw different future chance events from this seed.

        Raises:
            LudexError: ``limit``, ``unknown_env``, ...
            ValueError: ``envs`` is not ascending.
        """
        self._check_none_in_flight()
        if envs is not None and (np.diff(np.asarray(envs)) <= 0).any():
            raise ValueError(
                "envs: expected ascending indices, since environments span several servers"
            )

        def clone(share: _Share) -> VecEnv:
            base = None if seed is None else (seed + int(share.rows[0])) % 2**64
            return share.vec.clone(share.envs, seed=base)

        clones = self._all(self._shares(envs), clone)
        return ShardedVecEnv(self._pool, clones, per_server=self._per_server)

    # Changes of the servers.

    def _replace(self, shares: list[_Share], do: Callable[[_Share], Batch]) -> Batch:
        """Replace the states of ``shares``; if these are all, open lost environments again."""
        whole = all(share.envs is None for share in shares)
        try:
            if whole and self._follow():
                shares = self._shares(None)
            return self._join(shares, self._all(shares, do))
        except LudexError as error:
            if error.code != "connection_lost" or not whole or not self._revive():
                raise
        shares = self._shares(None)
        return self._join(shares, self._all(shares, do))

    def _revive(self) -> bool:
        """Open lost environments again, on other servers if theirs no longer answers.

        Return True if there were any.
        """
        self._pool.drop_lost()
        return self._follow() or any([vec._revive() for vec in self.shards])

    def _follow(self) -> bool:
        """Spread the environments again if the servers have changed. Return True if they have.

        Raises:
            LudexError: a server refuses its share, for example with ``limit``; the environments are
                then closed until the next reset.
        """
        if self._version == self._pool.version:
            return False
        states = self._states()
        self._pool.drop_lost()
        for vec in self.shards:
            if vec._session.connected:
                with contextlib.suppress(LudexError):
                    vec.close()
        self.shards = open_shards(self._handles())
        self._begins = np.cumsum([0, *(vec.num_envs for vec in self.shards)])
        self._version = self._pool.version
        self._pool.close_unused()
        if states:
            shares = self._shares(list(states))
            items = list(states.values())
            self._all(shares, lambda s: s.vec.restore([items[row] for row in s.rows], s.envs))
        return True

    def _handles(self) -> list[tuple[Session, dict[str, Any]]]:
        """Return the sessions and the ``open`` requests of the handles on the current servers."""
        requests = [{**vec._request, "seats": vec.seats} for vec in self.shards]
        if self._per_server:
            shares = self._pool.shares(self.num_envs, None)
            return [(session, {**requests[0], "count": count}) for session, count in shares]
        handles = len(requests)
        return [
            (self._pool.session_of(index, handles), {**request, "count": vec.num_envs})
            for index, (vec, request) in enumerate(zip(self.shards, requests, strict=True))
        ]

    def _states(self) -> dict[int, bytes]:
        """Return snapshots of the environments that still exist, by index."""
        states: dict[int, bytes] = {}
        for share in self._shares(None):
            if share.vec._session.connected and not share.vec.closed:
                with contextlib.suppress(LudexError):
                    items = share.vec.snapshot()
                    states.update(zip(share.rows.tolist(), items, strict=True))
        return states

    # Shares of the servers.

    def _rows(self, envs: Sequence[int] | Array | None) -> int:
        return self.num_envs if envs is None else len(envs)

    def _global(self, share: _Share) -> Array:
        """Return the indices of the environments of a share in the whole batch."""
        own = np.arange(share.vec.num_envs) if share.envs is None else share.envs
        indices: Array = own + self._begins[self.shards.index(share.vec)]
        return indices

    def _base(self, share: _Share, seed: int) -> int:
        return (seed + int(self._begins[self.shards.index(share.vec)])) % 2**64

    def _view(self, index: int, seat: int | None, **fields: Any) -> Message:
        (share,) = self._shares([index])
        local = index if share.envs is None else int(share.envs[0])
        return share.vec._view(local, seat, **fields)

    def _shares(self, envs: Sequence[int] | Array | None) -> list[_Share]:
        if envs is None:
            ends = zip(self._begins, self._begins[1:], strict=False)
            own = [np.arange(begin, end) for begin, end in ends]
            return [_Share(vec, None, rows) for vec, rows in zip(self.shards, own, strict=True)]
        named = np.asarray(envs, np.int64)
        if named.size and not (named.min() >= 0 and named.max() < self.num_envs):
            raise LudexError(
                "unknown_env",
                f"envs: expected indices in 0..{self.num_envs}",
                path="envs",
                got=list(envs),
            )
        owner = np.searchsorted(self._begins, named, side="right") - 1
        shares = []
        for index, vec in enumerate(self.shards):
            rows = np.flatnonzero(owner == index)
            if rows.size:
                shares.append(_Share(vec, named[rows] - self._begins[index], rows))
        if not shares:
            raise ValueError("envs: expected at least one environment, got none")
        return shares

    def _discard_change(self) -> None:
        self._pending.clear()
        self._ready.clear()
        self._partial = False
        for vec in self.shards:
            vec._discard_change()
        super()._discard_change()

    def _all(self, shares: Sequence[Any], do: Callable[[Any], T]) -> list[T]:
        """Call ``do`` for every server, and then raise the first failure, if any."""
        done: list[T] = []
        failure: LudexError | None = None
        for share in shares:
            try:
                done.append(do(share))
            except LudexError as error:
                failure = failure or _shift_error_index(error, share)
        if failure is not None:
            raise failure
        return done

    def _join(self, shares: list[_Share], parts: list[Batch]) -> Batch:
        """Join the servers' batches in the order of the call."""
        first = parts[0]
        if len(parts) == 1:
            if shares[0].envs is not None:
                first.envs = self._global(shares[0]).astype(np.uint32)
            return first

        def dense(name: str) -> Any:
            return _dense(shares, [getattr(part, name) for part in parts])

        def listed(name: str) -> Any:
            found = [getattr(part, name) for part in parts]
            return None if found[0] is None else _scatter(shares, found)

        rows = sum(len(share.rows) for share in shares)
        illegal = [_rows_of(s, p.illegal) for s, p in zip(shares, parts, strict=True)]
        any_illegal = any(part.illegal is not None for part in parts)
        named = None
        if shares[0].envs is not None:
            named = _dense(shares, [self._global(share) for share in shares]).astype(np.uint32)
        return Batch(
            to_move=dense("to_move"),
            seat=dense("seat"),
            obs=dense("obs"),
            info=dense("info"),
            struct=listed("struct"),
            text=listed("text"),
            mask=_masks(shares, [part.mask for part in parts], rows),
            chance=_chance(shares, [part.chance for part in parts], rows),
            reward=dense("reward"),
            returns=dense("returns"),
            terminated=dense("terminated"),
            truncated=dense("truncated"),
            length=dense("length"),
            episode=dense("episode"),
            final=_final(shares, [part.final for part in parts]),
            illegal=np.sort(np.concatenate(illegal)) if any_illegal else None,
            skipped=_skipped(shares, [part.skipped for part in parts]),
            envs=named,
            prompt=listed("prompt"),
            answers=_answers(shares, parts),
        )


def open_shards(handles: Iterable[tuple[Session, dict[str, Any]]]) -> list[VecEnv]:
    """Open handles, all or none, by sessions and ``open`` requests.

    Raises:
        LudexError: a server refuses its share.
    """
    shards: list[VecEnv] = []
    try:
        for session, request in handles:
            shards.append(VecEnv(session, session.call("open", bound=False, **request), request))
    except LudexError:
        for vec in shards:
            with contextlib.suppress(LudexError):
                vec.close()
        raise
    return shards


def _shift_error_index(error: LudexError, share: Any) -> LudexError:
    """Convert the index in an error from one server to the index in the whole call."""
    if isinstance(share, _Share) and error.index is not None and error.path != "moves":
        rows = share.rows.tolist()
        error.index = rows[error.index] if error.index < len(rows) else error.index
    return error


def _answers(shares: list[_Share], parts: list[Batch]) -> list[Any] | None:
    if all(part.answers is None for part in parts):
        return None
    return _scatter(shares, [part.answers or [None] * len(part) for part in parts])


def _rows_of(share: _Share, rows: Array | None) -> Array:
    own: Array = share.rows[[] if rows is None else rows].astype(np.uint32)
    return own


def _scatter(shares: list[_Share], parts: list[list[Any]]) -> list[Any]:
    whole: list[Any] = [None] * sum(len(part) for part in parts)
    for share, part in zip(shares, parts, strict=True):
        for row, entry in zip(share.rows.tolist(), part, strict=True):
            whole[row] = entry
    return whole


def _dense(shares: list[_Share], parts: list[Any]) -> Any:
    """Join arrays (or dicts of arrays) so that rows are in the order of the call."""
    if parts[0] is None:
        return None
    if isinstance(parts[0], dict):
        return {name: _dense(shares, [part[name] for part in parts]) for name in parts[0]}
    whole = np.empty((sum(len(part) for part in parts), *parts[0].shape[1:]), parts[0].dtype)
    for share, part in zip(shares, parts, strict=True):
        whole[share.rows] = part
    return whole


def _ragged(shares: list[_Share], parts: list[Ragged], rows: int) -> tuple[Ragged, Array]:
    """Join ragged rows so that rows are in the order of the call.

    The second result is the index of each value in the concatenated parts. A part may have several
    ragged rows per row of the call, one per seat.
    """
    each = sum(len(part.at) - 1 for part in parts) // rows
    begins, lengths = np.empty(rows * each, np.int64), np.empty(rows * each, np.int64)
    offset = 0
    for share, part in zip(shares, parts, strict=True):
        own = (share.rows[:, None] * each + np.arange(each)).ravel()
        begins[own] = part.at[:-1].astype(np.int64) + offset
        lengths[own] = np.diff(part.at.astype(np.int64))
        offset += len(part.values)
    at = np.concatenate([[0], np.cumsum(lengths)])
    order = np.repeat(begins - at[:-1], lengths) + np.arange(at[-1])
    values = np.concatenate([part.values for part in parts])
    return Ragged(at.astype(np.uint32), values[order]), order


def _masks(shares: list[_Share], parts: list[Any], rows: int) -> Array | Ragged | None:
    if isinstance(parts[0], Ragged):
        return _ragged(shares, parts, rows)[0]
    masks: Array | None = _dense(shares, parts)
    return masks


def _chance(shares: list[_Share], parts: list[Chance | None], rows: int) -> Chance | None:
    given = [part for part in parts if part is not None]
    if not given:
        return None
    whole, order = _ragged(shares, [Ragged(part.at, part.values) for part in given], rows)
    weights = np.concatenate([part.probabilities for part in given])
    return Chance(whole.at, whole.values, weights[order])


def _final(shares: list[_Share], parts: list[Final | None]) -> Final | None:
    given = [(s, part) for s, part in zip(shares, parts, strict=True) if part is not None]
    if not given:
        return None
    at = np.concatenate([_rows_of(share, part.at) for share, part in given])
    order = np.argsort(at, kind="stable")

    def put(name: str) -> Any:
        found = [getattr(part, name) for _, part in given]
        if found[0] is None:
            return None
        if isinstance(found[0], list):
            flat = [entry for part in found for entry in part]
            return [flat[index] for index in order]
        return _stacked(found, order)

    return Final(at=at[order], **{name: put(name) for name in Final._fields if name != "at"})


def _stacked(parts: list[Views], order: Array) -> Any:
    if isinstance(parts[0], dict):
        named = [part for part in parts if isinstance(part, dict)]
        return {name: _stacked([part[name] for part in named], order) for name in parts[0]}
    whole: Array = np.concatenate(parts)  # type: ignore[arg-type]
    return whole[order]


def _skipped(shares: list[_Share], parts: list[Skipped | None]) -> Skipped | None:
    given = [(s, part) for s, part in zip(shares, parts, strict=True) if part is not None]
    if not given:
        return None
    at = np.concatenate([_rows_of(share, part.at) for share, part in given])
    order = np.argsort(at, kind="stable")
    return Skipped(at[order], np.concatenate([part.returns for _, part in given])[order])
