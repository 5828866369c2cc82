//! Strength of poker hands: the best five cards out of up to seven.
//!
//! A [`Hand`] is two integers that are sums over its cards, so a shared part of several hands is computed once. The
//! first integer, the key, counts ranks and suits; the second is the set of cards as bits. The rank counts, read as two
//! base-5 numbers (seven low ranks, six high ranks), index a table of strengths. Flushes are recognized by their suit
//! counts and have a separate table. The tables take less than a megabyte and are built on first use.

use std::ops::{Add, AddAssign};
use std::sync::LazyLock;

use super::Card;

/// Names of the hand categories, weakest first. A royal flush is a straight flush.
pub const CATEGORIES: [&str; 9] = [
    "high_card",
    "pair",
    "two_pair",
    "three_of_a_kind",
    "straight",
    "flush",
    "full_house",
    "four_of_a_kind",
    "straight_flush",
];

/// Maximum number of cards in a hand.
const MOST: usize = 7;
/// Number of ranks, from the two up, whose counts are in the low part of a hand's key.
const LOW: usize = 7;
const LOW_PATTERNS: usize = 5usize.pow(LOW as u32);
const HIGH_PATTERNS: usize = 5usize.pow(13 - LOW as u32);

// The key, from its lowest bit: counts of the low ranks, counts of the high ranks, one count per suit, number of cards.
const HIGH_AT: u32 = 20;
const SUITS_AT: u32 = 40;
const SIZE_AT: u32 = 56;

/// A set of up to seven cards of one deck. Two hands that share no card can be added with `+`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hand {
    key: u64,
    /// Set of cards: ranks of clubs in bits 0 to 12, diamonds in bits 16 to 28, hearts from bit 32, spades from bit 48.
    cards: u64,
}

/// Hands of a single card, indexed by card.
static ONE: [Hand; 52] = {
    let mut all = [Hand { key: 0, cards: 0 }; 52];
    let mut c = 0;
    while c < 52 {
        let (rank, suit) = (c / 4, c % 4);
        let count = if rank < LOW { 5u64.pow(rank as u32) } else { 5u64.pow((rank - LOW) as u32) << HIGH_AT };
        all[c] = Hand { key: count | 1 << (SUITS_AT + 4 * suit as u32) | 1 << SIZE_AT, cards: 1 << (16 * suit + rank) };
        c += 1;
    }
    all
};

impl From<Card> for Hand {
    /// Returns the hand that consists of `card`, or an empty hand if the number is invalid.
    #[inline]
    fn from(card: Card) -> Hand {
        ONE.get(usize::from(card)).copied().unwrap_or_default()
    }
}

impl Add for Hand {
    type Output = Hand;

    #[inline]
    fn add(self, other: Hand) -> Hand {
        Hand { key: self.key.wrapping_add(other.key), cards: self.cards.wrapping_add(other.cards) }
    }
}

impl AddAssign for Hand {
    #[inline]
    fn add_assign(&mut self, other: Hand) {
        *self = *self + other;
    }
}

impl FromIterator<Card> for Hand {
    #[inline]
    fn from_iter<I: IntoIterator<Item = Card>>(cards: I) -> Hand {
        cards.into_iter().fold(Hand::default(), |hand, c| hand + Hand::from(c))
    }
}

impl Hand {
    /// Returns the strength. Among hands with the same number of cards, a stronger hand has a higher strength, and ties
    /// have equal strengths.
    ///
    /// A hand with fewer than five cards is compared by the ranks it has. The strength of an invalid hand (duplicate
    /// cards or more than seven cards) is arbitrary.
    #[inline]
    pub fn strength(self) -> u16 {
        TABLES.strength(self)
    }

    /// Writes the strength of each hand to `out`. Faster than separate calls of [`Hand::strength`].
    pub fn strengths(hands: &[Hand], out: &mut [u16]) {
        let tables = &*TABLES;
        hands.iter().zip(out).for_each(|(hand, out)| *out = tables.strength(*hand));
    }
}

/// Returns the category name for a strength returned by [`Hand::strength`].
pub fn category(strength: u16) -> &'static str {
    let code = TABLES.codes.get(usize::from(strength)).copied().unwrap_or(0);
    CATEGORIES[(code >> 20) as usize % CATEGORIES.len()]
}

