//! Inferred ranges of opponents, and predictions of their replies to a raise.
//!
//! The model assumes that opponents know the equity of their hand against a random hand and require more equity for
//! higher stakes. Hands that contradict the model keep a small weight.

use ludex_env::Stream;

use super::hand_equity::{self, Deck, HandEquity, Range};
use super::spot::{LiveOpponent, Raise, Spot};

/// Weight factor of a hand that contradicts an action of its owner.
const DOUBT: f64 = 0.1;

/// Returns the equity needed to call `owed` into `pot`: the pot odds, plus a margin that grows with the bet.
fn needed(owed: f64, pot: f64) -> f64 {
    if owed <= 0.0 {
        return 0.0;
    }
    let odds = owed / (pot + owed);
    odds + (1.0 - odds) * 0.4 * (owed / pot.max(owed)).min(1.0)
}

/// Returns [`DOUBT`] for an equity up to `low` and 1 from `high` on, with linear growth in between.
fn ramp(e: f64, low: f64, high: f64) -> f64 {
    ((e - low) / (high - low)).clamp(DOUBT, 1.0)
}

/// Infers the range of each opponent from that opponent's actions.
pub fn of(deck: &Deck, field: &HandEquity, spot: &Spot, preflop: &[f64], rng: &mut Stream) -> Vec<Range> {
    // Equities of every hand in earlier rounds, each with the number of board cards in that round.
    let mut thought: Vec<(usize, Vec<f64>)> = Vec::new();
    let boards = spot.others.iter().flat_map(|o| &o.deeds).map(|d| d.board);
    for n in boards {
        if n > 0 && n < spot.board.len() && !thought.iter().any(|(known, _)| *known == n) {
            thought.push((n, hand_equity::earlier(deck, &spot.board[..n], rng)));
        }
    }
    let range = |other: &LiveOpponent| {
        let mut range = field.possible.clone();
        for deed in &other.deeds {
            let earlier = thought.iter().find(|(n, _)| *n == deed.board).map(|(_, e)| e.as_slice());
            let equities = match earlier {
                Some(e) => e,
                None if deed.board == 0 => preflop,
                None => &field.equities,
            };
            let bar = if deed.raised > 0.0 {
                // A pot-sized raise indicates a hand in the best third, a small raise a hand in the best half.
                0.5 + 0.25 * (deed.raised / (deed.pot + deed.owed).max(1.0)).min(1.0)
            } else {
                needed(deed.owed, deed.pot)
            };
            for (w, &e) in range.iter_mut().zip(equities) {
                *w *= match deed {
                    d if d.raised > 0.0 || d.owed > 0.0 => ramp(e, bar - 0.2, bar),
                    // A seat that checks rarely has the best hands.
                    _ => 1.0 - 0.5 * ((e - 0.6) / 0.3).clamp(0.0, 1.0),
                };
            }
        }
        range
    };
    spot.others.iter().map(range).collect()
}

/// Returns the expected value of a raise: the pot if all opponents fold, otherwise the share of the pot after the calls
/// minus the cost.
pub fn raise_value(field: &HandEquity, ranges: &[Range], spot: &Spot, raise: &Raise) -> f64 {
    // Chips that no opponent can match are returned.
    let most = spot.others.iter().map(|o| o.spent + o.left).fold(0.0, f64::max);
    let to = raise.to.min(most);
    let mine = to - spot.spent;
    let (mut out, mut calling, mut added) = (Vec::new(), Vec::new(), 0.0);
    for (range, other) in ranges.iter().zip(&spot.others) {
        let owed = (to - other.spent).min(other.left).max(0.0);
        let bar = needed(owed, spot.pot + mine);
        let goes_on: Range = range.iter().zip(&field.equities).map(|(w, &e)| w * ramp(e, bar - 0.1, bar)).collect();
        let all: f64 = range.iter().sum();
        let folds = if all > 0.0 { 1.0 - goes_on.iter().sum::<f64>() / all } else { 0.0 };
        added += (1.0 - folds) * owed;
        out.push(folds);
        calling.push(goes_on);
    }
    let nobody: f64 = out.iter().product();
    if nobody >= 1.0 {
        return spot.pot;
    }
    let equity = field.equity_if_called(&calling, &out);
    nobody * spot.pot + (1.0 - nobody) * (equity * (spot.pot + mine + added / (1.0 - nobody)) - mine)
}
