//! Wins, draws and losses of a cycle.

use super::wdl::tally;
use super::{Args, Measurement, Metric, Value};
use crate::rows::Rows;

/// Mean numbers of matches that the agent wins, draws and loses in a cycle.
///
/// Source: Qi Town, table 3, whose rows add up to 19 for 20 players.
pub const WDL_CYCLES: Metric = Metric {
    id: "wdl_cycles",
    title: "Wins, draws, losses of a cycle",
    unit: "matches per cycle",
    digits: 2,
    formula: "wins, draws and losses of each cycle; mean over the cycles in which the agent played",
    source: "Qi Town",
    of: wdl_cycles,
    planned: true,
    ..Metric::DEFAULT
};

fn wdl_cycles(rows: &Rows, _: &Args) -> Option<Value> {
    let cycles = rows.cycles().into_iter().map(|cycle| tally(&rows.of_cycle(cycle)));
    let played: Vec<_> = cycles.filter(|tally| tally.games() > 0).collect();
    let n = played.iter().map(|tally| tally.games()).sum();
    let mean = |of: fn(&crate::rating::table::Tally) -> u64| {
        Measurement::plain(played.iter().map(of).sum::<u64>() as f64 / played.len() as f64, n)
    };
    let shares = [("wins", mean(|t| t.wins)), ("draws", mean(|t| t.draws)), ("losses", mean(|t| t.losses))];
    (n > 0).then(|| Value::Shares(shares.map(|(name, m)| (name.to_owned(), m)).to_vec()))
}
