"""Nodes of the Ray cluster."""

from __future__ import annotations

from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy


def living_nodes() -> dict[str, str]:
    """Return the IP address of each living node by the node's id, in a stable order.

    Connects to Ray if the process is not connected.
    """
    if not ray.is_initialized():
        ray.init()
    return {
        node["NodeID"]: node["NodeManagerAddress"]
        for node in sorted(ray.nodes(), key=lambda node: str(node["NodeID"]))
        if node["Alive"]
    }


def on_node(node: str) -> Any:
    """Return the scheduling strategy of what must run on a node."""
    return NodeAffinitySchedulingStrategy(node, soft=False)
