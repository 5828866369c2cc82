"""Groups of environments by opponent: agents of the server, or callables of this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..columns import Array, pack_ids
from ..env import OVER, SIMULTANEOUS
from ..row import Row
from ..transport.wire import Message
from ..vec import Batch, Final, VecEnv
from .learner_rows import Outcome, Rows

if TYPE_CHECKING:
    from .learner_envs import LearnerEnvs


class ServerOpponents:
    """Environments in which the server plays the other seats."""

    def __init__(self, learner_envs: LearnerEnvs, agent: str) -> None:
        seats = [agent] * learner_envs.spec.players
        seats[learner_envs.fixed_seat or 0] = "agent"
        self._learner_envs = learner_envs
        autoreset = "same_step" if learner_envs.same_step else "next_step"
        self.vec = learner_envs.open(seats=seats, rotate=learner_envs.rotation, autoreset=autoreset)

    def start(self, envs: Array, *, stays: bool) -> None:
        """Start episodes; with ``stays``, continue the series of episodes of these environments."""
        named = self._learner_envs.envs_field(envs)
        if self._learner_envs.num_envs == 1:
            vec = cast(VecEnv, self.vec)
            snapshots = {} if stays else {"items": self._learner_envs.snapshots(envs)}
            row = self._take_alone(vec._replace("reset" if stays else "restore", **snapshots))
            self._learner_envs.count_alone(row)
        elif stays:
            self._take(envs, self.vec.reset(envs=named))
        else:
            self._take(envs, self.vec.restore(self._learner_envs.snapshots(envs), named))

    def send(self, envs: Array, actions: Array) -> None:
        """Send the learner's actions."""
        self.vec.send(actions, self._learner_envs.envs_field(envs))

    def receive(self, envs: Array) -> None:
        """Receive the moves up to the learner's next turn or the end of the episode."""
        learner_envs = self._learner_envs
        batch, played = self.vec.recv(), learner_envs.rows.seat[envs]
        if batch.final is None:
            self._take(envs, batch)
            return
        # The server has already reset these environments; the learner gets the final rows first.
        before, skipped = learner_envs.episodes(envs), learner_envs.skipped
        self._take(envs, batch)
        ends = self._ends(batch, batch.final, played, learner_envs.rows.opponent[envs])
        learner_envs.set_rows(envs[batch.final.at], ends, before[batch.final.at])
        learner_envs.skipped = skipped

    def advance(self, actions: Array) -> Outcome:
        """Step all environments; the server resets those whose episode ends."""
        learner_envs, rows = self._learner_envs, self._learner_envs.rows
        batch, seat = self.vec.step(actions), rows.seat.copy()
        illegal = np.zeros(len(seat), np.bool_)
        if batch.illegal is not None:
            illegal[batch.illegal] = True
        final = batch.final
        outcome = Outcome(
            reward=batch.reward[learner_envs.everyone, seat].astype(np.float64),
            terminated=batch.terminated.copy(),
            truncated=batch.truncated.copy(),
            illegal=illegal,
            seat=seat,
            opponent=rows.opponent.copy(),
            at=learner_envs.everyone[:0] if final is None else final.at,
            obs=rows.obs[:0] if final is None else np.array(final.obs),
        )
        rows.obs[...] = batch.obs
        rows.mask[...] = learner_envs.dense(batch.mask)
        rows.seat[...] = batch.seat
        rows.length[...] = batch.length
        learner_envs.update_counts(slice(None), batch)
        return outcome

    def step_alone(self, action: int) -> None:
        """Step the only environment."""
        self._take_alone(cast(VecEnv, self.vec)._call("step", actions=pack_ids([action])))

    def _take_alone(self, frame: Message) -> Row:
        """Take the batch of the only environment."""
        spec, rows = self._learner_envs.spec, self._learner_envs.rows
        row = Row(frame, spec.players)
        (seat,) = row.numbers("seat", "<b")
        rows.obs[0] = row.array("obs")
        rows.mask[0] = row.mask_of(spec.actions)
        rows.seat[0] = seat
        rows.reward[0] = row.rewards[seat]
        rows.terminated[0], rows.truncated[0] = row.terminated, row.truncated
        (rows.length[0],) = row.numbers("length", "<I")
        rows.illegal[0] = "illegal" in frame
        return row

    def _ends(self, batch: Batch, final: Final, played: Array, opponent: Array) -> Rows:
        """Return the final rows of the episodes that have ended."""
        at = final.at
        illegal = np.zeros(len(batch), np.bool_)
        if batch.illegal is not None:
            illegal[batch.illegal] = True
        return Rows(
            obs=np.array(final.obs),
            mask=np.zeros((len(at), self._learner_envs.spec.actions), np.int8),
            seat=played[at],
            reward=batch.reward[at, played[at]].astype(np.float64),
            terminated=batch.terminated[at],
            truncated=batch.truncated[at],
            illegal=illegal[at],
            length=np.asarray(final.length, np.int64),
            opponent=opponent[at],
        )

    def _take(self, envs: Array, batch: Batch) -> None:
        rows, learner_envs = self._learner_envs.rows, self._learner_envs
        seat = batch.seat
        rows.obs[envs] = batch.obs
        rows.mask[envs] = learner_envs.dense(batch.mask)
        rows.seat[envs] = seat
        rows.reward[envs] = batch.reward[np.arange(len(envs)), seat]
        rows.terminated[envs] = batch.terminated
        rows.truncated[envs] = batch.truncated
        rows.length[envs] = batch.length
        if batch.illegal is not None:
            rows.illegal[envs[batch.illegal]] = True
        learner_envs.update_counts(envs, batch)


