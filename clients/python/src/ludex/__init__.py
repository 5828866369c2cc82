"""Ludex: games as environments, over one WebSocket.

Environments of one's own, one at a time (:meth:`Client.open`) or thousands per message
(:meth:`Client.open_vec`); and matches against others, with a callback (:func:`play`).
"""

from .__about__ import __version__
from .client import Client
from .columns import Ragged
from .env import CHANCE, OVER, SIMULTANEOUS, Env, State
from .errors import LudexError
from .match import MatchResult, Refusal, Turn, play
from .process import Server, serve
from .sharded import ShardedVecEnv
from .spec import GameEntry, Spec
from .vec import Batch, Chance, Final, Skipped, VecEnv

__all__ = [
    "CHANCE",
    "OVER",
    "SIMULTANEOUS",
    "Batch",
    "Chance",
    "Client",
    "Env",
    "Final",
    "GameEntry",
    "LudexError",
    "MatchResult",
    "Ragged",
    "Refusal",
    "Server",
    "ShardedVecEnv",
    "Skipped",
    "Spec",
    "State",
    "Turn",
    "VecEnv",
    "__version__",
    "play",
    "serve",
]
