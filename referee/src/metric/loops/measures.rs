//! Cycles of a directed graph.

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use petgraph::visit::{DfsEvent, depth_first_search};

/// Limits of the search for simple cycles.
pub(super) struct Bounds {
    /// Maximum number of nodes in a counted cycle.
    pub length: usize,
    /// Maximum number of cycles to count.
    pub most: u64,
}

/// Maximum number of search steps for simple cycles, to bound the search in graphs with many paths but few cycles.
const STEPS: u64 = 20_000_000;

/// Maximum number of nodes in a component for the search of the longest cycle.
const SEARCHED: usize = 20;

/// Measures of a graph, named as in the metric `loops`.
#[derive(Debug, PartialEq)]
pub(super) struct Loops {
    dfs: usize,
    dfs_longest: usize,
    triangles: usize,
    triangle_share: f64,
    components: usize,
    largest: usize,
    feedback: f64,
    simple: u64,
    longest: Option<usize>,
}

impl Loops {
    /// Measures a graph of `n` nodes with at most one edge between two nodes. Edges must be in ascending order.
    pub fn of(n: usize, edges: &[(usize, usize, u64)], bounds: &Bounds) -> Loops {
        let mut graph: DiGraphMap<usize, ()> = DiGraphMap::new();
        for node in 0..n {
            graph.add_node(node);
        }
        for &(a, b, _) in edges {
            graph.add_edge(a, b, ());
        }
        let (dfs, dfs_longest) = back_edges(n, &graph);
        let components = tarjan_scc(&graph);
        let mut of = vec![0; n];
        components.iter().enumerate().for_each(|(k, own)| own.iter().for_each(|&node| of[node] = k));
        let within = edges.iter().filter(|(a, b, _)| of[*a] == of[*b]).count();
        let triangles = triangles(n, &graph);
        let most = if n.is_multiple_of(2) { n * (n * n).saturating_sub(4) } else { n * (n * n - 1) } as f64 / 24.0;
        let mut longest = Some(0);
        for own in components.iter().filter(|own| own.len() > 1) {
            longest = longest.zip(longest_circle(own, &graph)).map(|(a, b)| a.max(b));
        }
        Loops {
            dfs,
            dfs_longest,
            triangles,
            triangle_share: if most > 0.0 { triangles as f64 / most } else { 0.0 },
            components: components.len(),
            largest: components.iter().map(Vec::len).max().unwrap_or(0),
            feedback: if edges.is_empty() { 0.0 } else { within as f64 / edges.len() as f64 },
            simple: simple_circles(n, &graph, &of, bounds),
            longest,
        }
    }

    /// Returns the name and value of each measure.
    pub fn entries(&self) -> Vec<(&'static str, Option<f64>)> {
        let count = |n: usize| Some(n as f64);
        vec![
            ("dfs", count(self.dfs)),
            ("dfs_longest", count(self.dfs_longest)),
            ("triangles", count(self.triangles)),
            ("triangle_share", Some(self.triangle_share)),
            ("components", count(self.components)),
            ("largest", count(self.largest)),
            ("feedback", Some(self.feedback)),
            ("simple", Some(self.simple as f64)),
            ("longest", self.longest.map(|n| n as f64)),
        ]
    }
}

/// Returns the number of back edges of a depth-first search, and the length of the longest cycle that a back edge
/// closes. The search visits nodes and neighbors in ascending order.
fn back_edges(n: usize, graph: &DiGraphMap<usize, ()>) -> (usize, usize) {
    let (mut depth, mut found, mut longest) = (vec![0; n], 0, 0);
    depth_first_search(graph, 0..n, |event| match event {
        DfsEvent::TreeEdge(a, b) => depth[b] = depth[a] + 1,
        DfsEvent::BackEdge(a, b) => {
            found += 1;
            longest = longest.max(depth[a] - depth[b] + 1);
        }
        _ => {}
    });
    (found, longest)
}

/// Counts the cycles of three nodes.
fn triangles(n: usize, graph: &DiGraphMap<usize, ()>) -> usize {
    let edge = |a, b| usize::from(graph.contains_edge(a, b));
    let mut found = 0;
    for a in 0..n {
        for b in a + 1..n {
            for c in b + 1..n {
                found += edge(a, b) * edge(b, c) * edge(c, a) + edge(a, c) * edge(c, b) * edge(b, a);
            }
        }
    }
    found
}

/// Counts the simple cycles within a component. Each cycle is counted once, from its lowest node.
fn simple_circles(n: usize, graph: &DiGraphMap<usize, ()>, component: &[usize], bounds: &Bounds) -> u64 {
    let (mut found, mut steps) = (0, 0);
    for first in 0..n {
        let mut path = vec![(first, graph.neighbors(first).collect::<Vec<_>>())];
        let mut used = vec![false; n];
        used[first] = true;
        while let Some((node, open)) = path.last_mut() {
            steps += 1;
            if found >= bounds.most || steps > STEPS {
                return found;
            }
            let Some(next) = open.pop() else {
                used[*node] = false;
                path.pop();
                continue;
            };
            if next == first {
                found += 1;
            } else if next > first && !used[next] && component[next] == component[first] && path.len() < bounds.length {
                used[next] = true;
                path.push((next, graph.neighbors(next).collect()));
            }
        }
    }
    found
}

/// Returns the length of the longest simple cycle of a strongly connected component; `None` if the search would take
/// too long.
fn longest_circle(own: &[usize], graph: &DiGraphMap<usize, ()>) -> Option<usize> {
    let n = own.len();
    let edge = |a: usize, b: usize| graph.contains_edge(own[a], own[b]);
    // Every strong tournament has a cycle through all nodes (Camion).
    if (0..n).all(|a| (0..a).all(|b| edge(a, b) || edge(b, a))) {
        return Some(n);
    }
    if n > SEARCHED {
        return None;
    }
    let into: Vec<u32> = (0..n).map(|b| (0..n).filter(|&a| edge(a, b)).fold(0, |set, a| set | 1 << a)).collect();
    // `ends[set]`: the last nodes of paths that start at the lowest node of the set and visit the whole set (Held and
    // Karp).
    let mut ends = vec![0_u32; 1 << n];
    let mut longest = 0;
    for set in 1_u32..1 << n {
        let first = set.trailing_zeros();
        if set.is_power_of_two() {
            ends[set as usize] = set;
            continue;
        }
        let mut here = 0;
        let mut rest = set & !(1 << first);
        while rest != 0 {
            let last = rest.trailing_zeros();
            rest &= rest - 1;
            if ends[(set & !(1 << last)) as usize] & into[last as usize] != 0 {
                here |= 1 << last;
            }
        }
        ends[set as usize] = here;
        if here & into[first as usize] != 0 {
            longest = longest.max(set.count_ones() as usize);
        }
    }
    Some(longest)
}

#[cfg(test)]
mod tests;
