//! Nash averaging.

use super::{Args, Measurement, Metric, ParamDef, Takes, Value, rated};
use crate::rating::nash::max_entropy_nash;
use crate::rating::payoffs::payoffs;
use crate::rows::Rows;

/// Share of each agent in the equilibrium of a game in which two players each choose an agent and the better agent
/// wins. With `of = payoff`, the agent's expected payoff against the equilibrium. Copies of an agent, and agents that
/// lose to all other agents, do not change the payoff of any other agent.
///
/// The payoff of agent a against agent b is the mean score of a minus that of b. Absent if two of the agents never met.
pub const NASH_AVERAGING: Metric = Metric {
    id: "nash_averaging",
    title: "Nash averaging",
    digits: 4,
    formula: "p of maximum entropy with A p <= 0, p >= 0 and sum p = 1, where A(a, b) is the mean score of a against b minus the mean score of b against a; of = payoff: (A p)(a)",
    source: "D. Balduzzi and others, NeurIPS 2018",
    params: &[ParamDef::new("of", "mass", Takes::Words(&["mass", "payoff"]), "share in the equilibrium, or payoff")],
    of: nash_averaging,
    ..Metric::DEFAULT
};

fn nash_averaging(rows: &Rows, args: &Args) -> Option<Value> {
    rated(rows, &format!("nash_averaging {args}"), |rows| {
        let (here, games) = (rows.agents_here(), rows.games());
        let mut out = vec![None; rows.agents().len()];
        let Some(scores) = payoffs(&here, &games) else { return out };
        let game = &scores - &scores.t();
        let Some(mass) = max_entropy_nash(&game) else { return out };
        let values = if args.is("of", "payoff") { game.dot(&mass) } else { mass };
        for (&agent, value) in here.iter().zip(values) {
            out[agent] = Some(Measurement::plain(value, games.len() as u64));
        }
        out
    })
}
