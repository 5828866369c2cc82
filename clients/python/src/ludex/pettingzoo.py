"""PettingZoo environments whose agents ``player_0``, ``player_1``, ... play every seat.

::

    env = ludex.pettingzoo.aec("connect_four")
    env = ludex.pettingzoo.parallel("iterated_prisoners_dilemma", params={"preset": "axelrod"})

Observations are dicts as in PettingZoo's classic games: ``observation``, the agent's own view, and
``action_mask`` (``int8 [A]``), zeros if the agent does not act. An illegal action ends the
episode with the lowest return for its agent and sets ``infos[agent]["illegal"]``. ``state()``
returns the observations of all agents as one array, for a centralized critic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .adapters.all_seats_env import AllSeatsEnv
from .adapters.options import AdapterOptions, check_render_mode
from .columns import Array
from .errors import LudexError
from .optional_imports import import_optional
from .picture import RENDER_MODES, Display, Picture, render_frame

import_optional("pettingzoo", "pettingzoo")

from gymnasium import spaces  # noqa: E402
from gymnasium.logger import warn  # noqa: E402
from pettingzoo import AECEnv, ParallelEnv  # noqa: E402
from pettingzoo.utils.env_logger import EnvLogger  # noqa: E402

from .adapters.spaces import masked_space, state_space  # noqa: E402

Observation = dict[str, Any]


def aec(
    game: str,
    *,
    params: Mapping[str, Any] | None = None,
    url: str | Sequence[str] | None = None,
    token: str | None = None,
    max_steps: int | None = None,
    patience: float | None = None,
    render_mode: str | None = None,
) -> AECEnv[str, Observation, Any]:
    """Return a game as an AEC environment, in which agents act one after the other.

    Agents that act simultaneously are selected one after the other; their moves take effect
    together, after the last one.

    Args:
        game: id of the game.
        params: the parameters of the game, e.g. ``{"rows": 5}``.
        url: server URL; by default a local server that all environments of this process share.
        token: access token.
        max_steps: maximum number of moves of all seats before an episode is truncated.
        patience: seconds to retry a lost connection; by default
            as long as the server keeps the session.
        render_mode: ``"ansi"``: ``render()`` returns text; ``"svg"``: a :class:`ludex.Picture`;
            ``"rgb_array"``: pixels, ``uint8 [640, 640, 3]`` (needs ``ludex[render]``);
            ``"human"``: displays the picture in a notebook, and prints text elsewhere.

    Raises:
        LudexError: an error from the server: ``unknown_game``, ``bad_params``, ...
        ValueError: the render mode does not exist.
    """
    check_render_mode(render_mode, *RENDER_MODES, "human")
    env = AllSeatsEnv(AdapterOptions(game, params, url, token, max_steps, patience=patience))
    return LudexAEC(env, render_mode)


def parallel(
    game: str,
    *,
    params: Mapping[str, Any] | None = None,
    url: str | Sequence[str] | None = None,
    token: str | None = None,
    max_steps: int | None = None,
    patience: float | None = None,
    render_mode: str | None = None,
) -> ParallelEnv[str, Observation, Any]:
    """Return a game as a parallel environment, in which all agents act in every step.

    Use it for games with simultaneous moves. In other games, actions of agents that do not act
    (their mask is zero) are ignored. The arguments are those of :func:`aec`.

    Raises:
        LudexError: as :func:`aec`.
    """
    check_render_mode(render_mode, *RENDER_MODES, "human")
    env = AllSeatsEnv(AdapterOptions(game, params, url, token, max_steps, patience=patience))
    return LudexParallel(env, render_mode)


class _EnvBase:
    """Methods common to AEC and parallel environments."""

    def __init__(self, env: AllSeatsEnv, render_mode: str | None) -> None:
        spec = env.spec
        self.render_mode = render_mode
        self._display = Display()
        self.game = spec
        self.metadata = {
            "name": f"{spec.game}_v{spec.rules}",
            "render_modes": ["human", *RENDER_MODES],
            "render_fps": 4,
            "is_parallelizable": False,
        }
        self.possible_agents = [f"player_{seat}" for seat in range(spec.players)]
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._env = env
        # By seat.
        self._last_actions: dict[int, Any] = {}
        try:
            self.observation_spaces = {agent: masked_space(spec) for agent in self.possible_agents}
            self.state_space = state_space(spec)
        except LudexError:
            env.close()
            raise
        self.action_spaces = {
            agent: spaces.Discrete(spec.actions) for agent in self.possible_agents
        }

    def observation_space(self, agent: str) -> spaces.Dict:
        """Return the space of an agent's observations; always the same object."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        """Return the space of an agent's actions; always the same object."""
        return self.action_spaces[agent]

    def state(self) -> Array:
        """Return the observations of all agents, concatenated along the first axis.

        With observations ``[c, ...]`` of P agents, the shape is ``[P * c, ...]``: the information
        of all agents together. It excludes what no agent knows, such as the order of a deck. No
        round trip.

        Raises:
            LudexError: ``env_over``: no episode has started.
        """
        return self._env.state()

    def render(self) -> str | Picture | Array | None:
        """Return or display the view of the seat to move; a round trip.

        Printed text starts with the last actions and their agents.
        """
        if self.render_mode is None:
            warn("render() needs a render_mode: 'ansi' or 'human'")
            return None
        if self.render_mode != "human":
            return render_frame(self.render_mode, self._env)
        header = "".join(
            f"{self.possible_agents[seat]} played {action}\n"
            for seat, action in self._last_actions.items()
        )
        self._display.show(lambda: f"{header}{self._env.text()}", self._env.picture)
        return None

    def close(self) -> None:
        """Close the environment and its connection. Safe to call twice."""
        self._env.close()

    def _observation(self, agent: str) -> Observation:
        seat = self._seats[agent]
        return {"observation": self._env.obs(seat), "action_mask": self._env.mask(seat)}

    def _infos(self) -> dict[str, dict[str, Any]]:
        """Return the infos, which mark the agent whose illegal action ended the episode."""
        seats = enumerate(self.possible_agents)
        return {agent: {"illegal": seat == self._env.illegal} for seat, agent in seats}

    def _by_agent(self, values: Sequence[Any]) -> dict[str, Any]:
        return dict(zip(self.possible_agents, values, strict=True))


class LudexAEC(_EnvBase, AECEnv[str, Observation, Any]):
    """A game as an AEC environment, returned by :func:`aec`.

    Calls in a wrong order raise the errors of PettingZoo's ``OrderEnforcingWrapper``. It is checked
    here, because the wrapper takes time at each access to an attribute.
    """

    _started = False
    _moved = False

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start an episode; without a seed, continue the series of the last seed.

        Raises:
            LudexError: ``bad_seed``, ``session_lost``, ...
        """
        self._env.reset(seed)
        self._started = self._moved = True
        self._last_actions = {}
        self.agents = self.possible_agents[:]
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._actions: dict[int, Any] = {}
        self._skip_agent_selection = None
        self._set_flags()
        self._select()
        self._env.confirm()

    def step(self, action: Any) -> None:
        """Play the action of ``agent_selection``, which must be ``None`` if its episode is over.

        Raises:
            LudexError: ``session_lost``, ...
            TypeError: the action is not an integer.
        """
        if not self._started:
            EnvLogger.error_step_before_reset()
        self._moved = True
        if not self.agents:
            EnvLogger.warn_step_after_terminated_truncated()
            return
        env, agent = self._env, self.agent_selection
        if env.is_over:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0.0
        self._actions[self._seats[agent]] = action
        if len(self._actions) < len(env.acting):
            self._clear_rewards()
            self._last_actions = {}
        else:
            env.step(self._actions)
            self._last_actions, self._actions = self._actions, {}
            self.rewards = self._by_agent(env.rewards)
            self._accumulate_rewards()
            if env.is_over:
                self._set_flags()
        self._select()
        if self.render_mode == "human":
            self.render()
        env.confirm()

    def observe(self, agent: str) -> Observation:
        """Return an agent's current observation."""
        if not self._started:
            EnvLogger.error_observe_before_reset()
        return self._observation(agent)

    def agent_iter(self, max_iter: int = 2**63) -> Iterator[str]:
        """Iterate over the agents to step, until the episode is over or ``max_iter`` steps.

        Raises:
            AssertionError: an agent was not stepped.
        """
        if not self._started:
            EnvLogger.error_agent_iter_before_reset()
        return self._iterate(max_iter)

    def _iterate(self, count: int) -> Iterator[str]:
        while self.agents and count > 0:
            assert self._moved, "need to call step() or reset() in a loop over `agent_iter`"
            self._moved = False
            count -= 1
            yield self.agent_selection

    def _set_flags(self) -> None:
        count = len(self.possible_agents)
        self.terminations = self._by_agent([self._env.terminated] * count)
        self.truncations = self._by_agent([self._env.truncated] * count)
        self.infos = self._infos()

    def _select(self) -> None:
        """Select the next agent that has not acted; after the end, the first agent."""
        pending = [seat for seat in self._env.acting if seat not in self._actions]
        self.agent_selection = self.possible_agents[pending[0] if pending else 0]


