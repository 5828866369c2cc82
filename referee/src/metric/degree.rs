//! Degree: the number of opponents that an agent beats, or that beat the agent.

use super::win_graph::{RULE, WinGraph};
use super::{Args, Measurement, Metric, ParamDef, Takes, Value, rated};
use crate::rows::Rows;

/// Number of opponents that the agent beats, or that beat the agent: its out-degree or in-degree in the performance
/// loop graph.
///
/// Source: Qi Town, section 4 of its protocol.
pub const DEGREE: Metric = Metric {
    id: "degree",
    title: "Degree",
    unit: "opponents",
    digits: 1,
    formula: "opponents against which the agent won more matches than it lost (side = out), or lost more than it won (side = in); rule = cycles: mean over cycles",
    source: "Qi Town",
    params: &[ParamDef::new("side", "out", Takes::Words(&["out", "in"]), "outgoing or incoming edges"), RULE],
    of: degree,
    planned: true,
    ..Metric::DEFAULT
};

fn degree(rows: &Rows, args: &Args) -> Option<Value> {
    rated(rows, &format!("degree {args}"), |rows| {
        let graphs = WinGraph::by_rule(rows, args.text("rule"));
        let of = |agent: usize| {
            let mine = |graph: &WinGraph| {
                let own = graph.agents.iter().position(|&other| other == agent)?;
                let end = |edge: &&(usize, usize, u64)| own == if args.is("side", "in") { edge.1 } else { edge.0 };
                Some(graph.edges.iter().filter(end).count() as f64)
            };
            let all: Vec<f64> = graphs.iter().filter_map(mine).collect();
            (!all.is_empty()).then(|| Measurement::plain(all.iter().sum::<f64>() / all.len() as f64, all.len() as u64))
        };
        (0..rows.agents().len()).map(of).collect()
    })
}
