"""Tables of a run that ``ludex evaluate`` or a server played: :func:`read_run`."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from .errors import LudexError
from .optional_imports import import_optional
from .process import find_program

Table = Literal["matches", "moves", "marks", "decisions", "calls", "labels", "ratings", "episodes"]
Library = Literal["pandas", "polars"]


class RunTables:
    """Tables of a run; each value is a number, a text or ``None``, except in ``episodes``.

    The rows of ``matches``, ``moves`` and ``marks`` follow the plan of the run: ``order`` is the
    position of the match in the plan, ``counts`` is false for a match that the plan replaces, and
    ``candidate`` is true for an agent under evaluation. Every metric of a suite can be computed
    from them. The rows of ``episodes`` are the records of the matches. ``ludex export RUN --table
    NAME --out FILE`` describes the columns in a card.

    Attributes:
        name: name, folder or bundle of the run.
    """

    def __init__(self, name: str, data: str | os.PathLike[str]) -> None:
        self.name = name
        self._data = os.fspath(data)
        self._rows: dict[str, list[dict[str, Any]]] = {}
        self._report: dict[str, Any] | None = None

    def rows(self, table: Table) -> list[dict[str, Any]]:
        """Return the rows of a table, which is verified and read on first access.

        Raises:
            LudexError: ``not_installed`` without the program ``ludex``; ``bad_field`` if the run
                or the table cannot be read.
        """
        if table not in self._rows:
            self._rows[table] = list(self.iter_rows(table))
        return self._rows[table]

    def iter_rows(self, table: Table) -> Iterator[dict[str, Any]]:
        """Read the rows of a table one by one and store none, for tables larger than the memory.

        Raises:
            LudexError: as :meth:`rows`.
        """
        command = [find_program(), "export", self.name, "--data", self._data, "--table", table]
        with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
            with subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, text=True, encoding="utf-8"
            ) as program:
                assert program.stdout is not None
                for line in program.stdout:
                    yield json.loads(line)
            if program.returncode != 0:
                errors.seek(0)
                raise LudexError("bad_field", errors.read().strip(), got=self.name)

    def report(self) -> dict[str, Any]:
        """Return the data of the run's report, as ``ludex rate RUN --report DIR`` writes it.

        The report has the suite, the settings of the agents, their results, and the summaries.

        Raises:
            LudexError: as :meth:`rows`.
        """
        if self._report is None:
            with tempfile.TemporaryDirectory() as folder:
                command = [find_program(), "rate", self.name, "--data", self._data]
                command += ["--report", folder, "--no-transcripts"]
                done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
                if done.returncode != 0:
                    raise LudexError("bad_field", done.stderr.strip(), got=self.name)
                text = Path(folder, "report.json").read_text(encoding="utf-8")
            self._report = json.loads(text)
        return self._report

    def frame(self, table: Table, library: Library = "pandas") -> Any:
        """Return a table as a data frame of pandas or polars.

        Raises:
            LudexError: as :meth:`rows`.
            ModuleNotFoundError: the library is not installed; the message names the extra.
        """
        frames = import_optional(library, library, user="RunTables.frame")
        rows = self.rows(table)
        return frames.DataFrame(rows) if library == "pandas" else frames.from_dicts(rows)

    @property
    def matches(self) -> Any:
        """Seats of the matches as a ``pandas.DataFrame``."""
        return self.frame("matches")

    @property
    def moves(self) -> Any:
        """Moves as a ``pandas.DataFrame``."""
        return self.frame("moves")

    @property
    def marks(self) -> Any:
        """Marks of the moves as a ``pandas.DataFrame``: the input of most metrics."""
        return self.frame("marks")

    @property
    def labels(self) -> Any:
        """Labels of decisions as a ``pandas.DataFrame``: a row for each labeler and label."""
        return self.frame("labels")

    @property
    def ratings(self) -> Any:
        """Ratings of each part as a ``pandas.DataFrame``."""
        return self.frame("ratings")


def read_run(name: str, *, data: str | os.PathLike[str] = "./ludex-data") -> RunTables:
    """Return the tables of a run.

    Args:
        name: name below ``data``/runs, or the path of a folder or bundle.
        data: data folder of ``ludex evaluate`` or ``ludex serve``.
    """
    return RunTables(name, data)
