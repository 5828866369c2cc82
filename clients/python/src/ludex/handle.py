"""Base class of single environments and batches: a handle on environments of the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index as integer
from typing import Any

from .columns import U4, Array, packed
from .errors import LudexError
from .spec import Spec
from .transport.guard import ChangeGuard
from .transport.session import Session
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
        self._generation = session.generation
        self._open = True
        session.envs.add(self._env)

    @property
    def closed(self) -> bool:
        """True if the environments are closed, or lost with the server's session."""
        return not self._open or self._generation != self._session.generation

    def close(self) -> None:
        """Free the environments on the server. Safe to call twice.

        Raises:
            LudexError: the connection cannot be resumed.
        """
        if not self.closed and not self._session.closed:
            self._open = False
            self._session.envs.discard(self._env)
            self._session.call("close", env=self._env)

    def _require_open(self) -> None:
        if not self._open:
            raise LudexError("unknown_env", "this environment is closed")
        if self._generation != self._session.generation:
            raise LudexError(
                "session_lost",
                "the session no longer exists on the server; open the environments again",
            )

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
