//! Game trees: exact values, best responses and exploitability of tabular policies, for games small enough to be
//! enumerated.
//!
//! A [`GameTree`] is built once, by playing every action and every outcome, and stores no states. Its nodes are in one
//! list, in which children follow their parents and siblings are adjacent. One forward pass computes reach
//! probabilities, and one backward pass computes values. Nodes at which a seat has the same information (equal digests
//! of its views) form an information set. A policy is a flat list with one probability for each action of each
//! information set.
//!
//! Simultaneous moves become sequential choices in seat order, without information about the other seats' choices.
//!
//! Source: Kuhn, *Extensive games and the problem of information* (1953); Zinkevich, Johanson, Bowling and Piccione,
//! *Regret minimization in games with incomplete information* (2007); OpenSpiel's `algorithms/best_response.cc` for
//! `nash_conv`.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

use crate::digest::digest;
use ludex_env::{Action, DynState, DynView, GameRef, Outcomes, Seat, ToMove, Viewer};

/// Reason why a game has no tree.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    #[error("the tree has more than {0} nodes")]
    TooLarge(usize),
    /// A seat is to move but has no listed actions, because its moves are documents.
    #[error("moves of seat {0} cannot be enumerated")]
    NotListed(Seat),
    /// A seat has different legal actions at two nodes that have the same view.
    #[error("seat {0} has different legal actions in positions with equal views")]
    Unlike(Seat),
}

/// Kind of a node in the game tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Choice of a seat, with the index of the information set; child k follows from action k of the set.
    Choice(u32),
    /// Chance event; its children have [probabilities](GameTree::probability).
    Chance,
    /// End of the game, with the index of its [returns](GameTree::returns).
    Over(u32),
}

/// Node with its kind and the range of its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GameTreeNode {
    pub kind: NodeKind,
    first: u32,
    count: u32,
}

impl GameTreeNode {
    /// Returns the indices of the child nodes.
    pub fn children(&self) -> Range<usize> {
        range(self.first, self.count)
    }
}

/// Information set: its seat, and the range of its actions in a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InfoSet {
    pub seat: Seat,
    first: u32,
    count: u32,
}

impl InfoSet {
    /// Returns the indices of the set's actions in a policy.
    pub fn places(&self) -> Range<usize> {
        range(self.first, self.count)
    }
}

fn range(first: u32, count: u32) -> Range<usize> {
    first as usize..(first + count) as usize
}

/// Number of positions in a game tree, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeCounts {
    /// Number of positions with a chance event.
    pub chance: usize,
    /// Number of positions in which one seat moves.
    pub decisions: usize,
    /// Number of positions with simultaneous moves.
    pub together: usize,
    /// Number of positions in which the game is over.
    pub ends: usize,
}

/// Best response of one seat to the policies of the other seats.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// Expected return of the seat.
    pub value: f64,
    /// Policy of all seats, in which each information set of the responding seat has a single action. In sets that the
    /// other seats' policies never reach, this is the first action.
    pub policy: Vec<f64>,
}

/// Tree of a whole game.
pub struct GameTree {
    players: usize,
    nodes: Vec<GameTreeNode>,
    /// Probability of each node given its parent, if the parent is a chance node; otherwise 1.
    probabilities: Vec<f64>,
    /// Return of each seat, for each end node.
    returns: Vec<f64>,
    sets: Vec<InfoSet>,
    /// Action id for each index in a policy.
    actions: Vec<Action>,
    /// Index of each information set, by seat and digest of the seat's view.
    known: HashMap<(Seat, u128), u32>,
    counts: NodeCounts,
}

/// Node whose children have not been added yet.
struct Pending {
    node: usize,
    state: Box<dyn DynState>,
    /// Actions chosen so far in a simultaneous move.
    joint: Vec<Action>,
}

