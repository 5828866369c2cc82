"""Session resumption (docs/protocol.md, section 7), with a cut at every message."""

from __future__ import annotations

from collections import Counter
from itertools import count

import pytest
from fake_server import FakeServer

import ludex
from ludex.matches.turn import Turn
from ludex.transport.session import seen_frames


def rollout(server: FakeServer) -> list[list[int]]:
    """Play fixed actions with two batches in flight, and return the observed totals."""
    seen = []
    with ludex.Client(server.url, patience=20) as client:
        vec = client.open_vec("race", num_envs=2, autoreset="disabled")
        vec.reset(seed=1)
        vec.send([0, 1])
        for actions in ([0, 0], [1, 0]):
            vec.send(actions)
            seen.append(vec.recv().obs[:, 0].tolist())
        seen.append(vec.recv().obs[:, 0].tolist())
        vec.close()
    return seen


def test_steps_execute_once_if_connection_is_cut() -> None:
    with FakeServer() as server:
        expected = rollout(server)
        executed = Counter(server.executed)
        points = next(server.points)
    assert expected == [[1, 2], [2, 3], [4, 4]]
    for cut_at in range(points):
        with FakeServer(cut_at=cut_at) as server:
            assert rollout(server) == expected, cut_at
            assert server.cuts == 1
            assert server.faults == [], cut_at
            assert Counter(server.executed) == executed, cut_at


@pytest.mark.parametrize("seats", [1, 2])
@pytest.mark.parametrize("resync", [False, True])
@pytest.mark.parametrize("refuse", [False, True])
def test_matches_resume_if_connection_is_cut(resync: bool, refuse: bool, seats: int) -> None:
    asked: list[tuple[str, int, int, int]] = []

    def agent(turn: Turn) -> int | str:
        asked.append((turn.match, turn.seat, turn.turn, turn.attempt))
        assert turn.names is not None
        # A resync has the number of the attempt, but not the previous refusal.
        assert (turn.refusal is not None) == (turn.attempt > 0) or resync
        return turn.legal[0] if turn.turn % 2 else turn.names[0]

    for cut_at in count():
        asked.clear()
        with FakeServer(cut_at=cut_at, resync=resync, refuse=refuse, seats=seats) as server:
            results = ludex.play(
                server.url, game="race", agent=agent, games=2, name="me", patience=20
            )
            assert server.faults == [], cut_at
        assert [result.reason for result in results] == ["finished"] * 2 * seats
        assert len({(result.match, result.seat) for result in results}) == 2 * seats
        assert len({result.match for result in results}) == 2
        if not resync:
            assert len(asked) == len(set(asked)), cut_at
        assert server.executed.count("join") == 1
        if not server.cuts:
            return


def test_resume_sends_the_last_seq_of_each_seat() -> None:
    assert seen_frames({}) == {}
    last = {("m_1", 3): 5, ("m_2", 1): 4, ("m_2", 2): 7}
    assert seen_frames(last) == {"m_1": 5, "m_2": {"1": 4, "2": 7}}
    turns: list[Turn] = []

    def agent(turn: Turn) -> int:
        turns.append(turn)
        if len(turns) == 2:
            server.drop()
        return 0

    with FakeServer(seats=2) as server:
        ludex.play(server.url, game="race", agent=agent, name="me", patience=20)
        hellos = [frame for frame in server.received if frame["type"] == "hello"]
        assert server.faults == []
    # Seat 0 has its start, its turn and a move; seat 1 its start, the move and its turn.
    assert hellos[1]["resume"]["seen"] == {turns[0].match: {"0": 2, "1": 2}}


@pytest.mark.parametrize("seats", [1, 2])
def test_forgotten_session_is_reclaimed_by_name(seats: int) -> None:
    def agent(turn: Turn) -> int:
        return turn.legal[-1]

    for cut_at in count(4):  # nothing to reclaim before the join
        with FakeServer(cut_at=cut_at, forget=True, seats=seats) as server:
            results = ludex.play(
                server.url, game="race", agent=agent, games=3, name="me", patience=20
            )
            assert server.faults == [], cut_at
        assert len({(result.match, result.seat) for result in results}) == len(results)
        assert len({result.match for result in results}) == 3, cut_at
        assert len(results) == 3 * seats
        assert {result.reason for result in results} <= {"finished", "unknown_match"}
        if not server.cuts:
            return


def test_forgotten_session_loses_envs_and_client_recovers() -> None:
    with FakeServer(forget=True) as server, ludex.Client(server.url) as client:
        env = client.open("race")
        env.reset()
        server.drop()
        with pytest.raises(ludex.LudexError, match="session_lost"):
            env.step(0)
        assert env.closed
        with pytest.raises(ludex.LudexError, match="session_lost"):
            env.step(0)
        assert client.open("race").reset().legal == [0, 1, 2]


def test_reset_reopens_env_of_forgotten_session() -> None:
    with FakeServer(forget=True) as server, ludex.Client(server.url) as client:
        env = client.open("race")
        for known in (True, False):
            assert env.reset().legal == [0, 1, 2]
            server.drop()
            if known:
                with pytest.raises(ludex.LudexError, match="session_lost"):
                    env.step(0)
        assert env.reset().legal == [0, 1, 2]
        assert not env.closed
        assert env.step(0).length == 1
        # A closed environment stays closed, even if it was lost before.
        server.drop()
        with pytest.raises(ludex.LudexError, match="session_lost"):
            env.step(0)
        env.close()
        with pytest.raises(ludex.LudexError, match="unknown_env"):
            env.reset()
