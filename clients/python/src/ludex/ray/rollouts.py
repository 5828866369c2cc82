"""Rollouts of a policy by actors on all nodes of a Ray cluster."""

from __future__ import annotations

from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
import ray
from ray.exceptions import ActorUnschedulableError, ObjectLostError, RayActorError

from ..adapters.learner_envs import Policy
from ..columns import Array
from ..errors import LudexError
from ..gymnasium import LudexVectorEnv
from .nodes import on_node
from .servers import Address, Servers

MAX_REPLACEMENTS = 8
PATIENCE_SECONDS = 5.0


class Rollout(NamedTuple):
    """T steps of n environments; A actions.

    Environments are reset in the step that ends their episode: row t + 1 of ``obs`` and ``mask`` is
    then the start of the next episode.

    Attributes:
        obs: observations before each step and after the last one, ``[T + 1, n, ...]``.
        mask: legal actions, ``int8 [T + 1, n, A]``.
        action: ``int64 [T, n]``.
        reward: ``float32 [T, n]``.
        terminated: ``bool [T, n]``: ended by the rules.
        truncated: ``bool [T, n]``: ended by ``max_steps``.
        version: the version of the policy, as passed to :meth:`Rollouts.rollout`.
        actor: number of the actor. Its environment i has the seed ``seed + actor * n + i``.
    """

    obs: Array
    mask: Array
    action: Array
    reward: Array
    terminated: Array
    truncated: Array
    version: int
    actor: int


class RolloutActor:
    """An actor with environments on the server of its node."""

    def __init__(
        self,
        number: int,
        address: Address,
        game: str,
        num_envs: int,
        seed: int,
        options: dict[str, Any],
    ) -> None:
        self._number = number
        self._args = (game, num_envs)
        self._seed = seed
        self._options = {
            "patience": PATIENCE_SECONDS,
            **options,
            "url": address.url,
            "token": address.token,
            "autoreset_mode": "SameStep",
        }
        self._envs: LudexVectorEnv | None = None

    def _open(self) -> LudexVectorEnv:
        """Return the environments; the first call opens them, so that it raises their errors."""
        if self._envs is None:
            self._envs = LudexVectorEnv(*self._args, **self._options)
            self._obs, infos = self._envs.reset(seed=self._seed)
            self._mask = infos["action_mask"]
        return self._envs

    def rollout(self, policy: Policy, steps: int, version: int) -> Rollout:
        """Continue the episodes for ``steps`` steps with a policy."""
        envs = self._open()
        count = envs.num_envs
        obs = np.empty((steps + 1, *self._obs.shape), self._obs.dtype)
        mask = np.empty((steps + 1, *self._mask.shape), np.int8)
        action = np.empty((steps, count), np.int64)
        reward = np.empty((steps, count), np.float32)
        terminated = np.empty((steps, count), np.bool_)
        truncated = np.empty((steps, count), np.bool_)
        obs[0], mask[0] = self._obs, self._mask
        for step in range(steps):
            action[step] = policy(obs[step], mask[step])
            obs[step + 1], reward[step], terminated[step], truncated[step], infos = envs.step(
                action[step]
            )
            mask[step + 1] = infos["action_mask"]
            self._obs, self._mask = obs[step + 1], mask[step + 1]
        return Rollout(obs, mask, action, reward, terminated, truncated, version, self._number)


