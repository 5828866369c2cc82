"""Positions as pictures: for notebooks, and as arrays for videos."""

from __future__ import annotations

import importlib
import io
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .columns import Array
from .optional_imports import import_optional

RENDER_MODES = ("ansi", "rgb_array", "svg")
"""What every adapter can render; those of single environments have ``"human"``, too."""

_VARIABLE = re.compile(r"var\(\s*--[\w-]+\s*,([^()]*)\)")

# Rasterisers have no fonts for the general families.
_FAMILIES = {
    ",sans-serif": ",'DejaVu Sans','Liberation Sans','Noto Sans',sans-serif",
    ",monospace": (
        ",'DejaVu Sans Mono','Liberation Mono','Noto Sans Mono',Menlo,Consolas,monospace"
    ),
}


@dataclass(frozen=True, slots=True)
class Picture:
    """A position drawn for people, from the view of one seat. Notebooks show it.

    Attributes:
        svg: an SVG document. What a person can touch carries ``data-cell``.
        gestures: action id -> the cells that mean it, in order; of the legal actions if the seat
            is to move. An action that is missing has no cells.
    """

    svg: str
    gestures: dict[int, list[str]] = field(default_factory=dict)

    @classmethod
    def from_wire(cls, view: Mapping[str, Any]) -> Picture:
        """Read the view ``picture`` of a message."""
        gestures = view.get("gestures") or {}
        return cls(view["svg"], {int(action): list(cells) for action, cells in gestures.items()})

    def array(self, size: int = 640) -> Array:
        """Return the pixels, ``uint8 [size, size, 3]``, with the picture in the middle, on white.

        Raises:
            ModuleNotFoundError: the extra ``ludex[render]`` is missing.
        """
        resvg, image = import_rasterizer()
        svg = _VARIABLE.sub(r"\1", self.svg)
        for family, more in _FAMILIES.items():
            svg = svg.replace(family, more)
        # As an inner element, the picture is scaled to the outer one and put into its middle.
        outer = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size}">{svg}</svg>'
        )
        png = bytes(resvg.svg_to_bytes(svg_string=outer, background="#ffffff"))
        pixels: Array = np.array(image.open(io.BytesIO(png)).convert("RGB"))
        return pixels

    def _repr_svg_(self) -> str:
        return self.svg


def import_rasterizer() -> tuple[Any, Any]:
    """Import the libraries that make pixels of pictures.

    Raises:
        ModuleNotFoundError: one is not installed; the message says how to install it.
    """
    names = "resvg_py", "PIL.Image"
    resvg, image = (import_optional(name, "render", user="Picture.array") for name in names)
    return resvg, image


class Display:
    """Where ``render_mode="human"`` shows positions: a notebook gets pictures, a terminal text."""

    def __init__(self) -> None:
        self._cell: Any = None
        self._handle: Any = None

    def show(self, text: Callable[[], str], picture: Callable[[], Picture]) -> None:
        """Show a position. In a cell of a notebook there is one picture, which changes."""
        shell = _notebook()
        if shell is None:
            print(text(), flush=True)
        elif self._handle is not None and shell.execution_count == self._cell:
            self._handle.update(picture())
        else:
            display = importlib.import_module("IPython.display").display
            self._cell = shell.execution_count
            self._handle = display(picture(), display_id=True)


def _notebook() -> Any:
    """Return IPython's shell if it can show pictures: one in a terminal has no kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell if hasattr(shell, "kernel") else None


def render_frame(mode: str, shows: Any, *where: Any) -> str | Picture | Array:
    """Return what ``render()`` returns in a mode, from the ``text`` or ``picture`` of ``shows``."""
    if mode == "ansi":
        text: str = shows.text(*where)
        return text
    picture: Picture = shows.picture(*where)
    return picture.array() if mode == "rgb_array" else picture
