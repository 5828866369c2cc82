//! Equity: the average share of the pot that a hand wins, over all possible boards.

use ludex_env::draw::Stream;

use super::{Card, DECK, Hand};

/// Number of wins of each hand, with ties counted separately.
#[derive(Clone, Debug, PartialEq)]
pub struct Equity {
    /// Number of wins: `wins[h][k]` counts the boards on which hand `h` and `k` other hands share the win.
    wins: Vec<Vec<u64>>,
    boards: u64,
}

/// Number of community cards on a full board.
pub const BOARD: usize = 5;

impl Equity {
    /// Evaluates the hands on every completion of the board.
    ///
    /// Invalid card numbers and duplicate cards are ignored.
    pub fn exact(hands: &[Vec<Card>], board: &[Card]) -> Equity {
        let (deck, held, mut equity) = prepare(hands, board);
        let deck: Vec<Hand> = deck.into_iter().map(Hand::from).collect();
        fill(&deck, BOARD.saturating_sub(board.len()), board.iter().copied().collect(), &mut |full| {
            equity.count(&held, full);
        });
        equity
    }

    /// Evaluates the hands on `samples` random completions of the board.
    pub fn sampled(hands: &[Vec<Card>], board: &[Card], samples: u64, rng: &mut Stream) -> Equity {
        let (mut deck, held, mut equity) = prepare(hands, board);
        let known: Hand = board.iter().copied().collect();
        let missing = BOARD.saturating_sub(board.len()).min(deck.len());
        for _ in 0..samples {
            let mut full = known;
            for i in 0..missing {
                let drawn = i + rng.below(deck.len() - i);
                deck.swap(i, drawn);
                full += Hand::from(deck[i]);
            }
            equity.count(&held, full);
        }
        equity
    }

    /// Returns the average share of the pot that `hole` wins against `others` random hands of the same size. Boards
    /// start with `board` and have `full` cards. Unknown cards are drawn from the rest of `deck`, `samples` times.
    ///
    /// # Panics
    /// Panics if `hole` is empty.
    pub fn against_random(
        deck: &[Card],
        hole: &[Card],
        board: &[Card],
        full: usize,
        others: usize,
        samples: u32,
        rng: &mut Stream,
    ) -> f64 {
        let own: Hand = hole.iter().copied().collect();
        let known: Hand = board.iter().copied().collect();
        let missing = full.saturating_sub(board.len());
        let mut rest: Vec<Card> = deck.iter().copied().filter(|c| !hole.contains(c) && !board.contains(c)).collect();
        let mut sum = 0.0;
        for _ in 0..samples {
            for i in 0..(missing + others * hole.len()).min(rest.len()) {
                let drawn = i + rng.below(rest.len() - i);
                rest.swap(i, drawn);
            }
            let (drawn, holes) = rest.split_at(missing.min(rest.len()));
            let full = drawn.iter().fold(known, |all, &c| all + Hand::from(c));
            let mine = (own + full).strength();
            let mut ties = 1.0;
            let best = holes.chunks(hole.len()).take(others).all(|h| {
                let theirs = h.iter().fold(full, |all, &c| all + Hand::from(c)).strength();
                ties += f64::from(u8::from(theirs == mine));
                theirs <= mine
            });
            sum += if best { 1.0 / ties } else { 0.0 };
        }
        sum / f64::from(samples.max(1))
    }

    /// Returns the number of boards counted.
    pub fn boards(&self) -> u64 {
        self.boards
    }

    /// Returns the average share of the pot per hand; the shares sum to 1.
    pub fn shares(&self) -> Vec<f64> {
        let share = |wins: &Vec<u64>| (1..).zip(wins).map(|(n, &w)| w as f64 / f64::from(n)).sum::<f64>();
        self.wins.iter().map(|wins| share(wins) / self.boards.max(1) as f64).collect()
    }

    fn count(&mut self, held: &[Hand], board: Hand) {
        let (mut best, mut winners) = (0, 0u32);
        for (i, hand) in held.iter().enumerate() {
            let strength = (*hand + board).strength();
            if i == 0 || strength > best {
                (best, winners) = (strength, 1 << i);
            } else if strength == best {
                winners |= 1 << i;
            }
        }
        let ties = winners.count_ones().saturating_sub(1) as usize;
        for (i, wins) in self.wins.iter_mut().enumerate() {
            if let Some(w) = wins.get_mut(ties).filter(|_| winners >> i & 1 == 1) {
                *w += 1;
            }
        }
        self.boards += 1;
    }
}

/// Returns the cards that are not dealt, the hands (at most 32), and an equity with all counts zero.
fn prepare(hands: &[Vec<Card>], board: &[Card]) -> (Vec<Card>, Vec<Hand>, Equity) {
    let hands = &hands[..hands.len().min(32)];
    let known = |c: &Card| board.contains(c) || hands.iter().any(|h| h.contains(c));
    let deck = (0..DECK as Card).filter(|c| !known(c)).collect();
    let held: Vec<Hand> = hands.iter().map(|h| h.iter().copied().collect()).collect();
    let equity = Equity { wins: vec![vec![0; hands.len()]; hands.len()], boards: 0 };
    (deck, held, equity)
}

/// Calls `each` with every board that extends `board` by `missing` cards of `deck`.
fn fill(deck: &[Hand], missing: usize, board: Hand, each: &mut impl FnMut(Hand)) {
    if missing == 0 {
        return each(board);
    }
    for (i, card) in deck.iter().enumerate() {
        fill(&deck[i + 1..], missing - 1, board + *card, each);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cards::cards;

    fn hands(texts: &[&str]) -> Vec<Vec<Card>> {
        texts.iter().map(|t| cards(t).unwrap()).collect()
    }

    #[test]
    fn exact_equity_counts_every_river() {
        // Nut flush draw against a set: the hearts that do not pair the board win, 7 of 44 cards.
        let e = Equity::exact(&hands(&["Ah Kh", "7c 7d"]), &cards("7h 2h Qs 3c").unwrap());
        assert_eq!(e.boards(), 44);
        assert_eq!(e.shares(), [7.0 / 44.0, 37.0 / 44.0]);
        let e = Equity::exact(&hands(&["Ah Kh", "Ad Kd"]), &cards("2c 2d 2h 2s 3c").unwrap());
        assert_eq!((e.boards(), e.shares()), (1, vec![0.5, 0.5]));
    }

    #[test]
    fn sampled_shares_approximate_exact_shares() {
        let (held, board) = (hands(&["As Ad", "Ks Kd", "7h 6h"]), cards("Kc 5h 4d").unwrap());
        let exact = Equity::exact(&held, &board);
        assert_eq!(exact.boards(), 43 * 42 / 2);
        assert!((exact.shares().iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let mut rng = Stream::from_text("equity");
        let drawn = Equity::sampled(&held, &board, 20_000, &mut rng);
        for (a, b) in exact.shares().iter().zip(drawn.shares()) {
            assert!((a - b).abs() < 0.02, "{exact:?} {drawn:?}");
        }
    }

    #[test]
    fn equity_tolerates_invalid_cards_and_hands() {
        assert_eq!(Equity::exact(&[], &[]).shares(), Vec::<f64>::new());
        let e = Equity::sampled(&hands(&["As Ad", "As Ad"]), &[3; 9], 3, &mut Stream::from_text("odd"));
        assert_eq!(e.shares(), [0.5, 0.5]);
    }
}
