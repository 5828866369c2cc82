"""The arguments that all adapters for learning libraries share."""

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
    """Which game an adapter plays, and on which server.

    Attributes:
        game: id of the game, or its whole string with parameters.
        params: the parameters of the game.
        url: the server; by default a local one that all environments of this process share.
        token: access token.
        max_steps: truncate an episode after this many moves of all seats.
        rules: the version of the rules that the server must have; ``None``: any version.
        patience: how many seconds to try to reconnect when the connection is lost.
    """

    game: str
    params: Mapping[str, Any] | None = None
    url: str | Sequence[str] | None = None
    token: str | None = None
    max_steps: int | None = None
    rules: int | None = None
    patience: float | None = None

    @contextlib.contextmanager
    def client(self) -> Iterator[Client]:
        """Connect for a ``with`` block; the connection stays open unless the block fails.

        Raises:
            LudexError: as :func:`ludex.shared.connect`.
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
                f"version {self.rules} of the rules of {self.game} was requested, "
                f"the server has {spec.rules}",
                got=self.rules,
                allowed=[spec.rules],
            )
        return spec


def check_render_mode(mode: str | None, *modes: str) -> str | None:
    """Return a render mode if it is one of ``modes``.

    Raises:
        ModuleNotFoundError: ``"rgb_array"`` needs the extra ``ludex[render]``.
        ValueError: it is another one.
    """
    if mode is not None and mode not in modes:
        raise ValueError(f"render_mode is {' or '.join(map(repr, modes))}, not {mode!r}")
    if mode == "rgb_array":
        import_rasterizer()
    return mode


def reject_unknown(others: Mapping[str, Any]) -> None:
    """Refuse arguments that an adapter does not have.

    Raises:
        TypeError: there is one; the message says where the parameters of a game go.
    """
    if others:
        named = ", ".join(f"{name!r}: {value!r}" for name, value in others.items())
        raise TypeError(
            f"unknown argument {', '.join(map(repr, others))}: the parameters of the game go into "
            f"one argument, params={{{named}}}"
        )
