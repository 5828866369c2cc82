"""Vector environments whose rows are received as soon as their opponents have moved.

The methods are those of EnvPool's asynchronous mode::

    envs = ludex.async_vector.LudexAsyncVectorEnv(
        "connect_four", 64, shards=8, opponent=["random", "mcts sims=2000"]
    )
    envs.async_reset(seed=0)
    while training:
        obs, reward, terminated, truncated, info = envs.recv(min_ready=16)
        envs.send(policy(obs, info["action_mask"]), info["env_id"])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from .adapters.learner_envs import SeatChoice
from .adapters.options import AdapterOptions
from .columns import Array, dense, mask_encoding
from .optional_imports import import_optional
from .vec import Batch

import_optional("gymnasium", "gymnasium", user="async_vector")

from gymnasium import spaces  # noqa: E402
from gymnasium.vector import AutoresetMode, VectorEnv  # noqa: E402
from gymnasium.vector.utils import batch_space  # noqa: E402

from .adapters.spaces import observation_space  # noqa: E402

Step = tuple[Array, Array, Array, Array, dict[str, Any]]


class LudexAsyncVectorEnv(VectorEnv[Array, Array, Array]):
    """A vector environment in which the agent has one seat and :meth:`recv` returns ready rows.

    The environments are divided into shards of neighbors. All rows of a shard that were sent
    together become ready together, so a slow opponent delays only the rows of its shard.

    :meth:`reset` and :meth:`step` are those of Gymnasium, with ``AutoresetMode.NEXT_STEP``, for all
    rows; the episodes are those of :class:`ludex.gymnasium.LudexVectorEnv`. Infos are arrays with
    an entry for each row: ``env_id`` (``int64 [k]``), ``action_mask`` (``int8 [k, A]``), ``seat``,
    ``opponent`` (an index into ``opponent``) and ``illegal``.
    """

    def __init__(
        self,
        game: str,
        num_envs: int,
        *,
        shards: int = 8,
        params: Mapping[str, Any] | None = None,
        opponent: str | Sequence[str] = "random",
        seat: SeatChoice = 0,
        url: str | Sequence[str] | None = None,
        token: str | None = None,
        max_steps: int | None = None,
        patience: float | None = None,
    ) -> None:
        """Open the environments; arguments not listed are those of ``LudexVectorEnv``.

        Args:
            game: id of the game.
            num_envs: number of environments.
            shards: number of shards, each of which is a handle on the server.
            params: the parameters of the game.
            opponent: the player of the other seats, an agent of the server; or a list, which the
                shards use in turn.
            seat: the agent's seat, ``"alternate"`` or ``"random"``.
            url: the server; or several, over which the shards are spread.
            token: access token.
            max_steps: maximum number of moves of all seats before an episode is truncated.
            patience: seconds to retry a lost connection.

        Raises:
            LudexError: an error from the server: ``unknown_game``, ``unknown_agent``, ...
            ValueError: the seat does not exist, ``shards`` is not in 1..=``num_envs``, or there are
                more opponents than shards.
        """
        options = AdapterOptions(game, params, url, token, max_steps, patience=patience)
        with options.client() as client:
            self.game = options.describe(client)
            players = self.game.players
            if seat not in ("alternate", "random") and seat not in range(players):
                raise ValueError(
                    f"seat: got {seat!r}; allowed: 0..{players - 1}, 'alternate' or 'random'"
                )
            self.single_observation_space = observation_space(self.game)
            opponents = [opponent] if isinstance(opponent, str) else list(opponent)
            fixed = seat if isinstance(seat, int) else 0
            others = range(players)
            self._vec = client.open_vec(
                game,
                num_envs,
                params,
                shards=shards,
                seats=[["agent" if at == fixed else name for at in others] for name in opponents],
                rotate="cycle" if seat == "alternate" else "random" if seat == "random" else "none",
                mask=mask_encoding(self.game.actions),
                on_illegal="lose",
                max_steps=max_steps,
            )
        self._client = client
        sizes = [len(part) for part in np.array_split(np.arange(num_envs), shards)]
        self._opponent = np.repeat(np.arange(shards) % len(opponents), sizes)
        self._sent = np.zeros(num_envs, np.bool_)
        self.num_envs = num_envs
        self.metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}
        self.single_action_space = spaces.Discrete(self.game.actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    # All rows together.

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Start episodes and wait for all rows.

        Args:
            seed: environment i gets ``seed + i``; without a seed, each series continues.
            options: ignored.

        Raises:
            LudexError: ``bad_seed``, ``session_lost``, ...
        """
        super().reset(seed=seed)
        self.async_reset(seed)
        obs, _, _, _, info = self.recv(self.num_envs)
        return obs, info

    def step(self, actions: Any) -> Step:
        """Play an action in every environment and wait for all rows.

        Raises:
            LudexError: ``session_lost``, ...
            RuntimeError: rows are in flight.
            ValueError: ``actions`` is not one integer for each environment.
        """
        self.send(actions, np.arange(self.num_envs))
        return self.recv(self.num_envs)

    # Rows that are ready.

    def async_reset(self, seed: int | None = None) -> None:
        """Start episodes in all environments without waiting; :meth:`recv` returns their rows.

        Rows in flight are dropped.

        Args:
            seed: environment i gets ``seed + i``; without a seed, each series continues.

        Raises:
            LudexError: ``bad_seed``, ``session_lost``, ...
        """
        self._vec._discard_change()
        self._vec.async_reset(seed)
        self._sent[:] = True

    def send(self, action: Any, env_id: Any) -> None:
        """Play actions in some environments without waiting.

        In an environment whose episode is over, the action is ignored and the next episode starts.

        Args:
            action: ``[k]`` actions.
            env_id: ``[k]`` indices of environments, each at most once.

        Raises:
            LudexError: ``session_lost``, ...
            RuntimeError: one of these environments is in flight.
            ValueError: ``action`` is not one integer for each of ``env_id``.
        """
        actions, envs = np.asarray(action), np.asarray(env_id)
        if actions.shape != envs.shape or actions.ndim != 1 or actions.dtype.kind not in "iub":
            raise ValueError(
                f"action: expected {list(envs.shape)} integers, "
                f"got {actions.dtype} {list(actions.shape)}"
            )
        if self._sent[envs].any():
            raise RuntimeError(f"environment {envs[self._sent[envs].argmax()]} is in flight")
        # -1 means "no action" on the wire, so any invalid number is mapped to an illegal id.
        known = (actions >= 0) & (actions < self.game.actions)
        self._vec.send(np.where(known, actions, self.game.actions), envs)
        self._sent[envs] = True

    def recv(self, min_ready: int = 1) -> Step:
        """Wait until a number of rows is ready, and return all rows of their shards.

        Args:
            min_ready: least number of rows k to return.

        Returns:
            Observations ``[k, ...]``, rewards since the agent's last action ``[k]``, terminated,
            truncated, and infos, whose ``env_id`` has the environments, in ascending order.

        Raises:
            LudexError: ``session_lost``, ...
            RuntimeError: no row is in flight.
            ValueError: ``min_ready`` is not in 1..=the number of rows in flight.
        """
        batch = self._vec.recv(min_ready)
        envs = cast(Array, batch.envs).astype(np.int64)
        self._sent[envs] = False
        reward = batch.reward[np.arange(len(envs)), batch.seat].astype(np.float64)
        over = batch.terminated.copy(), batch.truncated.copy()
        return np.array(batch.obs), reward, *over, self._info(batch, envs)

    def close_extras(self, **kwargs: Any) -> None:
        """Close the environments and their connection."""
        self._client.close()

    def _info(self, batch: Batch, envs: Array) -> dict[str, Any]:
        """Return infos in Gymnasium's form: each entry has a mask of its rows."""
        illegal = np.zeros(len(envs), np.bool_)
        if batch.illegal is not None:
            illegal[batch.illegal] = True
        entries = {
            "env_id": envs,
            "action_mask": dense(batch.mask, self.game.actions).copy(),
            "seat": batch.seat.astype(np.int64),
            "opponent": self._opponent[envs],
            "illegal": illegal,
        }
        present = np.ones(len(envs), np.bool_)
        return {**entries, **{f"_{name}": present for name in entries}}
