"""Runs on a real server: the verdict does not depend on agent types and interruptions."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from proxy import Proxy
from restarted import Restarted

import ludex
from ludex import aio

SCALE = 0.05
KILLS = 10


def first(turn: ludex.Turn) -> int:
    return turn.legal[0]


async def first_awaited(turn: ludex.Turn) -> int:
    await asyncio.sleep(0)
    return turn.legal[0]


def first_of_each(turns: list[ludex.Turn]) -> list[int]:
    return [turn.legal[0] for turn in turns]


def evaluate(url: str | None, agent: Any = first, run: str = "mine", **options: Any) -> Any:
    return ludex.evaluate(url, "quick", agent, run, **{"scale": SCALE, **options})


@pytest.fixture(scope="module")
def begun(program: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data folder with a started run, so that all copies have the same seeds."""
    data = tmp_path_factory.mktemp("begun") / "data"

    def fails(turn: ludex.Turn) -> int:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        evaluate(None, fails, data=data)
    return data


@pytest.fixture
def data(begun: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(begun, tmp_path / "data"))


@pytest.fixture(scope="module")
def uninterrupted(
    begun: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Any], int]:
    """Return the verdict of an uninterrupted run with a callback, and the number of turns."""
    data = shutil.copytree(begun, tmp_path_factory.mktemp("verdict") / "data")
    turns = 0

    def agent(turn: ludex.Turn) -> int:
        nonlocal turns
        turns += 1
        return turn.legal[0]

    result = evaluate(None, agent, data=data)
    assert result.reason == "done"
    assert {row["part"] for row in result.rows()} >= {"nim", "kuhn_poker", "prisoners_dilemma"}
    assert result.ratings
    assert "<html" in result.report_html
    assert result.report_url is not None
    assert Path(result.report_url.removeprefix("file://")).read_text() == result.report_html
    return result.verdict, turns


@pytest.fixture(scope="module")
def verdict(uninterrupted: tuple[dict[str, Any], int]) -> dict[str, Any]:
    """Return the verdict of an uninterrupted run with a callback."""
    return uninterrupted[0]


@pytest.fixture(scope="module")
def every(uninterrupted: tuple[dict[str, Any], int]) -> int:
    """Return the number of turns between two interruptions."""
    return uninterrupted[1] // (KILLS + 1)


@pytest.fixture(scope="module")
def url(program: str) -> Iterator[str]:
    with ludex.serve(args=["--drain-timeout", "0"]) as server:
        yield server.url


@pytest.mark.parametrize(("agent", "batch"), [(first_awaited, False), (first_of_each, True)])
def test_verdict_does_not_depend_on_agent_type(
    data: Path, verdict: dict[str, Any], agent: Any, batch: bool
) -> None:
    assert evaluate(None, agent, data=data, batch=batch, slots=8).verdict == verdict


def test_asyncio_evaluate_returns_same_verdict_as_sync(data: Path, verdict: dict[str, Any]) -> None:
    result = asyncio.run(
        aio.evaluate(None, "quick", first_awaited, data=data, scale=SCALE, progress=False)
    )
    assert result.verdict == verdict


def test_verdict_is_unchanged_after_server_kills(
    program: str, data: Path, verdict: dict[str, Any], every: int
) -> None:
    turns = 0
    with Restarted(program, data) as server:

        def agent(turn: ludex.Turn) -> int:
            nonlocal turns
            turns += 1
            if turns % every == 0 and server.kills < KILLS:
                server.again()
            return turn.legal[0]

        assert evaluate(server.url, agent, patience=30).verdict == verdict
        assert server.kills == KILLS


def test_verdict_is_unchanged_after_lost_connections(
    program: str, data: Path, verdict: dict[str, Any], every: int
) -> None:
    turns = 0
    with Restarted(program, data) as server, Proxy(server.url) as proxy:

        async def agent(turn: ludex.Turn) -> int:
            nonlocal turns
            turns += 1
            if turns % every == 0 and proxy.cuts < KILLS:
                proxy.cut()
            return turn.legal[0]

        assert evaluate(proxy.url, agent, patience=30).verdict == verdict
        assert proxy.cuts == KILLS


KILLED = """
import os, signal, sys
import ludex

turns = 0

def agent(turn):
    global turns
    turns += 1
    if turns == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    return turn.legal[0]

ludex.evaluate(sys.argv[1], "quick", agent, "mine", scale=float(sys.argv[3]))
"""


