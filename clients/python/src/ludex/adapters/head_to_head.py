"""Episodes of two players, each an agent of the server or a policy of this process."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..client import Client
from ..columns import Array, dense, mask_encoding
from ..errors import LudexError
from ..process import find_program
from ..spec import Spec
from .learner_envs import Opponent, Policy
from .opponents import checked_actions


def play_pair(
    client: Client, spec: Spec, players: tuple[Opponent, Opponent], pairs: int, seed: int
) -> Array:
    """Play pairs of episodes with exchanged seats and equal seeds.

    Returns:
        The returns of both players, ``float64 [pairs, 2, 2]``: pair, episode, player.

    Raises:
        LudexError: an error from the server: ``unknown_agent``, ...; ``not_installed``: two agents
            of the server play in the program ``ludex``, which is not installed.
        ValueError: a policy returned an illegal action.
    """
    first, second = players
    if isinstance(first, str) and isinstance(second, str):
        return _by_program(spec, (first, second), pairs, seed)
    straight = _play(client, spec, [first, second], pairs, seed)
    exchanged = _play(client, spec, [second, first], pairs, seed)
    return np.stack([straight, exchanged[:, ::-1]], axis=1)


def _play(client: Client, spec: Spec, seats: list[Opponent], count: int, seed: int) -> Array:
    """Return the returns by seat, ``float64 [count, 2]``."""
    policies: dict[int, Policy] = {
        seat: player for seat, player in enumerate(seats) if not isinstance(player, str)
    }
    joint = spec.dynamics != "sequential" and len(policies) > 1
    vec = client.open_vec(
        spec.game,
        count,
        spec.params,
        seats=[player if isinstance(player, str) else "agent" for player in seats],
        autoreset="next_step",
        views=["tensor", "returns"],
        mask=mask_encoding(spec.actions),
        observer="all",
    )
    returns = np.zeros((count, spec.players))
    try:
        batch, running = vec.reset(seed), np.arange(count)
        live = np.ones(count, np.bool_)
        if batch.skipped is not None:
            # Episodes that ended before a policy could act; the first one of a row counts.
            ended, firsts = np.unique(batch.skipped.at, return_index=True)
            returns[ended] = batch.skipped.returns[firsts]
            live[ended] = False
        while True:
            over = live & (batch.terminated | batch.truncated)
            returns[running[over]] = batch.returns[over]
            live &= ~over
            if not live.any():
                return returns
            obs, mask, running = (
                batch.obs[live],
                dense(batch.mask, spec.actions)[live],
                running[live],
            )
            moves = np.full((len(running), spec.players), -1, np.int32)
            for seat, policy in policies.items():
                rows = np.flatnonzero(mask[:, seat].any(axis=1))
                if rows.size:
                    legal = mask[rows, seat]
                    moves[rows, seat] = checked_actions(
                        policy(obs[rows, seat], legal.copy()), legal
                    )
            batch = vec.step(moves if joint else moves.max(axis=1), running)
            live = np.ones(len(running), np.bool_)
    finally:
        vec.close()


def _by_program(spec: Spec, agents: tuple[str, str], pairs: int, seed: int) -> Array:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "records.jsonl")
        command = [find_program(), "match", spec.string, "--seat", agents[0], "--seat", agents[1]]
        command += ["--blocks", str(pairs), "--seed", str(seed), "--out", str(out)]
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
        if done.returncode != 0:
            raise LudexError("bad_field", done.stderr.strip(), got=list(agents))
        lines = out.read_text(encoding="utf-8").splitlines()
    records: list[Mapping[str, Any]] = [json.loads(line) for line in lines]
    found = np.array([record["returns"] for record in records], float).reshape(pairs, 2, 2)
    found[:, 1] = found[:, 1, ::-1]
    return found
