use serde_json::Value as Json;

use super::*;

const BOUNDS: Bounds = Bounds { length: 6, most: 100_000 };

fn of(n: usize, edges: &[(usize, usize)]) -> Loops {
    let edges: Vec<(usize, usize, u64)> = edges.iter().map(|&(a, b)| (a, b, 1)).collect();
    Loops::of(n, &edges, &BOUNDS)
}

/// Compares with values that `referee/tests/data/values.py` computed.
#[test]
fn measures_agree_with_networkx() {
    let all: Json = serde_json::from_str(include_str!("../../../../tests/data/values.json")).unwrap();
    let graphs = all["graphs"].as_array().unwrap();
    assert!(graphs.len() > 4);
    for graph in graphs {
        let number = |of: &Json| of.as_u64().unwrap() as usize;
        let edge = |edge: &Json| (number(&edge[0]), number(&edge[1]));
        let edges: Vec<(usize, usize)> = graph["edges"].as_array().unwrap().iter().map(edge).collect();
        for (name, value) in of(number(&graph["n"]), &edges).entries() {
            if let Some(want) = graph.get(name) {
                assert_eq!(value, want.as_f64(), "{name} of {graph}");
            }
        }
    }
}

#[test]
fn measures_of_a_triangle_equal_hand_computed_values() {
    let found = of(4, &[(0, 1), (0, 3), (1, 2), (2, 0)]);
    let want = Loops {
        dfs: 1,
        dfs_longest: 3,
        triangles: 1,
        // The maximum for four nodes is two: 4 (16 - 4) / 24.
        triangle_share: 0.5,
        components: 2,
        largest: 3,
        feedback: 0.75,
        simple: 1,
        longest: Some(3),
    };
    assert_eq!(found, want);
    assert_eq!(of(3, &[]).longest, Some(0));
}

#[test]
fn cycle_searches_stop_at_fixed_bounds() {
    // In a strongly connected tournament of 21 nodes, a cycle through all nodes exists, so no search is needed.
    let beats = |a: usize, b: usize| (b + 21 - a) % 21 <= 10;
    let pairs = (0..21).flat_map(|a| (0..21).map(move |b| (a, b))).filter(|&(a, b)| a != b && beats(a, b));
    let mut edges: Vec<(usize, usize)> = pairs.collect();
    let found = of(21, &edges);
    assert_eq!((found.longest, found.simple), (Some(21), BOUNDS.most));
    // A tournament in which all nodes have equal out-degree has the maximum number of triangles.
    assert_eq!(found.triangle_share, 1.0);
    edges.retain(|&edge| edge != (0, 1));
    assert_eq!(of(21, &edges).longest, None);
}
