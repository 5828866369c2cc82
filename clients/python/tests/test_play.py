"""The match plane against the in-process server."""

from __future__ import annotations

from typing import Any

import pytest
from fake_server import FakeServer

import ludex
from ludex.matches.player import expand_ids


def first(turn: ludex.Turn) -> int:
    return turn.legal[0]


def test_agent_receives_turns_and_play_returns_results() -> None:
    turns: list[ludex.Turn] = []
    events: list[dict[str, Any]] = []

    def agent(turn: ludex.Turn) -> int:
        turns.append(turn)
        turn.notes["analysis"] = "the first"
        return turn.legal[0]

    with FakeServer() as server:
        results = ludex.play(
            server.url,
            game="race",
            agent=agent,
            against="random",
            games=4,
            slots=2,
            on_event=events.append,
            name="me",
            version="2",
            rated=True,
            clock={"move_ms": 500},
        )
        hello, join = server.received[:2]
        assert hello["agent"] == {"name": "me", "version": "2", "kind": "bot"}
        assert (join["against"], join["slots"], join["count"]) == (["random"], 2, 4)
        assert (join["rated"], join["clock"]) == (True, {"move_ms": 500})
        acts = [frame for frame in server.received if frame["type"] == "act"]
        assert all(act["notes"] == {"analysis": "the first"} for act in acts)
        assert server.faults == []
    assert len(results) == 4
    for result in results:
        assert sorted(result.returns) == [-1.0, 1.0]
        assert (result.game, result.seats, result.reason) == ("race", ["a", "b"], "finished")
        assert result.record == f"/episodes/{result.match}"
        assert result.my_outcome == ("win" if result.my_return == 1.0 else "loss")
    assert turns[0].turn == turns[0].attempt == 0
    assert turns[0].view["struct"]["total"] >= 0
    assert (turns[0].names, turns[0].budget_ms) == (["+1", "+2", "+3"], 10000)
    assert turns[0].start["clock"] == {"move_ms": 10000}
    kinds = {event["type"] for event in events}
    assert kinds == {"match_start", "event", "match_end"}


def test_refused_move_is_requested_again() -> None:
    refusals = []

    def agent(turn: ludex.Turn) -> int:
        if turn.attempt == 0:
            return 77
        assert turn.refusal is not None
        refusals.append((turn.attempt, turn.refusal.code, turn.refusal.tries_left))
        return turn.legal[0]

    with FakeServer() as server:
        (result,) = ludex.play(server.url, game="race", agent=agent)
        assert server.faults == []
    assert result.reason == "finished"
    assert set(refusals) == {(1, "illegal_action", 2)}


def test_invalid_reply_raises_type_error() -> None:
    with FakeServer() as server, pytest.raises(TypeError, match="expected an action id"):
        ludex.play(server.url, game="race", agent=lambda turn: None)  # type: ignore[arg-type,return-value]


def test_agent_exception_propagates() -> None:
    def agent(turn: ludex.Turn) -> int:
        raise KeyError("mine")

    with FakeServer() as server, pytest.raises(KeyError, match="mine"):
        ludex.play(server.url, game="race", agent=agent)


def test_refused_join_raises_and_postponed_join_retries() -> None:
    answers = iter(
        [
            {"code": "draining", "retry": True, "after_ms": 1},
            {"code": "draining", "retry": True, "after_ms": 1},
            {"code": "unknown_game", "retry": False},
        ]
    )

    def respond(frame: dict[str, Any]) -> dict[str, Any] | None:
        answer = next(answers, None) if frame["type"] == "join" else None
        return answer and {"type": "error", "message": "no", "fault": "client", **answer}

    with FakeServer(respond=respond) as server:
        with pytest.raises(ludex.LudexError, match="unknown_game"):
            ludex.play(server.url, game="race", agent=first)
        assert len([f for f in server.received if f["type"] == "join"]) == 3


