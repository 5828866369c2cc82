"""Distributed play, training and evaluation on a Ray cluster.

::

    import ludex.ray

    with ludex.ray.Servers() as servers:
        envs = ludex.ray.vector_env(servers, "connect_four", 256, opponent="random")
        rollouts = ludex.ray.Rollouts(servers, "connect_four", 256)
        batches = rollouts.rollout(policy, steps=128)
    run = ludex.ray.evaluate("quick", ["mcts sims=100"], run="mine")

The package needs Ray, Gymnasium and, on each node, the program ``ludex``: ``pip install
'ludex[ray]'``. Calls connect to Ray by ``ray.init()`` if the process is not connected.
"""

from __future__ import annotations

from ..optional_imports import import_optional

import_optional("ray", "ray")
import_optional("gymnasium", "ray")

from .evaluation import evaluate, tournament  # noqa: E402
from .rollouts import Rollout, Rollouts  # noqa: E402
from .servers import Address, Servers  # noqa: E402
from .vector_env import NodesVectorEnv, vector_env  # noqa: E402

__all__ = [
    "Address",
    "NodesVectorEnv",
    "Rollout",
    "Rollouts",
    "Servers",
    "evaluate",
    "tournament",
    "vector_env",
]