struct Tables {
    /// Start of each block of `classes`. The hands of a block have the same number of cards and the same pattern of
    /// high-rank counts.
    blocks: Vec<u32>,
    /// Index of a hand within its block, by the counts of the low ranks.
    places: Vec<u16>,
    /// Strengths of hands without a flush, in blocks.
    classes: Vec<u16>,
    /// Strengths of flushes, indexed by the ranks of the flush suit as bits.
    flushes: Vec<u16>,
    /// Codes by strength: the category from bit 20 on, and below it the deciding ranks with four bits each.
    codes: Vec<u32>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(Tables::new);

impl Tables {
    #[inline]
    fn strength(&self, hand: Hand) -> u16 {
        // Adding 3 sets the highest of a suit's four bits if the suit count is at least five.
        let flush = ((hand.key >> SUITS_AT) + 0x3333) & 0x8888;
        if flush != 0 {
            let suit = flush.trailing_zeros() / 4;
            let ranks = hand.cards >> (16 * suit) & 0x1fff;
            return self.flushes.get(ranks as usize).copied().unwrap_or(0);
        }
        let (size, high) = ((hand.key >> SIZE_AT) as usize, (hand.key >> HIGH_AT) as usize & 0xf_ffff);
        let low = hand.key as usize & ((1 << HIGH_AT) - 1);
        let block = self.blocks.get(size * HIGH_PATTERNS + high).copied().unwrap_or(0);
        let place = self.places.get(low).copied().unwrap_or(0);
        self.classes.get(block as usize + usize::from(place)).copied().unwrap_or(0)
    }

