//! Performance loop graph.

use super::win_graph::WinGraph;
use super::{Args, Edge, Graph, Metric, MetricScope, ParamDef, Takes, Value};
use crate::rows::Rows;

/// Performance loop graph, over all cycles or for a single cycle. An edge leads from the agent that won more matches of
/// a pair to the agent that won fewer.
///
/// Source: Qi Town, section 4 of its protocol.
pub const PLG: Metric = Metric {
    id: "plg",
    title: "Performance loop graph",
    digits: 0,
    formula: "edge from a to b if a won more matches against b than it lost, over all cycles (best_of_cycles) or in a single cycle (cycle); weight: wins - losses",
    source: "Qi Town",
    scope: MetricScope::Pool,
    params: &[
        ParamDef::new("rule", "best_of_cycles", Takes::Words(&["best_of_cycles", "cycle"]), "included cycles"),
        ParamDef::new("cycle", "0", Takes::Whole, "number of the cycle, from 0, for rule = cycle"),
    ],
    of: plg,
    planned: true,
    ..Metric::DEFAULT
};

fn plg(rows: &Rows, args: &Args) -> Option<Value> {
    let rows = rows.of_all();
    let one = args.is("rule", "cycle");
    let beats = if one { WinGraph::of(&rows.of_cycle(args.whole("cycle"))) } else { WinGraph::of(&rows) };
    let nodes: Vec<String> = beats.agents.iter().map(|&agent| rows.agents()[agent].name.clone()).collect();
    let edges = beats.edges.into_iter().map(|(from, to, more)| Edge { from, to, weight: more as f64 });
    (!nodes.is_empty()).then(|| Value::Graph(Graph { nodes, edges: edges.collect() }))
}
