//! Reproducible randomness: keyed chance draws, and the random streams of agents.
//!
//! Chance draw `k` of an episode reads block `k` of a ChaCha8 keystream whose key derives from game, seed and episode
//! number. The only state is a counter: game states contain no generator, and a snapshot stores one number. All other
//! randomness (agents, rollouts, sampled states) uses a [`Stream`], which is independent of chance.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sha2::block_api::compress256;
use sha2::{Digest, Sha256};

use crate::outcomes::{Action, Outcomes};

mod first;

pub(crate) use first::{TOGETHER, first_draws};

/// A 32-byte key: the SHA-256 digest of a documented text.
pub type Key = [u8; 32];

/// Returns the SHA-256 digest of `text`.
pub fn key(text: &str) -> Key {
    Sha256::digest(text.as_bytes()).into()
}

/// Returns the key of an episode for one purpose: SHA-256 of `ludex.v1:<purpose>:<game>:<seed>:<episode>`.
///
/// Chance uses the purpose `chance`; agents, seat rotation and opponents' draws use separate purposes.
pub fn episode_key(purpose: &str, game: &str, seed: u64, episode: u64) -> Key {
    key(&format!("ludex.v1:{purpose}:{game}:{seed}:{episode}"))
}

/// The text of an episode's key as a padded SHA-256 block (FIPS 180-4, 5.1.1), for texts of at most 55 bytes.
///
/// A batch derives a key for every episode. With a stored block, only the digits of the episode number are rewritten
/// from episode to episode.
#[derive(Clone, Debug)]
struct KeyText {
    block: [u8; 64],
    /// Start and end of the episode number in the block; `None` if the text does not fit in the block.
    number: Option<(u8, u8)>,
}

impl KeyText {
    fn new(purpose: &str, game: &str, seed: u64, episode: u64) -> Self {
        let head = format!("ludex.v1:{purpose}:{game}:{seed}:");
        let text = format!("{head}{episode}");
        let mut block = [0; 64];
        if text.len() > 55 {
            return KeyText { block, number: None };
        }
        block[..text.len()].copy_from_slice(text.as_bytes());
        block[text.len()] = 0x80;
        block[56..].copy_from_slice(&(8 * text.len() as u64).to_be_bytes());
        KeyText { block, number: Some((head.len() as u8, text.len() as u8)) }
    }

    /// Advances the text to the next episode. Returns false if the caller must build a new text, because the episode
    /// number gains a digit or the text does not fit in the block.
    fn next(&mut self) -> bool {
        let Some((from, to)) = self.number else { return false };
        for digit in self.block[from.into()..to.into()].iter_mut().rev() {
            if *digit < b'9' {
                *digit += 1;
                return true;
            }
            *digit = b'0';
        }
        false
    }

    /// Returns the key; `None` if the text does not fit in the block.
    fn key(&self) -> Option<Key> {
        self.number?;
        let mut state = FIRST;
        compress256(&mut state, std::slice::from_ref(&self.block));
        let mut key = Key::default();
        key.as_chunks_mut().0.iter_mut().zip(state).for_each(|(to, word)| *to = word.to_be_bytes());
        Some(key)
    }
}

/// Initial hash value of SHA-256 (FIPS 180-4, 5.3.3).
const FIRST: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// Returns the first eight bytes, little-endian, of ChaCha8 block `k` under `key` (nonce 0).
pub fn block(key: &Key, k: u64) -> u64 {
    blocks(key, k)[0]
}

/// Number of blocks computed together under one key, at the cost of a single block.
const AHEAD: usize = 4;

/// Returns the first eight bytes, little-endian, of ChaCha8 blocks `k..k + AHEAD` under `key` (nonce 0).
fn blocks(key: &Key, k: u64) -> [u64; AHEAD] {
    let mut rng = ChaCha8Rng::from_seed(*key);
    if k > 0 {
        rng.set_word_pos(u128::from(k) * 16);
    }
    let mut bytes = [0; 64 * AHEAD];
    rng.fill_bytes(&mut bytes);
    std::array::from_fn(|i| u64::from_le_bytes(std::array::from_fn(|b| bytes[64 * i + b])))
}