    fn new() -> Tables {
        // Count patterns, grouped by their number of cards.
        let by_size = |patterns: usize| {
            let mut sets: [Vec<usize>; MOST + 1] = Default::default();
            for p in 0..patterns {
                if let Some(set) = sets.get_mut(digits(p).into_iter().sum::<u8>() as usize) {
                    set.push(p);
                }
            }
            sets
        };
        let (lows, highs) = (by_size(LOW_PATTERNS), by_size(HIGH_PATTERNS));
        let mut places = vec![0; LOW_PATTERNS];
        for set in &lows {
            set.iter().zip(0..).for_each(|(&p, place)| places[p] = place);
        }
        let (mut blocks, mut found) = (vec![0; (MOST + 1) * HIGH_PATTERNS], Vec::new());
        for size in 0..=MOST {
            for (of_high, set) in highs.iter().enumerate().take(size + 1) {
                for &high in set {
                    blocks[size * HIGH_PATTERNS + high] = found.len() as u32;
                    let (mut counts, head) = ([0; 13], digits(high));
                    counts[LOW..].copy_from_slice(&head[..13 - LOW]);
                    for &low in &lows[size - of_high] {
                        counts[..LOW].copy_from_slice(&digits(low)[..LOW]);
                        found.push(by_counts(&counts));
                    }
                }
            }
        }
        let flushes: Vec<u32> = (0..1 << 13).map(by_flush).collect();
        let mut codes: Vec<u32> = found.iter().chain(&flushes).copied().collect();
        codes.sort_unstable();
        codes.dedup();
        let class = |code: &u32| codes.binary_search(code).unwrap_or(0) as u16;
        let (classes, flushes) = (found.iter().map(class).collect(), flushes.iter().map(class).collect());
        Tables { blocks, places, classes, flushes, codes }
    }
}

/// Returns the base-5 digits of a number, lowest first.
fn digits(mut n: usize) -> [u8; 7] {
    [(); 7].map(|()| {
        let digit = (n % 5) as u8;
        n /= 5;
        digit
    })
}

/// Returns a code: the category, then up to five ranks in order of importance (rank + 1; 0 for none).
fn code(category: usize, ranks: impl IntoIterator<Item = usize>) -> u32 {
    let mut code = category as u32;
    let mut ranks = ranks.into_iter();
    for _ in 0..5 {
        code = code << 4 | ranks.next().map_or(0, |r| r as u32 + 1);
    }
    code
}

/// Returns the highest rank of the best straight in `ranks`, a bit set. An ace also counts as the rank below the two.
fn straight(ranks: u32) -> Option<usize> {
    let with_low_ace = ranks << 1 | ranks >> 12 & 1;
    (3..13).rev().find(|&top| with_low_ace >> (top - 3) & 31 == 31)
}

fn by_flush(ranks: u32) -> u32 {
    match straight(ranks) {
        Some(top) => code(8, [top]),
        None => code(5, (0..13).rev().filter(|r| ranks >> r & 1 == 1).take(5)),
    }
}

/// Returns the code of a hand without a flush, from its rank counts.
fn by_counts(counts: &[u8; 13]) -> u32 {
    let down = || (0..13).rev();
    let best = |least: u8, but: Option<usize>| down().find(|&r| counts[r] >= least && Some(r) != but);
    let others = |a: usize, b: usize, n: usize| down().filter(move |&r| counts[r] > 0 && r != a && r != b).take(n);
    let present = (0..13).filter(|&r| counts[r] > 0).fold(0, |bits, r| bits | 1 << r);
    let (four, three, two) = (best(4, None), best(3, None), best(2, None));
    let none = usize::MAX;
    if let Some(four) = four {
        return code(7, [four].into_iter().chain(others(four, none, 1)));
    }
    if let Some((three, pair)) = three.and_then(|t| best(2, Some(t)).map(|p| (t, p))) {
        return code(6, [three, pair]);
    }
    if let Some(top) = straight(present) {
        return code(4, [top]);
    }
    if let Some(three) = three {
        return code(3, [three].into_iter().chain(others(three, none, 2)));
    }
    match two.map(|high| (high, best(2, Some(high)))) {
        Some((high, Some(low))) => code(2, [high, low].into_iter().chain(others(high, low, 1))),
        Some((pair, None)) => code(1, [pair].into_iter().chain(others(pair, none, 3))),
        None => code(0, others(none, none, 5)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cards::cards;

    fn hand(text: &str) -> Hand {
        cards(text).unwrap().into_iter().collect()
    }

    fn category_of(text: &str) -> &'static str {
        category(hand(text).strength())
    }

    /// Compares the number of five-card hands in each class with the known combinatorial counts, 7,462 strengths in
    /// total.
    #[test]
    fn five_card_hands_have_known_class_sizes() {
        let mut counts = [0u32; 9];
        let mut seen = vec![false; TABLES.codes.len()];
        let one: Vec<Hand> = (0..52).map(Hand::from).collect();
        for a in 0..52 {
            for b in a + 1..52 {
                for c in b + 1..52 {
                    let three = one[a] + one[b] + one[c];
                    for d in c + 1..52 {
                        let four = three + one[d];
                        for e in &one[d + 1..] {
                            let class = usize::from(TABLES.strength(four + *e));
                            counts[(TABLES.codes[class] >> 20) as usize] += 1;
                            seen[class] = true;
                        }
                    }
                }
            }
        }
        assert_eq!(counts, [1_302_540, 1_098_240, 123_552, 54_912, 10_200, 5_108, 3_744, 624, 40]);
        assert_eq!(seen.iter().filter(|&&s| s).count(), 7_462);
    }

    /// With six or seven cards, the best five cards decide.
    #[test]
    fn strength_uses_best_five_cards() {
        let mut rng = ludex_env::Stream::from_text("seven cards");
        let mut deck: Vec<Card> = (0..52).collect();
        for _ in 0..ludex_env::check::scaled(3_000) {
            rng.shuffle(&mut deck);
            for n in [6, 7] {
                let all: Hand = deck[..n].iter().copied().collect();
                let mut best = 0;
                for skip in 0..1u32 << n {
                    if skip.count_ones() as usize == n - 5 {
                        let five: Hand = (0..n).filter(|i| skip >> i & 1 == 0).map(|i| deck[i]).collect();
                        best = best.max(five.strength());
                    }
                }
                assert_eq!(all.strength(), best, "{:?}", &deck[..n]);
            }
        }
    }

    #[test]
    fn categories_and_kickers_order_hands() {
        assert_eq!(category_of("As 2d 3h 4c 5s Kd Qd"), "straight");
        assert!(hand("As 2d 3h 4c 5s").strength() < hand("2d 3h 4c 5s 6s").strength());
        assert_eq!(category_of("Qs Kd Ah 2c 3s"), "high_card");
        assert_eq!(category_of("As 2s 3s 4s 5s 6d 7d"), "straight_flush");
        assert_eq!(category_of("Ts Js Qs Ks As Ad Ah"), "straight_flush");
        assert_eq!(category_of("2s 3s 2d 3d 2h 3h 3c"), "four_of_a_kind");
        assert_eq!(category_of("2s 3s 2d 3d 2h 3h 4c"), "full_house");
        assert_eq!(hand("KsKd QsQd JsJd Ac").strength(), hand("KhKc QhQc Ah").strength());
        assert_eq!(category_of("As Ad"), "pair");
        assert_eq!(category_of("As Kd"), "high_card");
        assert!(hand("As Kd").strength() > hand("As Qd").strength());
        assert_eq!(category_of("7c"), "high_card");
        assert_eq!(category_of("7c 7d 7h 7s"), "four_of_a_kind");
    }

    #[test]
    fn strength_tolerates_invalid_hands() {
        let all: Hand = (0..52).collect();
        let twice: Hand = [5; 9].into_iter().collect();
        let odd: Hand = [60, 255, 3].into_iter().collect();
        for hand in [all, twice, odd, Hand::default()] {
            assert!(CATEGORIES.contains(&category(hand.strength())));
        }
        assert!(CATEGORIES.contains(&category(u16::MAX)));
        let hands = [hand("As Ad"), hand("Kc Kd")];
        let mut out = [0; 2];
        Hand::strengths(&hands, &mut out);
        assert_eq!(out, hands.map(Hand::strength));
    }
}
