"""Batched self-play: a Gymnasium vector environment whose caller plays every seat.

::

    envs = ludex.self_play.SelfPlayVectorEnv("connect_four", 256)
    obs, info = envs.reset(seed=0)  # obs [n, P, ...], a row for each seat
    while training:
        acting = info["acting"]  # bool [n, P]: the seats to act
        actions = np.zeros(acting.shape, np.int64)
        actions[acting] = policy(obs[acting], info["action_mask"][acting])
        obs, rewards, terminated, truncated, info = envs.step(actions)  # rewards [n, P]

The interface is the same for sequential and simultaneous games. An episode depends only on the seed
of its environment and on its number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from .adapters.options import AdapterOptions, check_render_mode
from .columns import Array, Ragged, dense, mask_encoding
from .env import OVER
from .optional_imports import import_optional
from .picture import RENDER_MODES, render_frame
from .sharded import ShardedVecEnv
from .transport.guard import ChangeGuard
from .vec import Batch, VecEnv

import_optional("gymnasium", "gymnasium")

from gymnasium import logger, spaces  # noqa: E402
from gymnasium.vector import AutoresetMode, VectorEnv  # noqa: E402
from gymnasium.vector.utils import batch_space  # noqa: E402

from .adapters.spaces import observation_space  # noqa: E402

_MODES = {
    AutoresetMode.NEXT_STEP: "next_step",
    AutoresetMode.SAME_STEP: "same_step",
    AutoresetMode.DISABLED: "disabled",
}


class SelfPlayVectorEnv(ChangeGuard, VectorEnv[Array, Array, Array]):
    """A vector environment of one game, stepped by one message, with actions for every seat.

    Rows have an entry for each of the P seats: observations ``[n, P, ...]`` are each seat's own
    view; of actions ``[n, P]``, only those of acting seats are used; rewards ``[n, P]`` are those
    of this step. ``info`` has ``acting`` (``bool [n, P]``), ``action_mask`` (``int8 [n, P, A]``,
    zeros for seats that do not act) and ``illegal`` (``bool [n]``: an illegal action ended the
    episode, with the lowest return for its seat).
    """

    def __init__(
        self,
        game: str,
        num_envs: int = 1,
        *,
        params: Mapping[str, Any] | None = None,
        url: str | Sequence[str] | None = None,
        token: str | Sequence[str | None] | None = None,
        max_steps: int | None = None,
        patience: float | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        mask: Literal["dense", "ids"] = "dense",
        render_mode: str | None = None,
    ) -> None:
        """Open the environments.

        Args:
            game: id of the game.
            num_envs: number of environments.
            params: the parameters of the game, e.g. ``{"rows": 5}``.
            url: the server, or several, over which the environments are spread; by default a local
                one that all environments of this process share.
            token: access token, or a list with one for each server.
            max_steps: maximum number of moves of all seats before an episode is truncated.
            patience: seconds to retry a lost connection; by default
                as long as the server keeps the session.
            autoreset_mode: one of Gymnasium's autoreset modes.
            mask: ``"ids"``: ``info`` has ``legal`` instead of ``action_mask``, a
                :class:`ludex.Ragged` whose row ``P * i + seat`` lists the legal ids of a seat of
                environment i. Use it for games with thousands of actions.
            render_mode: ``"ansi"``, ``"svg"`` or ``"rgb_array"``, as for
                :class:`ludex.gymnasium.LudexVectorEnv`.

        Raises:
            LudexError: an error from the server: ``unknown_game``, ``bad_params``, ...
            ValueError: a mode does not exist.
        """
        if mask not in ("dense", "ids"):
            raise ValueError(f"mask: got {mask!r}; allowed: 'dense', 'ids'")
        self.render_mode = check_render_mode(render_mode, *RENDER_MODES)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {
            "render_modes": [*RENDER_MODES],
            "render_fps": 4,
            "autoreset_mode": self.autoreset_mode,
        }
        self.num_envs = num_envs
        adapter_options = AdapterOptions(game, params, url, token, max_steps, patience=patience)
        with adapter_options.client() as client:
            self.game = adapter_options.describe(client)
            one = observation_space(self.game)  # raises an error if the game has no array
            self._vec: VecEnv | ShardedVecEnv = client.open_vec(
                game,
                num_envs,
                params,
                autoreset=_MODES[self.autoreset_mode],  # type: ignore[arg-type]
                observer="all",
                mask="ids" if mask == "ids" else mask_encoding(self.game.actions),
                on_illegal="lose",
                max_steps=max_steps,
            )
        self._client = client
        self._joint = self.game.dynamics != "sequential" and self.game.players > 1
        self._acting: Array = np.zeros((num_envs, self.game.players), np.bool_)
        self._live: Array = np.zeros(num_envs, np.bool_)
        self.single_observation_space = batch_space(one, self.game.players)
        self.single_action_space = spaces.MultiDiscrete([self.game.actions] * self.game.players)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self,
        *,
        seed: int | Sequence[int] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Array, dict[str, Any]]:
        """Start episodes; without seeds, continue each environment's series.

        Args:
            seed: environment i gets ``seed + i``, or the i-th seed of a list.
            options: ``{"reset_mask": bool [n]}`` selects the environments to reset. Use it with
                ``AutoresetMode.DISABLED``.

        Raises:
            LudexError: ``bad_seed``, ``session_lost``, ...
            ValueError: the mask has the wrong shape, or the list of seeds the wrong length.
        """
        super().reset(seed=None if isinstance(seed, Sequence) else seed)
        if isinstance(seed, Sequence) and len(seed) != self.num_envs:
            raise ValueError(f"seed: expected {self.num_envs}, one per env, got {len(seed)}")
        if not options or "reset_mask" not in options:
            with self._change(replace_all=True):
                if isinstance(seed, Sequence):
                    batch = self._vec.reset(seeds=seed)
                else:
                    batch = self._vec.reset(seed)
                return self._observe(batch)
        chosen = np.asarray(options["reset_mask"])
        if chosen.shape != (self.num_envs,) or chosen.dtype != np.bool_:
            raise ValueError(
                f"reset_mask: expected bool [{self.num_envs}], "
                f"got {chosen.dtype} {list(chosen.shape)}"
            )
        named = np.flatnonzero(chosen)
        seeds = None
        if seed is not None:
            listed = seed if isinstance(seed, Sequence) else range(seed, seed + self.num_envs)
            seeds = [listed[index] % 2**64 for index in named.tolist()]
        with self._change():
            if named.size:
                self._vec.reset(seeds=seeds, envs=named)
            # A step without actions changes nothing and returns every row.
            return self._observe(self._vec.step(self._no_actions()))

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Play the actions of the acting seats; ignore those of other seats.

        Args:
            actions: integers ``[n, P]``.

        Raises:
            LudexError: ``env_over`` before the first reset, or for a finished episode with
                ``AutoresetMode.DISABLED``; ``session_lost``, ...
            ValueError: ``actions`` has another type or shape.
        """
        array = np.asarray(actions)
        if array.shape != self._acting.shape or array.dtype.kind not in "iub":
            raise ValueError(
                f"actions: expected integers {list(self._acting.shape)}, a row for each "
                f"environment and a column for each seat, got {array.dtype} {list(array.shape)}"
            )
        # -1 means "no action" on the wire, so any invalid number is mapped to an illegal id. Cast
        # to unsigned, negative numbers are the greatest.
        known = np.minimum(array.astype(np.uint64), np.uint64(self.game.actions)).astype(np.int32)
        moves = np.where(self._acting, known, np.int32(-1))
        # The action of a finished row is ignored, but -1 would prevent the autoreset.
        moves[~self._live] = 0
        if not self._joint:
            moves = moves.max(axis=1)
        with self._change():
            batch = self._vec.step(moves)
            obs, info = self._observe(batch)
            if batch.final is not None:
                info.update(self._final(batch))
            rewards = batch.reward.astype(np.float64)
            return obs, rewards, batch.terminated.copy(), batch.truncated.copy(), info

    def render(self) -> tuple[Any, ...] | None:
        """Return a frame of each environment; a round trip for each."""
        if self.render_mode is None:
            logger.warn("render() needs a render_mode, such as 'ansi'")
            return None
        return tuple(render_frame(self.render_mode, self._vec, at) for at in range(self.num_envs))

    def set_servers(
        self, url: Sequence[str], token: str | Sequence[str | None] | None = None
    ) -> None:
        """Replace the servers, as :meth:`ludex.Client.set_servers`.

        The environments move at the next reset of all environments.
        """
        self._client.set_servers(url, token)

    def close_extras(self, **kwargs: Any) -> None:
        """Close the environments and their connection."""
        self._client.close()

    def _no_actions(self) -> Array:
        return np.full(self._acting.shape if self._joint else self.num_envs, -1, np.int32)

    def _observe(self, batch: Batch) -> tuple[Array, dict[str, Any]]:
        """Return copies of the observations, and the info; store the acting seats."""
        info: dict[str, Any]
        if isinstance(batch.mask, Ragged):
            self._acting = (np.diff(batch.mask.at) > 0).reshape(self._acting.shape)
            info = {"legal": batch.mask}
        else:
            mask = dense(batch.mask, self.game.actions).copy()
            self._acting = mask.any(axis=2)
            info = {"action_mask": mask}
        self._live = batch.to_move != OVER
        info["acting"] = self._acting.copy()
        info["illegal"] = np.zeros(self.num_envs, np.bool_)
        if batch.illegal is not None:
            info["illegal"][batch.illegal] = True
        return np.array(batch.obs), info

    def _final(self, batch: Batch) -> dict[str, Any]:
        """Return the final observations of the episodes that have ended, in Gymnasium's form."""
        assert batch.final is not None
        over = np.zeros(self.num_envs, np.bool_)
        over[batch.final.at] = True
        last = np.full(self.num_envs, None, object)
        for index, obs in zip(batch.final.at.tolist(), batch.final.obs, strict=True):
            last[index] = np.array(obs)
        return {"final_obs": last, "_final_obs": over}
