//! Possible hands of other seats, and the equity of the own hand against them.

use std::collections::BTreeMap;

use ludex_env::Stream;
use ludex_games::cards::{Card, Equity, Hand};

use super::spot::TableFacts;

/// Number of hands above which only a sample is used.
const MOST_HANDS: usize = 1_500;
/// Boards sampled for preflop equities.
const PREFLOP_BOARDS: usize = 400;
/// Boards sampled for a decision, and for equities of an earlier round.
const BOARDS: usize = 48;
const EARLIER_BOARDS: usize = 16;

/// Possible hand: its cards as bits, and in the form for strength evaluation.
#[derive(Clone, Copy)]
pub struct HoleHand {
    bits: u64,
    hand: Hand,
}

fn bits(cards: &[Card]) -> u64 {
    cards.iter().fold(0, |all, c| all | 1 << c)
}

/// Deck, possible hands of hole cards (or a sample of them), and the number of cards on a full board.
pub struct Deck {
    cards: Vec<Card>,
    board: usize,
    pub held: Vec<HoleHand>,
    /// Ranks and number of suits of each hand, by which hands are equivalent preflop.
    kinds: Vec<(Vec<Card>, u32)>,
}

impl Deck {
    pub fn of(table: &TableFacts) -> Deck {
        let (cards, hole) = (table.deck(), table.hole());
        let mut all = Vec::new();
        choose(&cards, hole, &mut Vec::new(), &mut all);
        if all.len() > MOST_HANDS {
            Stream::from_text("hands of texas_holdem").shuffle(&mut all);
            all.truncate(MOST_HANDS);
        }
        let held = all.iter().map(|h| HoleHand { bits: bits(h), hand: h.iter().copied().collect() }).collect();
        let suits = |h: &[Card]| h.iter().fold(0u32, |set, c| set | 1 << (c % 4)).count_ones();
        let kinds = all.iter().map(|h| (h.iter().map(|c| c / 4).collect(), suits(h))).collect();
        Deck { cards, board: table.board.last().copied().unwrap_or(0), held, kinds }
    }

    /// Returns the index of a hand.
    #[cfg(test)]
    pub fn place(&self, hole: &[Card]) -> Option<usize> {
        self.held.iter().position(|h| h.bits == bits(hole))
    }

    fn without(&self, gone: u64) -> Vec<Card> {
        self.cards.iter().copied().filter(|c| gone >> c & 1 == 0).collect()
    }
}

fn choose(cards: &[Card], n: usize, chosen: &mut Vec<Card>, all: &mut Vec<Vec<Card>>) {
    if n == 0 {
        return all.push(chosen.clone());
    }
    for (i, &card) in cards.iter().enumerate() {
        chosen.push(card);
        choose(&cards[i + 1..], n - 1, chosen, all);
        chosen.pop();
    }
}

/// Moves `n` random cards of `deck` to its front.
fn draw(deck: &mut [Card], n: usize, rng: &mut Stream) {
    for i in 0..n.min(deck.len()) {
        deck.swap(i, i + rng.below(deck.len() - i));
    }
}

/// Full board with every hand's strength on it, weakest first.
struct Board {
    sorted: Vec<(u16, u16)>,
    own: u16,
}

/// Completes `board` in up to `most` ways, without the cards in `gone`. `hole` is the own hand.
fn boards(deck: &Deck, hole: Hand, board: &[Card], gone: u64, most: usize, rng: &mut Stream) -> Vec<Board> {
    let missing = deck.board.saturating_sub(board.len());
    let known: Hand = board.iter().copied().collect();
    let mut rest = deck.without(gone);
    (0..if missing == 0 { 1 } else { most })
        .map(|_| {
            draw(&mut rest, missing, rng);
            let drawn = &rest[..missing.min(rest.len())];
            let full = drawn.iter().fold(known, |all, &c| all + Hand::from(c));
            let taken = gone | bits(drawn);
            let fits = |(_, h): &(u16, &HoleHand)| h.bits & taken == 0;
            let mut sorted: Vec<(u16, u16)> =
                (0..).zip(&deck.held).filter(fits).map(|(i, h)| ((h.hand + full).strength(), i)).collect();
            sorted.sort_unstable();
            Board { sorted, own: (hole + full).strength() }
        })
        .collect()
}

/// Returns for each hand the share of other hands that it beats on these boards, ties as half; 0.5 for impossible
/// hands.
fn shares(deck: &Deck, boards: &[Board]) -> Vec<f64> {
    let mut sums = vec![(0.0, 0u32); deck.held.len()];
    for b in boards {
        let mut below = 0;
        for tied in b.sorted.chunk_by(|x, y| x.0 == y.0) {
            let share = (f64::from(below) + 0.5 * (tied.len() as f64 - 1.0)) / (b.sorted.len().max(2) as f64 - 1.0);
            for &(_, i) in tied {
                let sum = &mut sums[usize::from(i)];
                *sum = (sum.0 + share, sum.1 + 1);
            }
            below += tied.len() as u32;
        }
    }
    sums.into_iter().map(|(sum, n)| if n == 0 { 0.5 } else { sum / f64::from(n) }).collect()
}

