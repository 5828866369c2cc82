"""Ludex: games as environments, over one WebSocket.

:meth:`Client.open` opens one environment, :meth:`Client.open_vec` a batch of environments that one
message steps. :func:`play` plays matches against other agents through a callback, and
:func:`evaluate` plays a whole suite and returns a verdict.

:mod:`ludex.aio` is the client for asyncio. :mod:`ludex.llm` has episodes for the training of
language models; :func:`prompt` returns the prompt of a position, :func:`rules` those of a game.

The adapters for learning libraries are :mod:`ludex.gymnasium` (its ids are registered here),
:mod:`ludex.self_play`, :mod:`ludex.async_vector`, :mod:`ludex.pettingzoo`, :mod:`ludex.sb3`,
:mod:`ludex.rllib` and :mod:`ludex.openspiel`; for language models :mod:`ludex.trl`, and
:mod:`ludex.inspect`, which also writes runs as logs for the viewer of Inspect. :mod:`ludex.minari`
writes records as datasets, and :mod:`ludex.league` has payoff tables of policies. An adapter
imports its library on first use.

:mod:`ludex.onnx` writes a network as a policy file, which the program seats as an agent;
:func:`read_selfplay` reads the samples of its self-play.
"""

import contextlib
import importlib
from types import ModuleType

from .__about__ import __version__
from ._messages import GameEntry, SuiteEntry, SuitePart
from .adapters.registration import register
from .answers import Answer, ReadAnswer
from .client import Client
from .columns import Ragged
from .env import CHANCE, OVER, SIMULTANEOUS, Env, State
from .errors import LudexError
from .matches.evaluation import evaluate
from .matches.play import play
from .matches.progress import Progress
from .matches.rating import AnchorScore, Rating, as_agent, rate
from .matches.result import MatchResult
from .matches.run_result import RatingEntry, RunResult
from .matches.turn import Move, Refusal, Turn
from .picture import Picture
from .process import Server, serve
from .prompting import Prompt, prompt, prompts, rules
from .run_tables import RunTables, read_run
from .selfplay import SelfPlaySamples, read_selfplay
from .sharded import ShardedVecEnv
from .spec import Spec
from .vec import Batch, Chance, Final, Skipped, VecEnv

__all__ = [
    "CHANCE",
    "OVER",
    "SIMULTANEOUS",
    "AnchorScore",
    "Answer",
    "Batch",
    "Chance",
    "Client",
    "Env",
    "Final",
    "GameEntry",
    "LudexError",
    "MatchResult",
    "Move",
    "Picture",
    "Progress",
    "Prompt",
    "Ragged",
    "Rating",
    "RatingEntry",
    "ReadAnswer",
    "Refusal",
    "RunResult",
    "RunTables",
    "SelfPlaySamples",
    "Server",
    "ShardedVecEnv",
    "Skipped",
    "Spec",
    "State",
    "SuiteEntry",
    "SuitePart",
    "Turn",
    "VecEnv",
    "__version__",
    "as_agent",
    "evaluate",
    "play",
    "prompt",
    "prompts",
    "rate",
    "read_run",
    "read_selfplay",
    "register",
    "rules",
    "serve",
]

_LAZY_MODULES = {
    "aio",
    "async_vector",
    "gymnasium",
    "inspect",
    "league",
    "llm",
    "minari",
    "onnx",
    "openspiel",
    "pettingzoo",
    "ray",
    "rllib",
    "sb3",
    "self_play",
    "trl",
}


def __getattr__(name: str) -> ModuleType:
    if name in _LAZY_MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# Registered on import, so that gymnasium.make finds the ids in any order of imports.
with contextlib.suppress(ModuleNotFoundError):
    register()
