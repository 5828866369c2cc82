"""Batches on one real server and on several servers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import ludex
from ludex._messages import MaskForm
from ludex.columns import Array

Vec = ludex.VecEnv | ludex.ShardedVecEnv


@pytest.fixture(scope="module")
def urls(program: str) -> Iterator[list[str]]:
    with ludex.serve() as one, ludex.serve() as two, ludex.serve() as three:
        yield [one.url, two.url, three.url]


@pytest.fixture
def alone(urls: list[str]) -> Iterator[ludex.Client]:
    with ludex.Client(urls[0]) as client:
        yield client


@pytest.fixture
def together(urls: list[str]) -> Iterator[ludex.Client]:
    with ludex.Client(urls) as client:
        yield client


def same(left: Any, right: Any, where: str = "batch") -> None:
    """Check that two batches, or parts of two batches, are equal in fields, shapes and types."""
    assert type(left) is type(right), where
    if isinstance(left, ludex.Batch):
        for field in fields(left):
            same(getattr(left, field.name), getattr(right, field.name), field.name)
    elif isinstance(left, tuple) and hasattr(left, "_fields"):
        for name in left._fields:
            same(getattr(left, name), getattr(right, name), f"{where}.{name}")
    elif isinstance(left, np.ndarray):
        assert left.dtype == right.dtype, where
        assert np.array_equal(left, right), where
    else:
        assert left == right, where


def legal(batch: ludex.Batch, rng: np.random.Generator, actions: int) -> Array:
    """Choose a legal action (or outcome) for each row, for any mask encoding; -1 if none."""
    mask = batch.mask
    if isinstance(mask, ludex.Ragged):
        rows = [mask.row(index) for index in range(len(batch))]
    else:
        dense = mask
        if mask.shape[1] != actions:
            dense = np.unpackbits(mask, axis=1, count=actions, bitorder="little")
        rows = [np.flatnonzero(row) for row in dense]
    if batch.chance is not None:
        outcomes = ludex.Ragged(batch.chance.at, batch.chance.values)
        for index in np.flatnonzero(batch.to_move == ludex.CHANCE).tolist():
            rows[index] = outcomes.row(index)
    draws = rng.random(len(batch))
    drawn = [
        row[int(draw * len(row))] if len(row) else -1 for row, draw in zip(rows, draws, strict=True)
    ]
    return np.array(drawn, np.int64)


# One server.


def played(vec: Vec, order: list[list[int]], envs: int) -> dict[int, list[Any]]:
    """Step environments in the given order; return the trace of each environment."""
    seen: dict[int, list[Any]] = {env: [] for env in range(envs)}
    shown = vec.reset(seed=40)
    masks = np.array(shown.mask)
    for chosen in order:
        # The action of an environment depends only on its own history.
        actions = [
            int(np.flatnonzero(masks[env])[len(seen[env]) % masks[env].sum()]) for env in chosen
        ]
        batch = vec.step(actions, chosen)
        masks[chosen] = batch.mask
        for row, env in enumerate(chosen):
            reward = batch.reward[row].tolist()
            seen[env].append((batch.obs[row].tolist(), reward, int(batch.episode[row])))
    return seen


@pytest.mark.parametrize("game", ["kuhn_poker", "connect_four"])
def test_step_order_does_not_change_episodes(alone: ludex.Client, game: str) -> None:
    def run(order: list[list[int]]) -> dict[int, list[Any]]:
        vec = alone.open_vec(
            game, 4, seats=["agent", "random"], rotate="random", autoreset="same_step"
        )
        return played(vec, order, 4)

    rng = np.random.default_rng(1)
    straight = run([[0, 1, 2, 3]] * 60)
    backwards = run([[3, 2, 1, 0]] * 60)
    ragged = run([rng.permutation(4)[: rng.integers(1, 5)].tolist() for _ in range(120)])
    assert straight == backwards
    assert max(row[2] for row in straight[0]) > 3, "several episodes were played"
    for env, rows in ragged.items():
        assert len(rows) > 20
        assert rows[:60] == straight[env][: len(rows)]


def test_snapshots_and_clones_restore_batches(alone: ludex.Client) -> None:
    rng = np.random.default_rng(2)
    vec = alone.open_vec("kuhn_poker", 6, views=["tensor", "returns"], autoreset="same_step")
    vec.reset(seed=3)
    vec.step(rng.integers(0, 2, 6))
    items = vec.snapshot()
    twin, part = vec.clone(), vec.clone([4, 1])
    other = alone.open_vec("kuhn_poker", 6, views=["tensor", "returns"], autoreset="same_step")
    start = other.restore(items)
    moves = [rng.integers(0, 2, 6) for _ in range(12)]
    expected = [vec.step(move) for move in moves]
    assert start.length.tolist() == [1] * 6
    for move, batch in zip(moves, expected, strict=True):
        same(twin.step(move), batch)
        same(other.step(move), batch)
        assert np.array_equal(part.step(move[[4, 1]]).obs, batch.obs[[4, 1]])
    # Parts of a batch can be restored separately.
    back = vec.restore([items[5], items[0]], [0, 5])
    assert back.envs is not None
    assert back.envs.tolist() == [0, 5]
    assert np.array_equal(back.obs, start.obs[[5, 0]])
    with pytest.raises(ludex.LudexError) as caught:
        vec.restore([items[0], b"nothing"], [0, 1])
    assert (caught.value.code, caught.value.index) == ("bad_snapshot", 1)


def test_seeded_clone_has_new_chance_events(alone: ludex.Client) -> None:
    vec = alone.open_vec("kuhn_poker", 64, autoreset="same_step")
    vec.reset(seed=3)
    same_luck, other_luck = vec.clone(), vec.clone(seed=4)
    for _ in range(6):
        batches = [each.step([0] * 64) for each in (vec, same_luck, other_luck)]
    assert np.array_equal(batches[0].obs, batches[1].obs)
    assert not np.array_equal(batches[0].obs, batches[2].obs)


@pytest.mark.parametrize("mask", ["u1", "bits", "ids", "none"])
def test_mask_encodings_list_same_actions_per_seat(alone: ludex.Client, mask: MaskForm) -> None:
    game, count = "iterated_prisoners_dilemma", 3
    vec = alone.open_vec(game, count, observer="all", mask=mask)
    batch = vec.reset(seed=1)
    assert batch.obs.shape[:2] == (count, 2)
    if mask == "none":
        assert batch.mask is None
    elif mask == "ids":
        assert isinstance(batch.mask, ludex.Ragged)
        assert [batch.mask.row(row).tolist() for row in range(2 * count)] == [[0, 1]] * 2 * count
    else:
        assert batch.mask.shape == (count, 2, 2 if mask == "u1" else 1)
        assert (batch.mask == (1 if mask == "u1" else 0b11)).all()


# Several servers.

WAYS: list[tuple[str, dict[str, Any]]] = [
    ("connect_four", {"autoreset": "same_step", "views": ["tensor", "struct", "text", "returns"]}),
    ("connect_four", {"autoreset": "same_step", "mask": "bits", "seats": ["agent", "random"]}),
    ("kuhn_poker", {"autoreset": "next_step", "mask": "ids", "views": ["tensor", "info"]}),
    ("kuhn_poker", {"autoreset": "same_step", "mask": "ids", "chance": "client"}),
    ("tic_tac_toe", {"autoreset": "next_step", "on_illegal": "lose", "max_steps": 6}),
]


@pytest.mark.parametrize(("game", "options"), WAYS)
def test_several_servers_match_one_server(
    alone: ludex.Client, together: ludex.Client, game: str, options: dict[str, Any]
) -> None:
    rng = np.random.default_rng(7)
    one, many = (client.open_vec(game, 11, **options) for client in (alone, together))
    assert isinstance(many, ludex.ShardedVecEnv)
    assert [vec.num_envs for vec in many.shards] == [4, 4, 3]
    same(many.reset(seed=2**64 - 5), batch := one.reset(seed=2**64 - 5))
    finals = 0
    for step in range(80):
        actions = legal(batch, rng, one.spec.actions)
        if options.get("on_illegal") and step % 9 == 0:
            actions[step % 11] = 77
        envs = None
        if step % 3 == 1 and not options.get("on_illegal"):
            envs = rng.permutation(11)[:5]
        elif step % 3 == 2:
            many.send(actions)
            one.send(actions)
            same(many.recv(), batch := one.recv())
            continue
        same(
            many.step(actions if envs is None else actions[envs], envs),
            shown := one.step(actions if envs is None else actions[envs], envs),
        )
        finals += 0 if shown.final is None else len(shown.final.at)
        batch = shown if envs is None else one.step([-1] * 11)
        if envs is not None:
            same(many.step([-1] * 11), batch)
    assert options["autoreset"] == "next_step" or finals > 3
    same(many.snapshot(), one.snapshot())
    same(many.clone([1, 4, 9], seed=5).reset(), one.clone([1, 4, 9], seed=5).reset())
    items = one.snapshot()
    same(many.restore(items[::-1]), one.restore(items[::-1]))
    assert many.text(9, 0) == one.text(9, 0)
    assert many.struct(4, 1) == one.struct(4, 1)
    same(many.reset(seeds=[9, 8], envs=[10, 3]), one.reset(seeds=[9, 8], envs=[10, 3]))


def test_refusal_names_row_of_whole_batch(together: ludex.Client) -> None:
    vec = together.open_vec("tic_tac_toe", 9)
    vec.reset(seed=0)
    with pytest.raises(ludex.LudexError) as caught:
        vec.step([0] * 7 + [9, 0])
    assert (caught.value.code, caught.value.index) == ("illegal_action", 7)
    assert vec.in_flight == 0
    for wrong in ([0] * 8, [0] * 10):
        with pytest.raises(ValueError, match="expected 9, one per env"):
            vec.step(wrong)
    with pytest.raises(ludex.LudexError, match="unknown_env"):
        vec.step([0], envs=[9])
    with pytest.raises(ValueError, match="ascending"):
        vec.clone([3, 2])
    with pytest.raises(RuntimeError, match="expected a batch in flight"):
        vec.recv()
    vec.close()
    assert vec.closed


def test_unreachable_server_is_excluded(urls: list[str]) -> None:
    unreachable = "ws://127.0.0.1:1"
    with pytest.warns(UserWarning, match="the other servers take over its environments"):
        client = ludex.Client([urls[0], unreachable, urls[1]], patience=0.1)
    with client:
        vec = client.open_vec("tic_tac_toe", 3)
        assert isinstance(vec, ludex.ShardedVecEnv)
        assert len(vec.shards) == 2
        # One environment needs one server.
        one = client.open_vec("tic_tac_toe", 1)
        assert isinstance(one, ludex.ShardedVecEnv)
        assert len(one.shards) == 1
    with pytest.raises(ludex.LudexError, match="no server answers"):
        ludex.Client([unreachable, unreachable], patience=0.1)


def test_reset_moves_envs_of_dead_server(alone: ludex.Client) -> None:
    whole = alone.open_vec("connect_four", 7)
    with (
        ludex.serve() as one,
        ludex.serve() as two,
        ludex.serve() as three,
        ludex.Client([one.url, two.url, three.url], patience=0.5) as client,
    ):
        vec = client.open_vec("connect_four", 7)
        same(whole.reset(1), vec.reset(1))
        two.kill()
        for _ in range(4):
            with pytest.raises(ludex.LudexError, match="connection_lost"):
                vec.step([3] * 7)
        with pytest.raises(ludex.LudexError, match="connection_lost"):
            vec.reset(2, envs=[0, 3])
        same(whole.reset(3), vec.reset(3))
        same(whole.step([3] * 7), vec.step([3] * 7))
        same(whole.reset(4, envs=[5, 2, 3]), vec.reset(4, envs=[5, 2, 3]))
        assert not vec.closed
        vec.close()


# Rows that are ready.


@pytest.mark.parametrize("servers", [1, 3])
def test_ready_rows_equal_those_of_one_handle(urls: list[str], servers: int) -> None:
    seats = ["agent", "random"]
    with ludex.Client(urls[0]) as one, ludex.Client(urls[:servers]) as several:
        whole = one.open_vec("connect_four", 7, seats=seats)
        parts = several.open_vec("connect_four", 7, seats=seats, shards=4)
        start, first = whole.reset(seed=2), np.arange(7) % 3
        then = whole.step(first)
        parts.async_reset(seed=2)
        flying = 7
        got: dict[str, list[int]] = {"start": [], "then": []}
        stage = dict.fromkeys(range(7), "start")
        while flying:
            batch = parts.recv(min_ready=1)
            assert batch.envs is not None
            envs = batch.envs.tolist()
            for at, env in enumerate(envs):
                expected = start if stage[env] == "start" else then
                assert np.array_equal(batch.obs[at], expected.obs[env])
                assert np.array_equal(batch.reward[at], expected.reward[env])
                got[stage[env]].append(env)
            again = [env for env in envs if stage[env] == "start"]
            flying -= len(envs)
            if again:
                parts.send(first[again], again)
                flying += len(again)
                stage |= dict.fromkeys(again, "then")
        assert sorted(got["start"]) == sorted(got["then"]) == list(range(7))


def test_refused_rows_leave_others_to_receive(alone: ludex.Client) -> None:
    vec = alone.open_vec("connect_four", 4, shards=2)
    vec.reset(seed=0)
    vec.send([0, 99, 1, 2])
    with pytest.raises(ludex.LudexError, match="illegal_action"):
        vec.recv(min_ready=4)
    received = vec.recv().envs.tolist()  # type: ignore[union-attr]
    assert received == [2, 3]
    assert vec.in_flight == 0
    vec.send([0, 1, 1, 2])
    assert len(vec.recv()) == 4


def test_rest_of_step_is_received_without_min_ready(alone: ludex.Client) -> None:
    vec = alone.open_vec("connect_four", 4, shards=2)
    vec.async_reset(seed=0)
    first = vec.recv(min_ready=1)
    rest = [] if len(first) == 4 else [vec.recv()]
    envs = [part.envs for part in [first, *rest]]
    assert sorted(np.concatenate(envs).tolist()) == [0, 1, 2, 3]  # type: ignore[arg-type]


def test_illegal_row_of_any_handle_is_reported(alone: ludex.Client) -> None:
    vec = alone.open_vec("connect_four", 4, shards=2, on_illegal="lose")
    vec.reset(seed=0)
    assert vec.step([0, 0, 0, 99]).illegal.tolist() == [3]  # type: ignore[union-attr]


def test_part_on_one_handle_names_environments_of_batch(alone: ludex.Client) -> None:
    vec = alone.open_vec("connect_four", 4, shards=2)
    assert vec.reset(seed=0, envs=[3]).envs.tolist() == [3]  # type: ignore[union-attr]


def test_single_handle_returns_whole_step(alone: ludex.Client) -> None:
    vec = alone.open_vec("connect_four", 3)
    vec.async_reset(seed=0)
    assert vec.recv(min_ready=1).envs.tolist() == [0, 1, 2]  # type: ignore[union-attr]


def test_lists_of_seats_must_fit_handles(alone: ludex.Client) -> None:
    lists = [["agent", "random"], ["random", "agent"], ["agent", "agent"]]
    with pytest.raises(ValueError, match="equal numbers of seats"):
        alone.open_vec("connect_four", 3, shards=3, seats=lists)
    with pytest.raises(ValueError, match="at most 2 lists"):
        alone.open_vec("connect_four", 3, shards=2, seats=lists)
    vec = alone.open_vec("connect_four", 3, shards=3, seats=lists[:2])
    assert vec.reset(seed=0).seat.tolist() == [0, 1, 0]
