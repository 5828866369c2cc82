"""Pictures of positions, for notebooks and as arrays for videos."""

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
"""Render modes of every adapter; adapters for single environments add ``"human"``."""

_VARIABLE = re.compile(r"var\(\s*--[\w-]+\s*,([^()]*)\)")

# Rasterizers have no fonts for generic families.
_FAMILIES = {
    ",sans-serif": ",'DejaVu Sans','Liberation Sans','Noto Sans',sans-serif",
    ",monospace": (
        ",'DejaVu Sans Mono','Liberation Mono','Noto Sans Mono',Menlo,Consolas,monospace"
    ),
}


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a position from the view of one seat; notebooks display it.

    Attributes:
        svg: an SVG document; interactive elements carry ``data-cell``.
        gestures: the ordered cells that select an action, by action id. Only legal actions of the
            seat to move have gestures, and some have none.
    """

    svg: str
    gestures: dict[int, list[str]] = field(default_factory=dict)

    @classmethod
    def from_wire(cls, view: Mapping[str, Any]) -> Picture:
        """Decode the view ``picture`` of a message."""
        gestures = view.get("gestures") or {}
        return cls(view["svg"], {int(action): list(cells) for action, cells in gestures.items()})

    def array(self, size: int = 640) -> Array:
        """Return the pixels, ``uint8 [size, size, 3]``, centered on white.

        Raises:
            ModuleNotFoundError: the extra ``ludex[render]`` is missing.
        """
        resvg, image = import_rasterizer()
        svg = _VARIABLE.sub(r"\1", self.svg)
        for family, more in _FAMILIES.items():
            svg = svg.replace(family, more)
        # Nested in an outer SVG element, the picture is scaled to it and centered.
        outer = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size}">{svg}</svg>'
        )
        png = bytes(resvg.svg_to_bytes(svg_string=outer, background="#ffffff"))
        pixels: Array = np.array(image.open(io.BytesIO(png)).convert("RGB"))
        return pixels

    def _repr_svg_(self) -> str:
        return self.svg


def import_rasterizer() -> tuple[Any, Any]:
    """Import the libraries that rasterize pictures.

    Raises:
        ModuleNotFoundError: a library is not installed; the message names the extra to install.
    """
    names = "resvg_py", "PIL.Image"
    resvg, image = (import_optional(name, "render", user="Picture.array") for name in names)
    return resvg, image


class Display:
    """Output of ``render_mode="human"``: pictures in notebooks, text in terminals."""

    def __init__(self) -> None:
        self._cell: Any = None
        self._handle: Any = None

    def show(self, text: Callable[[], str], picture: Callable[[], Picture]) -> None:
        """Display a position. In a notebook cell, it replaces the previous position."""
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
    """Return the IPython shell if it has a kernel, that is, if it can display pictures."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell if hasattr(shell, "kernel") else None


def render_frame(mode: str, source: Any, *where: Any) -> str | Picture | Array:
    """Render a frame in ``mode``, with the methods ``text`` and ``picture`` of ``source``."""
    if mode == "ansi":
        text: str = source.text(*where)
        return text
    picture: Picture = source.picture(*where)
    return picture.array() if mode == "rgb_array" else picture
