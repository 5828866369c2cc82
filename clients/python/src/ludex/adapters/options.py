"""Arguments shared by all adapters for learning libraries."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..client import Client
from ..errors import LudexError
from ..picture import import_rasterizer
from ..shared_server import connect
from ..spec import Spec


@dataclass(frozen=True)
class AdapterOptions:
    """The game and the server of an adapter.

    Attributes:
        game: id of the game, or the game string with parameters.
        params: the parameters of the game.
        url: server URL; by default a local server that all environments of this process share.
        token: access token, or a list with one for each server.
        max_steps: maximum number of moves of all seats before an episode is truncated.
        rules: required version of the rules; ``None``: any version.
        patience: seconds to retry a lost connection.
    """

    game: str
    params: Mapping[str, Any] | None = None
    url: str | Sequence[str] | None = None
    token: str | Sequence[str | None] | None = None
    max_steps: int | None = None
    rules: int | None = None
    patience: float | None = None

    @contextlib.contextmanager
    def client(self) -> Iterator[Client]:
        """Connect for a ``with`` block; if the block fails, close the connection.

        Raises:
            LudexError: as :func:`ludex.shared_server.connect`.
        """
        client = connect(self.url, self.token, self.patience)
        try:
            yield client
        except BaseException:
            client.close()
            raise

    def describe(self, client: Client) -> Spec:
        """Return the spec of the game.

        Raises:
            LudexError: ``bad_params`` if the server has another version of the rules;
                ``unknown_game``, ...
        """
        spec = client.describe(self.game, self.params)
        if self.rules not in (None, spec.rules):
            raise LudexError(
                "bad_params",
                f"{self.game}: expected version {self.rules} of the rules, "
                f"the server has version {spec.rules}",
                got=self.rules,
                allowed=[spec.rules],
            )
        return spec


def check_render_mode(mode: str | None, *modes: str) -> str | None:
    """Return a render mode after checking that it is one of ``modes``.

    Raises:
        ModuleNotFoundError: ``"rgb_array"`` needs the extra ``ludex[render]``.
        ValueError: the mode is none of ``modes``.
    """
    if mode is not None and mode not in modes:
        raise ValueError(
            f"render_mode: got {mode!r}; allowed: {', '.join(map(repr, modes))} or None"
        )
    if mode == "rgb_array":
        import_rasterizer()
    return mode


def reject_unknown(others: Mapping[str, Any]) -> None:
    """Reject arguments that are unknown to an adapter.

    Raises:
        TypeError: ``others`` is not empty; the message explains how to pass parameters of a game.
    """
    if others:
        named = ", ".join(f"{name!r}: {value!r}" for name, value in others.items())
        raise TypeError(
            f"unknown argument {', '.join(map(repr, others))}; "
            f"pass parameters of the game as params={{{named}}}"
        )