class Rollouts:
    """Actors on all nodes that play with a policy. Close it, or use it as a context manager."""

    def __init__(
        self,
        servers: Servers,
        game: str,
        num_envs: int,
        *,
        per_node: int = 1,
        num_cpus: float = 1.0,
        seed: int = 0,
        **options: Any,
    ) -> None:
        """Prepare the actors, which start with the first rollout.

        Args:
            servers: the servers of the nodes; must live as long as this object.
            game: id of the game.
            num_envs: number of environments of each actor.
            per_node: number of actors on each node.
            num_cpus: CPUs that Ray reserves for each actor.
            seed: first seed; environment i of actor k gets ``seed + k * num_envs + i``.
            options: further arguments of :class:`ludex.gymnasium.LudexVectorEnv`, such as
                ``params``, ``opponent``, ``seat`` and ``max_steps``.
        """
        if num_envs < 1 or per_node < 1:
            raise ValueError(
                f"num_envs, per_node: expected at least 1, got {num_envs} and {per_node}"
            )
        self._servers = servers
        self._args = (game, num_envs)
        self._per_node = per_node
        self._num_cpus = num_cpus
        self._seed = seed
        self._options = options
        self._created = 0
        # Actors by number, with their nodes.
        self._actors: dict[int, tuple[str, Any]] = {}

    def rollout(self, policy: Policy, steps: int, *, version: int = 0) -> list[Rollout]:
        """Play ``steps`` steps with ``policy`` in the environments of every actor.

        Episodes continue from call to call. The call first follows the cluster: new nodes get
        actors. If an actor, its server or its node is lost in the middle, a new actor with new
        seeds plays its rollout on a living node, so the number of rollouts does not change.

        Args:
            policy: a function from observations ``[n, ...]`` and masks ``int8 [n, A]`` to n
                actions. Ray sends it to the actors by pickle.
            steps: number of steps T, at least 1.
            version: stored in the rollouts.

        Returns:
            One :class:`Rollout` for each actor, in the order of their numbers.

        Raises:
            LudexError: an error from a server, such as ``unknown_game``; ``connection_lost`` after
                eight replacements of actors.
            Exception: any exception of the policy.
        """
        if steps < 1:
            raise ValueError(f"steps: expected at least 1, got {steps}")
        self._follow()
        sent = ray.put(policy)
        pending = {
            actor.rollout.remote(sent, steps, version): number
            for number, (_, actor) in self._actors.items()
        }
        done: list[Rollout] = []
        replacements = 0
        while pending:
            (ready, *_), _ = ray.wait(list(pending), num_returns=1)
            number = pending.pop(ready)
            try:
                done.append(ray.get(ready))
            except (RayActorError, ActorUnschedulableError, ObjectLostError, LudexError) as error:
                lost = getattr(error, "code", "connection_lost")
                replacements += 1
                if lost not in ("connection_lost", "session_lost") or (
                    replacements > MAX_REPLACEMENTS
                ):
                    raise
                number = self._replace(number)
                actor = self._actors[number][1]
                pending[actor.rollout.remote(sent, steps, version)] = number
        return sorted(done, key=lambda rollout: rollout.actor)

    def _follow(self) -> None:
        """Start and end actors so that each living node has ``per_node`` of them."""
        self._servers.refresh()
        for node in self._servers.by_node:
            own = [number for number, (where, _) in self._actors.items() if where == node]
            for number in own[self._per_node :]:
                self._end(number)
            for _ in range(self._per_node - len(own)):
                self._create(node)
        for number in list(self._actors):
            if self._actors[number][0] not in self._servers.by_node:
                self._end(number)

    def _replace(self, number: int) -> int:
        """Replace an actor by a new one on the node with the fewest actors; return its number.

        Raises:
            LudexError: ``connection_lost``: no node has a server.
        """
        self._end(number)
        self._servers.refresh()
        places = [node for node, _ in self._actors.values()]
        nodes = sorted(self._servers.by_node, key=places.count)
        if not nodes:
            raise LudexError("connection_lost", "no node has a server", fault="server")
        return self._create(nodes[0])

    def _create(self, node: str) -> int:
        number = self._created
        self._created += 1
        game, num_envs = self._args
        actor = ray.remote(RolloutActor).options(
            num_cpus=self._num_cpus, scheduling_strategy=on_node(node)
        )
        self._actors[number] = (
            node,
            actor.remote(
                number,
                self._servers.by_node[node],
                game,
                num_envs,
                (self._seed + number * num_envs) % 2**64,
                self._options,
            ),
        )
        return number

    def _end(self, number: int) -> None:
        _, actor = self._actors.pop(number)
        ray.kill(actor)

    def close(self) -> None:
        """End the actors. Safe to call twice."""
        for number in list(self._actors):
            if ray.is_initialized():
                self._end(number)

    def __enter__(self) -> Rollouts:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
