"""Rewards of language models in episodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..spec import Spec


@dataclass(frozen=True)
class Reward:
    """The reward of an episode, as a function of the return and the refused answers.

    Attributes:
        scale: ``"return"``: the return of the seat; ``"unit"``: the return from the game's least to
            its greatest, as 0 to 1.
        divisor: divides the return, for games that count chips; only with ``scale="return"``.
        penalty: subtracted for each refused answer; a reward of the scale ``"unit"`` stays in 0..1.
    """

    scale: Literal["return", "unit"] = "return"
    divisor: float = 1.0
    penalty: float = 0.0

    def __post_init__(self) -> None:
        if self.scale not in ("return", "unit"):
            raise ValueError(f"scale: expected 'return' or 'unit', got {self.scale!r}")
        if not self.divisor > 0:
            raise ValueError(f"divisor: expected a number above 0, got {self.divisor!r}")
        if self.scale == "unit" and self.divisor != 1.0:
            raise ValueError(f"divisor: expected 1 with scale='unit', got {self.divisor!r}")

    def of(self, spec: Spec, value: float, refused: int) -> float:
        """Return the reward for a return ``value`` after this many refused answers."""
        if self.scale == "return":
            return value / self.divisor - self.penalty * refused
        width = spec.max_return - spec.min_return
        share = (value - spec.min_return) / width if width > 0 else 0.0
        return min(max(share - self.penalty * refused, 0.0), 1.0)
