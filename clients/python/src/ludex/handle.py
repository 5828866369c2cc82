"""Base class of single environments and batches: a handle on environments of the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index as integer
from typing import Any

from .columns import U4, Array, packed
from .errors import LudexError
from .spec import Spec
from .transport.guard import ChangeGuard
from .transport.session import LOST, Session
from .transport.wire import Message


class Handle(ChangeGuard):
    """A handle on environments of one game that belong to this session.

    Attributes:
        spec: the game.
        num_envs: number of environments, with indices 0..num_envs.
        seats: the player of each seat; ``"agent"`` is the client.
    """

    def __init__(self, session: Session, opened: Message, request: Mapping[str, Any]) -> None:
        self.spec = Spec.from_wire(opened["spec"])
        self.num_envs: int = opened["count"]
        self.seats: list[str] = request.get("seats") or ["agent"] * self.spec.players
        self._session = session
        self._request = dict(request)
        self._env: int = opened["env"]
        self._open = True
        session.envs[self._env] = self

    @property
    def closed(self) -> bool:
        """True if the environments are closed, or lost in a restart of the server."""
        return not self._open or self._session.envs.get(self._env) is not self

    def close(self) -> None:
        """Free the environments on the server. Safe to call twice.

        Raises:
            LudexError: the connection cannot be resumed.
        """
        exists = not self.closed and not self._session.closed
        self._open = False
        if exists:
            del self._session.envs[self._env]
            self._session.call("close", env=self._env)

    def _require_open(self) -> None:
        if not self._open:
            raise LudexError("unknown_env", "this environment is closed")
        if self.closed and not self._session.closed:
            raise LudexError("session_lost", LOST)

    def _revive(self) -> bool:
        """Open the environments again if the server has lost them. Return True if it has."""
        if not self._open or not self.closed or self._session.closed:
            return False
        self._request["seats"] = self.seats
        opened = self._session.call("open", bound=False, **self._request)
        self._env = opened["env"]
        self._session.envs[self._env] = self
        return True

    def _replace(self, kind: str, **fields: Any) -> Message:
        """Send a request that replaces all states, and open lost environments again before it."""
        self._revive()
        try:
            return self._call(kind, **fields)
        except LudexError as error:
            if error.code != "session_lost" or not self._revive():
                raise
        return self._call(kind, **fields)

    def _call(self, kind: str, **fields: Any) -> Message:
        self._require_open()
        return self._session.call(kind, env=self._env, **fields)

    def _post(self, kind: str, **fields: Any) -> int:
        self._require_open()
        return self._session.post(kind, env=self._env, **fields)

    def _view(self, index: int, seat: int | None, **fields: Any) -> Message:
        return self._call("view", i=index, seat=seat, **{"views": [], **fields})


def encode_indices(envs: Sequence[int] | Array | None) -> bytes | None:
    """Encode indices of environments.

    Raises:
        ValueError: an index is negative or not an integer.
    """
    return None if envs is None else packed(envs, U4)


def seed_text(seed: int | None) -> str | None:
    """Format a seed for the protocol, in decimal digits.

    Raises:
        LudexError: ``bad_seed``: the seed is not an integer in 0..2^64.
    """
    if seed is None:
        return None
    try:
        number = integer(seed)
    except TypeError:
        number = -1
    if not 0 <= number < 2**64 or isinstance(seed, bool):
        raise LudexError(
            "bad_seed", f"seed: expected an integer in 0..2^64, got {seed!r}", got=seed
        )
    return str(number)
