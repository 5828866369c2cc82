//! Alpha-rank.

use super::{Args, Measurement, Metric, ParamDef, Takes, Value, rated};
use crate::rating::alpha::{Alpha, alpha_rank as masses};
use crate::rating::payoffs::payoffs;
use crate::rows::Rows;

/// Share of time that an evolving population spends at each agent (the stationary distribution of alpha-rank).
///
/// The payoff of agent a against agent b is the mean score of a, from 0 to 1. Absent if two of the agents never met.
pub const ALPHA_RANK: Metric = Metric {
    id: "alpha_rank",
    title: "Alpha-rank",
    unit: "share",
    digits: 4,
    formula: "stationary distribution of the chain that goes from s to r with rho(r, s) / (n - 1), rho = (1 - e^-u) / (1 - e^(-m u)), u = alpha (M(r, s) - M(s, r)), M(a, b) the mean score of a against b, n the number of agents",
    source: "S. Omidshafiei and others, Scientific Reports 9 (2019)",
    params: &[
        ParamDef::new("alpha", "100", Takes::Number, "selection strength: a larger value favors the better agent more"),
        ParamDef::new("m", "50", Takes::Whole, "population size"),
    ],
    of: alpha_rank,
    ..Metric::DEFAULT
};

fn alpha_rank(rows: &Rows, args: &Args) -> Option<Value> {
    rated(rows, &format!("alpha_rank {args}"), |rows| {
        let settings = Alpha { alpha: args.number("alpha"), population: args.whole("m") as u32 };
        let here = rows.agents_here();
        let games = rows.games();
        let found = payoffs(&here, &games).and_then(|payoffs| masses(&payoffs, settings));
        let mut out = vec![None; rows.agents().len()];
        for (&agent, mass) in here.iter().zip(found.into_iter().flatten()) {
            out[agent] = Some(Measurement::plain(mass, games.len() as u64));
        }
        out
    })
}
