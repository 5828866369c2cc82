"""Draws match the golden values of docs/protocol.md."""

from __future__ import annotations

import numpy as np

from ludex.adapters.seeded_draws import _first_words, draws, key


def test_key_and_block_match_golden_values() -> None:
    chance = key("chance", "kuhn_poker", 42, 0)
    assert chance.hex() == "6e2c7585a21461e73db1b685f81fad1388909cbd268d4f303d47a4a0030015e3"
    words = _first_words(np.frombuffer(chance * 3, "<u4").reshape(3, 8))
    assert [row.tobytes().hex() for row in words.astype("<u4")] == ["d575bd5a8a24fc81"] * 3


def test_draw_matches_golden_card() -> None:
    # The first card of kuhn_poker is one of three of equal weight, so a draw for `chance`.
    assert draws("chance", "kuhn_poker", [(42, 0)], 3).tolist() == [1]


def test_draws_scale_exactly() -> None:
    episodes = [(seed, episode) for seed in (0, 7, 2**64 - 1) for episode in range(40)]
    for n in (1, 2, 3, 1_000, 2**32 - 1):
        expected = [
            int.from_bytes(
                _first_words(np.frombuffer(key("x", "g", *one), "<u4")[None])
                .astype("<u4")
                .tobytes(),
                "little",
            )
            * n
            >> 64
            for one in episodes
        ]
        assert draws("x", "g", episodes, n).tolist() == expected
    assert draws("x", "g", [], 5).tolist() == []
