"""A vector environment over the nodes of a Ray cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ray

from ..columns import Array
from ..gymnasium import LudexVectorEnv
from .nodes import living_nodes
from .servers import Servers

PATIENCE_SECONDS = 5.0


class NodesVectorEnv(LudexVectorEnv):
    """A :class:`ludex.gymnasium.LudexVectorEnv` whose servers follow the cluster.

    A reset of all environments spreads them over the servers of the living nodes. Episodes depend
    on seeds alone, so a node that joins, leaves or dies changes no episode that starts afterwards.
    """

    def __init__(self, servers: Servers, game: str, num_envs: int = 1, **options: Any) -> None:
        """Open the environments; see :func:`vector_env`."""
        self._servers = servers
        _require_reachable(servers)
        options.setdefault("patience", PATIENCE_SECONDS)
        super().__init__(game, num_envs, url=servers.urls, token=servers.tokens, **options)

    def reset(
        self,
        *,
        seed: int | Sequence[int] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Array, dict[str, Any]]:
        """Start episodes, after :meth:`Servers.refresh` if all environments are reset.

        Raises:
            LudexError: as :meth:`Servers.refresh` and :class:`ludex.gymnasium.LudexVectorEnv`.
            ValueError: as :class:`ludex.gymnasium.LudexVectorEnv`; or a server is out of reach.
        """
        if not options or "reset_mask" not in options:
            self._servers.refresh()
            _require_reachable(self._servers)
            self.set_servers(self._servers.urls, self._servers.tokens)
        return super().reset(seed=seed, options=options)


def vector_env(servers: Servers, game: str, num_envs: int = 1, **options: Any) -> NodesVectorEnv:
    """Return a Gymnasium vector environment spread over the servers of all nodes.

    The result is used by one process, which connects to every server. If the cluster has several
    machines, that requires ``Servers(listen="node")``.

    Args:
        servers: the servers, which must live as long as the environment.
        game: id of the game.
        num_envs: number of environments.
        options: arguments of :class:`ludex.gymnasium.LudexVectorEnv` except ``url`` and ``token``.
            ``patience`` is 5 s by default.

    Raises:
        LudexError: as :class:`ludex.gymnasium.LudexVectorEnv`.
        ValueError: a server is out of reach, or an option is invalid.
    """
    return NodesVectorEnv(servers, game, num_envs, **options)


def _require_reachable(servers: Servers) -> None:
    """Check that this process can connect to all servers.

    Raises:
        ValueError: a server listens on the loopback of another machine.
    """
    if servers.listen == "loopback":
        here = ray.util.get_node_ip_address()
        others = sorted({ip for ip in living_nodes().values() if ip != here})
        if others:
            raise ValueError(
                f"servers: expected Servers(listen='node'), since the nodes at {', '.join(others)} "
                "are other machines"
            )