class LocalOpponents:
    """Environments in which callables of this process play the other seats."""

    def __init__(self, learner_envs: LearnerEnvs) -> None:
        spec, count = learner_envs.spec, learner_envs.num_envs
        self._learner_envs = learner_envs
        self._width = 1 if spec.dynamics == "sequential" else spec.players
        self._obs = np.zeros(
            (count, spec.players, *learner_envs.rows.obs.shape[1:]), learner_envs.rows.obs.dtype
        )
        self._mask = np.zeros((count, spec.players, spec.actions), np.int8)
        self._to_move = np.full(count, OVER, np.int8)
        self._earned = np.zeros(count)
        self.vec = learner_envs.open(observer="all")

    def start(self, envs: Array, *, stays: bool) -> None:
        """Start episodes."""
        learner_envs = self._learner_envs
        learner_envs.rows.seat[envs] = learner_envs.seats(envs)
        self._earned[envs] = 0.0
        self._take(
            envs, self.vec.restore(learner_envs.snapshots(envs), learner_envs.envs_field(envs))
        )
        self._play_on(envs)

    def send(self, envs: Array, actions: Array) -> None:
        """Send the learner's actions."""
        self.vec.send(self._moves(envs, actions), self._learner_envs.envs_field(envs))

    def receive(self, envs: Array) -> None:
        """Receive the moves up to the learner's next turn."""
        self._take(envs, self.vec.recv())
        self._play_on(envs)
        self._learner_envs.rows.reward[envs] = self._earned[envs]
        self._earned[envs] = 0.0

    def _take(self, envs: Array, batch: Batch) -> None:
        rows, learner_envs = self._learner_envs.rows, self._learner_envs
        self._obs[envs] = batch.obs
        self._mask[envs] = learner_envs.dense(batch.mask)
        self._to_move[envs] = batch.to_move
        self._earned[envs] += batch.reward[np.arange(len(envs)), rows.seat[envs]]
        rows.terminated[envs] = batch.terminated
        rows.truncated[envs] = batch.truncated
        rows.length[envs] = batch.length
        if batch.illegal is not None:
            # Only the learner's action can be illegal; those of opponents were checked before.
            rows.illegal[envs[batch.illegal]] = True

    def _play_on(self, envs: Array) -> None:
        """Play the opponents' moves until the learner must act or the episode is over."""
        rows = self._learner_envs.rows
        seat = rows.seat[envs]
        running = envs
        while True:
            running = running[~self._acting(running)[np.arange(len(running)), rows.seat[running]]]
            running = running[self._to_move[running] != OVER]
            if not running.size:
                break
            self._take(
                running, self.vec.step(self._moves(running), self._learner_envs.envs_field(running))
            )
        rows.obs[envs] = self._obs[envs, seat]
        rows.mask[envs] = self._mask[envs, seat]

    def _acting(self, envs: Array) -> Array:
        """Return a mask of the acting seats, ``bool [k, P]``."""
        to_move = self._to_move[envs]
        acting: Array = to_move[:, None] == np.arange(self._learner_envs.spec.players)
        simultaneous = to_move == SIMULTANEOUS
        if simultaneous.any():
            acting[simultaneous] = self._mask[envs[simultaneous]].any(axis=-1)
        return acting

    def _moves(self, envs: Array, actions: Array | None = None) -> Array:
        """Return the moves to send: the learner's ``actions``, if any, and the opponents'."""
        learner_envs = self._learner_envs
        count, seat = np.arange(len(envs)), learner_envs.rows.seat[envs]
        moves = np.full((len(envs), self._width), -1, np.int32)
        acting = self._acting(envs)
        acting[count, seat] = False
        if actions is not None:
            moves[count, seat if self._width > 1 else 0] = actions
        at, other = np.nonzero(acting)
        players = learner_envs.players(envs[at])
        for policy in {id(player): player for player in players}.values():
            selected = np.fromiter((player is policy for player in players), np.bool_, len(players))
            env, seats = envs[at[selected]], other[selected]
            mask = self._mask[env, seats]
            column = seats if self._width > 1 else 0
            moves[at[selected], column] = checked_actions(
                policy(self._obs[env, seats], mask.copy()), mask
            )
        return moves if self._width > 1 else moves[:, 0]


def checked_actions(answer: Any, mask: Array) -> Array:
    """Return an opponent's actions after checking shape, type and legality."""
    actions = np.asarray(answer)
    if actions.shape != (len(mask),) or actions.dtype.kind not in "iub":
        raise ValueError(
            f"opponent: expected {len(mask)} integers, got {actions.dtype} {list(actions.shape)}"
        )
    inside = (actions >= 0) & (actions < mask.shape[1])
    legal = mask[np.arange(len(mask)), np.where(inside, actions, 0)] == 1
    wrong = ~(legal & inside)
    if wrong.any():
        at = int(wrong.argmax())
        legal_ids = np.flatnonzero(mask[at]).tolist()
        raise ValueError(f"opponent: got illegal action {actions[at]}; allowed: {legal_ids}")
    return actions
