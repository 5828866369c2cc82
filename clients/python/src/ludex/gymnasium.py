"""Gymnasium environments with one seat for the agent and opponents on the other seats.

``import ludex`` registers every game, so there is no need to import this module::

    import gymnasium, ludex

    env = gymnasium.make("ludex/ConnectFour-v1", opponent="anchor level=2", seat="alternate")
    envs = gymnasium.make_vec("ludex/ConnectFour-v1", num_envs=256, opponent="mcts sims=100")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .adapters.learner_envs import LearnerEnvs, Opponent, SeatChoice, open_learner_envs
from .adapters.learner_rows import Outcome, Rows
from .adapters.options import AdapterOptions, check_render_mode, reject_unknown
from .columns import Array
from .optional_imports import import_optional
from .picture import RENDER_MODES, Display, Picture, render_frame

import_optional("gymnasium", "gymnasium")

import gymnasium  # noqa: E402
from gymnasium import spaces  # noqa: E402
from gymnasium.vector import AutoresetMode, VectorEnv  # noqa: E402
from gymnasium.vector.utils import batch_space  # noqa: E402

from .adapters.spaces import observation_space  # noqa: E402


class _LearnerBase:
    """Methods common to single and vector environments."""

    _learner_envs: LearnerEnvs

    def set_opponent(self, opponent: Opponent | Sequence[Opponent]) -> None:
        """Replace the opponents, effective in each environment at its next episode.

        Raises:
            LudexError: ``unknown_agent``, ...
            TypeError: an opponent is neither an agent spec nor a callable.
        """
        self._learner_envs.set_opponent(opponent)

    @property
    def skipped(self) -> int:
        """Number of episodes that ended before the agent could act."""
        return self._learner_envs.skipped


class LudexEnv(_LearnerBase, gymnasium.Env[Array, Any]):
    """An environment in which the agent has one seat; opponents move inside :meth:`step`.

    An illegal action ends the episode with the lowest return and sets ``info["illegal"]``.
    ``info["action_mask"]`` (``int8 [A]``) is the mask of legal actions, ``info["seat"]`` the
    agent's seat, and ``info["opponent"]`` the index of the episode's opponent in the pool.
    """

    metadata = {"render_modes": [*RENDER_MODES, "human"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        game: str,
        *,
        params: Mapping[str, Any] | None = None,
        opponent: Opponent | Sequence[Opponent] = "random",
        seat: SeatChoice = 0,
        url: str | Sequence[str] | None = None,
        token: str | Sequence[str | None] | None = None,
        max_steps: int | None = None,
        rules: int | None = None,
        patience: float | None = None,
        render_mode: str | None = None,
        **others: Any,
    ) -> None:
        """Open the environment.

        Args:
            game: id of the game.
            params: the parameters of the game, e.g. ``{"rows": 5}``.
            opponent: the player of the other seats: an agent of the server (``"mcts sims=100"``);
                or a function from observations ``[k, ...]`` and masks ``int8 [k, A]`` to k actions;
                or a pool (list) of these, from which each episode's seed draws one.
            seat: the agent's seat; ``"alternate"``: the next seat in every episode; ``"random"``:
                a seat drawn by each episode's seed.
            url: server URL; by default a local server that all environments of this process share.
            token: access token, or a list with one for each server.
            max_steps: maximum number of moves of all seats before an episode is truncated.
            rules: required version of the rules; by default any.
            patience: seconds to retry a lost connection; by default
                as long as the server keeps the session.
            render_mode: ``"ansi"``: :meth:`render` returns the agent's view as text; ``"svg"``: as
                a :class:`ludex.Picture`; ``"rgb_array"``: as pixels, ``uint8 [640, 640, 3]``
                (needs ``ludex[render]``); ``"human"``: every step displays the picture in a
                notebook, or prints the text, the agent's seat and the number of moves.
            **others: must be empty; other arguments raise an error that names ``params``.

        Raises:
            LudexError: an error from the server: ``unknown_game``, ``bad_params``,
                ``unknown_agent``, ...; ``not_installed`` if the program is missing.
            TypeError: an opponent is neither an agent spec nor a callable; or the argument is
                unknown, such as a parameter of the game outside ``params``.
            ValueError: the seat or the render mode does not exist.
        """
        reject_unknown(others)
        self.render_mode = check_render_mode(render_mode, *RENDER_MODES, "human")
        self._display = Display()
        adapter_options = AdapterOptions(game, params, url, token, max_steps, rules, patience)
        self._learner_envs = open_learner_envs(adapter_options, 1, opponent, seat)
        self.game = self._learner_envs.spec
        self.observation_space = observation_space(self.game)
        self.action_space = spaces.Discrete(self.game.actions)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Start an episode; without a seed, continue the series of the last seed.

        Raises:
            LudexError: ``session_lost``, ...
        """
        super().reset(seed=seed)
        self._learner_envs.reset(seed)
        rows = self._learner_envs.rows
        self._render_human()
        result = rows.obs[0].copy(), self._info(rows)
        self._learner_envs.confirm()
        return result

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Play an action, then the opponents' moves up to the agent's next turn.

        Raises:
            LudexError: ``env_over`` if the episode is over; ``session_lost``, ...
            ValueError: the action is not an integer.
        """
        self._learner_envs.step_alone(action)
        rows = self._learner_envs.rows
        self._render_human()
        over = bool(rows.terminated[0]), bool(rows.truncated[0])
        outcome = rows.obs[0].copy(), float(rows.reward[0]), *over, self._info(rows)
        self._learner_envs.confirm()
        return outcome

    def action_masks(self) -> Array:
        """Return the mask of legal actions, ``bool [A]``, as sb3-contrib expects; no round trip."""
        mask: Array = self._learner_envs.rows.mask[0].astype(np.bool_)
        return mask

    def render(self) -> str | Picture | Array | None:  # type: ignore[override]
        """Return or display the agent's view according to the render mode; a round trip."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() needs a render_mode: make(..., render_mode='ansi')")
            return None
        if self.render_mode != "human":
            return render_frame(self.render_mode, self._learner_envs, 0)
        seat, moves = int(self._learner_envs.rows.seat[0]), int(self._learner_envs.rows.length[0])
        header = f"you are {self.game.seats[seat]}; moves so far: {moves}"
        self._display.show(
            lambda: f"{header}\n{self._learner_envs.text(0)}", lambda: self._learner_envs.picture(0)
        )
        return None

    def close(self) -> None:
        """Close the environment and its connection. Safe to call twice."""
        self._learner_envs.close()

    def _render_human(self) -> None:
        if self.render_mode == "human":
            self.render()

    def _info(self, rows: Rows) -> dict[str, Any]:
        return {
            "action_mask": rows.mask[0].copy(),
            "seat": np.int64(rows.seat[0]),
            "opponent": np.int64(rows.opponent[0]),
            # An array, because Gymnasium's vector environments store np.bool_ as an object.
            "illegal": np.array(rows.illegal[0]),
        }


