//! Randomness that anybody can compute again: keyed chance draws, and the streams of agents.
//!
//! Chance draw `k` of an episode reads block `k` of a ChaCha8 keystream under a key made of game, seed and
//! episode number, so a counter is all that has to be kept: states carry no generator, and a snapshot is a number.
//! Everything else that is random (agents, rollouts, sampled worlds) uses a [`Stream`], which is apart from chance.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sha2::block_api::compress256;
use sha2::{Digest, Sha256};

use crate::outcomes::{Action, Outcomes};

mod first;

pub(crate) use first::{TOGETHER, first_draws};

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

/// The text of an episode's key, as the one block that SHA-256 makes of a text of at most 55 bytes (FIPS 180-4, 5.1.1).
///
/// A batch makes a key for every episode: this needs no formatting and none of the buffers that longer texts need.
#[derive(Clone, Debug)]
struct KeyText {
    block: [u8; 64],
    /// Where the episode's number begins and ends; `None` for a longer text.
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

    /// Becomes the text of the next episode. Returns `false` if that number has one more digit or the text is long: it
    /// must then be made anew.
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

    /// The key; `None` for a long text.
    fn key(&self) -> Option<Key> {
        self.number?;
        let mut state = FIRST;
        compress256(&mut state, std::slice::from_ref(&self.block));
        let mut key = Key::default();
        key.as_chunks_mut().0.iter_mut().zip(state).for_each(|(to, word)| *to = word.to_be_bytes());
        Some(key)
    }
}

/// The state with which SHA-256 begins (FIPS 180-4, 5.3.3).
const FIRST: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// The first eight bytes, little-endian, of ChaCha8 block `k` under `key` (nonce 0).
pub fn block(key: &Key, k: u64) -> u64 {
    blocks(key, k)[0]
}

/// Blocks of one key that are computed at once: as many as the cipher computes for one.
const AHEAD: usize = 4;

/// The first eight bytes, little-endian, of ChaCha8 blocks `k..k + AHEAD` under `key` (nonce 0).
fn blocks(key: &Key, k: u64) -> [u64; AHEAD] {
    let mut rng = ChaCha8Rng::from_seed(*key);
    if k > 0 {
        rng.set_word_pos(u128::from(k) * 16);
    }
    let mut bytes = [0; 64 * AHEAD];
    rng.fill_bytes(&mut bytes);
    std::array::from_fn(|i| u64::from_le_bytes(std::array::from_fn(|b| bytes[64 * i + b])))
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
    /// The text of the key; absent until a key is made, so that games without chance never touch it.
    text: Option<KeyText>,
    /// The key of this episode; made before the first draw, so that games without chance never pay for it.
    key: Option<Key>,
    /// The last draws that are computed, and the number of the first one after them.
    ahead: [u64; AHEAD],
    end: u64,
}

impl Draw {
    /// The chance of episode `episode` of `game` under `seed`, before any draw.
    pub fn new(game: &'static str, seed: u64, episode: u64) -> Self {
        Draw { game, seed, episode, next: 0, text: None, key: None, ahead: [0; AHEAD], end: 0 }
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The episode number.
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

    /// The key of this episode for another purpose than chance.
    pub fn other(&self, purpose: &str) -> Key {
        episode_key(purpose, self.game, self.seed, self.episode)
    }

    /// What the policies for illegal moves draw from in a seat's own turn: the same for everybody who replays it.
    pub fn policy(&self, seat: usize, turn: u32) -> Stream {
        Stream::from_text(&format!("{}:{seat}:{turn}", hex::encode(self.other("policy"))))
    }

    /// Continues under another seed. Draws that were made stay as they are, and so does their number.
    pub fn reseed(&mut self, seed: u64) {
        *self = Draw { next: self.next, ..Draw::new(self.game, seed, self.episode) };
    }

    /// Counts one draw without making it.
    pub fn skip(&mut self) {
        self.next += 1;
    }

    /// Makes the key of the episode. That happens at the first draw, too; a host of many episodes is faster when it
    /// first makes all keys, and then computes all [`first_draws`] and hands them in.
    pub(crate) fn make_key(&mut self) -> Key {
        let (game, seed, episode) = (self.game, self.seed, self.episode);
        let text = self.text.get_or_insert_with(|| KeyText::new("chance", game, seed, episode));
        let key = text.key().unwrap_or_else(|| episode_key("chance", game, seed, episode));
        self.key = Some(key);
        key
    }

    /// Takes the first draws of the episode, which were computed elsewhere.
    #[inline]
    pub(crate) fn foresee(&mut self, draws: [u64; AHEAD]) {
        (self.ahead, self.end) = (draws, AHEAD as u64);
    }

    /// Computes the next draws.
    fn compute(&mut self) {
        let key = self.key.unwrap_or_else(|| self.make_key());
        (self.ahead, self.end) = (blocks(&key, self.next), self.next + AHEAD as u64);
    }

    /// The next 64 uniform bits; counts one draw.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        if self.next >= self.end {
            self.compute();
        }
        let bits = self.ahead[AHEAD - (self.end - self.next) as usize];
        self.next += 1;
        bits
    }

    /// Draws one outcome by its integer weight: with `r = (u * sum) >> 64`, the first outcome whose running
    /// sum exceeds `r`. `None` if there is no outcome of positive weight; counts one draw otherwise.
    #[inline]
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

    /// The stream of a text; the same text always gives the same stream.
    pub fn from_text(text: &str) -> Self {
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
    fn a_key_is_the_hash_of_its_text() {
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
    fn a_draw_is_its_block_whatever_was_drawn_before() {
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
        let mut s = Stream::from_text("ludex.v1:golden");
        let below: Vec<usize> = (0..8).map(|_| s.below(100)).collect();
        let mut cards: Vec<u8> = (0..8).collect();
        s.shuffle(&mut cards);
        assert_eq!((below, cards), (GOLDEN_BELOW.to_vec(), GOLDEN_SHUFFLE.to_vec()));
    }

    const GOLDEN_BELOW: [usize; 8] = [26, 86, 54, 8, 51, 89, 89, 77];
    const GOLDEN_SHUFFLE: [u8; 8] = [5, 6, 4, 1, 3, 2, 0, 7];
}
