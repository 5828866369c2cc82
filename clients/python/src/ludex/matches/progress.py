"""Progress of a run."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_WIDTH = 30


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a run.

    Attributes:
        run: name of the run.
        done: number of finished matches.
        due: number of remaining matches, as currently known.
        eta_ms: estimated remaining time in milliseconds, if the server has an estimate.
        so_far: wins, draws and losses of this agent by part, since the server started or resumed
            the run.
    """

    run: str
    done: int
    due: int
    eta_ms: int | None
    so_far: dict[str, dict[str, int]]


OnProgress = Callable[[Progress], object]


class Bar:
    """A progress bar on a terminal, drawn by tqdm if it is installed."""

    def __init__(self) -> None:
        # Time and number of finished matches at the first plain line.
        self._started: tuple[float, int] | None = None
        self._tqdm: Any = None
        try:
            self._make: Any = importlib.import_module("tqdm").tqdm
        except ModuleNotFoundError:
            self._make = None

    def show(self, progress: Progress) -> None:
        """Display the progress."""
        total = progress.done + progress.due
        if self._make is not None:
            if self._tqdm is None:
                self._tqdm = self._make(desc=progress.run, unit="match", initial=progress.done)
            self._tqdm.total = total
            self._tqdm.update(progress.done - self._tqdm.n)
            return
        if self._started is None:
            self._started = (time.monotonic(), progress.done)
        since, before = self._started
        eta_ms = progress.eta_ms
        if eta_ms is None and progress.done > before:
            each = (time.monotonic() - since) / (progress.done - before)
            eta_ms = round(1_000 * each * progress.due)
        filled = _WIDTH * progress.done // max(total, 1)
        left = "" if not eta_ms else f", about {_format_duration(eta_ms)} left"
        bar = "#" * filled + "." * (_WIDTH - filled)
        line = f"{progress.run} [{bar}] {progress.done} of {total} matches{left}"
        print(f"\r{line}\x1b[K", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Finish the line."""
        if self._tqdm is not None:
            self._tqdm.close()
        elif self._started is not None:
            print(file=sys.stderr)


def _format_duration(ms: int) -> str:
    seconds = round(ms / 1000)
    if seconds < 60:
        return f"{seconds} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{round(minutes / 60)} h"