/// Maps a uniform 64-bit number `u` to `0..n`. Returns the high half of the 128-bit product `u * n`.
///
/// The bias is below `n / 2^64`. Returns 0 for `n = 0`.
pub fn scale(u: u64, n: u64) -> u64 {
    ((u128::from(u) * u128::from(n)) >> 64) as u64
}

/// Source of chance for one episode: the game, seed and episode number, and the number of draws made so far.
#[derive(Clone, Debug)]
pub struct Draw {
    game: &'static str,
    seed: u64,
    episode: u64,
    next: u64,
    /// Text of the key; absent until a key is derived.
    text: Option<KeyText>,
    /// Key of this episode; absent until the first draw.
    key: Option<Key>,
    /// Precomputed draws; the last entry is draw `end - 1`.
    ahead: [u64; AHEAD],
    end: u64,
}

impl Draw {
    /// Creates the source of chance for one episode of `game` under `seed`, before any draw.
    pub fn new(game: &'static str, seed: u64, episode: u64) -> Self {
        Draw { game, seed, episode, next: 0, text: None, key: None, ahead: [0; AHEAD], end: 0 }
    }

    /// Returns the seed of the episode.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the episode number.
    pub fn episode(&self) -> u64 {
        self.episode
    }

    /// Starts the next episode under the same seed, before any draw.
    pub fn next_episode(&mut self) {
        if let Some(text) = &mut self.text
            && (self.key.is_none() || !text.next())
        {
            self.text = None;
        }
        (self.episode, self.next, self.key, self.end) = (self.episode + 1, 0, None, 0);
    }

    /// Returns the key of this episode for a purpose other than chance.
    pub fn other(&self, purpose: &str) -> Key {
        episode_key(purpose, self.game, self.seed, self.episode)
    }

    /// Returns the random stream of the illegal-move policy for one turn of a seat. Equal arguments give equal streams.
    pub fn policy(&self, seat: usize, turn: u32) -> Stream {
        Stream::from_text(&format!("{}:{seat}:{turn}", hex::encode(self.other("policy"))))
    }

    /// Replaces the seed. The number of draws already made is unchanged.
    pub fn reseed(&mut self, seed: u64) {
        *self = Draw { next: self.next, ..Draw::new(self.game, seed, self.episode) };
    }

    /// Counts one draw without computing its value.
    pub fn skip(&mut self) {
        self.next += 1;
    }

    /// Derives and stores the key of the episode. Calling this method is optional, because the first draw derives a
    /// missing key. A host of many episodes is faster if it derives all keys, computes all [`first_draws`] together,
    /// then passes the draws to [`foresee`](Self::foresee).
    pub(crate) fn make_key(&mut self) -> Key {
        let (game, seed, episode) = (self.game, self.seed, self.episode);
        let text = self.text.get_or_insert_with(|| KeyText::new("chance", game, seed, episode));
        let key = text.key().unwrap_or_else(|| episode_key("chance", game, seed, episode));
        self.key = Some(key);
        key
    }

    /// Stores the precomputed first draws of the episode.
    #[inline]
    pub(crate) fn foresee(&mut self, draws: [u64; AHEAD]) {
        (self.ahead, self.end) = (draws, AHEAD as u64);
    }

    /// Computes the next draws.
    fn compute(&mut self) {
        let key = self.key.unwrap_or_else(|| self.make_key());
        (self.ahead, self.end) = (blocks(&key, self.next), self.next + AHEAD as u64);
    }

    /// Returns the next 64 uniform bits; counts one draw.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        if self.next >= self.end {
            self.compute();
        }
        let bits = self.ahead[AHEAD - (self.end - self.next) as usize];
        self.next += 1;
        bits
    }

    /// Draws one outcome by weight: the first outcome whose cumulative weight exceeds `(u * sum) >> 64`, where `u` is
    /// the next 64 uniform bits. Counts one draw. Without outcomes, returns `None` and counts no draw.
    #[inline]
    pub fn pick(&mut self, outcomes: &Outcomes) -> Option<Action> {
        if outcomes.sum() == 0 {
            return None;
        }
        outcomes.at(scale(self.bits(), outcomes.sum()))
    }
}

