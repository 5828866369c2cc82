"""Servers of a Ray cluster, one for each node."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Literal, NamedTuple

import ray
from ray.exceptions import ActorUnschedulableError, RayActorError

from ..errors import LudexError
from ..process import Server, find_program, remove_abandoned, serve
from .nodes import living_nodes, on_node

Listen = Literal["loopback", "node"]

CLOSE_SECONDS = 10.0


class Address(NamedTuple):
    """The address of a server.

    Attributes:
        url: WebSocket URL.
        token: access token; ``None`` on loopback, where none is required.
    """

    url: str
    token: str | None


class NodeServer:
    """An actor that owns the server of its node."""

    def __init__(self, listen: Listen, args: Sequence[str]) -> None:
        self._listen = listen
        self._args = list(args)
        self._server: Server | None = None
        self._address = Address("", None)

    def address(self) -> Address:
        """Return the address of the server, which is started if it does not run.

        Raises:
            LudexError: as :func:`ludex.serve`.
        """
        if self._server is None or not self._server.running:
            self.close()
            self._start()
        return self._address

    def _start(self) -> None:
        if self._listen == "loopback":
            self._server = serve(args=self._args)
            self._address = Address(self._server.url, None)
            return
        ip = ray.util.get_node_ip_address()
        self._server = serve(args=self._args, listen=f"[{ip}]:0" if ":" in ip else f"{ip}:0")
        self._address = Address(self._server.url, _create_token(self._server))

    def close(self) -> None:
        """Stop the server, and remove the folders of servers of this node that were killed."""
        if self._server is not None:
            self._server.close()
            self._server = None
        remove_abandoned()


class Servers:
    """A server on each node of the Ray cluster.

    Each server is owned by an actor that needs no CPU and is restarted after a failure. A restarted
    server has a new URL and none of the environments. Close it, or use it as a context manager.

    Tasks and actors may receive a copy by pickle, for :meth:`local` only.
    """

    def __init__(self, *, listen: Listen = "loopback", args: Sequence[str] = ()) -> None:
        """Start the servers and wait until they are ready.

        Args:
            listen: ``"loopback"``: only processes of its node can connect to a server. ``"node"``:
                servers listen at the address of their node in the cluster, without TLS, and require
                a token of :attr:`tokens`. Use it in private networks, if one process connects to
                the servers of several machines.
            args: further arguments of ``ludex serve``.

        Raises:
            LudexError: as :func:`ludex.serve`, for the first node that fails.
            ValueError: ``listen`` has another value.
        """
        if listen not in ("loopback", "node"):
            raise ValueError(f"listen: got {listen!r}; allowed: 'loopback', 'node'")
        self.listen = listen
        self._args = list(args)
        self._actors: dict[str, Any] = {}
        self._addresses: dict[str, Address] = {}
        try:
            self.refresh()
        except BaseException:
            self.close()
            raise

    @property
    def by_node(self) -> dict[str, Address]:
        """The address of each server by the hexadecimal id of its node, as of :meth:`refresh`."""
        return dict(self._addresses)

    @property
    def urls(self) -> list[str]:
        """The URLs of the servers."""
        return [address.url for address in self._addresses.values()]

    @property
    def tokens(self) -> list[str | None]:
        """The access tokens of the servers, in the order of :attr:`urls`."""
        return [address.token for address in self._addresses.values()]

    def local(self) -> Address:
        """Return the address of the server of the caller's node; starts it if it has exited.

        Raises:
            LudexError: ``connection_lost``: the node has joined since the last :meth:`refresh`; as
                :func:`ludex.serve`.
        """
        node = ray.get_runtime_context().get_node_id()
        if node not in self._actors:
            raise LudexError(
                "connection_lost", f"node {node} has no server yet; call refresh()", fault="server"
            )
        address: Address = ray.get(self._actors[node].address.remote())
        return address

    def refresh(self) -> bool:
        """Follow the cluster: start servers on new nodes, and those that have exited again.

        Return True if an address has changed. A node that does not answer delays the call until Ray
        declares it dead.

        Raises:
            LudexError: as :func:`ludex.serve`.
        """
        nodes = living_nodes()
        self._actors = {node: actor for node, actor in self._actors.items() if node in nodes}
        for node in nodes:
            if node not in self._actors:
                actor = ray.remote(NodeServer).options(
                    num_cpus=0,
                    max_restarts=-1,
                    max_task_retries=-1,
                    scheduling_strategy=on_node(node),
                )
                self._actors[node] = actor.remote(self.listen, self._args)
        replies = {node: actor.address.remote() for node, actor in self._actors.items()}
        before, self._addresses = self._addresses, {}
        for node, reply in replies.items():
            try:
                self._addresses[node] = ray.get(reply)
            except (RayActorError, ActorUnschedulableError):
                # The node died in the meantime.
                del self._actors[node]
        return self._addresses != before

    def close(self) -> None:
        """Stop the servers and remove their folders. Safe to call twice."""
        actors, self._actors, self._addresses = self._actors, {}, {}
        if not actors or not ray.is_initialized():
            return
        closed = [actor.close.remote() for actor in actors.values()]
        ray.wait(closed, num_returns=len(closed), timeout=CLOSE_SECONDS)
        for actor in actors.values():
            with contextlib.suppress(ray.exceptions.RayError):
                ray.kill(actor)

    def __enter__(self) -> Servers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _create_token(server: Server) -> str:
    """Return a new token of a server, which permits environments only.

    Raises:
        LudexError: ``internal``: the token cannot be created.
    """
    command = [find_program(), "admin", "token", "add", "--owner", "ray", "--scope", "gym"]
    command += ["--data", str(server.data), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    if done.returncode != 0:
        raise LudexError("internal", done.stderr.strip(), fault="server")
    return str(json.loads(done.stdout)["tokens"][0]["token"])
