"""Local server that all environments without a ``url`` share."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from .client import Client
from .process import Server, serve

_lock = threading.Lock()
_server: Server | None = None


def shared_url() -> str:
    """Return the URL of this process's shared server; the first call starts it.

    The server ends with the process. A process that is forked after the start uses the server of
    its parent.

    Raises:
        LudexError: ``not_installed`` if there is no ``ludex`` program.
    """
    global _server
    with _lock:
        if _server is None or not _server.running:
            _server = serve()
        return _server.url


def connect(
    url: str | Sequence[str] | None,
    token: str | Sequence[str | None] | None = None,
    patience: float | None = None,
) -> Client:
    """Connect to ``url``, or to the shared local server if ``url`` is ``None``.

    Raises:
        LudexError: as :class:`Client`, and ``not_installed``.
    """
    return Client(shared_url() if url is None else url, token, patience=patience)