class LudexParallel(_EnvBase, ParallelEnv[str, Observation, Any]):
    """A game as a parallel environment, returned by :func:`parallel`."""

    def __init__(self, env: AllSeatsEnv, render_mode: str | None) -> None:
        super().__init__(env, render_mode)
        self.agents: list[str] = []

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Start an episode; without a seed, continue the series of the last seed.

        Raises:
            LudexError: ``bad_seed``, ``session_lost``, ...
        """
        self._env.reset(seed)
        self._last_actions = {}
        self.agents = self.possible_agents[:]
        result = self._observations(), self._infos()
        self._env.confirm()
        return result

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[
        dict[str, Observation],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Play the actions of all agents.

        Raises:
            LudexError: ``env_over`` if the episode is over; ``session_lost``, ...
            KeyError: the action of an agent that must act is missing.
            TypeError: an action is not an integer.
        """
        env, count = self._env, len(self.possible_agents)
        acting, by_seat = env.acting, {self._seats[agent]: act for agent, act in actions.items()}
        env.step(by_seat)
        self._last_actions = {seat: by_seat[seat] for seat in acting}
        if env.is_over:
            self.agents = []
        if self.render_mode == "human":
            self.render()
        outcome = (
            self._observations(),
            self._by_agent(env.rewards),
            self._by_agent([env.terminated] * count),
            self._by_agent([env.truncated] * count),
            self._infos(),
        )
        env.confirm()
        return outcome

    def _observations(self) -> dict[str, Observation]:
        return {agent: self._observation(agent) for agent in self.possible_agents}
