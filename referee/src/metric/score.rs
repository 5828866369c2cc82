//! Score rate: the share of the points.

use super::{Args, Measurement, Metric, Value};
use crate::rating::PlayedGame;
use crate::rating::table::Tally;
use crate::rows::Rows;

/// Ratio `(wins + draws / 2) / comparisons`, with Wilson's interval. In a game of n seats, a seat is compared with each
/// of the n - 1 other seats.
pub const SCORE_RATE: Metric = Metric {
    id: "score_rate",
    title: "Score",
    unit: "share of points",
    formula: "(wins + draws / 2) / comparisons; a comparison is a match of the seat against a non-allied seat; Wilson interval; only in \
              games with winners and losers",
    source: "E. B. Wilson, JASA 22 (1927)",
    of: score_rate,
    ..Metric::DEFAULT
};

fn score_rate(rows: &Rows, _: &Args) -> Option<Value> {
    let mut tally = Tally::default();
    // Games without competition have no points to share.
    for sample in rows.samples().iter().filter(|sample| rows.is_contest(sample.game)) {
        // Each seat counts as its own player, so that a game against oneself counts for both sides.
        let seats = (0..sample.game.players.len()).collect();
        for duel in (PlayedGame { seats, ..sample.game.played(None) }).duels() {
            if duel.a == sample.seat {
                tally.add(duel.score);
            } else if duel.b == sample.seat {
                tally.add(1.0 - duel.score);
            }
        }
    }
    let i = tally.score()?;
    Some(Value::Number(Measurement { value: i.value, low: Some(i.low), high: Some(i.high), n: tally.games() }))
}
