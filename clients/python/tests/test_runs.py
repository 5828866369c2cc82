"""Runs against the in-process server."""

from __future__ import annotations

import asyncio
import select
import sys
import threading
import types
from concurrent.futures import Future
from itertools import count
from typing import Any

import pytest
from fake_runs import RunServer

import ludex
from ludex import aio, process
from ludex.matches.dispatch import AsyncDispatcher


def first(turn: ludex.Turn) -> int:
    return turn.legal[0]


async def first_awaited(turn: ludex.Turn) -> int:
    await asyncio.sleep(0)
    return turn.legal[0]


def first_of_each(turns: list[ludex.Turn]) -> list[int]:
    return [turn.legal[0] for turn in turns]


async def first_of_each_awaited(turns: list[ludex.Turn]) -> list[int]:
    await asyncio.sleep(0)
    return first_of_each(turns)


AGENTS: list[tuple[Any, bool]] = [
    (first, False),
    (first_awaited, False),
    (first_of_each, True),
    (first_of_each_awaited, True),
]


@pytest.mark.parametrize(("agent", "batch"), AGENTS)
def test_each_agent_kind_plays_run(agent: Any, batch: bool) -> None:
    standings: list[ludex.Progress] = []
    events: list[dict[str, Any]] = []
    with RunServer(matches=5) as server:
        result = ludex.evaluate(
            server.url,
            "quick",
            agent,
            "five",
            batch=batch,
            slots=2,
            scale=0.5,
            on_progress=standings.append,
            on_event=events.append,
        )
        hello, enrol = server.received[:2]
        assert server.faults == []
    assert hello["agent"] == {"name": "five", "kind": "bot"}
    assert (enrol["suite"], enrol["run"], enrol["scale"], enrol["slots"]) == (
        "quick",
        "five",
        0.5,
        2,
    )
    assert "only" not in enrol
    assert (result.run, result.reason) == ("five", "done")
    assert result.verdict["parts"][0]["wins"] == 5
    assert result.report_url == server.url.replace("ws", "http") + "/runs/five/r.html"
    assert [(p.done, p.due) for p in standings] == [(n, 5 - n) for n in range(6)]
    assert standings[-1].so_far == {"race": {"wins": 5, "draws": 0, "losses": 0}}
    assert [event["type"] for event in events].count("match_end") == 5
    assert events[-1]["type"] == "run_end"


def test_async_agent_awaits_turns_concurrently() -> None:
    together = threading.Barrier(3, timeout=20)

    async def agent(turn: ludex.Turn) -> int:
        if turn.turn == 0:
            await asyncio.to_thread(together.wait)
        return turn.legal[0]

    with RunServer(matches=3) as server:
        assert ludex.evaluate(server.url, "quick", agent, slots=3).reason == "done"
        assert server.faults == []


def test_batch_policy_receives_all_pending_turns() -> None:
    sizes: list[int] = []

    def policy(turns: list[ludex.Turn]) -> list[int]:
        sizes.append(len(turns))
        return [turn.legal[0] for turn in turns]

    with RunServer(matches=4) as server:
        ludex.evaluate(server.url, "quick", policy, batch=True)
        assert max(sizes) > 1
        with pytest.raises(ValueError, match="got 0"):
            ludex.evaluate(server.url, "quick", lambda turns: [], "other", batch=True)


@pytest.mark.parametrize("seats", [1, 2])
@pytest.mark.parametrize("forget", [False, True])
@pytest.mark.parametrize(("agent", "batch"), AGENTS)
def test_run_resumes_if_connection_is_cut(
    agent: Any, batch: bool, forget: bool, seats: int
) -> None:
    for cut_at in count():
        with RunServer(cut_at=cut_at, forget=forget, seats=seats) as server:
            result = ludex.evaluate(server.url, "quick", agent, batch=batch, slots=2, patience=20)
            assert server.faults == [], cut_at
            assert result.verdict["parts"][0]["wins"] == 3, cut_at
            if not server.cuts:
                return


def test_run_resumes_on_port_of_exited_server(monkeypatch: pytest.MonkeyPatch) -> None:
    exited = types.SimpleNamespace(running=False)
    with RunServer(cut_at=0) as server:
        monkeypatch.setitem(process._servers, server.url.rstrip("/"), exited)
        assert ludex.evaluate(server.url, "quick", first, patience=20).reason == "done"
        assert server.cuts == 1


def test_pending_turn_is_not_requested_again() -> None:
    asked: list[tuple[str, int, int]] = []

    async def slow(turn: ludex.Turn) -> int:
        asked.append((turn.match, turn.turn, turn.attempt))
        if len(asked) == 2:
            server.drop()
            await asyncio.sleep(0.2)
        return turn.legal[0]

    for forget in (False, True):
        asked.clear()
        with RunServer(forget=forget) as server:
            ludex.evaluate(server.url, "quick", slow, patience=20)
            assert server.faults == []
        assert len(asked) == len(set(asked)), forget


