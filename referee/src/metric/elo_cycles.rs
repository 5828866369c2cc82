//! Elo per cycle: sequential Elo that restarts in each cycle.

use super::elo::after;
use super::{Args, Measurement, Metric, ParamDef, Takes, Value, rated};
use crate::rating::elo::Elo;
use crate::rows::Rows;

/// Mean of the Elo ratings at the ends of the cycles. Ratings restart in each cycle and follow the order of the plan.
///
/// Source: Qi Town, section 3 of the protocol; K = 32 fits the published tables best.
pub const ELO_CYCLES: Metric = Metric {
    id: "elo_cycles",
    title: "Elo of a cycle",
    unit: "Elo points",
    digits: 0,
    formula: "Elo, restarted in each cycle; mean over the cycles in which the agent played",
    source: "Qi Town; A. Elo, The Rating of Chessplayers, 1978",
    params: &[
        ParamDef::new("k", "32", Takes::Number, "maximum rating change per match"),
        ParamDef::new("start", "1500", Takes::Number, "initial rating in each cycle"),
    ],
    of: elo_cycles,
    planned: true,
    ..Metric::DEFAULT
};

fn elo_cycles(rows: &Rows, args: &Args) -> Option<Value> {
    let settings = Elo { start: args.number("start"), k: args.number("k") };
    rated(rows, &format!("elo_cycles {args}"), |rows| {
        let cycles: Vec<_> = rows.cycles().into_iter().map(|cycle| after(&rows.of_cycle(cycle), settings)).collect();
        let mean = |agent: usize| {
            let own: Vec<Measurement> = cycles.iter().filter_map(|cycle| cycle[agent]).collect();
            let (sum, n) = own.iter().fold((0.0, 0), |(sum, n), m| (sum + m.value, n + m.n));
            (n > 0).then(|| Measurement::plain(sum / own.len() as f64, n))
        };
        (0..rows.agents().len()).map(mean).collect()
    })
}