impl GameTree {
    /// Builds the tree of `game`, which may have at most `most` nodes.
    ///
    /// # Errors
    /// Fails if the tree is too large or its moves cannot be enumerated.
    pub fn build(game: &GameRef, most: usize) -> Result<GameTree, TreeError> {
        let state = game.start();
        let players = state.spec().players as usize;
        let mut tree = GameTree {
            players,
            nodes: Vec::new(),
            probabilities: Vec::new(),
            returns: Vec::new(),
            sets: Vec::new(),
            actions: Vec::new(),
            known: HashMap::new(),
            counts: NodeCounts::default(),
        };
        let most = most.min(u32::MAX as usize);
        tree.add(1.0, most)?;
        let mut pending = vec![Pending { node: 0, state, joint: Vec::new() }];
        let mut outcomes = Outcomes::new();
        while let Some(Pending { node, state, joint }) = pending.pop() {
            let before = pending.len();
            let turn = state.turn();
            match turn {
                ToMove::Over => {
                    tree.counts.ends += 1;
                    tree.nodes[node].kind = NodeKind::Over((tree.returns.len() / players) as u32);
                    tree.returns.extend(state.returns());
                }
                ToMove::Chance => {
                    tree.counts.chance += 1;
                    state.chance(&mut outcomes);
                    for (a, p) in outcomes.probabilities() {
                        let mut next = state.boxed();
                        next.play_unchecked(a);
                        pending.push(Pending { node: tree.add(p, most)?, state: next, joint: Vec::new() });
                    }
                }
                ToMove::Seat(seat) => {
                    tree.counts.decisions += 1;
                    for a in tree.choice(node, seat, &*state)? {
                        let mut next = state.boxed();
                        next.play_unchecked(a);
                        pending.push(Pending { node: tree.add(1.0, most)?, state: next, joint: Vec::new() });
                    }
                }
                ToMove::Simultaneous(seats) => {
                    tree.counts.together += usize::from(joint.is_empty());
                    let Some(seat) = seats.iter().nth(joint.len()) else { continue };
                    for a in tree.choice(node, seat, &*state)? {
                        let mut next = state.boxed();
                        let mut joint = [joint.as_slice(), &[a]].concat();
                        if joint.len() == seats.len() {
                            let mut row = vec![0; players];
                            seats.iter().zip(joint.drain(..)).for_each(|(p, a)| row[p] = a);
                            next.play_together_unchecked(&row);
                        }
                        pending.push(Pending { node: tree.add(1.0, most)?, state: next, joint });
                    }
                }
            }
            if let Some(child) = pending.get(before) {
                tree.nodes[node].first = child.node as u32;
                tree.nodes[node].count = (pending.len() - before) as u32;
                // The first child is expanded next, so that its subtree follows immediately.
                pending[before..].reverse();
            }
        }
        Ok(tree)
    }

    /// Adds a node, with kind `Chance` until it is expanded.
    fn add(&mut self, probability: f64, most: usize) -> Result<usize, TreeError> {
        if self.nodes.len() >= most {
            return Err(TreeError::TooLarge(most));
        }
        self.nodes.push(GameTreeNode { kind: NodeKind::Chance, first: 0, count: 0 });
        self.probabilities.push(probability);
        Ok(self.nodes.len() - 1)
    }

    /// Turns `node` into a choice of `seat`, registers the information set if it is new, and returns the legal actions.
    fn choice(&mut self, node: usize, seat: Seat, state: &dyn DynState) -> Result<Vec<Action>, TreeError> {
        let legal = state.legal_list(seat);
        if legal.is_empty() {
            return Err(TreeError::NotListed(seat));
        }
        let key = (seat, digest(&*state.view(Viewer::Seat(seat))));
        let set = *self.known.entry(key).or_insert_with(|| {
            self.sets.push(InfoSet { seat, first: self.actions.len() as u32, count: legal.len() as u32 });
            self.actions.extend(&legal);
            self.sets.len() as u32 - 1
        });
        if self.actions[self.sets[set as usize].places()] != legal {
            return Err(TreeError::Unlike(seat));
        }
        self.nodes[node].kind = NodeKind::Choice(set);
        Ok(legal)
    }

    /// Returns the number of seats.
    pub fn players(&self) -> usize {
        self.players
    }

    /// Returns all nodes. The first node is the root, and children follow their parents.
    pub fn nodes(&self) -> &[GameTreeNode] {
        &self.nodes
    }

    /// Returns the probability of `node` given its parent, if the parent is a chance node; otherwise 1.
    pub fn probability(&self, node: usize) -> f64 {
        self.probabilities[node]
    }

    /// Returns the return of each seat at the [end](NodeKind::Over) with this index.
    pub fn returns(&self, end: u32) -> &[f64] {
        &self.returns[end as usize * self.players..][..self.players]
    }

    pub fn sets(&self) -> &[InfoSet] {
        &self.sets
    }

    /// Returns the action ids of an information set, ascending.
    pub fn actions(&self, set: usize) -> &[Action] {
        &self.actions[self.sets[set].places()]
    }

    /// Returns the index of the information set in which `seat` moves with this view.
    pub fn set(&self, seat: Seat, view: &dyn DynView) -> Option<usize> {
        self.known.get(&(seat, digest(view))).map(|&set| set as usize)
    }

