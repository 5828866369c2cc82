"""Description of a game: the ``spec`` of docs/protocol.md, section 3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import LudexError


@dataclass(frozen=True)
class Spec:
    """The description of a game with all parameters set.

    Attributes:
        game: id of the game, e.g. ``"connect_four"``.
        string: the canonical game string, e.g. ``"connect_four(rows=6,columns=7)"``.
        params: all parameters.
        rules: version of the rules.
        hash: rules hash; policies and records are valid for all games with an equal hash.
        players: number of seats, P.
        seats: names of the seats, in order.
        dynamics: ``"sequential"``, ``"simultaneous"`` or ``"mixed"``.
        chance: ``"deterministic"``, ``"explicit"`` or ``"sampled"``.
        information: ``"perfect"`` or ``"imperfect"``.
        utility: ``"zero_sum"``, ``"constant_sum"``, ``"general_sum"`` or ``"identical"``.
        rewards: ``"terminal"`` or ``"step"``.
        min_return: the lowest return of a seat.
        max_return: the highest return of a seat.
        max_length: the greatest number of moves in an episode.
        actions: number of action ids, A; ids are 0..A.
        max_chance: number of chance outcome ids.
        legal: ``"ids"`` or ``"ranges"``, the form of legal actions in matches.
        views: the available views.
        text: the rules page (Markdown), if it was requested.
        raw: the complete map as received, including fields unknown to this class.
    """

    game: str
    string: str
    params: dict[str, Any]
    rules: int
    hash: str
    players: int
    seats: list[str]
    dynamics: str
    chance: str
    information: str
    utility: str
    rewards: str
    min_return: float
    max_return: float
    max_length: int
    actions: int
    max_chance: int
    legal: str
    views: dict[str, Any]
    text: str | None
    raw: dict[str, Any] = field(repr=False)

    @classmethod
    def from_wire(cls, raw: Mapping[str, Any]) -> Spec:
        """Decode a spec from a message; a missing field gets a neutral value."""
        return cls(
            game=raw["game"],
            string=raw.get("string") or raw["game"],
            params=raw.get("params") or {},
            rules=raw.get("rules", 1),
            hash=raw.get("hash") or "",
            players=raw["players"],
            seats=raw.get("seats") or [str(seat) for seat in range(raw["players"])],
            dynamics=raw.get("dynamics") or "sequential",
            chance=raw.get("chance") or "deterministic",
            information=raw.get("information") or "perfect",
            utility=raw.get("utility") or "general_sum",
            rewards=raw.get("rewards") or "terminal",
            min_return=float(raw.get("min_return") or 0.0),
            max_return=float(raw.get("max_return") or 0.0),
            max_length=raw.get("max_length") or 0,
            actions=raw["actions"],
            max_chance=raw.get("max_chance") or 0,
            legal=raw.get("legal") or "ids",
            views=raw.get("views") or {},
            text=raw.get("text"),
            raw=dict(raw),
        )

    def array(self, view: str = "tensor") -> dict[str, Any]:
        """Return the properties of a view's array: type ``d``, shape ``s``, ``low`` and ``high``.

        Raises:
            LudexError: ``bad_field``: the game has no such array.
        """
        if not self.views.get(view):
            raise LudexError(
                "bad_field",
                f"views: expected a view of {self.game} that is an array, got {view!r}; "
                "use ludex.Client.open for games without arrays",
                path="views",
            )
        (array,) = self.views[view].values()
        return dict(array)
