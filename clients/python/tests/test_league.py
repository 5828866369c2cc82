"""Leagues: payoffs of members, and distributions over them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ludex
from ludex.columns import Array
from ludex.league import League
from ludex.meta_strategies import alpha_rank, nash, uniform

VALUES = Path(__file__).parents[3] / "referee" / "tests" / "data" / "values.json"
CIRCLE = np.array([[0.0, 1.0, -1.0], [-1.0, 0.0, 1.0], [1.0, -1.0, 0.0]])


@pytest.fixture(scope="module")
def url(program: str) -> Iterator[str]:
    with ludex.serve() as server:
        yield server.url


def first_legal(obs: Array, mask: Array) -> Array:
    actions: Array = mask.argmax(axis=1)
    return actions


def last_legal(obs: Array, mask: Array) -> Array:
    actions: Array = mask.shape[1] - 1 - mask[:, ::-1].argmax(axis=1)
    return actions


def by_hand(url: str, game: str, policies: list[Any], seed: int) -> list[float]:
    """Return the returns of one episode, played by single steps."""
    env = ludex.pettingzoo.aec(game, url=url)
    env.reset(seed=seed)
    earned = [0.0, 0.0]
    for agent in env.agent_iter():
        obs, reward, over, _, _ = env.last()
        seat = env.possible_agents.index(agent)
        earned[seat] += reward
        policy = policies[seat]
        env.step(
            None if over else int(policy(obs["observation"][None], obs["action_mask"][None])[0])
        )
    env.close()
    return earned


@pytest.mark.parametrize(("game", "with_itself"), [("leduc_poker", 0), ("elemental_duel", 8)])
def test_payoffs_are_mean_returns_of_exchanged_games(url: str, game: str, with_itself: int) -> None:
    with League(game, pairs=4, seed=9, url=url) as league:
        league.add("first", first_legal)
        league.add("last", last_legal)
        table = league.payoffs()
    pairs = []
    for seed in range(9, 13):
        straight = by_hand(url, game, [first_legal, last_legal], seed)
        exchanged = by_hand(url, game, [last_legal, first_legal], seed)
        pairs.append([(straight[0] + exchanged[1]) / 2, (straight[1] + exchanged[0]) / 2])
    expected = np.mean(pairs, axis=0)
    assert [table.mean[0, 1], table.mean[1, 0]] == pytest.approx(expected)
    half = 1.96 * np.std(pairs, axis=0, ddof=1) / 2
    assert table.high[0, 1] - table.mean[0, 1] == pytest.approx(half[0])
    assert table.mean[1, 0] - table.low[1, 0] == pytest.approx(half[1])
    assert table.games.tolist() == [[with_itself, 8], [8, with_itself]]
    assert "first" in str(table)


def test_agents_of_server_and_policies_meet(url: str) -> None:
    with League("tic_tac_toe", pairs=10, url=url) as league:
        league.add("random", "random")
        league.add("search", "alphabeta depth=9")
        league.add("first", first_legal)
        table = league.payoffs()
        assert np.array_equal(table.mean, -table.mean.T)
        assert table.mean[1, 0] > 0
        assert table.mean[1, 2] > 0
        assert league.strategy("nash")[1] == pytest.approx(1.0, abs=0.01)
        assert league.pool("nash", 4) == ["alphabeta depth=9"] * 4
        assert league.pool("uniform", 4) == ["random"] * 2 + ["alphabeta depth=9", first_legal]
        rating = league.rate("first", anchors=[0], games=2)
        assert len(rating.results) == 2
        with pytest.raises(TypeError, match="expected a policy"):
            league.rate("random")


def test_members_that_met_do_not_play_again(url: str) -> None:
    called: list[int] = []

    def counted(obs: Array, mask: Array) -> Array:
        called.append(len(obs))
        return first_legal(obs, mask)

    with League("tic_tac_toe", pairs=2, url=url) as league:
        league.add("counted", counted)
        league.add("last", last_legal)
        table = league.payoffs()
        before = len(called)
        assert np.array_equal(league.payoffs().mean, table.mean)
        assert len(called) == before
        league.add("first", first_legal)
        assert league.payoffs().mean.shape == (3, 3)
        assert len(called) > before


def test_members_of_general_sum_game_play_with_themselves(url: str) -> None:
    with League("iterated_prisoners_dilemma", pairs=3, url=url) as league:
        league.add("first", first_legal)
        table = league.payoffs()
    assert table.games.tolist() == [[6]]
    assert table.mean[0, 0] > 0


def test_invalid_calls_name_fault(url: str) -> None:
    with pytest.raises(ValueError, match="expected two seats, got 3"):
        League("kuhn_poker", params={"players": 3}, url=url)
    with League("tic_tac_toe", url=url, pairs=1) as league:
        with pytest.raises(ValueError, match="at least one member"):
            league.strategy()
        league.add("a", "random")
        with pytest.raises(ValueError, match="expected a new one"):
            league.add("a", "random")
        with pytest.raises(ValueError, match="allowed: 'uniform', 'nash', 'alpha_rank'"):
            league.strategy("best")  # type: ignore[arg-type]
        league.add("illegal", lambda obs, mask: mask.argmin(axis=1))
        with pytest.raises(ValueError, match="illegal action"):
            league.play()


def test_alpha_rank_equals_metric() -> None:
    cases = json.loads(VALUES.read_text())["alpha_rank"]
    assert cases
    for case in cases:
        masses = alpha_rank(
            np.array(case["payoffs"]), alpha=case["alpha"], population=int(case["m"])
        )
        assert masses == pytest.approx(case["masses"], abs=1e-9)
    assert alpha_rank(CIRCLE) == pytest.approx([1 / 3] * 3)
    assert alpha_rank(np.zeros((1, 1))).tolist() == [1.0]
    # Two strategies that beat a third one, and neither of which takes over the other.
    apart = np.array([[2.0, 0.0, 1.0], [0.0, 2.0, 1.0], [0.0, 0.0, 0.0]])
    assert alpha_rank(apart) == pytest.approx([0.5, 0.5, 0.0])


def test_members_outside_closed_class_have_no_mass() -> None:
    payoffs = np.array([[0.0, -1.0, -1.0], [1.0, 0.0, 5.0], [1.0, 5.0, 0.0]])
    assert alpha_rank(payoffs) == pytest.approx([0.0, 0.5, 0.5])


def test_nash_of_circle_is_uniform_and_of_dominant_member_pure() -> None:
    weighted = np.array([[0.0, 2.0, -1.0], [-2.0, 0.0, 1.0], [1.0, -1.0, 0.0]])
    assert nash(CIRCLE) == pytest.approx([1 / 3] * 3)
    assert nash(weighted) == pytest.approx([0.25, 0.25, 0.5], abs=1e-3)
    assert nash(np.array([[0.0, 1.0], [-1.0, 0.0]])) == pytest.approx([1.0, 0.0], abs=1e-3)
    assert uniform(CIRCLE) == pytest.approx([1 / 3] * 3)
