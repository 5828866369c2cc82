"""Shards of a run, played by tasks on the nodes of a Ray cluster."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import LudexError
from ..process import find_program


class ProgramKilled(Exception):
    """The program was killed by a signal, for example since its node is dying; Ray tries again."""


@dataclass(frozen=True)
class Plan:
    """Settings of a run that all shards share.

    Attributes:
        identifier: unique name of this call.
        suite: name of a suite of the program.
        suite_toml: text of a suite file, instead of a name.
        agents: specs of the agents.
        run: name of the run.
        shards: number of shards.
        jobs: number of matches that a shard plays in parallel.
        args: further arguments of ``ludex evaluate``.
        storage: data folder that all nodes share; ``None``: a temporary folder of the node.
    """

    identifier: str
    suite: str
    suite_toml: str | None
    agents: tuple[str, ...]
    run: str
    shards: int
    jobs: int
    args: tuple[str, ...]
    storage: str | None

    @property
    def folder(self) -> Path:
        """Temporary folder of this call on the node of the caller."""
        return Path(tempfile.gettempdir(), f"ludex-shards-{self.identifier}")


def play_shard(plan: Plan, number: int) -> bytes:
    """Play a shard to its end and return its bundle, a ``tar.gz`` file.

    Matches that the data folder has already are not played again.

    Args:
        plan: settings of the run.
        number: the shard, in 1..=shards.

    Raises:
        LudexError: ``bad_field``: the program refuses a setting; ``not_installed``.
        ProgramKilled: the program was killed by a signal.
    """
    own = plan.folder / str(number)
    own.mkdir(parents=True, exist_ok=True)
    data = plan.storage or str(own)
    suite = plan.suite
    if plan.suite_toml is not None:
        suite = str(own / "suite.toml")
        Path(suite).write_text(plan.suite_toml, encoding="utf-8")
    agents = [part for agent in plan.agents for part in ("--agent", agent)]
    command = ["evaluate", "--suite", suite, *agents, "--run", plan.run, "--data", data]
    command += ["--shard", f"{number}/{plan.shards}", "--jobs", str(plan.jobs), *plan.args]
    run_program(command)
    bundle = own / "shard.tar.gz"
    name = f"{plan.run}.{number}-of-{plan.shards}"
    run_program(["export", name, "--data", data, "--bundle", str(bundle)])
    content = bundle.read_bytes()
    shutil.rmtree(own)
    return content


def remove_folder(plan: Plan) -> None:
    """Remove the temporary folder of a call on this node."""
    shutil.rmtree(plan.folder, ignore_errors=True)


def run_program(arguments: Sequence[str]) -> None:
    """Run ``ludex`` with arguments and wait for its end.

    Raises:
        LudexError: ``bad_field``: the program refuses the arguments; ``not_installed``.
        ProgramKilled: the program was killed by a signal.
    """
    done = subprocess.run(
        [find_program(), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "LUDEX_LOG": "error"},
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    if done.returncode < 0:
        raise ProgramKilled(f"ludex {arguments[0]} was killed by signal {-done.returncode}")
    if done.returncode != 0:
        message = done.stderr.strip().removeprefix("ludex: ")
        raise LudexError("bad_field", message or f"ludex {arguments[0]} failed")
