"""Ratings: formulas against reference values, and matches with a real server."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ludex
from ludex.columns import Array
from ludex.matches.rating import AnchorScore, Rating, _blocks, _scores, _wilson
from ludex.matches.rating_fit import estimate
from ludex.matches.result import MatchResult


@pytest.fixture(scope="module")
def url(program: str) -> Iterator[str]:
    with ludex.serve() as server:
        yield server.url


def games(wins: int, draws: int, losses: int, opponent: int = 0) -> list[tuple[int, list[float]]]:
    scores = [1.0] * wins + [0.5] * draws + [0.0] * losses
    return [(opponent, [score]) for score in scores]


# Computed by hand, as in docs/ratings.md and in the referee's tests.


@pytest.mark.parametrize(
    ("wins", "losses", "rating"), [(30, 10, 185.2), (20, 0, 645.1), (90, 10, 374.2)]
)
def test_estimate_matches_wins_and_losses(wins: int, losses: int, rating: float) -> None:
    assert rating == pytest.approx(400 * math.log10((wins + 0.5) / (losses + 0.5)), abs=0.1)
    found = estimate([0.0], games(wins, 0, losses))
    assert found.rating == pytest.approx(rating, abs=0.1)
    assert found.draws == 0.0
    assert found.low < found.rating < found.high
    assert estimate([700.0], games(wins, 0, losses)).rating == pytest.approx(700 + rating, abs=0.1)


def test_estimate_matches_draws() -> None:
    # The model fits three counts exactly: theta = ln(w / l), nu = d / sqrt(w l).
    nu = 25 / math.sqrt(50.5 * 25.5)
    found = estimate([0.0], games(50, 25, 25))
    assert found.draws == pytest.approx(nu / (2 + nu), abs=1e-4)
    wanted = 400 * math.log10(50.5 / 25.5) * 2 / (2 + nu)
    assert found.rating == pytest.approx(wanted, abs=0.1)
    level = estimate([0.0], games(0, 20, 0))
    assert level.rating == pytest.approx(0, abs=1e-6)
    assert level.draws > 0.9


def test_perfect_score_has_finite_interval() -> None:
    # Jeffreys' interval for 20 of 20: the win rate is Beta(20.5, 0.5), with 2.5 % below 0.8827.
    found = estimate([0.0], games(20, 0, 0))
    assert found.low == pytest.approx(400 * math.log10(0.8827 / 0.1173), abs=30)
    assert 1200 < found.high < math.inf


def test_estimate_recovers_strengths() -> None:
    rng = np.random.default_rng(3)
    ratings, truth, share = [0.0, 250.0, 500.0], 310.0, 0.3
    nu = 2 * share / (1 - share)
    scale = 400 / math.log(10) * 2 / (2 + nu)
    inside = 0
    for trial in range(20):
        blocks: list[tuple[int, list[float]]] = []
        for opponent, rating in enumerate(ratings):
            d = (truth - rating) / scale
            odds = np.array([math.exp(d / 2), nu, math.exp(-d / 2)])
            drawn = rng.choice([1.0, 0.5, 0.0], 80, p=odds / odds.sum())
            blocks += [(opponent, pair.tolist()) for pair in drawn.reshape(40, 2)]
        found = estimate(ratings, blocks, seed=trial)
        assert found.rating == pytest.approx(truth, abs=130)
        inside += found.low <= truth <= found.high
    # Of 20 intervals of 95 %, fewer than 16 would be a three-sigma surprise.
    assert inside >= 16


def test_bootstrap_resamples_whole_pairs() -> None:
    # The first player always wins: every pair is 1 : 1, and only the prior varies.
    paired = estimate([0.0], [(0, [1.0, 0.0])] * 100)
    single = estimate([0.0], games(100, 0, 100))
    assert paired.rating == pytest.approx(0, abs=1e-6)
    assert paired.high - paired.low < 0.3 * (single.high - single.low)


def test_estimate_rejects_no_games() -> None:
    with pytest.raises(ValueError, match="no games"):
        estimate([0.0], [(0, [])])


def result(seat: int, returns: list[float], **more: Any) -> MatchResult:
    kept = {"match": "m", "game": "g", "seats": [], "outcome": [], "reason": "finished", **more}
    return MatchResult(seat=seat, returns=returns, **kept)


def test_scores_compare_returns_with_other_seats() -> None:
    assert _scores(result(1, [1.0, -1.0])) == [0.0]
    assert _scores(result(2, [1.0, 0.5, 0.5])) == [0.0, 0.5]
    assert _scores(result(0, [1.0, -9.0, 0.0], reason="illegal", at_fault=1)) == [1.0]
    assert _scores(result(1, [1.0, -9.0, 0.0], reason="illegal", at_fault=1)) == [0.0, 0.0]
    assert _scores(result(0, [1.0, -1.0], reason="infra_error")) == []
    assert _scores(result(0, [], reason="unknown_match")) == []
    ended = [result(0, [1, -1]), result(0, [0, 0]), result(1, [1, -1]), result(1, [-1, 1])]
    assert _blocks(ended, 2) == [[1.0, 0.0], [0.5, 1.0]]


def test_wilson_matches_reference_values() -> None:
    low, high = _wilson(0.5, 100)
    assert (round(low, 4), round(high, 4)) == (0.4038, 0.5962)
    assert _wilson(1.0, 20)[1] == pytest.approx(1.0)


# With a server.


def first_legal(obs: Array, mask: Array) -> Any:
    assert obs.shape[0] == mask.shape[0] == 1
    assert obs.flags.writeable
    return mask.argmax(axis=1)


# The ladder is calibrated for the default board only.
UNMEASURED = "connect_four(rows=5,columns=5)"


def test_rate_reports_win_rates_without_anchor_ratings(url: str) -> None:
    rating = ludex.rate(first_legal, UNMEASURED, anchors=[1], games=2, url=url)
    assert rating.estimate is None
    assert "no rating" in str(rating)


def test_rate_uses_calibrated_anchors(url: str) -> None:
    rating = ludex.rate(first_legal, "connect_four", anchors=[0, 1], games=2, url=url)
    first, second = (score.rating for score in rating.anchors)
    assert first == 0.0
    assert second is not None
    assert second > 100
    assert rating.estimate is not None


def test_level_zero_is_rated_zero(url: str) -> None:
    rating = ludex.rate(first_legal, UNMEASURED, anchors=[0, 1], games=9, url=url)
    assert [score.rating for score in rating.anchors] == [0.0, None]
    found = rating.estimate
    assert found is not None
    assert found.low <= found.high
    if rating.anchors[0].score != 0.5:
        assert (found.rating > 0) == (rating.anchors[0].score > 0.5)
    assert [score.anchor for score in rating.anchors] == ["anchor level=0", "anchor level=1"]
    assert [s.wins + s.draws + s.losses for s in rating.anchors] == [10, 10], "on both seats"
    assert [result.seat for result in rating.results].count(0) == 10
    first = rating.anchors[0]
    assert first.score == (first.wins + first.draws / 2) / 10
    assert first.mean_return == (first.wins - first.losses) / 10
    text = str(rating)
    assert text.startswith("connect_four(rows=5")
    assert f"rating {found.rating:.0f}, 95 %" in text


def test_rate_accepts_agent_that_takes_turns(url: str) -> None:
    asked: list[ludex.Turn] = []

    def agent(turn: ludex.Turn) -> str:
        asked.append(turn)
        assert turn.names is not None
        return turn.names[-1]

    rating = ludex.rate(agent, "tic_tac_toe", ["random"], games=4, takes="turn", url=url, slots=1)
    assert len(rating.results) == 4
    assert "struct" in asked[0].view


def test_rate_estimates_from_anchor_ratings(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the ladder by a calibrated one."""
    ladder = {"anchor level=0": 0.0, "anchor level=1": 300.0, "random": None}
    monkeypatch.setattr("ludex.matches.rating._ladder", lambda spec: ladder)
    rating = ludex.rate(first_legal, "connect_four", games=10, url=url)
    assert len(rating.anchors) == 3
    assert rating.estimate is not None
    assert rating.estimate.low < rating.estimate.rating < rating.estimate.high
    assert "95 %" in str(rating).splitlines()[-1]


def test_rate_rejects_invalid_arguments(url: str) -> None:
    with pytest.raises(ludex.LudexError, match="unknown_agent"):
        ludex.rate(first_legal, "tic_tac_toe", [77], url=url)
    with pytest.raises(ValueError, match="at least one anchor and two seats"):
        ludex.rate(first_legal, "tic_tac_toe", [], url=url)


def test_rating_prints_table() -> None:
    score = AnchorScore("anchor level=1", 300.0, 6, 1, 3, 0.65, 0.3, 0.9, 0.3)
    found = estimate([300.0], games(6, 1, 3))
    lines = str(Rating("g", [score], found, [])).splitlines()
    assert " ".join(lines[1].split()) == (
        "anchor level=1 (rated 300) 6 won, 1 drawn, 3 lost: 65%, 95 % 30% to 90%"
    )
    assert lines[2] == f"  rating {found.rating:.0f}, 95 % {found.low:.0f} to {found.high:.0f}"