class LudexVectorEnv(_LearnerBase, VectorEnv[Array, Array, Array]):
    """A vector environment stepped by one message, with the episodes of :class:`LudexEnv`.

    The entries of ``info`` are arrays with a row per environment: ``action_mask`` (``int8
    [n, A]``), ``seat``, ``opponent``, ``illegal``. With ``AutoresetMode.SAME_STEP`` the last
    observation and info of an episode are in ``final_obs`` and ``final_info``, as in Gymnasium.
    """

    def __init__(
        self,
        game: str,
        num_envs: int = 1,
        *,
        params: Mapping[str, Any] | None = None,
        opponent: Opponent | Sequence[Opponent] = "random",
        seat: SeatChoice = 0,
        url: str | Sequence[str] | None = None,
        token: str | Sequence[str | None] | None = None,
        max_steps: int | None = None,
        rules: int | None = None,
        patience: float | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        **others: Any,
    ) -> None:
        """Open the environments; most arguments are those of :class:`LudexEnv`.

        Args:
            game: id of the game.
            num_envs: number of environments.
            params: the parameters of the game.
            opponent: the player of the other seats. A callable plays several environments per
                call.
            seat: the agent's seat.
            url: the server; or several, over which the environments are spread.
            token: access token, or a list with one for each server.
            max_steps: maximum number of moves of all seats before an episode is truncated.
            rules: required version of the rules; by default any.
            patience: seconds to retry a lost connection; by default
                as long as the server keeps the session.
            autoreset_mode: one of Gymnasium's autoreset modes.
            render_mode: as for :class:`LudexEnv`, without ``"human"``; :meth:`render` returns one
                frame for each environment.
            **others: must be empty, as for :class:`LudexEnv`.

        Raises:
            LudexError: as :class:`LudexEnv`.
            TypeError: as :class:`LudexEnv`.
            ValueError: the seat or a mode does not exist.
        """
        reject_unknown(others)
        self.render_mode = check_render_mode(render_mode, *RENDER_MODES)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {
            "render_modes": [*RENDER_MODES],
            "render_fps": 4,
            "autoreset_mode": self.autoreset_mode,
        }
        self.num_envs = num_envs
        adapter_options = AdapterOptions(game, params, url, token, max_steps, rules, patience)
        same_step = self.autoreset_mode is AutoresetMode.SAME_STEP
        self._learner_envs = open_learner_envs(
            adapter_options, num_envs, opponent, seat, same_step=same_step
        )
        self.game = self._learner_envs.spec
        self.single_observation_space = observation_space(self.game)
        self.single_action_space = spaces.Discrete(self.game.actions)
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
            LudexError: ``session_lost``, ...
            ValueError: the mask or the list of seeds has the wrong length.
        """
        super().reset(seed=None if isinstance(seed, Sequence) else seed)
        named = None
        if options and "reset_mask" in options:
            mask = np.asarray(options["reset_mask"])
            if mask.shape != (self.num_envs,) or mask.dtype != np.bool_:
                raise ValueError(
                    f"reset_mask: expected bool [{self.num_envs}], "
                    f"got {mask.dtype} {list(mask.shape)}"
                )
            named = np.flatnonzero(mask)
            if isinstance(seed, Sequence):
                seed = [seed[index] for index in named.tolist()]
        self._learner_envs.reset(seed, named)
        rows = self._learner_envs.rows
        result = rows.obs.copy(), self._infos(rows)
        self._learner_envs.confirm()
        return result

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Play an action in every environment, then the opponents' moves.

        Raises:
            LudexError: ``env_over`` with ``AutoresetMode.DISABLED``; ``session_lost``, ...
            ValueError: ``actions`` is not one integer for each environment.
        """
        learner_envs, rows = self._learner_envs, self._learner_envs.rows
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            now = learner_envs.step_and_reset(actions)
            infos = self._infos(rows)
            if now.at.size:
                infos.update(self._final(now))
            outcome = rows.obs.copy(), now.reward, now.terminated, now.truncated, infos
        else:
            if self.autoreset_mode is AutoresetMode.NEXT_STEP:
                learner_envs.step_or_reset(actions)
            else:
                learner_envs.step(actions)
            over = rows.terminated.copy(), rows.truncated.copy()
            outcome = rows.obs.copy(), rows.reward.copy(), *over, self._infos(rows)
        learner_envs.confirm()
        return outcome

    def action_masks(self) -> Array:
        """Return the mask of legal actions, ``bool [n, A]``; no round trip."""
        return self._learner_envs.rows.mask.astype(np.bool_)

    def render(self) -> tuple[Any, ...] | None:
        """Return a frame of each environment; a round trip for each."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() needs a render_mode: make_vec(..., render_mode='ansi')")
            return None
        return tuple(
            render_frame(self.render_mode, self._learner_envs, at) for at in range(self.num_envs)
        )

    def set_servers(
        self, url: Sequence[str], token: str | Sequence[str | None] | None = None
    ) -> None:
        """Replace the servers, as :meth:`ludex.Client.set_servers`.

        The environments move at the next reset of all environments.
        """
        self._learner_envs.set_servers(url, token)

    def close_extras(self, **kwargs: Any) -> None:
        """Close the environments and their connection."""
        self._learner_envs.close()

    def _infos(self, rows: Rows) -> dict[str, Any]:
        """Return infos in Gymnasium's form: each entry has a mask of its environments."""
        everywhere = np.ones(self.num_envs, np.bool_)
        return {
            "action_mask": rows.mask.copy(),
            "seat": rows.seat.astype(np.int64),
            "opponent": rows.opponent.copy(),
            "illegal": rows.illegal.copy(),
            **dict.fromkeys(("_action_mask", "_seat", "_opponent", "_illegal"), everywhere),
        }

    def _final(self, now: Outcome) -> dict[str, Any]:
        """Return the final observations and infos of the episodes that have ended."""
        over = now.terminated | now.truncated
        last = np.full(self.num_envs, None, object)
        for index, obs in zip(now.at.tolist(), now.obs, strict=True):
            last[index] = obs
        infos = {
            "action_mask": np.zeros((self.num_envs, self.game.actions), np.int8),
            "seat": now.seat * over.astype(np.int64),
            "opponent": now.opponent * over,
            "illegal": now.illegal,
            **dict.fromkeys(("_action_mask", "_seat", "_opponent", "_illegal"), over),
        }
        return {"final_obs": last, "_final_obs": over, "final_info": infos, "_final_info": over}
