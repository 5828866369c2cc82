"""Datasets of Minari, if it is installed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from test_replay import play

import ludex
from ludex.replay import Replayer

minari = pytest.importorskip("minari", reason="Minari is missing (ludex[minari])")
pytestmark = pytest.mark.filterwarnings("ignore:`.*` is set to None:UserWarning")


@pytest.fixture(scope="module")
def url(program: str) -> Iterator[str]:
    with ludex.serve() as server:
        yield server.url


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))


def test_dataset_has_trajectories_of_seats(url: str, program: str, tmp_path: Path) -> None:
    records = play(program, tmp_path, "leduc_poker")
    name = "ludex/leduc_poker/test-v0"
    written = ludex.minari.write_dataset(tmp_path / "leduc_poker.jsonl", name, url=url)
    dataset = minari.load_dataset(name)
    with ludex.Client(url) as client:
        replayer = Replayer(client, "leduc_poker")
        expected = [one for record in records for one in replayer.trajectories(record)]
    assert written.total_episodes == len(expected) == 2 * len(records)
    for episode, one in zip(dataset, expected, strict=True):
        assert np.array_equal(episode.observations, one.observations)
        assert np.array_equal(episode.actions, one.actions)
        assert np.array_equal(episode.rewards, one.rewards)
        assert np.array_equal(episode.infos["action_mask"], one.masks)
        assert set(episode.infos["seat"].tolist()) == {one.seat}
        assert episode.terminations.tolist() == [False] * (len(one.actions) - 1) + [True]
        assert not episode.truncations.any()
    assert dataset.spec.env_spec.id == "ludex/LeducPoker-v1"
    assert url not in json.dumps(dataset.spec.env_spec.kwargs)


def test_seats_and_agents_are_selected(url: str, program: str, tmp_path: Path) -> None:
    records = play(program, tmp_path, "tic_tac_toe") + play(program, tmp_path, "nim")
    records[0]["seats"][1]["name"] = "other"
    records[1]["reason"] = "aborted"

    def write(name: str, **options: object) -> int:
        dataset = ludex.minari.write_dataset(
            records, f"ludex/{name}-v0", game="tic_tac_toe", url=url, **options
        )
        return int(dataset.total_episodes)

    matches = len(records) // 2 - 1
    assert write("seat", seats=[1]) == matches
    assert write("agent", agent="random") == 2 * matches - 1
    assert write("other", agent="other", author="ann") == 1
    with pytest.raises(ValueError, match="at least one decision"):
        write("none", agent="absent")
    with pytest.raises(ludex.LudexError, match="expected rules"):
        ludex.minari.write_dataset(records, "ludex/mixed-v0", url=url)
