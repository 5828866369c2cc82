//! Graph of the winners of pairs.

use super::{ParamDef, Takes};
use crate::rating::table::crosstable;
use crate::rows::Rows;

/// Rule for the edges of the graph.
pub(super) const RULE: ParamDef = ParamDef::new(
    "rule",
    "best_of_cycles",
    Takes::Words(&["best_of_cycles", "cycles"]),
    "best_of_cycles: one graph over all cycles; cycles: one graph per cycle, and the mean over the graphs",
);

/// Graph of a pool: an edge leads from the agent that won more matches of a pair to the agent that won fewer.
#[derive(Clone, Debug, Default)]
pub(super) struct WinGraph {
    /// Agents in the order of the plan.
    pub agents: Vec<usize>,
    /// Edges in ascending order, as (winner, loser, difference in wins). Winner and loser are indices into `agents`.
    pub edges: Vec<(usize, usize, u64)>,
}

impl WinGraph {
    /// Builds the graph of all matches in `rows`.
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

    /// Builds the graphs for a value of [`RULE`].
    pub fn by_rule(rows: &Rows, rule: &str) -> Vec<WinGraph> {
        match rule {
            "cycles" => rows.cycles().into_iter().map(|cycle| WinGraph::of(&rows.of_cycle(cycle))).collect(),
            _ => vec![WinGraph::of(rows)],
        }
    }
}
