"""Libraries that are used where they are installed, and not needed otherwise."""

from __future__ import annotations

import importlib
from typing import Any


def wanted(module: str, extra: str) -> Any:
    """Import a library that an adapter is for.

    Raises:
        ModuleNotFoundError: it is not installed; the message says what to do.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise ModuleNotFoundError(
            f"ludex.{extra} needs {error.name}: pip install 'ludex[{extra}]'", name=error.name
        ) from error
