"""The gym plane against the in-process server."""

from __future__ import annotations

import numpy as np
import pytest
from fake_server import ACTIONS, FakeServer

import ludex
from ludex.columns import Ragged


def test_env_plays_one_episode() -> None:
    with FakeServer() as server, ludex.Client(server.url) as client:
        env = client.open("race")
        state = env.reset(seed=7)
        assert (state.to_move, state.legal, state.chance) == (0, [0, 1, 2], [])
        assert (state.rewards, state.returns, state.over) == ([0.0, 0.0], [0.0, 0.0], False)
        assert (env.action_text(1), env.parse("+2"), env.parse("?")) == ("+2", 1, None)
        state = env.step(2)
        assert state.to_move == 1
        state = env.step(np.int64(1))
        assert (env.text(seat=0), env.struct(seat=1)) == ("total 5", {"total": 5})
        assert env.tensor(seat=0).tolist() == [5, 2]
        assert state.legal == [0]
        snapshot = env.snapshot()
        twin = env.clone()
        state = env.step("+1")
        assert (state.to_move, state.legal, state.terminated) == (ludex.OVER, [], True)
        assert (state.rewards, state.returns, state.length) == ([1.0, -1.0], [1.0, -1.0], 3)
        assert env.restore(snapshot).legal == [0]
        assert twin.step(0).terminated
        env.close()
        env.close()
        with pytest.raises(ludex.LudexError, match="unknown_env"):
            env.step(0)
    assert server.faults == []
    closed = [frame["env"] for frame in server.received if frame["type"] == "close"]
    assert len(closed) == len(set(closed)) == 2  # closing the client frees the clone


def test_client_chooses_chance_outcomes() -> None:
    with FakeServer() as server, ludex.Client(server.url) as client:
        env = client.open("race", {"coin": 1}, chance="client")
        state = env.reset()
        assert state.to_move == ludex.CHANCE
        assert state.chance == [(0, 0.5), (1, 0.5)]
        assert state.legal == [0, 1]
        state = env.step(1)
        assert (state.to_move, env.struct()) == (0, {"total": 1})


def test_actions_of_joint_moves_have_column_per_seat() -> None:
    with FakeServer() as server, ludex.Client(server.url) as client:
        env = client.open("race", {"both": 1})
        state = env.reset()
        assert state.to_move == ludex.SIMULTANEOUS
        assert state.legal == [[0, 1, 2], [0, 1, 2]]
        env.step([0, 2])
        assert np.frombuffer(server.received[-1]["actions"], "<i4").tolist() == [0, 2]
        env.step(["+3", None])
        assert server.received[-1]["moves"] == ["+3", None]
        env2 = client.open("race", {"both": 1, "coin": 1}, chance="client")
        env2.reset()
        env2.step(1)  # outcomes use the first column
        assert np.frombuffer(server.received[-1]["actions"], "<i4").tolist() == [1, -1]


def test_error_carries_server_fields() -> None:
    with FakeServer() as server, ludex.Client(server.url) as client:
        with pytest.raises(ludex.LudexError, match="unknown_game") as caught:
            client.describe("rase")
        error = caught.value
        assert (error.code, error.path, error.got) == ("unknown_game", "game", "rase")
        assert (error.allowed, error.nearest) == (["race"], "race")
        assert "did you mean 'race'?" in str(error)
        vec = client.open_vec("race", num_envs=3)
        vec.reset()
        with pytest.raises(ludex.LudexError) as caught:
            vec.step([0, 9, 0])
        assert (caught.value.code, caught.value.index, caught.value.got) == ("illegal_action", 1, 9)
        assert vec.step([0, 1, 2]).obs[:, 0].tolist() == [1, 2, 3]
        with pytest.raises(ValueError, match="expected integers"):
            vec.step([0.5, 0.0, 0.0])
        with pytest.raises(TypeError):
            client.open("race").step(1.5)  # type: ignore[arg-type]


def test_batch_arrays_are_views_of_message() -> None:
    with FakeServer() as server, ludex.Client(server.url) as client:
        vec = client.open_vec("race", num_envs=4, autoreset="same_step")
        batch = vec.reset(seed=0)
        assert (str(batch.obs.dtype), batch.obs.shape) == ("uint8", (4, 2))
        assert (str(batch.mask.dtype), batch.mask.shape) == ("uint8", (4, ACTIONS))
        assert (str(batch.reward.dtype), batch.reward.shape) == ("float32", (4, 2))
        assert [str(batch.terminated.dtype), str(batch.length.dtype)] == ["bool", "uint32"]
        for array in (batch.obs, batch.mask, batch.reward, batch.terminated):
            assert not array.flags.owndata
            assert not array.flags.writeable
        assert (batch.final, batch.returns, batch.chance, batch.envs) == (None,) * 4
        vec.step(np.array([2, 2, 0, 0]))
        batch = vec.step(np.array([2, 0, 0, 0], dtype=np.int8))
        assert batch.terminated.tolist() == [True, False, False, False]
        assert batch.reward[0].tolist() == [-1.0, 1.0]
        assert batch.length.tolist() == [0, 2, 2, 2]
        assert batch.final is not None
        assert batch.final.at.tolist() == [0]
        assert batch.final.obs.tolist() == [[6, 2]]
        assert batch.final.returns is not None
        assert batch.final.returns.tolist() == [[-1.0, 1.0]]


