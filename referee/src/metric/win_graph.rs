//! Who beats whom: the graph of the winners of pairs.

use super::{ParamDef, Takes};
use crate::rating::table::crosstable;
use crate::rows::Rows;

/// What an edge is made of.
pub(super) const RULE: ParamDef = ParamDef::new(
    "rule",
    "best_of_cycles",
    Takes::Words(&["best_of_cycles", "cycles"]),
    "one graph of the pairs over all cycles, or one for each cycle and the mean over these",
);

/// The graph of a pool: an edge from the one who won more matches of a pair to the other.
#[derive(Clone, Debug, Default)]
pub(super) struct WinGraph {
    /// The agents, in the order of the plan.
    pub agents: Vec<usize>,
    /// Edges as places in `agents`, with how many matches more were won; ascending.
    pub edges: Vec<(usize, usize, u64)>,
}

impl WinGraph {
    /// By all matches of `rows`.
    pub fn of(rows: &Rows) -> WinGraph {
        let (agents, table) = (rows.agents_here(), crosstable(rows.agents().len(), rows.games()));
        let mut edges = Vec::new();
        for (from, &a) in agents.iter().enumerate() {
            for (to, &b) in agents.iter().enumerate() {
                let more = table[a][b].wins.saturating_sub(table[a][b].losses);
                if a != b && more > 0 {
                    edges.push((from, to, more));
                }
            }
        }
        WinGraph { agents, edges }
    }

    /// The graphs that a [`RULE`] asks for.
    pub fn by_rule(rows: &Rows, rule: &str) -> Vec<WinGraph> {
        match rule {
            "cycles" => rows.cycles().into_iter().map(|cycle| WinGraph::of(&rows.of_cycle(cycle))).collect(),
            _ => vec![WinGraph::of(rows)],
        }
    }
}
