"""The games of Ludex for verifiers: a taskset, an environment, and the harness of its seats."""

from .environment import LudexEnv, LudexEnvConfig
from .harness import LudexHarness, LudexHarnessConfig
from .taskset import LudexConfig, LudexData, LudexTask, LudexTaskset

__all__ = [
    "LudexConfig",
    "LudexData",
    "LudexEnv",
    "LudexEnvConfig",
    "LudexHarness",
    "LudexHarnessConfig",
    "LudexTask",
    "LudexTaskset",
]
