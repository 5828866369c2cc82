"""OpenSpiel's API for the games of a Ludex server.

* :func:`load_game` returns a real ``pyspiel.Game`` (:mod:`ludex.openspiel.pyspiel_games`); it needs
  OpenSpiel.
* :mod:`ludex.openspiel.states` has states with the methods of ``pyspiel``, without OpenSpiel.
* :mod:`ludex.openspiel.rl_environment` has the ``Environment`` and ``TimeStep`` of OpenSpiel's
  module of that name, without OpenSpiel.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .pyspiel_games import Game, Observer, State, load_game

__all__ = ["Game", "Observer", "State", "load_game"]

_MODULES = {"pyspiel_games", "rl_environment", "states"}


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(importlib.import_module(".pyspiel_games", __name__), name)
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
