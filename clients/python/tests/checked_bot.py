"""A bot with random moves, for ``ludex check client``. The environment names server and game."""

from __future__ import annotations

import os
import random

import ludex


def main() -> None:
    env = os.environ
    url, suite = env["LUDEX_URL"], env.get("LUDEX_SUITE")
    name, token = env["LUDEX_AGENT"], env["LUDEX_TOKEN"]

    def agent(turn: ludex.Turn) -> int:
        return random.choice(turn.legal)

    if suite is not None:
        ludex.evaluate(url, suite, agent, env["LUDEX_RUN"], name=name, token=token)
    else:
        game = env["LUDEX_GAME"]
        ludex.play(url, game=game, agent=agent, against="random", name=name, token=token)


if __name__ == "__main__":
    main()
