//! Score rate: the share of the points.

use super::{Measure, Metric, Sample};
use crate::outcome::is_fight;
use crate::rating::table::Tally;

/// `(wins + draws / 2) / comparisons`, with Wilson's interval. In a game of n seats every other seat is a comparison.
///
/// Unit: share of the points, 0 to 1. Source: E. B. Wilson, *JASA* 22 (1927), for the interval.
pub const SCORE_RATE: Metric = Metric {
    id: "score_rate",
    title: "Score",
    unit: "share of points",
    digits: 3,
    formula: "(wins + draws / 2) / comparisons; in a game of n seats every other seat that is not an ally is a comparison; Wilson \
              interval; only in games that can be won against somebody",
    source: "E. B. Wilson, JASA 22 (1927)",
    of: score_rate,
};

fn score_rate(samples: &[Sample]) -> Option<Measure> {
    let mut tally = Tally::default();
    // What is not a fight has no points to share.
    for sample in samples.iter().filter(|sample| is_fight(&*sample.game.game)) {
        // Every seat a player of its own, so that a game against oneself counts from both sides.
        let seats = (0..sample.game.seats.len()).collect();
        for duel in sample.game.played(seats, None).duels() {
            if duel.a == sample.seat {
                tally.add(duel.score);
            } else if duel.b == sample.seat {
                tally.add(1.0 - duel.score);
            }
        }
    }
    let i = tally.score()?;
    Some(Measure { value: i.value, low: Some(i.low), high: Some(i.high), n: tally.games() })
}
