//! Monte Carlo counterfactual regret minimization with external sampling: equilibria of games whose trees are too large
//! for full sweeps.
//!
//! In every iteration, one seat after the other traverses all of its own actions, while chance and the other seats
//! sample one action each. The sampled regrets are unbiased. The average policy is updated at the other seats' nodes,
//! which are sampled as often as their policies reach them. In a two-player zero-sum game, the average policy converges
//! to an equilibrium; the error is proportional to one over the square root of the number of iterations.
//! [CFR+](crate::solve::cfr) converges faster if full sweeps are feasible.
//!
//! Source: Lanctot, Waugh, Zinkevich and Bowling, *Monte Carlo sampling for regret minimization in extensive games*
//! (2009); OpenSpiel's `algorithms/external_sampling_mccfr.cc` for the update of the average.

use ludex_env::{Seat, Stream};

use crate::solve::tree::{GameTree, GameTreeNode, NodeKind};

/// External-sampling MCCFR on one game tree. Policies have the layout of [`GameTree`].
pub struct Mccfr<'t> {
    tree: &'t GameTree,
    rng: Stream,
    regrets: Vec<f64>,
    /// Sum of the policies of all iterations.
    sums: Vec<f64>,
}

impl<'t> Mccfr<'t> {
    /// Creates the solver before its first iteration, with the uniform policy.
    pub fn new(tree: &'t GameTree, rng: Stream) -> Self {
        let none = vec![0.0; tree.uniform().len()];
        Mccfr { tree, rng, regrets: none.clone(), sums: none }
    }

    /// Runs `iterations` more iterations.
    pub fn run(&mut self, iterations: u32) {
        for _ in 0..iterations {
            (0..self.tree.players()).for_each(|seat| {
                self.walk(0, seat);
            });
        }
    }

    /// Returns the average policy, which is the policy to play. Information sets that were never sampled have uniform
    /// probabilities.
    pub fn average(&self) -> Vec<f64> {
        self.tree.shares(&self.sums)
    }

    /// Returns the sampled value of node `at` for `seat`. Traverses all of the seat's actions, and samples one action
    /// of chance and of each other seat. The recursion is as deep as the game is long.
    fn walk(&mut self, at: usize, seat: Seat) -> f64 {
        let tree = self.tree;
        let node = &tree.nodes()[at];
        match node.kind {
            NodeKind::Over(end) => tree.returns(end)[seat],
            NodeKind::Chance => {
                let shares: Vec<f64> = node.children().map(|child| tree.probability(child)).collect();
                self.walk_one(node, &shares, seat)
            }
            NodeKind::Choice(set) => {
                let set = tree.sets()[set as usize];
                let shares = self.matched(set.places());
                if set.seat != seat {
                    set.places().zip(&shares).for_each(|(place, share)| self.sums[place] += share);
                    return self.walk_one(node, &shares, seat);
                }
                let values: Vec<f64> = node.children().map(|child| self.walk(child, seat)).collect();
                let mean: f64 = values.iter().zip(&shares).map(|(value, share)| value * share).sum();
                set.places().zip(&values).for_each(|(place, value)| self.regrets[place] += value - mean);
                mean
            }
        }
    }

    /// Samples one child by `shares` and returns its value for `seat`.
    fn walk_one(&mut self, node: &GameTreeNode, shares: &[f64], seat: Seat) -> f64 {
        let drawn = super::solution::sample_index(shares, &mut self.rng);
        self.walk(node.children().start + drawn, seat)
    }

    /// Returns the probabilities of actions by regret matching: proportional to the positive regrets, or uniform if no
    /// regret is positive.
    fn matched(&self, places: std::ops::Range<usize>) -> Vec<f64> {
        let regrets = &self.regrets[places];
        let sum: f64 = regrets.iter().map(|r| r.max(0.0)).sum();
        let even = 1.0 / regrets.len() as f64;
        regrets.iter().map(|r| if sum > 0.0 { r.max(0.0) / sum } else { even }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(game: &str) -> GameTree {
        GameTree::build(&ludex_games::load(game).unwrap(), 20_000).unwrap()
    }

    #[test]
    fn sampling_solves_kuhn_poker() {
        let tree = tree("kuhn_poker");
        let mut solver = Mccfr::new(&tree, Stream::from_text("kuhn"));
        solver.run(20_000);
        let policy = solver.average();
        assert!(tree.exploitability(&policy) < 0.02, "{}", tree.exploitability(&policy));
        assert!((tree.values(&policy)[0] + 1.0 / 18.0).abs() < 0.01, "{}", tree.values(&policy)[0]);
    }

    #[test]
    fn more_iterations_reduce_exploitability_in_leduc_poker() {
        let tree = tree("leduc_poker");
        let mut solver = Mccfr::new(&tree, Stream::from_text("leduc"));
        let found = [300, 3_000, 30_000].map(|more| {
            solver.run(more);
            tree.exploitability(&solver.average())
        });
        assert!(found[0] > found[1] && found[1] > found[2] && found[2] < 0.2, "{found:?}");
    }

    #[test]
    fn sampling_solves_prisoners_dilemma() {
        let tree = tree("iterated_prisoners_dilemma(num_repetitions=2)");
        let mut solver = Mccfr::new(&tree, Stream::from_text("defect"));
        solver.run(5_000);
        assert!(tree.nash_conv(&solver.average()) < 0.1, "{}", tree.nash_conv(&solver.average()));
    }
}