@pytest.mark.parametrize("mask", ["bits", "ids", "none"])
def test_mask_encodings_list_same_legal_actions(mask: ludex._messages.MaskForm) -> None:
    with FakeServer() as server, ludex.Client(server.url) as client:
        vec = client.open_vec("race", num_envs=2, mask=mask, autoreset="disabled")
        vec.reset()
        vec.step([2, 1])
        batch = vec.step([1, 1])  # totals 5 and 4
        if mask == "none":
            assert batch.mask is None
        elif mask == "bits":
            assert batch.mask.tolist() == [[0b001], [0b011]]
        else:
            assert isinstance(batch.mask, Ragged)
            assert [batch.mask.row(i).tolist() for i in range(2)] == [[0], [0, 1]]
            with pytest.raises(IndexError):
                batch.mask.row(2)


def test_batch_has_masks_of_all_seats_for_selected_envs() -> None:
    with FakeServer() as server, ludex.Client(server.url) as client:
        vec = client.open_vec("race", num_envs=2, observer="all")
        mask = vec.reset().mask
        assert mask.tolist() == [[[1, 1, 1], [0, 0, 0]]] * 2
        vec.reset(envs=[1], seeds=[2**64 - 1])
        assert server.received[-1]["envs"] == b"\1\0\0\0"
        assert server.received[-1]["seeds"] == ["18446744073709551615"]
        with pytest.raises(ValueError, match="expected numbers in"):
            vec.reset(envs=[-1])


def test_two_batches_may_be_in_flight() -> None:
    with FakeServer() as server, ludex.Client(server.url) as client:
        vec = client.open_vec("race", num_envs=2, autoreset="disabled")
        vec.reset()
        with pytest.raises(RuntimeError, match="expected a batch in flight"):
            vec.recv()
        vec.send([0, 1])
        vec.send([0, 0])
        with pytest.raises(RuntimeError, match="2 batches are in flight"):
            vec.send([0, 0])
        with pytest.raises(RuntimeError, match="2 batches are in flight"):
            vec.reset()
        assert vec.recv().obs[:, 0].tolist() == [1, 2]
        assert vec.recv().obs[:, 0].tolist() == [2, 3]
        assert vec.in_flight == 0


def test_rate_limited_request_is_retried() -> None:
    limited = iter([True, True])

    def respond(frame: dict[str, object]) -> dict[str, object] | None:
        if frame["type"] == "list_games" and next(limited, False):
            return {
                "type": "error",
                "code": "rate_limited",
                "message": "slowly",
                "retry": True,
                "after_ms": 1,
                "fault": "client",
            }
        return None

    with FakeServer(respond=respond) as server, ludex.Client(server.url) as client:
        assert client.games(players=2)[0]["title"] == "Race"
        ids = [frame["id"] for frame in server.received if frame["type"] == "list_games"]
        assert len(set(ids)) == 3


def test_mismatched_column_raises_protocol_error() -> None:
    def respond(frame: dict[str, object]) -> dict[str, object] | None:
        if frame["type"] == "reset":
            return {"type": "batch", "env": 1, "to_move": b"\0\0", "reward": b"\0" * 7}
        return None

    with FakeServer(respond=respond) as server, ludex.Client(server.url) as client:
        with pytest.raises(ludex.LudexError, match="column: expected") as caught:
            client.open_vec("race", num_envs=2).reset()
        assert (caught.value.code, caught.value.fault) == ("protocol", "server")


def test_invalid_token_and_url_are_rejected() -> None:
    with FakeServer() as server:
        with pytest.raises(ludex.LudexError, match="no such token") as caught:
            ludex.Client(server.url, token="wrong")
        assert caught.value.code == "unauthorized"
    with pytest.raises(ludex.LudexError, match="no server answers at") as caught:
        ludex.Client(server.url, patience=0.1)
    assert caught.value.code == "connection_lost"
    with pytest.raises(ludex.LudexError, match="expected the URL of a server"):
        ludex.Client("ftp://127.0.0.1:1")
