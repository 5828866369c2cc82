//! Possible hands of opponents, and the seat's equity against them.

use std::collections::BTreeMap;

use ludex_env::Stream;
use ludex_games::cards::{Card, Equity, Hand};

use super::spot::TableFacts;

/// Maximum number of possible hands; if there are more, a random sample is used.
const MOST_HANDS: usize = 1_500;
/// Number of boards sampled for preflop equities.
const PREFLOP_BOARDS: usize = 400;
/// Number of boards sampled for a decision. For equities in earlier rounds, the number is `EARLIER_BOARDS`.
const BOARDS: usize = 48;
const EARLIER_BOARDS: usize = 16;

/// Possible hole cards, as a bit mask and as a `Hand` for strength evaluation.
#[derive(Clone, Copy)]
pub struct HoleHand {
    bits: u64,
    hand: Hand,
}

fn bits(cards: &[Card]) -> u64 {
    cards.iter().fold(0, |all, c| all | 1 << c)
}

/// Deck, number of cards on a full board, and possible hole cards (or a sample of them).
pub struct Deck {
    cards: Vec<Card>,
    board: usize,
    pub held: Vec<HoleHand>,
    /// Ranks and number of suits of each hand. Hands with equal entries are equivalent preflop.
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

    /// Returns the index of these hole cards in `held`.
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

/// Moves `n` random cards to the front of `deck`.
fn draw(deck: &mut [Card], n: usize, rng: &mut Stream) {
    for i in 0..n.min(deck.len()) {
        deck.swap(i, i + rng.below(deck.len() - i));
    }
}

/// Full board, with the strength and index of every possible hand, weakest first.
struct Board {
    sorted: Vec<(u16, u16)>,
    own: u16,
}

/// Returns `most` random completions of `board` without the cards in `gone`; if `board` is full, returns it once.
/// `hole` is the seat's hand.
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

/// Returns, for each hand, the share of other hands that it beats on these boards. Ties count as half. The share is 0.5
/// for impossible hands.
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

/// Returns the equity of every hand against a random hand in the round in which the board was `board`.
pub fn earlier(deck: &Deck, board: &[Card], rng: &mut Stream) -> Vec<f64> {
    shares(deck, &boards(deck, Hand::default(), board, bits(board), EARLIER_BOARDS, rng))
}

/// Returns the share of possible hands that the seat's hand beats on the current board. Ties count as half.
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

/// Returns the seat's mean share of the pot against `others` random hands, over sampled boards.
pub fn sampled(deck: &Deck, hole: &[Card], board: &[Card], others: usize, samples: u32, rng: &mut Stream) -> f64 {
    Equity::against_random(&deck.cards, hole, board, deck.board, others, samples, rng)
}

/// Weight of each possible hand of a seat, in the order of [`Deck::held`].
pub type Range = Vec<f64>;

/// Seat's hand compared with all possible hands on sampled full boards.
pub struct HandEquity {
    boards: Vec<Board>,
    /// Weight 1 for each possible hand and 0 for each impossible hand.
    pub possible: Range,
    /// Equity of each hand against a random hand.
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

    /// Returns, for each board, the share of `range` that the seat's hand beats. Ties count as half.
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

    /// Returns the seat's share of the pot against these ranges.
    pub fn equity(&self, ranges: &[Range]) -> f64 {
        let folds = vec![0.0; ranges.len()];
        self.equity_if_called(ranges, &folds)
    }

    /// Returns the seat's share of the pot against these ranges if at least one opponent calls. `out` contains each
    /// opponent's probability of folding.
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
