"""Plays the top levels of fight_the_landlord and of limit hold'em against RLCard's rule models.

    LUDEX_BIN=target/release/ludex python docs/benchmarks/strength.py [--seeds 100] [--landlord SPEC] [--holdem SPEC]

Needs `pip install rlcard` and the Python client. Every seed is played with the sides exchanged. RLCard's landlord game has,
like our `botzone` rules, no bids, and fours with wings. The rule model does not know Botzone's shuttles and passes on them.
RLCard's limit game has blinds 1 and 2 and four raises in every round; ours has blinds 5 and 10 and three raises before the
flop. Counted in big blinds, results are comparable. If a rule model chooses an action that is not legal here, it is replaced
(by a pass, a check or the first legal action) and counted.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from typing import Any

import ludex
import numpy as np
import rlcard.models
from rlcard.games.doudizhu.utils import CARD_TYPE

RANKS = "3456789TJQKA2"
REPLACED = {"fight_the_landlord": 0, "texas_holdem": 0}


def rank(card: int) -> str:
    return RANKS[card // 4] if card < 52 else "BR"[card - 52]


def landlord_state(env: Any, view: dict[str, Any], legal: list[int]) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the view in the form that RLCard's rule model reads, and the ids of the actions that it may name."""
    names = dict(zip((n.replace("Pass", "pass") for n in env.action_texts(legal)), legal, strict=True))
    names = {name: a for name, a in names.items() if name == "pass" or name in CARD_TYPE[0]}
    plays = view.get("plays", [])
    trace = [(p["seat"], "".join(map(rank, sorted(p["cards"]))) or "pass") for p in plays]
    state = {
        "current_hand": "".join(map(rank, sorted(view["hand"]))),
        "trace": trace,
        "actions": list(names),
        "landlord": view["landlord"],
        "self": view["seat"],
    }
    return {"raw_obs": state}, names


def landlord_move(model: Any, env: Any, view: dict[str, Any], legal: list[int]) -> int:
    state, names = landlord_state(env, view, legal)
    try:
        choice = model.step(state)
    except (KeyError, ValueError):
        choice = None
    if choice not in names:
        REPLACED["fight_the_landlord"] += 1
        return legal[0]
    return names[str(choice)]


def holdem_move(model: Any, env: Any, view: dict[str, Any], legal: list[int]) -> int:
    del env
    free = 0 not in legal
    words = ["fold", "check" if free else "call"] + ["raise"] * (2 in legal)
    card = lambda c: c[1].upper() + c[0]  # noqa: E731 - RLCard's names have the suit first
    obs = {"hand": [card(c) for c in view["hole"]], "public_cards": [card(c) for c in view["board"]]}
    choice = model.step({"raw_legal_actions": words, "raw_obs": obs})
    action = {"fold": 1 if free else 0, "check": 1, "call": 1, "raise": 2}[choice]
    if choice not in words or (choice == "fold" and free):
        REPLACED["texas_holdem"] += 1
    return action if action in legal else 1


def episode(env: Any, seats: Sequence[str], seed: int, move: Callable[..., int]) -> list[float]:
    """Play one episode in which the rule model moves the seats called `agent`; return the returns."""
    t = env.reset(seed=seed, seats=seats)
    while not (t.terminated or t.truncated):
        t = env.step(move(env, env.struct(t.to_move), list(t.legal)))
    return list(t.returns)


def line(name: str, won: list[float]) -> None:
    mean = sum(won) / len(won)
    print(f"{name}: {mean:.3f} ± {1.96 * math.sqrt(max(mean * (1 - mean), 0) / len(won)):.3f} of {len(won)}")


def landlord(client: Any, spec: str, seeds: int) -> None:
    model = rlcard.models.load("doudizhu-rule-v1").agents[0]
    roles = {"landlord": [spec, "agent", "agent"], "farmers": ["agent", spec, spec]}
    units: list[float] = [0.0] * seeds
    for role, seats in roles.items():
        env = client.open("fight_the_landlord", seats=seats)
        won = []
        for seed in range(seeds):
            returns = episode(env, seats, seed, lambda *a: landlord_move(model, *a))
            ours, theirs = (returns[0], returns[1]) if role == "landlord" else (returns[1], returns[0])
            won.append(float(ours > theirs))
            units[seed] += ours - theirs
        env.close()
        line(f"fight_the_landlord, {spec} as {role}, games won", won)
    line("fight_the_landlord, deals won over both roles", [float(u > 0) + 0.5 * (u == 0) for u in units])


def holdem(client: Any, spec: str, seeds: int) -> None:
    model = rlcard.models.load("limit-holdem-rule-v1").agents[0]
    won: list[float] = []
    for at in range(2):
        seats = [spec, "agent"] if at == 0 else ["agent", spec]
        env = client.open("texas_holdem(preset=limit)", seats=seats)
        won += [episode(env, seats, seed, lambda *a: holdem_move(model, *a))[at] for seed in range(seeds)]
        env.close()
    blinds = np.array(won) / 10
    error = 1.96 * blinds.std() / math.sqrt(len(blinds))
    print(f"texas_holdem(preset=limit), {spec}: {blinds.mean():+.3f} ± {error:.3f} big blinds a hand over {len(won)} hands")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--landlord", default="anchor level=4")
    parser.add_argument("--holdem", default="anchor level=3")
    args = parser.parse_args()
    np.random.seed(0)  # RLCard's rule model draws from it.
    server = ludex.serve()
    try:
        client = ludex.Client(server.url)
        landlord(client, args.landlord, args.seeds)
        holdem(client, args.holdem, 10 * args.seeds)
    finally:
        server.close()
    print(f"moves of the rule models replaced: {REPLACED}")


if __name__ == "__main__":
    main()
