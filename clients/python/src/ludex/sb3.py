"""Stable-Baselines3 ``VecEnv`` with the masks that sb3-contrib's ``MaskablePPO`` needs.

::

    from sb3_contrib import MaskablePPO

    envs = ludex.sb3.LudexVecEnv("connect_four", num_envs=64, opponent="random", seat="alternate")
    model = MaskablePPO("MlpPolicy", envs)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .adapters.learner_envs import Opponent, SeatChoice, open_learner_envs
from .adapters.options import AdapterOptions, check_render_mode
from .columns import Array
from .optional_imports import import_optional
from .picture import RENDER_MODES, Display, render_frame

import_optional("stable_baselines3", "sb3")

from gymnasium import spaces  # noqa: E402
from stable_baselines3.common.vec_env import VecEnv  # noqa: E402

from .adapters.spaces import observation_space  # noqa: E402

Indices = int | Iterable[int] | None


class LudexVecEnv(VecEnv):
    """Environments stepped by one message; the agent has one seat in each.

    As Stable-Baselines3 requires, an environment is reset in the step that ends its episode. The
    info of that step has ``terminal_observation``, ``TimeLimit.truncated`` and ``illegal``.
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
        patience: float | None = None,
        render_mode: str | None = None,
    ) -> None:
        """Open the environments; for the arguments see :class:`ludex.gymnasium.LudexVectorEnv`.

        Raises:
            LudexError: an error from the server: ``unknown_game``, ``unknown_agent``, ...
            TypeError: an opponent is neither an agent spec nor a callable.
            ValueError: the seat or the render mode does not exist.
        """
        check_render_mode(render_mode, *RENDER_MODES, "human")
        adapter_options = AdapterOptions(game, params, url, token, max_steps, patience=patience)
        self.learner_envs = open_learner_envs(
            adapter_options, num_envs, opponent, seat, same_step=True
        )
        self.game = self.learner_envs.spec
        self._own: dict[str, list[Any]] = {"render_mode": [render_mode] * num_envs}
        self._displays = [Display() for _ in range(num_envs)]
        self._actions: Array | None = None
        super().__init__(num_envs, observation_space(self.game), spaces.Discrete(self.game.actions))

    def reset(self) -> Array:
        """Start episodes in all environments, with the seeds of :meth:`seed`, if any.

        Raises:
            LudexError: ``session_lost``, ...
        """
        seeds = [seed for seed in self._seeds if seed is not None]
        self.learner_envs.reset(seeds if len(seeds) == self.num_envs else None)
        self._actions = None
        self._reset_seeds()
        self._reset_options()
        seats = self.learner_envs.rows.seat.tolist()
        self.reset_infos = [{"seat": seat} for seat in seats]
        obs: Array = self.learner_envs.rows.obs.copy()
        self.learner_envs.confirm()
        return obs

    def step_async(self, actions: Array) -> None:
        """Store the actions for :meth:`step_wait`."""
        self._actions = np.asarray(actions)

    def step_wait(self) -> tuple[Array, Array, Array, list[dict[str, Any]]]:
        """Play the stored actions, then the opponents' moves.

        Raises:
            LudexError: ``env_over`` before the first reset; ``session_lost``, ...
            RuntimeError: :meth:`step_async` was not called.
            ValueError: the actions are not one integer for each environment.
        """
        if self._actions is None:
            raise RuntimeError("step_wait(): expected an earlier call of step_async()")
        learner_envs, actions = self.learner_envs, self._actions
        self._actions = None
        now = learner_envs.step_and_reset(actions)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for index, obs in zip(now.at.tolist(), now.obs, strict=True):
            infos[index] = {
                "terminal_observation": obs,
                "TimeLimit.truncated": bool(now.truncated[index] and not now.terminated[index]),
                "illegal": bool(now.illegal[index]),
                "seat": int(now.seat[index]),
                "opponent": int(now.opponent[index]),
            }
        over = now.terminated | now.truncated
        outcome = learner_envs.rows.obs.copy(), now.reward.astype(np.float32), over, infos
        learner_envs.confirm()
        return outcome

    def action_masks(self) -> Array:
        """Return the mask of legal actions, ``bool [n, A]``; no round trip."""
        mask: Array = self.learner_envs.rows.mask.astype(np.bool_)
        return mask

    def set_opponent(self, opponent: Opponent | Sequence[Opponent]) -> None:
        """Replace the opponents, effective in each environment at its next episode.

        Raises:
            LudexError: ``unknown_agent``, ...
            TypeError: an opponent is neither an agent spec nor a callable.
        """
        self.learner_envs.set_opponent(opponent)

    def set_servers(
        self, url: Sequence[str], token: str | Sequence[str | None] | None = None
    ) -> None:
        """Replace the servers, as :meth:`ludex.Client.set_servers`.

        The environments move at the next reset of all environments.
        """
        self.learner_envs.set_servers(url, token)

    def close(self) -> None:
        """Close the environments and their connection. Safe to call twice."""
        self.learner_envs.close()

    # Access to single environments, required by Stable-Baselines3.

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """Return an attribute of each environment.

        The attribute is ``render_mode``, a method such as ``action_masks``, or a value set by
        :meth:`set_attr`.

        Raises:
            AttributeError: the attribute does not exist.
        """
        chosen = list(self._get_indices(indices))
        if attr_name in self._own:
            return [self._own[attr_name][index] for index in chosen]
        return [self._method(attr_name, index) for index in chosen]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Set an attribute for :meth:`get_attr`, without any other effect."""
        values = self._own.setdefault(attr_name, [None] * self.num_envs)
        for index in self._get_indices(indices):
            values[index] = value

    def env_method(
        self, method_name: str, *args: Any, indices: Indices = None, **kwargs: Any
    ) -> list[Any]:
        """Call ``action_masks``, ``render`` or ``set_opponent`` of the environments.

        Raises:
            AttributeError: the method does not exist.
        """
        chosen = list(self._get_indices(indices))
        if method_name == "set_opponent":
            self.set_opponent(*args, **kwargs)
            return [None] * len(chosen)
        return [self._method(method_name, index)(*args, **kwargs) for index in chosen]

    def env_is_wrapped(self, wrapper_class: Any, indices: Indices = None) -> list[bool]:
        """Return False for each environment, since none is wrapped."""
        return [False for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[Array | None]:
        """Return the pixels with ``render_mode="rgb_array"``, otherwise ``None``."""
        if self.render_mode != "rgb_array":
            return [None] * self.num_envs
        return [self.learner_envs.picture(index).array() for index in range(self.num_envs)]

    def _method(self, name: str, index: int) -> Callable[..., Any]:
        if name == "action_masks":
            return lambda: self.learner_envs.rows.mask[index].astype(np.bool_)
        if name == "render":
            return lambda: self._render(index)
        if name == "set_opponent":
            return self.set_opponent
        raise AttributeError(f"Ludex environments have no attribute {name!r}")

    def _render(self, index: int) -> Any:
        if self.render_mode != "human":
            return render_frame(self.render_mode or "ansi", self.learner_envs, index)
        self._displays[index].show(
            lambda: self.learner_envs.text(index), lambda: self.learner_envs.picture(index)
        )
        return None
