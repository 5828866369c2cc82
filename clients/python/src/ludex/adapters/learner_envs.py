"""A batch of environments with one learner seat in each, for the single-agent adapters.

The opponent of an environment may change with every episode. Each agent of the server that is an
opponent has its own group of environments on the server; all callables share one group
(opponents.py). An episode starts in one of these groups from a snapshot without moves, which has
the seed and the episode number. The episode therefore depends only on its seed and number, not on
the batch or on other episodes.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

import msgpack
import numpy as np

from ..client import Client
from ..columns import TENSOR_TYPES, U4, Array, column, dense, mask_encoding
from ..errors import LudexError
from ..handle import seed_text
from ..picture import Picture
from ..row import Row
from ..sharded import ShardedVecEnv
from ..spec import Spec
from ..transport.guard import ChangeGuard
from ..vec import Batch, VecEnv
from .learner_rows import Outcome, Rows
from .opponents import LocalOpponents, ServerOpponents
from .options import AdapterOptions
from .seeded_draws import draws

Policy = Callable[[Array, Array], Any]
"""A function from observations ``[k, ...]`` and masks ``int8 [k, A]`` to k actions."""

Opponent = str | Policy
SeatChoice = int | Literal["alternate", "random"]

MAX_SKIPPED = 1_000
T = TypeVar("T")


def opponents(opponent: Opponent | Sequence[Opponent]) -> list[Opponent]:
    """Return the pool of opponents, from which one is drawn for each episode.

    Raises:
        TypeError: an opponent is neither an agent spec nor a callable, or the pool is empty.
    """
    if isinstance(opponent, Sequence) and not isinstance(opponent, str):
        listed = list(opponent)
    else:
        listed = [opponent]
    for entry in listed:
        if not isinstance(entry, str) and not callable(entry):
            raise TypeError(
                f"opponent: expected a callable or a spec such as 'mcts sims=100', got {entry!r}"
            )
    if not listed:
        raise TypeError("opponent: expected at least one, got an empty list")
    return listed


class LearnerEnvs(ChangeGuard):
    """A batch of environments in which the learner has one seat.

    An adapter must call :meth:`confirm` after it has built the result of a step or reset. If an
    interrupt prevents this call, the learner has not received the result, and the next step is
    refused.

    Attributes:
        spec: the game.
        num_envs: number of environments.
        rows: data of each environment; every call overwrites the rows, so return copies.
        skipped: number of episodes that ended before the learner could act.
        everyone: the indices of all environments.
    """

    def __init__(
        self,
        client: Client,
        spec: Spec,
        num_envs: int,
        *,
        opponent: Opponent | Sequence[Opponent] = "random",
        seat: SeatChoice = 0,
        max_steps: int | None = None,
        same_step: bool = False,
    ) -> None:
        """Open the environments; the first episodes start with :meth:`reset`.

        ``same_step``: the caller steps with :meth:`step_and_reset`, so the server resets an
        environment in the step that ends its episode.

        Raises:
            LudexError: an error from the server, e.g. ``unknown_agent``.
            TypeError: an opponent is neither an agent spec nor a callable.
            ValueError: the seat does not exist.
        """
        self.spec = spec
        self.num_envs = num_envs
        self.skipped = 0
        self.everyone = np.arange(num_envs)
        self._client = client
        self._options = {
            "autoreset": "next_step",
            "max_steps": max_steps,
            "on_illegal": "lose",
        }
        self.same_step = same_step
        players = self.spec.players
        if seat not in ("alternate", "random") and seat not in range(players):
            raise ValueError(
                f"seat: got {seat!r}; allowed: 0..{players - 1}, 'alternate' or 'random'"
            )
        self._seat = seat
        self._seeds = [0] * num_envs
        self._episodes = np.full(num_envs, -1, np.int64)
        # Groups by agent spec; the group of the callables has the key None. `_group_list` lists the
        # same groups and only grows. `_group_of` is the index of the group that plays an episode,
        # by environment, -1 before the first episode.
        self._groups: dict[str | None, ServerOpponents | LocalOpponents] = {}
        self._group_list: list[ServerOpponents | LocalOpponents] = []
        self._group_of = np.full(num_envs, -1, np.int64)
        self._pool: list[Opponent] = []
        self._players: list[Opponent] = ["random"] * num_envs
        self.rows = self._empty()
        self.set_opponent(opponent)

    def _empty(self) -> Rows:
        tensor, count = self.spec.array(), self.num_envs
        return Rows(
            obs=np.zeros((count, *tensor["s"]), TENSOR_TYPES[tensor["d"]]),
            mask=np.zeros((count, self.spec.actions), np.int8),
            seat=np.zeros(count, np.int8),
            reward=np.zeros(count),
            terminated=np.zeros(count, np.bool_),
            truncated=np.zeros(count, np.bool_),
            illegal=np.zeros(count, np.bool_),
            length=np.zeros(count, np.int64),
            opponent=np.zeros(count, np.int64),
        )

    # Opponents.

    def set_opponent(self, opponent: Opponent | Sequence[Opponent]) -> None:
        """Replace the opponents, effective in each environment at its next episode.

        Raises:
            LudexError: ``unknown_agent``, ...
            TypeError: an opponent is neither an agent spec nor a callable.
        """
        pool = opponents(opponent)
        if self.spec.players == 1:
            pool = ["random"]  # never gets a seat
        for entry in pool:
            self._group(entry)
        self._pool = pool
        self._close_unused_groups()

    def _group(self, opponent: Opponent) -> ServerOpponents | LocalOpponents:
        name = opponent if isinstance(opponent, str) else None
        if name not in self._groups:
            group = LocalOpponents(self) if name is None else ServerOpponents(self, name)
            self._groups[name] = group
            self._group_list.append(group)
        return self._groups[name]

    def _close_unused_groups(self) -> None:
        """Close the groups of opponents that are outside the pool and play no episode."""
        needed = {entry if isinstance(entry, str) else None for entry in self._pool}
        for name, group in list(self._groups.items()):
            if name not in needed and not (self._group_of == self._group_list.index(group)).any():
                del self._groups[name]
                group.vec.close()

    # Episodes.

    def reset(self, seed: int | Sequence[int] | None = None, envs: Any = None) -> None:
        """Start new episodes.

        Args:
            seed: environment i gets ``seed + i`` modulo 2^64, or the i-th seed of a list, and its
                episode number restarts at 0. A seed is in 0..2^64. Without a seed, each series of
                episodes continues; a first series gets a random seed.
            envs: indices; by default all.

        Raises:
            LudexError: ``bad_seed``, ``session_lost``, ...
            ValueError: the numbers of seeds and environments differ.
        """
        chosen = self.everyone if envs is None else np.asarray(envs, np.int64)
        seeds = self._parse_seeds(seed, chosen)
        if len(chosen) == self.num_envs:
            self._discard_change()
        self._begin_change(lambda: self._reset(chosen, seeds))

    def _parse_seeds(self, seed: int | Sequence[int] | None, envs: Array) -> list[int] | None:
        """Return a seed for each of ``envs``, or ``None`` without seeds."""
        if seed is None:
            return None
        if isinstance(seed, Sequence):
            seeds = list(seed)
        else:
            seed_text(seed)
            seeds = [(int(seed) + i) % 2**64 for i in envs.tolist()]
        if len(seeds) != len(envs):
            raise ValueError(f"seed: expected {len(envs)}, one per environment, got {len(seeds)}")
        return [int(seed_text(entry) or 0) for entry in seeds]

    def _reset(self, chosen: Array, seeds: list[int] | None) -> None:
        if seeds is None:
            fresh = chosen[self._episodes[chosen] < 0]
            if fresh.size:
                base = secrets.randbits(63)
                self._seed(fresh, [base + index for index in fresh.tolist()])
            self._episodes[chosen] += 1
        else:
            self._seed(chosen, seeds)
            self._episodes[chosen] = 0
        whole = len(chosen) == self.num_envs
        seeded = seeds is not None
        if whole:
            for group in self._groups.values():
                group.vec._follow()
                # A batch that loses a server has no series of episodes there to continue.
                seeded = seeded or isinstance(group.vec, ShardedVecEnv)
        try:
            self._start(chosen, seeded=seeded)
        except LudexError as error:
            lost = error.code in ("session_lost", "connection_lost")
            if not lost or not whole or not self._revive():
                raise
            self._start(chosen, seeded=True)

    def _revive(self) -> bool:
        """Open the environments of lost servers again. Return True if there were any."""
        return any([group.vec._revive() for group in self._groups.values()])

    def _seed(self, envs: Array, seeds: Sequence[int]) -> None:
        for index, seed in zip(envs.tolist(), seeds, strict=True):
            self._seeds[index] = seed % 2**64

    def _start(self, envs: Array, *, seeded: bool = False) -> None:
        """Start the episodes with the numbers in ``_episodes``, each against its opponent."""
        for _ in range(MAX_SKIPPED):
            if not envs.size:
                self._close_unused_groups()
                return
            chosen = self._draw("opponent", envs, len(self._pool))
            self.rows.opponent[envs] = chosen
            for index, entry in zip(envs.tolist(), chosen.tolist(), strict=True):
                self._players[index] = self._pool[entry]
            self.rows.reward[envs] = 0.0
            self.rows.illegal[envs] = False
            where = [self._group_list.index(self._group(entry)) for entry in self._pool]
            before = self._group_of[envs]
            now = np.asarray(where, np.int64)[chosen]
            self._group_of[envs] = now
            for index in sorted(set(now.tolist())):
                members = now == index
                same = len(self._pool) == 1 and bool((before == index).all())
                stays = same and not seeded and not self.same_step
                self._group_list[index].start(envs[members], stays=stays)
            # Episodes that end before the learner acts; resets by the server already skip them.
            ended = envs[self.rows.over[envs]]
            self.skipped += len(ended)
            self._episodes[ended] += 1
            envs = ended
        raise LudexError(
            "limit", f"{MAX_SKIPPED} episodes in a row ended before the learner could act"
        )

    def _draw(self, purpose: str, envs: Array, n: int) -> Array:
        """Draw a number in 0..n for the current episode of each of ``envs``."""
        if n == 1:
            return np.zeros(len(envs), np.int64)
        episodes = zip([self._seeds[i] for i in envs], self._episodes[envs].tolist(), strict=True)
        return draws(purpose, self.spec.game, episodes, n)

    def snapshots(self, envs: Array) -> list[bytes]:
        """Return the initial states of the current episodes of ``envs`` as snapshots."""
        spec, pack = self.spec, msgpack.packb
        return [
            pack(
                {
                    "v": 1,
                    "hash": spec.hash,
                    "params": spec.params,
                    "seed": self._seeds[index],
                    "episode": int(self._episodes[index]),
                    "seats": [],
                    "h": [],
                }
            )
            for index in envs.tolist()
        ]

    # Steps.

    def step(self, actions: Any, envs: Array | None = None) -> None:
        """Play the learner's actions until the learner must act again or the episode is over.

        An illegal action ends the episode with the lowest return for the learner.

        Args:
            actions: one for each of ``envs``.
            envs: indices; by default all.

        Raises:
            LudexError: ``env_over`` if an episode has ended; ``session_lost``, ...
            ValueError: ``actions`` is not one integer for each environment, or an opponent returned
                an illegal action.
        """
        chosen = self.everyone if envs is None else envs
        self._check_live(chosen)
        checked = self._actions(actions, len(chosen))
        self._begin_change(lambda: self._step(chosen, checked))

    def step_alone(self, action: Any) -> None:
        """Play an action in the only environment, like :meth:`step`, without arrays of one row.

        Raises:
            LudexError: as :meth:`step`.
            ValueError: as :meth:`step`.
        """
        group, rows = self._only_server_group(), self.rows
        live = self._episodes[0] >= 0 and not (rows.terminated[0] or rows.truncated[0])
        if group is None or not live or not isinstance(action, (int, np.integer)):
            return self.step(np.asarray(action).reshape(1))
        count = self.spec.actions
        known = int(action) if 0 <= action < count else count
        self._begin_change(lambda: group.step_alone(known))
        return None

    def _step(self, chosen: Array, checked: Array) -> None:
        self.rows.reward[chosen] = 0.0
        where = self._group_of[chosen]
        # Groups of the server first: the server works while local opponents compute.
        groups = [(self._group_list[index], where == index) for index in np.unique(where)]
        groups.sort(key=lambda entry: isinstance(entry[0], LocalOpponents))
        for group, members in groups:
            group.send(chosen[members], checked[members])
        for group, members in groups:
            group.receive(chosen[members])

    def step_or_reset(self, actions: Any) -> None:
        """Step the running episodes; reset environments whose episode is over, with reward 0.

        Raises:
            LudexError: as :meth:`step` and :meth:`reset`.
            ValueError: as :meth:`step`.
        """
        over = self.rows.over
        if not over.any():
            return self.step(actions)
        checked = self._actions(actions, self.num_envs)
        self._begin_change(lambda: self._step_or_reset(checked, over))
        return None

    def _step_or_reset(self, checked: Array, over: Array) -> None:
        group = self._only_server_group()
        if group is not None:
            # One message does both: the server ignores actions for episodes that are over.
            everyone = self.everyone
            checked[over] = 0
            self.rows.illegal[over] = False
            group.send(everyone, checked)
            group.receive(everyone)
            self.rows.reward[over] = 0.0
            return
        live = np.flatnonzero(~over)
        if live.size:
            self._step(live, checked[live])
        self._reset(np.flatnonzero(over), None)

    def step_and_reset(self, actions: Any) -> Outcome:
        """Step all environments, and reset those whose episode ends.

        :attr:`rows` then has the initial states of the next episodes.

        Raises:
            LudexError: ``env_over`` before the first reset; ``session_lost``, ...
            ValueError: as :meth:`step`.
        """
        self._check_begun(slice(None))
        checked = self._actions(actions, self.num_envs)
        return self._begin_change(lambda: self._step_and_reset(checked))

    def _step_and_reset(self, checked: Array) -> Outcome:
        group = self._only_server_group()
        if group is not None:
            return group.advance(checked)
        self._step(self.everyone, checked)
        rows = self.rows
        at = np.flatnonzero(rows.over)
        outcome = Outcome(
            reward=rows.reward.copy(),
            terminated=rows.terminated.copy(),
            truncated=rows.truncated.copy(),
            illegal=rows.illegal.copy(),
            seat=rows.seat.copy(),
            opponent=rows.opponent.copy(),
            at=at,
            obs=rows.obs[at],
        )
        if at.size:
            self._reset(at, None)
        return outcome

    def _only_server_group(self) -> ServerOpponents | None:
        """Return the only group if that group plays all current and next episodes on the server."""
        group = self._group(self._pool[0])
        if len(self._pool) > 1 or not isinstance(group, ServerOpponents):
            return None
        alone = (
            len(self._group_list) == 1 or (self._group_of == self._group_list.index(group)).all()
        )
        return group if alone else None

    # Interrupts.

    def _begin_change(self, do: Callable[[], T]) -> T:
        """Start a change, which ends with :meth:`confirm` or with an error from the server."""
        self._begin()
        try:
            return do()
        except LudexError:
            self._confirm()
            raise

    def confirm(self) -> None:
        """Confirm that the learner has received the complete result of the last step or reset."""
        self._confirm()

    def _discard_change(self) -> None:
        for group in self._groups.values():
            group.vec._discard_change()
        super()._discard_change()

    def _actions(self, actions: Any, count: int) -> Array:
        checked = np.asarray(actions)
        if checked.shape != (count,) or checked.dtype.kind not in "iub":
            raise ValueError(
                f"actions: expected {count} integers, got {checked.dtype} {list(checked.shape)}"
            )
        # -1 means "no action" on the wire, so any invalid number is mapped to an illegal id. Cast
        # to unsigned, negative numbers are the greatest.
        limited: Array = np.minimum(checked.astype(np.uint64), np.uint64(self.spec.actions))
        return limited.astype(np.int32)

    def _check_begun(self, envs: Any) -> None:
        if self._episodes[envs].min(initial=0) < 0:
            raise LudexError("env_over", "there is no episode yet; call reset() first")

    def _check_live(self, envs: Any) -> None:
        self._check_begun(envs)
        over = self.rows.over[envs]
        if over.any():
            index = int(self.everyone[envs][over.argmax()])
            raise LudexError(
                "env_over",
                f"the episode of environment {index} is over; call reset() first",
                got=index,
            )

    def text(self, index: int) -> str:
        """Return the learner's view of one environment as text; a round trip.

        Raises:
            LudexError: the game has no text view.
        """
        self._check_begun(np.asarray([index]))
        group = self._group_list[int(self._group_of[index])]
        return group.vec.text(index, int(self.rows.seat[index]))

    def picture(self, index: int) -> Picture:
        """Return the learner's view of one environment as a picture; a round trip."""
        self._check_begun(np.asarray([index]))
        group = self._group_list[int(self._group_of[index])]
        return group.vec.picture(index, int(self.rows.seat[index]))

    def set_servers(
        self, url: Sequence[str], token: str | Sequence[str | None] | None = None
    ) -> None:
        """Replace the servers, effective at the next reset of all environments.

        Raises:
            LudexError: as :meth:`ludex.Client.set_servers`.
            ValueError: the numbers of tokens and servers differ.
        """
        self._client.set_servers(url, token)

    def close(self) -> None:
        """Close the environments and the connection. Safe to call twice."""
        self._client.close()

    # For the groups in opponents.py.

    def open(self, **options: Any) -> VecEnv | ShardedVecEnv:
        """Open all environments with the settings of this batch and ``options``."""
        return self._client.open_vec(
            self.spec.game,
            self.num_envs,
            self.spec.params,
            mask=mask_encoding(self.spec.actions),
            **{**self._options, **options},
        )

    def episodes(self, envs: Array) -> Array:
        """Return the numbers of the current episodes of ``envs``."""
        numbers: Array = self._episodes[envs]
        return numbers

    def set_rows(self, envs: Array, rows: Rows, episodes: Array) -> None:
        """Replace the rows and episode numbers of ``envs``."""
        for name, array in vars(rows).items():
            getattr(self.rows, name)[envs] = array
        self._episodes[envs] = episodes

    def dense(self, mask: Array) -> Array:
        """Return a mask as ``int8 [..., A]``."""
        return dense(mask, self.spec.actions)

    def envs_field(self, envs: Array) -> Array | None:
        """Return the ``envs`` field of a request: ``None`` for all environments."""
        return None if len(envs) == self.num_envs else envs

    def seats(self, envs: Array) -> Array:
        """Return the learner's seats in the episodes of ``envs``, as the server rotates them."""
        players = self.spec.players
        if self._seat == "alternate":
            return -self._episodes[envs] % players
        if self._seat == "random":
            return -self._draw("rotate", envs, players) % players
        return np.full(len(envs), self._seat, np.int64)

    def players(self, envs: Array) -> list[Policy]:
        """Return the callables that play the episodes of ``envs``."""
        found = [self._players[index] for index in envs.tolist()]
        return [player for player in found if not isinstance(player, str)]

    def update_counts(self, envs: Any, batch: Batch) -> None:
        """Copy the server's episode numbers and count its skipped episodes."""
        self._episodes[envs] = batch.episode
        if batch.skipped is not None:
            self.skipped += len(batch.skipped.at)

    def count_alone(self, row: Row) -> None:
        """Update the counts of the only environment."""
        (self._episodes[0],) = row.numbers("episode", "<I")
        skipped = row.frame.get("skipped")
        if skipped is not None:
            self.skipped += len(column(skipped["at"], U4))

    @property
    def fixed_seat(self) -> int | None:
        """The learner's seat, if the learner has the same seat in all episodes."""
        return self._seat if isinstance(self._seat, int) else None

    @property
    def rotation(self) -> Literal["none", "cycle", "random"]:
        """The argument ``rotate`` for opening environments."""
        if isinstance(self._seat, int):
            return "none"
        return "cycle" if self._seat == "alternate" else "random"


def open_learner_envs(
    adapter_options: AdapterOptions,
    num_envs: int,
    opponent: Opponent | Sequence[Opponent],
    seat: SeatChoice,
    *,
    same_step: bool = False,
) -> LearnerEnvs:
    """Connect and open environments for one learner.

    Raises:
        LudexError: as :meth:`AdapterOptions.describe` and :class:`LearnerEnvs`.
        TypeError: as :class:`LearnerEnvs`.
        ValueError: as :class:`LearnerEnvs`.
    """
    with adapter_options.client() as client:
        spec = adapter_options.describe(client)
        return LearnerEnvs(
            client,
            spec,
            num_envs,
            opponent=opponent,
            seat=seat,
            max_steps=adapter_options.max_steps,
            same_step=same_step,
        )
