"""Optional libraries, which only the adapters and a few functions need."""

from __future__ import annotations

import importlib
from typing import Any


def import_optional(module: str, extra: str, *, user: str | None = None) -> Any:
    """Import a library for ``ludex.<extra>``, or for the function of this package named ``user``.

    Raises:
        ModuleNotFoundError: it is not installed; the message says how to install it.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise ModuleNotFoundError(
            f"ludex.{user or extra} needs {error.name}: pip install 'ludex[{extra}]'",
            name=error.name,
        ) from error