def test_finished_replies_are_sent_before_error() -> None:
    turn = ludex.Turn("m", "race", 0, 0, 0, [0], None, {}, None, [], None, {})
    dispatcher = AsyncDispatcher(first_awaited)
    good: Future[list[Any]] = Future()
    good.set_result([(turn, 7)])
    bad: Future[list[Any]] = Future()
    bad.set_exception(KeyError("mine"))
    dispatcher._on_done(good)
    dispatcher._on_done(bad)
    assert dispatcher.dispatch([]) == [(turn, 7)]
    assert dispatcher.wakeup is not None
    assert select.select([dispatcher.wakeup], [], [], 20)[0]
    with pytest.raises(KeyError, match="mine"):
        dispatcher.dispatch([])
    dispatcher.close()
    dispatcher.close()


def fails_once(error: BaseException, awaited: bool) -> Any:
    calls = 0

    def agent(turn: ludex.Turn) -> int:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise error
        return turn.legal[0]

    async def awaits(turn: ludex.Turn) -> int:
        return agent(turn)

    return awaits if awaited else agent


@pytest.mark.parametrize(
    ("error", "awaited"),
    [(KeyError("mine"), False), (KeyError("mine"), True), (KeyboardInterrupt(), False)],
)
def test_agent_error_ends_call_and_repeat_continues(error: BaseException, awaited: bool) -> None:
    with RunServer() as server:
        agent = fails_once(error, awaited)
        with pytest.raises(type(error)):
            ludex.evaluate(server.url, "quick", agent)
        assert {"resign", "withdraw", "leave"}.isdisjoint(f["type"] for f in server.received)
        begun = len(server.runs["mine"].begun)
        assert begun > 0
        result = ludex.evaluate(server.url, "quick", agent)
        assert result.verdict["parts"][0]["wins"] == len(server.runs["mine"].begun) == 3
        assert server.faults == []
        # The run has ended: the same call returns its result.
        again = ludex.evaluate(server.url, "quick", agent)
        assert again.verdict == result.verdict


def test_withdraw_ends_run() -> None:
    seen: list[str] = []

    def agent(turn: ludex.Turn) -> int:
        if not seen:
            with ludex.Client(server.url) as client:
                client.withdraw("mine")
                with pytest.raises(ludex.LudexError, match="unknown_run"):
                    client.withdraw("mine")
                with pytest.raises(ludex.LudexError, match="unknown_run"):
                    client.withdraw("mine", name="other")
            seen.append(turn.match)
        return turn.legal[0]

    with RunServer() as server:
        with ludex.Client(server.url) as client:
            (suite,) = client.suites()
            assert (suite["suite"], suite["parts"][0]["game"]) == ("quick", "race")
        assert ludex.evaluate(server.url, "quick", agent, "mine").reason == "withdrawn"
        assert ludex.evaluate(server.url, "quick", agent, "mine").reason == "withdrawn"


def test_server_rejects_settings() -> None:
    with RunServer() as server:
        with pytest.raises(ludex.LudexError, match="unknown_suite") as unknown:
            ludex.evaluate(server.url, "quik", first)
        assert unknown.value.allowed == ["quick"]
        ludex.evaluate(server.url, "quick", first)
        with pytest.raises(ludex.LudexError, match="conflict") as conflict:
            ludex.evaluate(server.url, "quick", first, scale=0.5)
        assert (conflict.value.path, conflict.value.allowed) == ("scale", 1.0)
        with pytest.raises(ludex.LudexError, match="forbidden"):
            ludex.evaluate(server.url, "quick", first, name="somebody")
        # An existing run needs no suite name.
        assert ludex.evaluate(server.url, None, first).reason == "done"


def test_client_rejects_inconsistent_settings() -> None:
    nowhere = "ws://127.0.0.1:1"
    with pytest.raises(ludex.LudexError, match="expected a name"):
        ludex.evaluate(nowhere, "quick", first, candidates=2)
    with pytest.raises(ludex.LudexError, match="ludex serve --suite FILE"):
        ludex.evaluate(nowhere, "mine.toml", first)
    with pytest.raises(TypeError, match="expected a function of turns"):
        ludex.evaluate(nowhere, "quick", "mcts")  # type: ignore[arg-type]


def test_draining_server_raises_draining() -> None:
    def agent(turn: ludex.Turn) -> int:
        server.later.append({"type": "draining", "resume": False, "deadline_ms": 0})
        return turn.legal[0]

    with RunServer(matches=30) as server, pytest.raises(ludex.LudexError, match="draining"):
        ludex.evaluate(server.url, "quick", agent, slots=1)


