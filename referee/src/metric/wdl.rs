//! Wins, draws and losses.

use super::{Args, Measurement, Metric, Value};
use crate::rating::table::Tally;
use crate::rows::Rows;

/// Numbers of matches that the agent won, drew and lost. The result of a match compares the mean score of the agent's
/// seats with the mean score of the other seats.
pub const WDL: Metric = Metric {
    id: "wdl",
    title: "Wins, draws, losses",
    unit: "matches",
    digits: 0,
    formula: "numbers of matches won, drawn and lost, by the mean scores of the agent's seats and of all other seats; a side that forfeits loses",
    source: "counts",
    of: wdl,
    ..Metric::DEFAULT
};

fn wdl(rows: &Rows, _: &Args) -> Option<Value> {
    let tally = tally(rows);
    let n = tally.games();
    let counts = [("wins", tally.wins), ("draws", tally.draws), ("losses", tally.losses)];
    (n > 0).then(|| Value::Shares(counts.map(|(name, k)| (name.to_owned(), Measurement::plain(k as f64, n))).to_vec()))
}

/// Returns the results of the queried agent, from competitive matches only.
pub(super) fn tally(rows: &Rows) -> Tally {
    let mut tally = Tally::default();
    for (game, seats) in rows.own_matches() {
        if rows.is_contest(game) {
            tally.add(game.points(&seats));
        }
    }
    tally
}
