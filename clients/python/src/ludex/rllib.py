"""An RLlib multi-agent environment; seats are ``player_0``, ``player_1``, ...

::

    from ludex.rllib import LudexMultiAgentEnv

    config = PPOConfig().environment(LudexMultiAgentEnv, env_config={"game": "connect_four"})

An agent is observed when it must act. Observations are dicts for RLlib's action masking:
``observations`` and ``action_mask``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .adapters.all_seats_env import AllSeatsEnv
from .adapters.options import AdapterOptions
from .optional_imports import import_optional

import_optional("ray", "rllib")
import_optional("gymnasium", "rllib")

from gymnasium import spaces  # noqa: E402
from ray.rllib.env.multi_agent_env import MultiAgentEnv  # noqa: E402

from .adapters.spaces import observation_space  # noqa: E402

OPTIONS = ("game", "params", "url", "token", "max_steps", "patience", "flatten")


class LudexMultiAgentEnv(MultiAgentEnv):
    """A multi-agent environment of one game. An illegal action loses the episode."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        """Open the environment.

        Args:
            config: RLlib's ``env_config``: ``game``, an id; ``params``, the parameters of the
                game; ``url`` and ``token`` of the server (by default a local server per process);
                ``max_steps``, which truncates episodes; ``patience``, the seconds to retry a lost
                connection; ``flatten``, true by default: observations are ``float32`` vectors,
                because RLlib's default networks treat boards as images.

        Raises:
            LudexError: an error from the server: ``unknown_game``, ``bad_params``, ...
            TypeError: ``config`` has an unknown entry, or lacks ``game``.
        """
        super().__init__()
        unknown = sorted(set(config) - set(OPTIONS))
        if unknown or "game" not in config:
            fault = f"got unknown entries {', '.join(unknown)}" if unknown else "expected a game"
            raise TypeError(f"env_config: {fault}; allowed: {', '.join(OPTIONS)}")
        adapter_options = AdapterOptions(**{key: config[key] for key in config if key != "flatten"})
        self._flatten = bool(config.get("flatten", True))
        self._env = AllSeatsEnv(adapter_options)
        spec = self._env.spec
        box = observation_space(spec)
        if self._flatten:
            low, high = float(box.low.min()), float(box.high.max())
            box = spaces.Box(low, high, (int(np.prod(box.shape)),), np.float32)
        mask = spaces.Box(0.0, 1.0, (spec.actions,), np.float32)
        self.game = spec
        self.possible_agents = [f"player_{seat}" for seat in range(spec.players)]
        self.agents = self.possible_agents[:]
        self.observation_spaces = {
            agent: spaces.Dict({"observations": box, "action_mask": mask})
            for agent in self.possible_agents
        }
        self.action_spaces = {
            agent: spaces.Discrete(spec.actions) for agent in self.possible_agents
        }

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start an episode; without a seed, continue the series of the last seed.

        Returns:
            Observations of the seats that act first, and empty infos.

        Raises:
            LudexError: ``session_lost``, ...
        """
        super().reset(seed=seed, options=options)
        self._env.reset(seed)
        observed = self._observations(self._env.acting)
        self._env.confirm()
        return observed, {}

    def step(
        self, action_dict: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Any]]:
        """Play the actions of the agents that were observed.

        Returns:
            Observations of the seats that act next, or of all seats at the end; rewards of these
            seats and of other seats with a nonzero reward; terminated; truncated; infos.

        Raises:
            LudexError: ``env_over`` if the episode is over; ``session_lost``, ...
            KeyError: the action of an agent that must act is missing.
        """
        env, agents = self._env, self.possible_agents
        env.step({agents.index(agent): action for agent, action in action_dict.items()})
        observed = list(range(len(agents))) if env.is_over else env.acting
        rewards = {
            agents[seat]: reward
            for seat, reward in enumerate(env.rewards)
            if reward or seat in observed
        }
        infos = {agents[seat]: {"illegal": seat == env.illegal} for seat in observed}
        outcome = (
            self._observations(observed),
            rewards,
            {**{agents[seat]: env.terminated for seat in observed}, "__all__": env.terminated},
            {**{agents[seat]: env.truncated for seat in observed}, "__all__": env.truncated},
            infos,
        )
        env.confirm()
        return outcome

    def render(self) -> str:
        """Return the view of the seat to move as text; a round trip."""
        return self._env.text()

    def close(self) -> None:
        """Close the environment and its connection. Safe to call twice."""
        self._env.close()

    def _observations(self, seats: list[int]) -> dict[str, Any]:
        env = self._env
        observed = {}
        for seat in seats:
            view = env.obs(seat)
            observed[self.possible_agents[seat]] = {
                "observations": view.astype(np.float32).ravel() if self._flatten else view,
                "action_mask": env.mask(seat).astype(np.float32),
            }
        return observed