/// Returns the preflop equity of every hand against a random hand.
pub fn preflop(deck: &Deck) -> Vec<f64> {
    let rng = &mut Stream::from_text("boards of texas_holdem");
    let one_by_one = shares(deck, &boards(deck, Hand::default(), &[], 0, PREFLOP_BOARDS, rng));
    let mut alike: BTreeMap<&(Vec<Card>, u32), (f64, u32)> = BTreeMap::new();
    for (kind, e) in deck.kinds.iter().zip(&one_by_one) {
        let sum = alike.entry(kind).or_default();
        *sum = (sum.0 + e, sum.1 + 1);
    }
    deck.kinds.iter().map(|kind| alike.get(kind).map_or(0.5, |(sum, n)| sum / f64::from(*n))).collect()
}

/// Returns the equity of every hand in an earlier round with this `board`.
pub fn earlier(deck: &Deck, board: &[Card], rng: &mut Stream) -> Vec<f64> {
    shares(deck, &boards(deck, Hand::default(), board, bits(board), EARLIER_BOARDS, rng))
}

/// Returns the share of hands that the own hand beats on the current board, ties as half.
pub fn beaten(deck: &Deck, hole: &[Card], board: &[Card]) -> f64 {
    let gone = bits(hole) | bits(board);
    let known: Hand = board.iter().copied().collect();
    let own = (hole.iter().copied().collect::<Hand>() + known).strength();
    let (mut sum, mut n) = (0.0, 0u32);
    for held in deck.held.iter().filter(|h| h.bits & gone == 0) {
        let other = (held.hand + known).strength();
        sum += if other < own { 1.0 } else { 0.5 * f64::from(u8::from(other == own)) };
        n += 1;
    }
    if n == 0 { 0.5 } else { sum / f64::from(n) }
}

/// Returns the mean share of the pot that the own hand wins against `others` random hands.
pub fn sampled(deck: &Deck, hole: &[Card], board: &[Card], others: usize, samples: u32, rng: &mut Stream) -> f64 {
    Equity::against_random(&deck.cards, hole, board, deck.board, others, samples, rng)
}

/// Weights of a seat's possible hands, one for each of [`Deck::held`].
pub type Range = Vec<f64>;

/// Own hand against all possible hands, over future boards.
pub struct HandEquity {
    boards: Vec<Board>,
    /// 1 for each possible hand, 0 for impossible ones.
    pub possible: Range,
    /// Equity of each hand against a random one.
    pub equities: Vec<f64>,
}

impl HandEquity {
    pub fn new(deck: &Deck, hole: &[Card], board: &[Card], preflop: &[f64], rng: &mut Stream) -> HandEquity {
        let gone = bits(hole) | bits(board);
        let boards = boards(deck, hole.iter().copied().collect(), board, gone, BOARDS, rng);
        let equities = if board.is_empty() { preflop.to_vec() } else { shares(deck, &boards) };
        let possible = deck.held.iter().map(|h| if h.bits & gone == 0 { 1.0 } else { 0.0 }).collect();
        HandEquity { boards, possible, equities }
    }

    /// Returns by board the share of `range` that the own hand beats, ties as half.
    fn beats(&self, range: &Range) -> impl Iterator<Item = f64> {
        self.boards.iter().map(|b| {
            let (mut won, mut all) = (0.0, 0.0);
            for &(strength, i) in &b.sorted {
                let w = range[usize::from(i)];
                all += w;
                won += if strength < b.own { w } else { 0.5 * w * f64::from(u8::from(strength == b.own)) };
            }
            if all > 0.0 { won / all } else { 0.5 }
        })
    }

    /// Returns the share of the pot that the own hand wins against these ranges.
    pub fn equity(&self, ranges: &[Range]) -> f64 {
        let folds = vec![0.0; ranges.len()];
        self.equity_if_called(ranges, &folds)
    }

    /// Returns the same share if each opponent folds with the probability in `out` and at least one calls.
    pub fn equity_if_called(&self, ranges: &[Range], out: &[f64]) -> f64 {
        let nobody = out.iter().product::<f64>();
        let mut won = vec![1.0; self.boards.len()];
        for (range, out) in ranges.iter().zip(out) {
            won.iter_mut().zip(self.beats(range)).for_each(|(w, beats)| *w *= out + (1.0 - out) * beats);
        }
        let mean = won.iter().sum::<f64>() / won.len().max(1) as f64;
        if nobody < 1.0 { (mean - nobody) / (1.0 - nobody) } else { 1.0 }
    }
}
