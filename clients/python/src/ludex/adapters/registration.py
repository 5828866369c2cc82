"""Registration of the Gymnasium ids, ``ludex/<Name>-v<rules version>``."""

from __future__ import annotations

from ..catalogue import GAMES


def env_name(game: str) -> str:
    """Return the name part of a game's Gymnasium id, e.g. ``ConnectFour``."""
    return "".join(part.capitalize() for part in game.split("_"))


def register() -> None:
    """Register the ids of all games with Gymnasium. Safe to call twice.

    Raises:
        ModuleNotFoundError: Gymnasium is not installed.
    """
    from gymnasium.envs.registration import register as add
    from gymnasium.envs.registration import registry

    for game, rules in GAMES.items():
        name = f"ludex/{env_name(game)}-v{rules}"
        if name not in registry:
            add(
                name,
                entry_point="ludex.gymnasium:LudexEnv",
                vector_entry_point="ludex.gymnasium:LudexVectorEnv",
                kwargs={"game": game, "rules": rules},
            )
