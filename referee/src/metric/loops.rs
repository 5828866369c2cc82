//! Loops of the performance loop graph: cycles of agents that beat one another.

mod measures;

use super::win_graph::{RULE, WinGraph};
use super::{Args, Measurement, Metric, MetricScope, ParamDef, Takes, Value};
use crate::rows::Rows;
use measures::{Bounds, Loops};

/// Measures of how far the graph deviates from a strict order of strength.
///
/// `dfs`: number of back edges of a depth-first search that visits agents and neighbors in plan order. `dfs_longest`:
/// number of agents on the longest cycle that a back edge closes. `triangles`: number of cycles of three agents.
/// `triangle_share`: `triangles` divided by its maximum, which is `n (n^2 - 4) / 24` for even n and `n (n^2 - 1) / 24`
/// for odd n. `components`: number of strongly connected components. `largest`: number of agents in the largest
/// component. `feedback`: share of edges within components. `simple`: number of simple cycles of at most `length`
/// agents, counted up to `most`. `longest`: number of agents on the longest simple cycle; absent if the search would
/// take too long (a component of more than 20 agents with an undecided pair).
///
/// Source: Qi Town, section 4 of its protocol; R. Tarjan, 1972; D. B. Johnson, 1975; P. Camion, 1959; M.
/// Held and R. Karp, 1962.
pub const LOOPS: Metric = Metric {
    id: "loops",
    title: "Loops",
    digits: 2,
    formula: "dfs: back edges of a depth-first search in the order of agents; dfs_longest: agents on the longest cycle that a back edge closes; triangles: cycles of three agents; triangle_share: triangles / their maximum; components: strongly connected components; largest: agents in the largest component; feedback: edges within components / edges; simple: simple cycles of at most `length` agents; longest: agents on the longest simple cycle",
    source: "Qi Town; R. Tarjan (1972); D. B. Johnson (1975); P. Camion (1959)",
    scope: MetricScope::Pool,
    params: &[
        ParamDef::new(
            "of",
            "all",
            Takes::Words(&[
                "all",
                "dfs",
                "dfs_longest",
                "triangles",
                "triangle_share",
                "components",
                "largest",
                "feedback",
                "simple",
                "longest",
            ]),
            "reported measure",
        ),
        RULE,
        ParamDef::new("length", "6", Takes::Whole, "maximum number of agents on a counted simple cycle"),
        ParamDef::new("most", "100000", Takes::Whole, "maximum count of simple cycles"),
    ],
    of: loops,
    planned: true,
    ..Metric::DEFAULT
};

fn loops(rows: &Rows, args: &Args) -> Option<Value> {
    let rows = rows.of_all();
    let graphs = WinGraph::by_rule(&rows, args.text("rule"));
    let bounds = Bounds { length: args.whole("length") as usize, most: args.whole("most") };
    let found: Vec<Vec<(&'static str, Option<f64>)>> = graphs
        .iter()
        .filter(|graph| !graph.agents.is_empty())
        .map(|graph| Loops::of(graph.agents.len(), &graph.edges, &bounds).entries())
        .collect();
    let names: Vec<&str> = found.first()?.iter().map(|(name, _)| *name).collect();
    let mean = |k: usize| {
        let all: Option<Vec<f64>> = found.iter().map(|graph| graph[k].1).collect();
        all.map(|all| Measurement::plain(all.iter().sum::<f64>() / all.len() as f64, all.len() as u64))
    };
    if let Some(one) = names.iter().position(|name| args.is("of", name)) {
        return mean(one).map(Value::Number);
    }
    let all = names.iter().enumerate().filter_map(|(k, name)| Some(((*name).to_owned(), mean(k)?)));
    Some(Value::Shares(all.collect()))
}
