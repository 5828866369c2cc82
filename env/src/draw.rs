//! Randomness that anybody can compute again: keyed chance draws, and the streams of agents.
//!
//! Chance draw `k` of an episode reads block `k` of a ChaCha8 keystream under a key made of game, seed and
//! episode number, so a counter is all that has to be kept: states carry no generator, and a snapshot is a number.
//! Everything else that is random (agents, rollouts, sampled worlds) uses a [`Stream`], which is apart from chance.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sha2::{Digest, Sha256};

use crate::game::{Action, Outcomes};

/// A 32-byte key: SHA-256 of a documented text.
pub type Key = [u8; 32];

/// SHA-256 of `text`.
pub fn key(text: &str) -> Key {
    Sha256::digest(text.as_bytes()).into()
}

/// The key of an episode for one purpose: SHA-256 of `ludex.v1:<purpose>:<game>:<seed>:<episode>`.
///
/// The chance key has the purpose `chance`; agents, seat rotation and opponents' draws use their own.
pub fn episode_key(purpose: &str, game: &str, seed: u64, episode: u64) -> Key {
    key(&format!("ludex.v1:{purpose}:{game}:{seed}:{episode}"))
}

/// The first eight bytes, little-endian, of ChaCha8 block `k` under `key` (nonce 0).
pub fn block(key: &Key, k: u64) -> u64 {
    let mut rng = ChaCha8Rng::from_seed(*key);
    rng.set_word_pos(u128::from(k) * 16);
    rng.next_u64()
}

/// Maps a uniform 64-bit `u` to `0..n`: the high half of the 128-bit product `u * n`.
///
/// The bias is below `n / 2^64`. For `n = 0` the answer is 0.
pub fn scale(u: u64, n: u64) -> u64 {
    ((u128::from(u) * u128::from(n)) >> 64) as u64
}

/// The chance of one episode: which seed and episode it belongs to, and how many draws were made.
#[derive(Clone, Debug)]
pub struct Draw {
    game: &'static str,
    seed: u64,
    episode: u64,
    next: u64,
    // Made at the first draw: games without chance never pay for it.
    key: Option<Key>,
}

impl Draw {
    /// The chance of episode `episode` of `game` under `seed`, before any draw.
    pub fn new(game: &'static str, seed: u64, episode: u64) -> Self {
        Draw { game, seed, episode, next: 0, key: None }
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The episode number.
    pub fn episode(&self) -> u64 {
        self.episode
    }

    /// Goes on to the next episode under the same seed, before any draw.
    pub fn next_episode(&mut self) {
        (self.episode, self.next, self.key) = (self.episode + 1, 0, None);
    }

    /// The key of this episode for another purpose than chance.
    pub fn other(&self, purpose: &str) -> Key {
        episode_key(purpose, self.game, self.seed, self.episode)
    }

    /// Goes on under another seed: what was drawn stays, and so does the number of draws.
    pub fn reseed(&mut self, seed: u64) {
        (self.seed, self.key) = (seed, None);
    }

    /// Counts one draw without making it.
    pub fn skip(&mut self) {
        self.next += 1;
    }

    /// The next 64 uniform bits; counts one draw.
    pub fn bits(&mut self) -> u64 {
        let (game, seed, episode) = (self.game, self.seed, self.episode);
        let key = self.key.get_or_insert_with(|| episode_key("chance", game, seed, episode));
        let u = block(key, self.next);
        self.next += 1;
        u
    }

    /// Draws one outcome by its integer weight: with `r = (u * sum) >> 64`, the first outcome whose running
    /// sum exceeds `r`. `None` if there is no outcome of positive weight; counts one draw otherwise.
    pub fn pick(&mut self, outcomes: &Outcomes) -> Option<Action> {
        if outcomes.sum() == 0 {
            return None;
        }
        outcomes.at(scale(self.bits(), outcomes.sum()))
    }
}

/// A fast seeded stream for agents, rollouts and sampled worlds (xoshiro256++ seeded with 32 key bytes).
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream under a key. An all-zero key is as good as any other.
    pub fn new(key: &Key) -> Self {
        Stream(Xoshiro256PlusPlus::from_seed(*key))
    }

    /// The stream of a text; the same text gives the same stream for ever.
    pub fn named(text: &str) -> Self {
        Self::new(&key(text))
    }

    /// 64 uniform bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `0..n`; 0 for `n = 0`. See [`scale`].
    #[inline]
    pub fn below(&mut self, n: usize) -> usize {
        scale(self.bits(), n as u64) as usize
    }

    /// Uniform in `[0, 1)` with 53 bits.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Shuffles in place: for `i` from the last index down to 1, swaps `i` with `below(i + 1)`.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }

    /// One of `outcomes` by weight, `None` if there is none.
    pub fn pick(&mut self, outcomes: &Outcomes) -> Option<Action> {
        outcomes.at(scale(self.bits(), outcomes.sum()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_key_and_blocks() {
        let key = episode_key("chance", "kuhn_poker", 42, 0);
        assert_eq!(hex::encode(key), "6e2c7585a21461e73db1b685f81fad1388909cbd268d4f303d47a4a0030015e3");
        assert_eq!(hex::encode(block(&key, 0).to_le_bytes()), "d575bd5a8a24fc81");
        assert_eq!(hex::encode(block(&key, 1).to_le_bytes()), "774f7bdfd1815a27");
    }

    #[test]
    fn golden_cards() {
        let mut draw = Draw::new("kuhn_poker", 42, 0);
        let mut cards = Outcomes::new();
        cards.uniform([0, 1, 2]);
        assert_eq!(draw.pick(&cards), Some(1));
        cards.clear();
        cards.uniform([0, 2]);
        assert_eq!(draw.pick(&cards), Some(0));
    }

    #[test]
    fn golden_stream() {
        let mut s = Stream::named("ludex.v1:golden");
        let below: Vec<usize> = (0..8).map(|_| s.below(100)).collect();
        let mut cards: Vec<u8> = (0..8).collect();
        s.shuffle(&mut cards);
        assert_eq!((below, cards), (GOLDEN_BELOW.to_vec(), GOLDEN_SHUFFLE.to_vec()));
    }

    const GOLDEN_BELOW: [usize; 8] = [26, 86, 54, 8, 51, 89, 89, 77];
    const GOLDEN_SHUFFLE: [u8; 8] = [5, 6, 4, 1, 3, 2, 0, 7];
}
