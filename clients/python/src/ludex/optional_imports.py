"""Imports of optional libraries, for the adapters and a few functions."""

from __future__ import annotations

import importlib
from typing import Any


def import_optional(module: str, extra: str, *, user: str | None = None) -> Any:
    """Import an optional library for ``ludex.<extra>``, or for ``ludex.<user>``.

    Raises:
        ModuleNotFoundError: the library is not installed; the message names the extra to install.
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
