"""Results of runs, returned by :func:`ludex.evaluate`."""

from __future__ import annotations

import html
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from ..errors import LudexError
from ..optional_imports import import_optional

FETCH_SECONDS = 60.0

_COLUMNS = ("part", "agent", "wins", "draws", "losses", "score", "level", "rating")
_STANDINGS = ("rank", "name", "points", "wins", "draws", "losses")
_WORDS = ("part", "agent", "name")


class RatingEntry(TypedDict, total=False):
    """The rating of an agent in a part of a suite.

    ``rating`` is ``{value, low, high}``, the rating and its 95 % interval on the scale of the
    game's ladder.
    """

    agent: str
    part: str
    game: str
    rating: dict[str, float]


class RunResult:
    """Result of a run; printed as a table, also in notebooks.

    Attributes:
        run: name of the run.
        reason: ``"done"``, ``"withdrawn"`` or ``"deadline"``.
        verdict: results by part and group, ``{"parts": [...], "groups": [...]}``, as printed by
            ``ludex evaluate --json``; for a tournament ``{"game", "format", "entrants"}``.
        ratings: ratings of the verdict.
        report_url: URL of the report on the server; a ``file:`` URL if the call started the
            server; ``None`` if its data folder was temporary.
    """

    def __init__(
        self,
        end: Mapping[str, Any],
        report_url: str | None = None,
        token: str | None = None,
    ) -> None:
        self.run = str(end.get("run", ""))
        self.reason = str(end.get("reason", ""))
        self.verdict: dict[str, Any] = end.get("verdict") or {}
        self.ratings: list[RatingEntry] = end.get("ratings") or []
        self.report_url = report_url
        self._token = token
        self._html: str | None = None

    @property
    def report_html(self) -> str:
        """The report as a self-contained HTML page, fetched on first access.

        Raises:
            LudexError: ``connection_lost`` if it cannot be fetched.
        """
        if self._html is None:
            self._html = _fetch(self.report_url or "", self._token)
        return self._html

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each part and agent, with plain values.

        ``score``, ``rating`` and each metric are a number or ``None``; their intervals are in
        ``score_low``, ``score_high`` and so on. In parts that search for a level, ``level`` is the
        first level of the ladder that the agent did not pass, and ``progress`` the progress there
        in percent.

        A tournament has a row for each entrant, best first: ``rank``, ``name``, ``points``,
        ``wins``, ``draws``, ``losses``.
        """
        if "entrants" in self.verdict:
            return [dict(entrant) for entrant in self.verdict["entrants"]]
        return [_row(part) for part in self.verdict.get("parts") or []]

    def to_pandas(self) -> Any:
        """Return :meth:`rows` as a ``pandas.DataFrame``.

        Raises:
            ModuleNotFoundError: pandas is not installed; the message names the extra to install.
        """
        pandas = import_optional("pandas", "pandas", user="RunResult.to_pandas")
        return pandas.DataFrame(self.rows())

    def __repr__(self) -> str:
        table = _table(self.rows())
        widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
        lines = [self._title()]
        for row in table:
            cells = [
                cell.ljust(width) if name in _WORDS else cell.rjust(width)
                for name, cell, width in zip(table[0], row, widths, strict=True)
            ]
            lines.append("  " + "  ".join(cells).rstrip())
        if self.report_url:
            lines.append(self.report_url)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head, *rows = _table(self.rows())
        text = html.escape
        parts = [f"<p>{text(self._title())}</p><table><thead><tr>"]
        parts += [f"<th>{text(cell)}</th>" for cell in head]
        parts.append("</tr></thead><tbody>")
        for row in rows:
            parts.append("<tr>" + "".join(f"<td>{text(cell)}</td>" for cell in row) + "</tr>")
        parts.append("</tbody></table>")
        if self.report_url:
            parts.append(f'<p><a href="{text(self.report_url)}">report</a></p>')
        return "".join(parts)

    def _title(self) -> str:
        return f"run {self.run} ({self.reason})"


def _row(part: Mapping[str, Any]) -> dict[str, Any]:
    row = {key: part.get(key) for key in ("part", "game", "agent", "wins", "draws", "losses")}
    row |= _interval("score", part.get("score"))
    level = part.get("level") or {}
    row["level"] = level.get("level")
    row["progress"] = (level.get("progress") or {}).get("value")
    row |= _interval("rating", part.get("rating"))
    for metric, measure in (part.get("metrics") or {}).items():
        row |= _interval(metric, measure)
    row |= {key: part.get(key, 0) for key in ("lost_by_answers", "discarded", "invalid")}
    return row


def _interval(name: str, measure: Mapping[str, Any] | None) -> dict[str, Any]:
    found = measure or {}
    return {
        name: found.get("value"),
        f"{name}_low": found.get("low"),
        f"{name}_high": found.get("high"),
    }


def _table(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return the header and the rows of the printed table."""
    if rows and "rank" in rows[0]:
        columns = list(_STANDINGS)
    else:
        several = len({row["agent"] for row in rows}) > 1
        columns = [name for name in _COLUMNS if several or name != "agent"]
    return [columns] + [[_cell(name, row) for name in columns] for row in rows]


def _cell(name: str, row: Mapping[str, Any]) -> str:
    value = row.get(name)
    if value is None:
        return "-"
    if name not in ("score", "rating"):
        return str(value)
    digits = 0 if name == "rating" else 2
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    if low is None or high is None:
        return f"{value:.{digits}f}"
    return f"{value:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def _fetch(url: str, token: str | None) -> str:
    request = urllib.request.Request(url)
    if token is not None:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=FETCH_SECONDS) as answer:
            return str(answer.read().decode())
    except (OSError, ValueError) as error:
        raise LudexError(
            "connection_lost", f"the report at {url!r} cannot be fetched: {error}", fault="server"
        ) from error
