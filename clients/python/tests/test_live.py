"""The client with a real server."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import msgpack
import numpy as np
import pytest
from proxy import Proxy

import ludex


@pytest.fixture(scope="module")
def url(program: str) -> Iterator[str]:
    with ludex.serve() as server:
        yield server.url


@pytest.fixture
def client(url: str) -> Iterator[ludex.Client]:
    with ludex.Client(url) as client:
        yield client


def first_legal(turn: ludex.Turn) -> int:
    return turn.legal[0]


def random_actions(rng: np.random.Generator, mask: Any) -> Any:
    return (rng.random(mask.shape) * mask).argmax(axis=1)


# The catalogue.


def test_games_lists_catalogue(client: ludex.Client) -> None:
    games = {entry["game"] for entry in client.games()}
    assert {"tic_tac_toe", "connect_four", "chess", "kuhn_poker"} <= games
    spec = client.describe("connect_four", rules_text=True)
    assert (spec.players, spec.actions, spec.dynamics) == (2, 7, "sequential")
    assert spec.string.startswith("connect_four(rows=6,columns=7")
    assert spec.text
    with pytest.raises(ludex.LudexError) as caught:
        client.describe("conect_four")
    assert (caught.value.code, caught.value.nearest) == ("unknown_game", "connect_four")
    with pytest.raises(ludex.LudexError) as caught:
        client.open("connect_four", {"row": 5})
    assert caught.value.code == "bad_params"


# One environment.


def test_env_plays_one_episode_move_by_move(client: ludex.Client) -> None:
    env = client.open("tic_tac_toe", views=["struct"])
    state = env.reset(seed=7)
    assert (state.to_move, state.legal) == (0, list(range(9)))
    assert env.action_text(4) == "x(1,1)"
    assert env.parse("x(1,1)") == 4
    state = env.step(4)
    with pytest.raises(ludex.LudexError) as caught:
        env.step(4)
    assert caught.value.code == "illegal_action"
    assert caught.value.allowed == [0, 1, 2, 3, 5, 6, 7, 8]
    snapshot = env.snapshot()
    twin = env.clone()
    for action in (0, 2, 1, 6):
        state = env.step(action)
    assert (state.to_move, state.terminated, state.truncated) == (ludex.OVER, True, False)
    assert state.returns == [1.0, -1.0]
    assert state.legal == []
    assert env.text(seat=0)
    with pytest.raises(ludex.LudexError, match="env_over"):
        env.step(3)
    assert env.restore(snapshot).legal == [0, 1, 2, 3, 5, 6, 7, 8]
    assert env.step("o(0,0)").legal == twin.step(0).legal == [1, 2, 3, 5, 6, 7, 8]
    assert env.tensor(seat=0).shape == env.tensor(seat=1).shape


def test_client_chooses_chance_outcomes(client: ludex.Client) -> None:
    env = client.open("kuhn_poker", chance="client")
    state = env.reset()
    assert state.to_move == ludex.CHANCE
    assert state.legal == [0, 1, 2]
    assert [outcome for outcome, _ in state.chance] == [0, 1, 2]
    assert sum(weight for _, weight in state.chance) == pytest.approx(1.0)
    state = env.step(2)
    assert state.legal == [0, 1]
    state = env.step(0)
    assert (state.to_move, state.chance, state.legal) == (0, [], [0, 1])
    for _ in range(2):
        state = env.step(1)
    assert state.returns == [2.0, -2.0]


def test_mahjong_accepts_tile_order_from_client(client: ludex.Client) -> None:
    env = client.open("mcr_mahjong", {"prevalent": "east"}, chance="client", views=["struct"])
    env.reset(seed=1)
    # Four walls of 34 kinds, drawn from their ends: every seat gets the last 13 kinds, then T3.
    for tile in range(136):
        state = env.step(tile % 34)
    assert state.to_move == 0
    view = env.struct(0)
    assert view["drawn"] == "T3"
    assert " ".join(view["hand"]) == "T3 T4 T5 T6 T7 T8 T9 F1 F2 F3 F4 J1 J2 J3"
    assert view["wall"] == [20, 21, 21, 21]
    state = env.step("PLAY J3")
    assert [len(legal) > 0 for legal in state.legal] == [False, True, True, True]


def test_seeded_chance_outcomes_match_protocol_docs(client: ludex.Client) -> None:
    env = client.open("kuhn_poker")
    env.reset(seed=42)
    item = msgpack.unpackb(env.snapshot())
    assert int(item["seed"]) == 42
    assert item["h"] == [[-1, 1], [-1, 0]]


def test_env_plays_joint_moves(client: ludex.Client) -> None:
    env = client.open("iterated_prisoners_dilemma", {"num_repetitions": 2})
    state = env.reset()
    assert state.to_move == ludex.SIMULTANEOUS
    assert state.legal == [[0, 1], [0, 1]]
    state = env.step([0, 1])
    assert state.rewards == [0.0, 10.0]
    state = env.step([1, 1])
    assert state.terminated
    assert state.returns == [1.0, 11.0]
    with pytest.raises(ludex.LudexError):
        client.open("iterated_prisoners_dilemma").step([0])


# Batches.


def test_batch_rewards_sum_to_returns(client: ludex.Client) -> None:
    rng = np.random.default_rng(3)
    count = 64
    vec = client.open_vec("connect_four", num_envs=count, autoreset="same_step", mask="u1")
    batch = vec.reset(seed=11)
    assert batch.mask.shape == (count, 7)
    assert batch.obs.shape[0] == count
    totals, ended = np.zeros((count, 2)), 0
    for _ in range(150):
        batch = vec.step(random_actions(rng, batch.mask))
        totals += batch.reward
        over = batch.terminated | batch.truncated
        assert (batch.length[over] == 0).all()
        assert batch.mask.any(axis=1).all()
        if over.any():
            assert batch.final is not None
            assert batch.final.at.tolist() == np.flatnonzero(over).tolist()
            assert np.array_equal(batch.final.returns, totals[over])
            assert (totals[over].sum(axis=1) == 0).all()
            assert (batch.final.length >= 7).all()
            assert batch.final.obs.shape[1:] == batch.obs.shape[1:]
            ended += int(over.sum())
            totals[over] = 0
    assert ended > count
    with pytest.raises(ludex.LudexError) as caught:
        vec.step([0] * 10 + [9] + [0] * (count - 11))
    assert (caught.value.code, caught.value.index) == ("illegal_action", 10)


def test_batch_size_does_not_change_episodes(client: ludex.Client) -> None:
    def run(num_envs: int, seed: int) -> list[Any]:
        vec = client.open_vec("kuhn_poker", num_envs=num_envs, autoreset="same_step")
        vec.reset(seed=seed)
        rows = []
        for step in range(30):
            batch = vec.step(np.full(num_envs, step % 2))
            rows.append([np.array(batch.obs), np.array(batch.reward), np.array(batch.length)])
        return rows

    many = run(8, 100)
    for index in (0, 5, 7):
        alone = run(1, 100 + index)
        for row, single in zip(many, alone, strict=True):
            for together, apart in zip(row, single, strict=True):
                assert np.array_equal(together[index], apart[0])


@pytest.mark.parametrize("mask", ["bits", "ids"])
def test_mask_encodings_list_same_legal_actions(
    client: ludex.Client, mask: ludex._messages.MaskForm
) -> None:
    rng = np.random.default_rng(5)
    dense = client.open_vec("connect_four", num_envs=16, autoreset="next_step", mask="u1")
    other = client.open_vec("connect_four", num_envs=16, autoreset="next_step", mask=mask)
    left, right = dense.reset(seed=1), other.reset(seed=1)
    for _ in range(60):
        if isinstance(right.mask, ludex.Ragged):
            for index, row in enumerate(left.mask):
                assert np.flatnonzero(row).tolist() == right.mask.row(index).tolist()
        else:
            bits = np.unpackbits(right.mask, axis=1, count=7, bitorder="little")
            assert np.array_equal(bits, left.mask)
        actions = random_actions(rng, left.mask)
        left, right = dense.step(actions), other.step(actions)
        assert np.array_equal(left.obs, right.obs)


def test_each_send_executes_one_step(client: ludex.Client) -> None:
    ahead = client.open_vec("tic_tac_toe", num_envs=4, autoreset="same_step")
    behind = client.open_vec("tic_tac_toe", num_envs=4, autoreset="same_step")
    ahead.reset(seed=0)
    behind.reset(seed=0)
    moves = [[action] * 4 for action in (4, 0, 8, 1, 2, 6)]
    expected = [behind.step(move) for move in moves]
    ahead.send(moves[0])
    for index, move in enumerate(moves[1:]):
        ahead.send(move)
        batch = ahead.recv()
        assert np.array_equal(batch.obs, expected[index].obs)
    assert np.array_equal(ahead.recv().obs, expected[-1].obs)


def test_server_plays_other_seats(client: ludex.Client) -> None:
    rng = np.random.default_rng(2)
    vec = client.open_vec(
        "tic_tac_toe",
        num_envs=32,
        seats=["agent", "random"],
        rotate="cycle",
        autoreset="same_step",
    )
    batch = vec.reset(seed=4)
    seats = set()
    for _ in range(60):
        assert np.array_equal(batch.to_move, batch.seat)
        seats |= set(batch.seat.tolist()) if batch.seat is not None else set()
        batch = vec.step(random_actions(rng, batch.mask))
    assert seats == {0, 1}
    with pytest.raises(ludex.LudexError) as caught:
        vec.reset(seats=["agent", "rondom"])
    assert caught.value.code == "unknown_agent"


def test_steps_survive_cut_connections(url: str) -> None:
    def run(address: str, cut: Any) -> list[Any]:
        rng = np.random.default_rng(8)
        seen = []
        with ludex.Client(address) as client:
            vec = client.open_vec("connect_four", num_envs=8, autoreset="same_step", mask="u1")
            batch = vec.reset(seed=5)
            for step in range(120):
                cut(step, "before")
                vec.send(random_actions(rng, batch.mask))
                cut(step, "flying")
                batch = vec.recv()
                seen.append(np.array(batch.obs))
        return seen

    expected = run(url, lambda step, where: None)
    with Proxy(url) as proxy:

        def cut(step: int, where: str) -> None:
            if step % 7 == (3 if where == "flying" else 5):
                proxy.cut()

        seen = run(proxy.url, cut)
        assert proxy.cuts > 20
    assert all(np.array_equal(a, b) for a, b in zip(expected, seen, strict=True))


def test_large_batches_do_not_deadlock(client: ludex.Client) -> None:
    rng = np.random.default_rng(9)
    vec = client.open_vec("connect_four", num_envs=16_384, autoreset="same_step", mask="u1")
    batch = vec.reset(seed=0)
    actions = random_actions(rng, batch.mask)
    vec.send(actions)
    vec.send(actions)
    assert len(vec.recv()) == len(vec.recv()) == 16_384


# Matches.


def test_play_against_server_agents_returns_results(url: str) -> None:
    events: list[dict[str, Any]] = []
    results = ludex.play(
        url,
        game="tic_tac_toe",
        agent=first_legal,
        against="random",
        games=6,
        slots=3,
        on_event=events.append,
    )
    assert len(results) == 6
    assert len({result.match for result in results}) == 6
    assert [result.seat for result in results].count(0) == 3
    for result in results:
        assert (result.reason, len(result.returns)) == ("finished", 2)
        assert (
            result.my_outcome
            == {1.0: "win", -1.0: "loss", 0.0: "draw"}[result.returns[result.seat]]
        )
        assert result.record
    assert {event["type"] for event in events} >= {"match_start", "event", "match_end"}


def test_play_accepts_text_moves_and_reports_refusals(url: str) -> None:
    attempts = []

    def agent(turn: ludex.Turn) -> int | str:
        assert turn.names is not None
        attempts.append(turn.attempt)
        if turn.attempt == 0:
            return "nonsense"
        assert turn.refusal is not None
        assert turn.refusal.tries_left == 2
        return turn.names[-1]

    (result,) = ludex.play(url, game="tic_tac_toe", agent=agent, against="random")
    assert result.reason == "finished"
    assert set(attempts) == {0, 1}


def test_too_many_refusals_forfeit_match(url: str) -> None:
    (result,) = ludex.play(url, game="tic_tac_toe", agent=lambda turn: 99, against="random")
    assert (result.reason, result.at_fault) == ("illegal", result.seat)
    assert result.my_return == -1.0


def test_queue_pairs_two_bots(url: str) -> None:
    results: dict[str, list[ludex.MatchResult]] = {}

    def bot(name: str) -> None:
        choice = random.Random(name)
        results[name] = ludex.play(
            url,
            game="connect_four",
            agent=lambda turn: choice.choice(turn.legal),
            games=3,
            queue="live-test",
            name=name,
        )

    threads = [threading.Thread(target=bot, args=(name,)) for name in ("left", "right")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    left, right = results["left"], results["right"]
    assert sorted(r.match for r in left) == sorted(r.match for r in right)
    for result in left:
        twin = next(r for r in right if r.match == result.match)
        assert {result.seat, twin.seat} == {0, 1}
        assert result.returns == twin.returns
        assert sorted(result.seats) == ["left", "right"]


def test_matches_survive_cut_connections(url: str) -> None:
    with Proxy(url) as proxy:
        turns: list[tuple[str, int, int]] = []

        def agent(turn: ludex.Turn) -> int:
            turns.append((turn.match, turn.turn, turn.attempt))
            if len(turns) % 3 == 0:
                proxy.cut()
            return turn.legal[len(turns) % len(turn.legal)]

        results = ludex.play(
            proxy.url, game="connect_four", agent=agent, against="random", games=5, slots=2
        )
        assert proxy.cuts > 5
    assert [result.reason for result in results] == ["finished"] * 5
    assert len(turns) == len(set(turns))


BOT = """
import sys, ludex
url, stop, reclaim = sys.argv[1], int(sys.argv[2]), len(sys.argv) > 3
turns = 0
def agent(turn):
    global turns
    turns += 1
    if turns == stop:
        print("stopped", flush=True)
        sys.stdin.read()
    return turn.legal[0]
for result in ludex.play(url, game="connect_four", agent=agent, against="random",
                         name="phoenix", reclaim=reclaim):
    print(result.match, result.reason, flush=True)
"""


def test_killed_bot_reclaims_its_seat(url: str) -> None:
    command = [sys.executable, "-c", BOT, url]
    with subprocess.Popen(
        [*command, "3"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as bot:
        assert bot.stdout is not None
        assert bot.stdout.readline() == "stopped\n"
        os.kill(bot.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
    done = subprocess.run([*command, "-1", "again"], capture_output=True, text=True, check=True)
    (line,) = done.stdout.splitlines()
    assert line.endswith(" finished")


def test_server_rejects_invalid_requests(url: str) -> None:
    with pytest.raises(ludex.LudexError) as caught:
        ludex.play(url, game="tic_tac_toe", agent=first_legal, against="uci cmd=/bin/true")
    assert caught.value.code == "forbidden"
    with pytest.raises(ludex.LudexError) as caught:
        ludex.play(url, game="tick_tac_toe", agent=first_legal)
    assert (caught.value.code, caught.value.nearest) == ("unknown_game", "tic_tac_toe")
