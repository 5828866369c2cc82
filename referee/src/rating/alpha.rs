//! Alpha-rank of one population (S. Omidshafiei and others, "alpha-Rank: Multi-Agent Evaluation by Evolution",
//! Scientific Reports 9, 2019), with OpenSpiel's local selection: fitness is the payoff against the current opponent.

use ndarray::{Array1, Array2, Axis};
use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;

use super::linear::part;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alpha {
    /// Selection strength: a larger value favors the better strategy more.
    pub alpha: f64,
    pub population: u32,
}

/// Returns the probability that a single mutant takes over the population if its payoff exceeds the residents' by
/// `gain`: `(1 - e^-u) / (1 - e^(-m u))`, with `u = alpha * gain` and the population size `m`.
fn fixation(gain: f64, Alpha { alpha, population }: Alpha) -> f64 {
    let (u, m) = (alpha * gain, f64::from(population.max(1)));
    if u.abs() < 1e-14 {
        return 1.0 / m;
    }
    if u > 0.0 {
        return (-u).exp_m1() / (-m * u).exp_m1();
    }
    // Equal to the formula above, but without overflow.
    ((m - 1.0) * u).exp() * u.exp_m1() / (m * u).exp_m1()
}

/// Returns the stationary distribution over the strategies of a symmetric game; `payoffs[[a, b]]` is the payoff of a
/// against b. `None` without strategies, or if the stationary distribution is not unique.
pub fn alpha_rank(payoffs: &Array2<f64>, settings: Alpha) -> Option<Array1<f64>> {
    let n = payoffs.nrows();
    let rate =
        |from: usize, to: usize| fixation(payoffs[[to, from]] - payoffs[[from, to]], settings) / (n as f64 - 1.0);
    let mut graph: DiGraphMap<usize, ()> = DiGraphMap::new();
    for node in 0..n {
        graph.add_node(node);
    }
    let pairs = (0..n).flat_map(|a| (0..n).map(move |b| (a, b))).filter(|(a, b)| a != b);
    for (a, b) in pairs.filter(|&(a, b)| rate(a, b) > 0.0) {
        graph.add_edge(a, b, ());
    }
    // The distribution is unique only if exactly one class of strategies is closed.
    let closed = |class: &&Vec<usize>| class.iter().all(|&a| graph.neighbors(a).all(|b| class.contains(&b)));
    let classes = tarjan_scc(&graph);
    let mut ends = classes.iter().filter(closed);
    let (class, None) = (ends.next()?, ends.next()) else { return None };
    let mut out = Array1::<f64>::zeros(n);
    for (&node, mass) in class.iter().zip(stationary(class, &rate)) {
        out[node] = mass;
    }
    Some(out)
}

/// Returns the stationary distribution of an irreducible Markov chain. The algorithm subtracts nothing, so that small
/// probabilities are accurate: W. Grassmann, M. Taksar and D. Heyman, "Regenerative analysis and steady state
/// distributions for Markov chains", Operations Research 33, 1985.
fn stationary(class: &[usize], rate: &impl Fn(usize, usize) -> f64) -> Array1<f64> {
    let n = class.len();
    // The diagonal is never read.
    let mut rates = Array2::from_shape_fn((n, n), |(a, b)| rate(class[a], class[b]));
    for k in (1..n).rev() {
        let mut last = rates.row(k).to_owned();
        last.slice_axis_mut(Axis(0), (k..).into()).fill(0.0);
        let out = last.sum();
        for mut row in rates.outer_iter_mut().take(k) {
            let through = row[k] / out;
            row.scaled_add(through, &last);
            row[k] = through;
        }
    }
    let mut mass = Array1::<f64>::ones(n);
    for k in 1..n {
        mass[k] = part(mass.view(), ..k).dot(&part(rates.column(k), ..k));
    }
    &mass / mass.sum()
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn fixation_probability_agrees_with_the_closed_form() {
        let settings = Alpha { alpha: 1.0, population: 2 };
        // m = 2: 1 / (1 + e^-u), the logistic function.
        for gain in [-3.0_f64, -0.5, 0.0, 0.25, 2.0] {
            assert!((fixation(gain, settings) - 1.0 / (1.0 + (-gain).exp())).abs() < 1e-14, "{gain}");
        }
        let strong = Alpha { alpha: 1e3, population: 50 };
        assert_eq!((fixation(1.0, strong), fixation(-1.0, strong)), (1.0, 0.0));
    }

    #[test]
    fn alpha_rank_is_unique_under_neutral_drift_and_uniform_in_a_cycle() {
        // Strategies 0 and 1 do not beat each other; only neutral drift connects them.
        let payoffs = array![[1.0, 0.0], [0.0, 1.0]];
        assert!(alpha_rank(&payoffs, Alpha { alpha: 1e3, population: 50 }).is_some(), "neutral drift joins them");
        // Each strategy of a cycle of three gets a third.
        let circle = array![[0.5, 1.0, 0.0], [0.0, 0.5, 1.0], [1.0, 0.0, 0.5]];
        let masses = alpha_rank(&circle, Alpha { alpha: 100.0, population: 50 }).unwrap();
        assert!(masses.iter().all(|mass| (mass - 1.0 / 3.0).abs() < 1e-12), "{masses:?}");
    }
}