def test_error_carries_finished_results() -> None:
    server = FakeServer()
    turns = 0

    def agent(turn: ludex.Turn) -> int:
        nonlocal turns
        turns += 1
        if turns == 8:
            server.stop()
        return turn.legal[0]

    with pytest.raises(ludex.LudexError, match="connection_lost") as caught:
        ludex.play(server.url, game="race", agent=agent, games=0, patience=0.2)
    assert len(caught.value.results) >= 1


def test_legal_ranges_are_expanded() -> None:
    assert expand_ids([[0, 2], [7, 7]]) == [0, 1, 2, 7]
    assert expand_ids([]) == []


def test_each_seat_of_a_match_has_its_own_turns() -> None:
    turns: list[tuple[str, int, int]] = []
    events: list[dict[str, Any]] = []

    def agent(turn: ludex.Turn) -> int:
        assert turn.start["seat"] == turn.seat
        turns.append((turn.match, turn.seat, turn.turn))
        return 0

    with FakeServer(seats=2) as server:
        results = ludex.play(
            server.url, game="race", agent=agent, games=2, slots=2, on_event=events.append
        )
        assert server.faults == []
    matches = {match for match, _, _ in turns}
    assert len(matches) == 2
    # The seats add 1 in turn until the total is 6.
    for match in matches:
        for seat in (0, 1):
            own = [turn for other, s, turn in turns if (other, s) == (match, seat)]
            assert own == [0, 1, 2], (match, seat)
    moves = [event for event in events if event["type"] == "event"]
    assert {(event["viewer"], event["seat"]) for event in moves} == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert sorted((r.match, r.seat) for r in results) == [
        (m, s) for m in sorted(matches) for s in (0, 1)
    ]
    assert {(r.seat, r.my_outcome) for r in results} == {(0, "loss"), (1, "win")}


def test_games_count_matches_not_seats() -> None:
    with FakeServer(seats=2) as server:
        results = ludex.play(server.url, game="race", agent=first, games=3)
        joins = [frame for frame in server.received if frame["type"] == "join"]
    assert [join["count"] for join in joins] == [3]
    assert len({result.match for result in results}) == 3
    assert len(results) == 6


def ended_match(join: str) -> dict[str, Any]:
    """Return a resync of an ended match."""
    start = {"type": "match_start", "seq": 0, "match": "m_old", "join": join, "game": "race"}
    start |= {"seat": 1, "seats": [{"name": "a"}, {"name": "b"}], "rated": False}
    end = {"type": "match_end", "seq": 9, "match": "m_old", "seat": 1, "returns": [1.0, -1.0]}
    end |= {"outcome": ["win", "loss"], "reason": "finished", "rated": False, "record": "/"}
    resync = {"type": "resync", "seq": 9, "match": "m_old", "seat": 1, "start": start}
    return {**resync, "events": [], "end": end}


def test_matches_of_earlier_joins_do_not_count() -> None:
    with FakeServer() as server:
        server.earlier = [ended_match("j_old")]
        results = ludex.play(server.url, game="race", agent=first, games=2, name="me", reclaim=True)
        joins = [frame for frame in server.received if frame["type"] == "join"]
        assert server.faults == []
    assert [join["count"] for join in joins] == [2]
    assert len(results) == 2
    assert "m_old" not in {result.match for result in results}


def test_matches_of_reclaimed_joins_count() -> None:
    turns: list[str] = []

    def fails(turn: ludex.Turn) -> int:
        turns.append(turn.match)
        if turn.turn == 1:
            raise KeyError("mine")
        return 0

    with FakeServer() as server:
        with pytest.raises(KeyError):
            ludex.play(server.url, game="race", agent=fails, games=3, name="me")
        results = ludex.play(server.url, game="race", agent=first, games=2, name="me", reclaim=True)
        assert server.executed.count("join") == 1
        assert server.faults == []
    assert len(results) == 2
    assert results[0].match == turns[0]


def test_play_requires_game_or_ticket() -> None:
    with pytest.raises(ludex.LudexError, match="a game or a ticket"):
        ludex.play("ws://127.0.0.1:1", agent=first)
