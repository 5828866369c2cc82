"""What is shown while a run is played."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_WIDTH = 30


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run stands.

    Attributes:
        run: its name.
        done: matches that are done.
        due: matches to come, as far as is known now.
        eta_ms: about how long the rest will take, if the server can tell.
        so_far: our wins, draws and losses by part, since the server began or continued the run.
    """

    run: str
    done: int
    due: int
    eta_ms: int | None
    so_far: dict[str, dict[str, int]]


OnProgress = Callable[[Progress], object]


class Bar:
    """Shows progress on a terminal: with tqdm if it is installed, else as a plain line."""

    def __init__(self) -> None:
        self._begun = False
        self._tqdm: Any = None
        try:
            self._make: Any = importlib.import_module("tqdm").tqdm
        except ModuleNotFoundError:
            self._make = None

    def show(self, progress: Progress) -> None:
        """Show where the run stands."""
        total = progress.done + progress.due
        if self._make is not None:
            if self._tqdm is None:
                self._tqdm = self._make(desc=progress.run, unit="match", initial=progress.done)
            self._tqdm.total = total
            self._tqdm.update(progress.done - self._tqdm.n)
            return
        self._begun = True
        filled = _WIDTH * progress.done // max(total, 1)
        left = "" if progress.eta_ms is None else f", about {_time(progress.eta_ms)} left"
        bar = "#" * filled + "." * (_WIDTH - filled)
        line = f"{progress.run} [{bar}] {progress.done} of {total} matches{left}"
        print(f"\r{line}\x1b[K", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """End the line."""
        if self._tqdm is not None:
            self._tqdm.close()
        elif self._begun:
            print(file=sys.stderr)


def _time(ms: int) -> str:
    seconds = round(ms / 1000)
    if seconds < 60:
        return f"{seconds} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{round(minutes / 60)} h"