def test_cancelled_async_evaluate_stops_run() -> None:
    async def main(url: str) -> None:
        result = await aio.evaluate(url, "quick", first_awaited)
        assert result.reason == "done"
        result = await aio.evaluate(url, "quick", first_of_each_awaited, "batched", batch=True)
        assert result.reason == "done"
        asked = asyncio.Event()

        async def endless(turn: ludex.Turn) -> int:
            asked.set()
            await asyncio.Event().wait()
            return 0

        playing = asyncio.ensure_future(aio.evaluate(url, "quick", endless, "endless"))
        await asked.wait()
        playing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await playing

    with RunServer() as server:
        asyncio.run(main(server.url))
        assert server.faults == []


END: dict[str, Any] = {
    "run": "mine",
    "reason": "done",
    "ratings": [{"agent": "mine", "part": "nim", "game": "nim", "rating": {"value": 12.0}}],
    "verdict": {
        "parts": [
            {
                "part": "nim",
                "game": "nim",
                "agent": "mine",
                "wins": 3,
                "draws": 0,
                "losses": 1,
                "score": {"value": 0.75, "low": 0.3, "high": 0.95},
                "level": {"level": 2, "topped": False, "progress": {"value": 50.0}},
                "rating": {"value": 12.4, "low": -50.0, "high": 70.0},
            },
            {
                "part": "<dilemma>",
                "game": "iterated_prisoners_dilemma",
                "agent": "mine",
                "wins": 0,
                "draws": 0,
                "losses": 0,
                "score": None,
                "rating": None,
                "metrics": {"mean_return": {"value": 2.5, "low": None, "high": None}},
                "discarded": 1,
            },
        ],
        "groups": [],
    },
}


def test_result_renders_as_text_and_html(monkeypatch: pytest.MonkeyPatch) -> None:
    result = ludex.RunResult(END, "http://h/runs/mine/report.html")
    assert result.ratings[0]["rating"] == {"value": 12.0}
    nim, dilemma = result.rows()
    assert (nim["score"], nim["score_low"], nim["rating_high"]) == (0.75, 0.3, 70.0)
    assert (nim["level"], nim["progress"], nim["discarded"]) == (2, 50.0, 0)
    assert (dilemma["score"], dilemma["mean_return"], dilemma["discarded"]) == (None, 2.5, 1)
    assert repr(result).splitlines() == [
        "run mine (done)",
        "  part       wins  draws  losses                score  level          rating",
        "  nim           3      0       1  0.75 (0.30 to 0.95)      2  12 (-50 to 70)",
        "  <dilemma>     0      0       0                    -      -               -",
        "http://h/runs/mine/report.html",
    ]
    page = result._repr_html_()
    assert "<td>0.75 (0.30 to 0.95)</td>" in page
    assert "&lt;dilemma&gt;" in page
    assert "<dilemma>" not in page
    assert repr(ludex.RunResult({**END, "verdict": {"parts": []}})).startswith("run mine (done)")

    ann = {"rank": 1, "name": "ann", "points": 1.5, "wins": 1, "draws": 1, "losses": 0}
    cup = ludex.RunResult({**END, "run": "cup", "verdict": {"entrants": [{**ann, "games": 2}]}})
    assert cup.rows() == [{**ann, "games": 2}]
    assert repr(cup).splitlines() == [
        "run cup (done)",
        "  rank  name  points  wins  draws  losses",
        "     1  ann      1.5     1      1       0",
    ]

    frames: list[Any] = []
    pandas = types.ModuleType("pandas")
    pandas.DataFrame = frames.append  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    result.to_pandas()
    assert frames == [result.rows()]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'ludex\[pandas\]'"):
        result.to_pandas()


def test_missing_report_raises_connection_lost() -> None:
    with RunServer() as server:
        result = ludex.evaluate(server.url, "quick", first)
    with pytest.raises(ludex.LudexError, match="connection_lost: the report at"):
        _ = result.report_html


class Terminal:
    """A fake standard error that is a terminal."""

    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        pass


@pytest.mark.parametrize("with_tqdm", [False, True])
def test_progress_bar_writes_to_terminal(monkeypatch: pytest.MonkeyPatch, with_tqdm: bool) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    shown: list[tuple[int, int]] = []

    class Tqdm:
        def __init__(self, desc: str, unit: str, initial: int) -> None:
            self.n, self.total = initial, 0

        def update(self, by: int) -> None:
            self.n += by
            shown.append((self.n, self.total))

        def close(self) -> None:
            shown.append((-1, -1))

    tqdm = types.ModuleType("tqdm")
    tqdm.tqdm = Tqdm  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tqdm", tqdm if with_tqdm else None)
    with RunServer(matches=2) as server:
        ludex.evaluate(server.url, "quick", first)
        if with_tqdm:
            assert shown == [(0, 2), (1, 2), (2, 2), (-1, -1)]
            return
        assert terminal.text.count("\r") == 3
        assert "mine [###############...............] 1 of 2 matches" in terminal.text
        assert " 2 of 2 matches\x1b[K\n" in terminal.text
        assert terminal.text.endswith("\n")
        terminal.text = ""
        ludex.evaluate(server.url, "quick", first, "silent", progress=False)
        assert terminal.text == ""
