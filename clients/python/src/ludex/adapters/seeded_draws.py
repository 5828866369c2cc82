"""Reproducible draws that depend only on an episode's seed and number.

The derivation equals that of the server (docs/records.md): the first eight bytes of ChaCha8 block 0
under the key SHA-256 of ``ludex.v1:<purpose>:<game>:<seed>:<episode>``, scaled to ``0..n``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np

from ..columns import Array

_CONSTANTS = np.frombuffer(b"expand 32-byte k", "<u4")
_QUARTERS = [
    *((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)),
    *((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)),
]


def draws(purpose: str, game: str, episodes: Iterable[tuple[int, int]], n: int) -> Array:
    """Draw a number in ``0..n`` for each pair of seed and episode number: ``int64``.

    Args:
        purpose: name of the stream; the server uses ``rotate`` for the rotation of seats.
        game: id of the game.
        episodes: pairs of seed and episode number.
        n: exclusive upper bound, below 2^32.
    """
    keys = b"".join(key(purpose, game, seed, episode) for seed, episode in episodes)
    words = _first_words(np.frombuffer(keys, "<u4").reshape(-1, 8))
    low, high = words[:, 0].astype(np.uint64), words[:, 1].astype(np.uint64)
    # The upper half of the 128-bit product, computed in parts that fit into 64 bits.
    many, half = np.uint64(n), np.uint64(32)
    drawn: Array = ((high * many + (low * many >> half)) >> half).astype(np.int64)
    return drawn


def key(purpose: str, game: str, seed: int, episode: int) -> bytes:
    """Return the key of an episode for one purpose."""
    return hashlib.sha256(f"ludex.v1:{purpose}:{game}:{seed}:{episode}".encode()).digest()


def _first_words(keys: Array) -> Array:
    """Return words 0 and 1 of ChaCha8 block 0 under each of ``keys`` (``uint32 [k, 8]``)."""
    state = np.zeros((16, len(keys)), np.uint32)
    state[:4] = _CONSTANTS[:, None]
    state[4:12] = keys.T
    begin = state[:2].copy()
    for _ in range(4):
        for a, b, c, d in _QUARTERS:
            for left, right, other, bits in (
                (a, b, d, 16),
                (c, d, b, 12),
                (a, b, d, 8),
                (c, d, b, 7),
            ):
                state[left] += state[right]
                mixed = state[other] ^ state[left]
                state[other] = mixed << np.uint32(bits) | mixed >> np.uint32(32 - bits)
    words: Array = (state[:2] + begin).T
    return words