    /// Returns the index of every information set, with the digest of its view.
    pub fn digests(&self) -> impl Iterator<Item = (usize, u128)> + '_ {
        self.known.iter().map(|(&(_, digest), &set)| (set as usize, digest))
    }

    /// Returns the number of positions, by kind.
    pub fn counts(&self) -> NodeCounts {
        self.counts
    }

    /// Returns the uniform policy.
    pub fn uniform(&self) -> Vec<f64> {
        self.sets.iter().flat_map(|set| std::iter::repeat_n(1.0 / f64::from(set.count), set.count as usize)).collect()
    }

    /// Normalizes the values of each information set to probabilities; uniform if all values of the set are zero.
    ///
    /// # Panics
    /// If `of` does not have one number for each action of each information set.
    pub fn shares(&self, of: &[f64]) -> Vec<f64> {
        let mut out = self.uniform();
        for set in &self.sets {
            let sum: f64 = of[set.places()].iter().sum();
            if sum > 0.0 {
                out[set.places()].iter_mut().zip(&of[set.places()]).for_each(|(out, part)| *out = part / sum);
            }
        }
        out
    }

    /// Returns the probability of each child of `node` under `policy`.
    fn likely<'a>(&'a self, node: &GameTreeNode, policy: &'a [f64]) -> &'a [f64] {
        match node.kind {
            NodeKind::Choice(set) => &policy[self.sets[set as usize].places()],
            NodeKind::Chance | NodeKind::Over(_) => &self.probabilities[node.children()],
        }
    }

    /// Returns the expected return of each seat under `policy`.
    ///
    /// # Panics
    /// If `policy` does not have one number for each action of each information set.
    pub fn values(&self, policy: &[f64]) -> Vec<f64> {
        let n = self.players;
        let mut values = vec![0.0; n * self.nodes.len()];
        for (i, node) in self.nodes.iter().enumerate().rev() {
            let (head, children) = values.split_at_mut((n * node.first as usize).max(n * (i + 1)));
            let own = &mut head[n * i..][..n];
            match node.kind {
                NodeKind::Over(end) => own.copy_from_slice(self.returns(end)),
                _ => {
                    for (child, p) in children.chunks_exact(n).zip(self.likely(node, policy)) {
                        own.iter_mut().zip(child).for_each(|(sum, v)| *sum += p * v);
                    }
                }
            }
        }
        values.truncate(n);
        values
    }

    /// Returns the best response of `seat` to `policy`.
    ///
    /// # Panics
    /// If `policy` does not have one number for each action of each information set.
    pub fn best_response(&self, policy: &[f64], seat: Seat) -> Response {
        let own = |node: &GameTreeNode| match node.kind {
            NodeKind::Choice(set) if self.sets[set as usize].seat == seat => Some(set as usize),
            _ => None,
        };
        // Forward pass: reach probability of each node by chance and the other seats, and the maximum number of own
        // choices before each set.
        let len = self.nodes.len();
        let (mut reach, mut parent) = (vec![1.0; len], vec![0; len]);
        let (mut depth, mut rank) = (vec![0u32; len], vec![0; self.sets.len()]);
        for (i, node) in self.nodes.iter().enumerate() {
            let set = own(node);
            if let Some(set) = set {
                rank[set] = depth[i].max(rank[set]);
            }
            for (child, p) in node.children().zip(self.likely(node, policy)) {
                reach[child] = reach[i] * if set.is_some() { 1.0 } else { *p };
                depth[child] = depth[i] + u32::from(set.is_some());
                parent[child] = i;
            }
        }
        // A set's best action is known once all of its action values are complete, so later sets come first. A node's
        // stage is one above the rank of the seat's last set before the node.
        let mut stage = vec![0; len];
        for (i, node) in self.nodes.iter().enumerate() {
            let next = own(node).map_or(stage[i], |set| rank[set] + 1);
            node.children().for_each(|child| stage[child] = next);
        }
        let mut order: Vec<usize> = (0..len).collect();
        order.sort_unstable_by_key(|&i| Reverse((stage[i], i)));
        // Backward pass: the value of each node, and of each action of a set over all its nodes.
        let (mut value, mut gain) = (vec![0.0; len], vec![0.0; self.actions.len()]);
        let best = |gain: &[f64], set: usize| {
            let gains = &gain[self.sets[set].places()];
            (1..gains.len()).fold(0, |best, k| if gains[k] > gains[best] { k } else { best })
        };
        for i in order {
            let node = &self.nodes[i];
            value[i] = match (node.kind, own(node)) {
                (NodeKind::Over(end), _) => self.returns(end)[seat],
                (_, Some(set)) => value[node.first as usize + best(&gain, set)],
                _ => node.children().zip(self.likely(node, policy)).map(|(child, p)| p * value[child]).sum(),
            };
            if i > 0 {
                let above = &self.nodes[parent[i]];
                if let Some(set) = own(above) {
                    gain[self.sets[set].first as usize + i - above.first as usize] += reach[parent[i]] * value[i];
                }
            }
        }
        let mut policy = policy.to_vec();
        for (k, set) in self.sets.iter().enumerate().filter(|(_, set)| set.seat == seat) {
            policy[set.places()].fill(0.0);
            policy[set.first as usize + best(&gain, k)] = 1.0;
        }
        Response { value: value[0], policy }
    }

    /// Returns the sum over all seats of the gain from a unilateral best response to `policy`; 0 in an equilibrium.
    ///
    /// # Panics
    /// If `policy` does not have one number for each action of each information set.
    pub fn nash_conv(&self, policy: &[f64]) -> f64 {
        let values = self.values(policy);
        values.iter().enumerate().map(|(seat, value)| self.best_response(policy, seat).value - value).sum()
    }

    /// Returns [`GameTree::nash_conv`] divided by the number of seats. In a two-player zero-sum game, this is the gain
    /// of a best-responding opponent above the value of the game, averaged over both seats.
    ///
    /// # Panics
    /// If `policy` does not have one number for each action of each information set.
    pub fn exploitability(&self, policy: &[f64]) -> f64 {
        self.nash_conv(policy) / self.players as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(game: &str) -> (GameRef, GameTree) {
        let game = ludex_games::load(game).unwrap();
        let tree = GameTree::build(&game, 100_000).unwrap();
        (game, tree)
    }

    /// Writes the probability of action 1, computed by `of`, into `policy` for every choice from state `s` on.
    fn write(tree: &GameTree, s: &dyn DynState, of: &dyn Fn(Seat, &serde_json::Value) -> f64, policy: &mut [f64]) {
        let mut outcomes = Outcomes::new();
        s.chance(&mut outcomes);
        let mut ids: Vec<Action> = outcomes.items().iter().map(|o| o.0).collect();
        if let ToMove::Seat(seat) = s.turn() {
            let view = s.view(Viewer::Seat(seat));
            let set = tree.sets()[tree.set(seat, &*view).unwrap()];
            let p = of(seat, &view.value());
            policy[set.places()].copy_from_slice(&[1.0 - p, p]);
            ids = s.legal_list(seat);
        }
        for a in ids {
            let mut next = s.boxed();
            next.play_unchecked(a);
            write(tree, &*next, of, policy);
        }
    }

    /// Checks Kuhn's own solution for every bluffing rate of the first seat.
    #[test]
    fn published_kuhn_poker_equilibrium_has_zero_exploitability() {
        let (game, tree) = tree("kuhn_poker");
        for bluff in [0.0, 0.2, 1.0 / 3.0] {
            let of = |_: Seat, v: &serde_json::Value| match (v["bets"].as_str().unwrap(), v["card"].as_u64().unwrap()) {
                ("", 0) => bluff,
                ("", 2) => 3.0 * bluff,
                ("pb", 1) => bluff + 1.0 / 3.0,
                ("p", 0) | ("b", 1) => 1.0 / 3.0,
                ("p" | "b" | "pb", 2) => 1.0,
                _ => 0.0,
            };
            let mut policy = tree.uniform();
            write(&tree, &*game.start(), &of, &mut policy);
            assert!((tree.values(&policy)[0] + 1.0 / 18.0).abs() < 1e-12);
            assert!(tree.nash_conv(&policy).abs() < 1e-12, "{}", tree.nash_conv(&policy));
        }
    }

    #[test]
    fn best_response_policy_achieves_reported_value() {
        for game in ["kuhn_poker(players=3)", "liars_dice(dice_sides=3)", "nim(pile_sizes=1;2)"] {
            let (_, tree) = tree(game);
            let uniform = tree.uniform();
            for seat in 0..tree.players() {
                let best = tree.best_response(&uniform, seat);
                let value = tree.values(&best.policy)[seat];
                assert!((value - best.value).abs() < 1e-12, "{game}, seat {seat}: {value}, not {}", best.value);
                assert!(value > tree.values(&uniform)[seat]);
            }
        }
    }

    #[test]
    fn seats_do_not_see_simultaneous_choices() {
        let (_, tree) = tree("iterated_prisoners_dilemma(num_repetitions=2)");
        assert_eq!(tree.counts(), NodeCounts { chance: 0, decisions: 0, together: 5, ends: 16 });
        assert_eq!(tree.sets().len(), 10);
        // Mutual defection is an equilibrium with value 1 per round.
        let mut policy = tree.uniform();
        tree.sets().iter().for_each(|set| policy[set.places()].copy_from_slice(&[0.0, 1.0]));
        assert_eq!((tree.values(&policy), tree.nash_conv(&policy)), (vec![2.0, 2.0], 0.0));
    }

    #[test]
    fn large_games_are_refused() {
        for game in ["chess", "iterated_prisoners_dilemma", "pig"] {
            let game = ludex_games::load(game).unwrap();
            assert_eq!(GameTree::build(&game, 1_000).err(), Some(TreeError::TooLarge(1_000)));
        }
    }
}
