"""Datasets of Minari from records of episodes.

::

    run = ludex.read_run("first-try")
    dataset = ludex.minari.write_dataset(run.iter_rows("episodes"), "ludex/connect_four/demo-v0",
                                         game="connect_four", agent="mybot")
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .adapters.registration import env_name
from .optional_imports import import_optional
from .replay import UNSCORED_REASONS, Record, Replayer, Trajectory
from .shared_server import connect

import_optional("minari", "minari")

import gymnasium  # noqa: E402
from minari import MinariDataset, create_dataset_from_buffers  # noqa: E402
from minari.data_collector import EpisodeBuffer  # noqa: E402


def write_dataset(
    records: str | os.PathLike[str] | Iterable[Record],
    dataset_id: str,
    *,
    game: str | None = None,
    seats: Sequence[int] | None = None,
    agent: str | None = None,
    url: str | None = None,
    token: str | None = None,
    **metadata: Any,
) -> MinariDataset:
    """Write records of one game as a dataset of Minari.

    Each episode of the dataset is a record from the view of one seat, as the adapter for Gymnasium
    plays it: the observations and actions of the seat's decisions, and the rewards between them,
    which sum to the seat's return. ``infos`` has the ``action_mask`` (``int8 [T + 1, A]``) and the
    ``seat`` (``int64 [T + 1]``). Records of matches without a result are omitted, and so are seats
    without a decision.

    Args:
        records: path of a file with a record per line, or records, such as
            ``run.iter_rows("episodes")``.
        dataset_id: name of the dataset, e.g. ``"ludex/connect_four/demo-v0"``.
        game: id of the game; other records are omitted. By default, all records must be of one
            game.
        seats: the seats; by default all.
        agent: name of an agent; by default seats of all agents.
        url: server that replays the records; by default the local one of this process.
        token: access token.
        metadata: further arguments of ``minari.create_dataset_from_buffers``: ``description``,
            ``author``, ``algorithm_name``, ``data_format``, ...

    Raises:
        LudexError: ``bad_params``: the records differ in game, parameters or rules;
            ``bad_field``: the game has no observation array, or a move has no action id.
        ValueError: no record has a decision of these seats, or Minari refuses the name.
    """
    client = connect(url, token)
    try:
        replayer: Replayer | None = None
        episodes: list[EpisodeBuffer] = []
        for record in _records(records):
            if game not in (None, record["game"]) or record.get("reason") in UNSCORED_REASONS:
                continue
            if replayer is None:
                replayer = Replayer(client, record["game"], record.get("params"))
            names = [entry.get("name") for entry in record["seats"]]
            chosen = [
                seat
                for seat in (range(len(names)) if seats is None else seats)
                if agent in (None, names[seat])
            ]
            for trajectory in replayer.trajectories(record, chosen):
                episodes.append(_episode(trajectory, len(episodes)))
    finally:
        client.close()
    if replayer is None or not episodes:
        raise ValueError("records: expected at least one decision of these seats, got none")
    spec = replayer.spec
    env = gymnasium.make(
        f"ludex/{env_name(spec.game)}-v{spec.rules}", params=spec.params, url=url, token=token
    )
    # The dataset names the environment, but not the server that replayed the records.
    for private in ("url", "token"):
        env.unwrapped.spec.kwargs.pop(private)  # type: ignore[union-attr]
    try:
        return create_dataset_from_buffers(
            dataset_id,
            episodes,
            env=env,
            jpeg_encoding=False,
            **{"description": f"Episodes of {spec.string}", **metadata},
        )
    finally:
        env.close()


def _records(source: str | os.PathLike[str] | Iterable[Record]) -> Iterator[Record]:
    if isinstance(source, (str, os.PathLike)):
        with Path(source).open(encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)
    else:
        yield from source


def _episode(trajectory: Trajectory, number: int) -> EpisodeBuffer:
    steps = len(trajectory.actions)
    ends = np.arange(steps) == steps - 1
    return EpisodeBuffer(
        id=number,
        observations=np.stack(trajectory.observations),
        actions=np.array(trajectory.actions, np.int64),
        rewards=np.array(trajectory.rewards),
        terminations=ends & trajectory.terminated,
        truncations=ends & trajectory.truncated,
        infos={
            "action_mask": np.stack(trajectory.masks),
            "seat": np.full(steps + 1, trajectory.seat),
        },
    )