def test_verdict_is_unchanged_after_client_kills(
    program: str, data: Path, verdict: dict[str, Any]
) -> None:
    with Restarted(program, data) as server:
        for kill in range(KILLS):
            command = [sys.executable, "-c", KILLED, server.url, str(1 + kill), str(SCALE)]
            assert subprocess.run(command, check=False).returncode == -9
        assert evaluate(server.url).verdict == verdict


def test_run_rejects_other_settings_and_other_agents(url: str) -> None:
    def fails(turn: ludex.Turn) -> int:
        raise KeyError("mine")

    with pytest.raises(KeyError):
        evaluate(url, fails, "bound", only=["nim"])
    refused: list[tuple[dict[str, Any], str, str, Any]] = [
        ({"scale": 0.5}, "conflict", "scale", SCALE),
        ({"only": ["pig"]}, "conflict", "only", ["nim"]),
        ({"candidates": 2, "name": "bound"}, "conflict", "candidates", 1),
        ({"name": "another"}, "forbidden", "run", None),
    ]
    for change, code, path, allowed in refused:
        with pytest.raises(ludex.LudexError, match=code) as caught:
            evaluate(url, first, "bound", **{"only": ["nim"], **change})
        assert (caught.value.path, caught.value.allowed) == (path, allowed)
    assert evaluate(url, first, "bound", only=["nim"]).reason == "done"


def test_evaluate_rejects_invalid_arguments(url: str) -> None:
    refused: list[tuple[str, dict[str, Any], str, str]] = [
        ("quik", {}, "unknown_suite", "suite"),
        ("quick", {"only": ["nim", "chess"]}, "bad_field", "only"),
        ("quick", {"scale": 0.0}, "bad_field", "scale"),
        ("quick", {"slots": 0}, "limit", "slots"),
        ("quick", {"run": "Never"}, "bad_field", "run"),
    ]
    for suite, options, code, path in refused:
        with pytest.raises(ludex.LudexError, match=code) as caught:
            ludex.evaluate(url, suite, first, **{"run": "never", **options})
        assert caught.value.path == path
    with pytest.raises(ludex.LudexError, match="unknown_run"):
        ludex.evaluate(url, None, first, "never")


def test_withdraw_ends_run(url: str) -> None:
    turns = 0

    def agent(turn: ludex.Turn) -> int:
        nonlocal turns
        turns += 1
        if turns == 9:
            with ludex.Client(url) as client:
                client.withdraw("given-up")
                with pytest.raises(ludex.LudexError, match="unknown_run"):
                    client.withdraw("given-up", name="another")
        return turn.legal[0]

    result = evaluate(url, agent, "given-up", slots=2)
    assert result.reason == "withdrawn"
    assert evaluate(url, agent, "given-up", slots=2).verdict == result.verdict
    with ludex.Client(url) as client, pytest.raises(ludex.LudexError, match="unknown_run"):
        client.withdraw("given-up")


def test_client_lists_suites_of_server(url: str) -> None:
    with ludex.Client(url) as client:
        suites = {entry["suite"]: entry for entry in client.suites()}
    quick = suites["quick"]
    parts = {part["part"]: part for part in quick["parts"]}
    assert sum(part["matches"] for part in parts.values()) == quick["matches"]
    assert parts["nim"]["game"].startswith("nim(")


SUITE = """
name = "two-games"
version = 1
title = "Two games"

[[part]]
id = "nim"
game = "nim"
schedule = "against"
opponents = ["random"]
blocks = 1

[[part]]
id = "both"
game = "tic_tac_toe"
schedule = "round_robin"
blocks = 1
"""


def test_two_agents_play_in_custom_suite(program: str, tmp_path: Path) -> None:
    suite = tmp_path / "two.toml"
    suite.write_text(SUITE)
    alone = ludex.evaluate(None, suite, first, "alone")
    played = {row["part"]: row["wins"] + row["losses"] for row in alone.rows()}
    assert played == {"nim": 2}  # The other part needs two agents.
    assert alone.report_url is None
    assert "<html" in alone.report_html
    verdicts: list[Any] = []
    with ludex.serve(args=["--drain-timeout", "0", "--suite", str(suite)]) as server:

        def play(name: str) -> None:
            result = ludex.evaluate(server.url, "two-games", first, "pair", name=name, candidates=2)
            verdicts.append(result.verdict)

        players = [threading.Thread(target=play, args=[name]) for name in ("ada", "ben")]
        for player in players:
            player.start()
        for player in players:
            player.join()
        (mine, theirs) = verdicts
        assert mine == theirs
        rows = {(row["part"], row["agent"]) for row in mine["parts"]}
        assert rows == {(part, name) for part in ("nim", "both") for name in ("ada", "ben")}