/// A fast seeded random stream for agents, rollouts and sampled states (xoshiro256++ seeded with 32 key bytes).
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// Creates the stream of a key. Every key is valid, including all zeros.
    pub fn new(key: &Key) -> Self {
        Stream(Xoshiro256PlusPlus::from_seed(*key))
    }

    /// Creates the stream of a text; equal texts give equal streams.
    pub fn from_text(text: &str) -> Self {
        Self::new(&key(text))
    }

    /// Returns 64 uniform bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a uniform index in `0..n`; 0 for `n = 0`. See [`scale`].
    #[inline]
    pub fn below(&mut self, n: usize) -> usize {
        scale(self.bits(), n as u64) as usize
    }

    /// Returns a uniform number in `[0, 1)` with 53 bits.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Shuffles in place: for `i` from the last index down to 1, swaps `i` with `below(i + 1)`.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }

    /// Draws one of `outcomes` by weight; `None` if there are no outcomes.
    pub fn pick(&mut self, outcomes: &Outcomes) -> Option<Action> {
        outcomes.at(scale(self.bits(), outcomes.sum()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_and_blocks_equal_golden_values() {
        let key = episode_key("chance", "kuhn_poker", 42, 0);
        assert_eq!(hex::encode(key), "6e2c7585a21461e73db1b685f81fad1388909cbd268d4f303d47a4a0030015e3");
        assert_eq!(hex::encode(block(&key, 0).to_le_bytes()), "d575bd5a8a24fc81");
        assert_eq!(hex::encode(block(&key, 1).to_le_bytes()), "774f7bdfd1815a27");
    }

    #[test]
    fn episode_key_is_hash_of_documented_text() {
        for (game, seed) in [("go", 0), ("kuhn_poker", 7), ("iterated_prisoners_dilemma", u64::MAX), ("liars_dice", 99)]
        {
            for first in [0, 9_998, u64::MAX - 5] {
                let mut draw = Draw::new(game, seed, first);
                for k in 0..4 {
                    let episode = draw.episode();
                    assert_eq!(draw.make_key(), episode_key("chance", game, seed, episode), "{game} {seed} {episode}");
                    draw.next_episode();
                    if k == 1 {
                        // An episode without a draw.
                        draw.next_episode();
                    }
                }
            }
        }
    }

    #[test]
    fn draws_equal_chacha_blocks_after_skip_and_reseed() {
        let mut draw = Draw::new("hanabi", 3, 5);
        let key = draw.other("chance");
        let mut k = 0;
        for skipped in [0, 1, 0, 0, 3, 0, 0, 9, 0, 4] {
            (0..skipped).for_each(|_| draw.skip());
            k += skipped;
            assert_eq!(draw.bits(), block(&key, k), "draw {k}");
            k += 1;
        }
        draw.reseed(4);
        assert_eq!(draw.bits(), block(&draw.other("chance"), k), "under another seed");
        draw.next_episode();
        assert_eq!(draw.bits(), block(&draw.other("chance"), 0), "of the next episode");
    }

    #[test]
    fn shuffled_cards_equal_golden_values() {
        let mut draw = Draw::new("kuhn_poker", 42, 0);
        let mut cards = Outcomes::new();
        cards.uniform([0, 1, 2]);
        assert_eq!(draw.pick(&cards), Some(1));
        cards.clear();
        cards.uniform([0, 2]);
        assert_eq!(draw.pick(&cards), Some(0));
    }

    #[test]
    fn stream_equals_golden_values() {
        let mut s = Stream::from_text("ludex.v1:golden");
        let below: Vec<usize> = (0..8).map(|_| s.below(100)).collect();
        let mut cards: Vec<u8> = (0..8).collect();
        s.shuffle(&mut cards);
        assert_eq!((below, cards), (GOLDEN_BELOW.to_vec(), GOLDEN_SHUFFLE.to_vec()));
    }

    const GOLDEN_BELOW: [usize; 8] = [26, 86, 54, 8, 51, 89, 89, 77];
    const GOLDEN_SHUFFLE: [u8; 8] = [5, 6, 4, 1, 3, 2, 0, 7];
}
