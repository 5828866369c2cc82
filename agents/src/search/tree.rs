//! Search tree for UCT and PUCT, stored as a flat list of nodes. Supports any number of seats, chance and joint moves.

use std::collections::HashMap;

use ludex_env::{Action, DynState, Outcomes, Seat, SeatSet, Stream, ToMove};

/// Maximum number of nodes (640 MB). A tree of this size is still searched but does not grow.
const MAX_NODES: usize = 1 << 24;
/// Maximum number of steps in a rollout, for games that do not end under random play.
pub(super) const ROLLOUT_LIMIT: usize = 1_000_000;
/// Probability that a seat samples its arm uniformly in simultaneous moves.
const CURIOSITY: f64 = 0.1;
/// Maximum number of positions examined by [`SearchTree::next_turns`].
const MOST_REPLIES: usize = 256;
const NONE: u32 = u32::MAX;
/// Value of [`Node::by`] for nodes that do not result from a seat's choice.
const NOBODY: u8 = u8::MAX;

/// Kind of a node's children.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NodeKind {
    /// Not known yet, because the node has been visited at most once.
    Fresh,
    /// Actions of the seat to move, in shuffled order.
    Choice,
    /// Chance outcomes, in the game's order.
    Chance,
    /// [Arms](NodeKind::Arm) of all acting seats, grouped by seat and shuffled within each seat. [`SearchTree::joint`]
    /// maps each joint move to the node after it.
    Joint,
    /// No children, because the node is one seat's part of a joint move.
    Arm,
    /// No children, because the episode is over.
    Over,
}

/// Position in the tree, with the action or outcome that leads to it.
#[derive(Clone)]
struct Node {
    /// Mean return of seat `by`, or its proven return.
    mean: f64,
    /// Weight of the exploration bonus for a seat's choice: 1 / sqrt(visits) for UCT, prior / (1 + visits) for PUCT, 0
    /// if proven. For an arm of a joint move: accumulated regret of not playing the arm.
    bonus: f64,
    visits: u32,
    /// Action or outcome that leads to this node. For the node after a joint move: offset of its means in
    /// [`SearchTree::joint_means`].
    action: Action,
    /// Index of the first child.
    first: u32,
    count: u32,
    /// Index into [`SearchTree::proofs`]; `NONE` if unproven.
    proof: u32,
    /// Seat that chose `action`.
    by: u8,
    kind: NodeKind,
}

impl Node {
    fn new(action: Action, by: u8, kind: NodeKind) -> Self {
        Node { mean: 0.0, bonus: 0.0, visits: 0, action, first: 0, count: 0, proof: NONE, by, kind }
    }

    fn children(&self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }
}

/// Search result for one action at the root.
pub(super) struct Candidate {
    pub action: Action,
    pub visits: u64,
    /// Mean return after the root for the seat at the root.
    pub mean: f64,
    /// Proven return after the root, if there is a proof.
    pub proven: Option<f64>,
}

/// Settings of a tree search.
#[derive(Clone, Copy)]
pub(super) struct TreeSettings {
    /// Weight of the exploration bonus, in units of half the spread of the observed returns.
    pub c: f64,
    /// True if the search backs up proven returns.
    pub solve: bool,
    /// True for PUCT, false for UCT.
    pub puct: bool,
    /// Maximum number of plies of a rollout, after which the position is evaluated; `None` for rollouts to the end.
    pub cut: Option<usize>,
}

/// Tree of one search, with reusable buffers so that a simulation allocates memory only for nodes.
pub(super) struct SearchTree {
    settings: TreeSettings,
    root: Box<dyn DynState>,
    /// Return that each seat has at the root, subtracted from the simulated returns.
    base: Vec<f64>,
    /// Maximum return that each seat can still get after the root.
    best: Vec<f64>,
    /// Midpoint of the possible returns of each seat after the root.
    middle: Vec<f64>,
    work: Box<dyn DynState>,
    /// Buffer for a position one ply after `work`.
    ahead: Option<Box<dyn DynState>>,
    nodes: Vec<Node>,
    /// Proven return of each seat after the root, for each proof.
    proofs: Vec<f64>,
    /// Nodes after joint moves, by parent node and code of the joint move.
    joint: HashMap<(u32, u128), u32>,
    /// Mean return of each seat, for each node after a joint move.
    joint_means: Vec<f64>,
    /// Nodes visited by the current simulation, starting at the root.
    path: Vec<u32>,
    /// Return of each seat after the root, in the current simulation.
    returns: Vec<f64>,
    /// Minimum and maximum return of any seat over all simulations.
    seen: [f64; 2],
    /// Table of sqrt(ln n), for the exploration bonus of UCT.
    logs: Logs,
    legal: Vec<Action>,
    outcomes: Outcomes,
    /// Buffer for the joint move under construction, by seat.
    together: Vec<Action>,
    /// Joint moves of the current simulation, as pairs of the node's index in `path` and the move's code.
    together_at: Vec<(usize, u128)>,
}

impl SearchTree {
    /// Creates a tree that contains only the root.
    pub fn new(root: Box<dyn DynState>, settings: TreeSettings) -> Self {
        let spec = root.spec();
        let players = spec.players as usize;
        let base = root.returns();
        let middle = (spec.min_return + spec.max_return) / 2.0;
        SearchTree {
            settings,
            best: base.iter().map(|b| spec.max_return - b).collect(),
            middle: base.iter().map(|b| middle - b).collect(),
            base,
            work: root.boxed(),
            ahead: settings.puct.then(|| root.boxed()),
            root,
            nodes: vec![Node::new(0, NOBODY, NodeKind::Fresh)],
            proofs: Vec::new(),
            joint: HashMap::new(),
            joint_means: Vec::new(),
            path: Vec::new(),
            returns: vec![0.0; players],
            seen: [f64::INFINITY, f64::NEG_INFINITY],
            logs: Logs::new(),
            legal: Vec::new(),
            outcomes: Outcomes::new(),
            together: vec![0; players],
            together_at: Vec::new(),
        }
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the difference between the greatest and the least simulated return of any seat.
    pub fn spread(&self) -> f64 {
        (self.seen[1] - self.seen[0]).max(0.0)
    }

    /// Returns the midpoint of the possible returns of `seat` after the root.
    pub fn middle(&self, seat: Seat) -> f64 {
        self.middle[seat]
    }

    /// Follows `action` of `seat` from the root, and returns the visited positions at which `seat` moves next, each
    /// with its node. Examines at most `MOST_REPLIES` positions.
    pub fn next_turns(&self, seat: Seat, action: Action) -> impl Iterator<Item = (Box<dyn DynState>, u32)> {
        let mut found = Vec::new();
        let mut pending: Vec<(Box<dyn DynState>, usize)> = Vec::new();
        let after = |state: &dyn DynState, at: usize| {
            let mut next = state.boxed();
            next.play_unchecked(self.nodes[at].action);
            (next, at)
        };
        let own = self.nodes[0]
            .children()
            .find(|&i| self.nodes[i].action == action && self.nodes[0].kind == NodeKind::Choice);
        pending.extend(own.map(|at| after(&*self.root, at)));
        let mut looked = 0;
        while let Some((state, at)) = pending.pop().filter(|_| looked < MOST_REPLIES) {
            looked += 1;
            let node = &self.nodes[at];
            match node.kind {
                NodeKind::Choice if usize::from(self.nodes[node.first as usize].by) == seat => {
                    found.push((state, at as u32))
                }
                NodeKind::Choice | NodeKind::Chance => {
                    let visited = node.children().filter(|&i| self.nodes[i].visits > 0);
                    pending.extend(visited.map(|i| after(&*state, i)));
                }
                NodeKind::Fresh | NodeKind::Joint | NodeKind::Arm | NodeKind::Over => {}
            }
        }
        found.into_iter()
    }

    /// Copies the subtree at node `at`; `root` is the position of this node. Returns `None` if the subtree contains
    /// simultaneous moves.
    pub fn subtree(&self, at: u32, root: Box<dyn DynState>) -> Option<SearchTree> {
        let mut tree = SearchTree::new(root, self.settings);
        let gone: Vec<f64> = tree.base.iter().zip(&self.base).map(|(new, old)| new - old).collect();
        tree.nodes = vec![Node { by: NOBODY, ..self.nodes[at as usize].clone() }];
        let mut i = 0;
        while i < tree.nodes.len() {
            let first = tree.nodes.len() as u32;
            let node = &mut tree.nodes[i];
            if node.kind == NodeKind::Joint {
                return None;
            }
            if let Some(gone) = gone.get(usize::from(node.by)) {
                node.mean -= gone;
            }
            if node.proof != NONE {
                let proof = &self.proofs[node.proof as usize..][..gone.len()];
                node.proof = tree.proofs.len() as u32;
                tree.proofs.extend(proof.iter().zip(&gone).map(|(r, gone)| r - gone));
            }
            let old = node.children();
            node.first = first;
            tree.nodes.extend_from_slice(&self.nodes[old]);
            i += 1;
        }
        Some(tree)
    }

    /// Returns true if more simulations cannot change the decision, because the root is proven or has a single action.
    pub fn is_decided(&self) -> bool {
        let root = &self.nodes[0];
        root.proof != NONE || (root.kind == NodeKind::Choice && root.count == 1)
    }

    /// Returns the statistics of each action of `seat` at the root; empty before the second simulation.
    pub fn candidates(&self, seat: Seat) -> impl Iterator<Item = Candidate> + '_ {
        let arms = self.nodes[self.nodes[0].children()].iter().filter(move |n| usize::from(n.by) == seat);
        arms.map(|n| Candidate {
            action: n.action,
            visits: u64::from(n.visits),
            mean: n.mean,
            proven: (n.proof != NONE).then_some(n.mean),
        })
    }

    /// Runs one simulation: descends to an unvisited node, plays a rollout and backs up the returns.
    pub fn simulate(&mut self, rng: &mut Stream) {
        self.work.copy_from(&*self.root);
        self.logs.reach(self.nodes[0].visits);
        self.path.clear();
        let mut at = 0;
        let solved = loop {
            self.path.push(at as u32);
            let node = &self.nodes[at];
            if node.proof != NONE {
                let from = node.proof as usize;
                self.returns.copy_from_slice(&self.proofs[from..from + self.base.len()]);
                break true;
            }
            if node.visits == 0 || (node.kind == NodeKind::Fresh && !self.expand(at, rng)) {
                let over = self.play_out(rng);
                if over && self.settings.solve {
                    let proof = self.proofs.len() as u32;
                    self.proofs.extend_from_slice(&self.returns);
                    self.prove(at, proof);
                }
                break over && self.settings.solve;
            }
            at = match self.nodes[at].kind {
                NodeKind::Choice => self.choose(at),
                NodeKind::Chance => self.draw(at, rng),
                NodeKind::Joint => self.choose_together(at, rng),
                NodeKind::Fresh | NodeKind::Arm | NodeKind::Over => {
                    self.take_returns();
                    break false;
                }
            };
        };
        self.back_up(solved);
    }

    /// Plays a rollout to the end of the episode or to the cutoff. Returns true if the position was already terminal.
    fn play_out(&mut self, rng: &mut Stream) -> bool {
        let Some(plies) = self.settings.cut else {
            let over = self.work.rollout(rng, ROLLOUT_LIMIT) == 0;
            self.take_returns();
            return over;
        };
        let over = self.work.turn() == ToMove::Over;
        self.work.rollout(rng, plies);
        if !self.take_guess() {
            self.work.rollout(rng, ROLLOUT_LIMIT);
            self.take_returns();
        }
        over
    }

    /// Adds the children of a node. Returns false if the tree is full.
    fn expand(&mut self, at: usize, rng: &mut Stream) -> bool {
        let first = self.nodes.len();
        if first >= MAX_NODES {
            return false;
        }
        let kind = match self.work.turn() {
            ToMove::Over => NodeKind::Over,
            ToMove::Seat(seat) => {
                self.push_actions(SeatSet(1 << seat), NodeKind::Fresh, rng);
                self.set_priors(first, seat);
                NodeKind::Choice
            }
            ToMove::Simultaneous(set) => {
                self.push_actions(set, NodeKind::Arm, rng);
                NodeKind::Joint
            }
            ToMove::Chance => {
                self.work.chance(&mut self.outcomes);
                self.nodes.extend(self.outcomes.items().iter().map(|&(a, _)| Node::new(a, NOBODY, NodeKind::Fresh)));
                NodeKind::Chance
            }
        };
        let count = self.nodes.len() - first;
        let node = &mut self.nodes[at];
        // A node without moves is terminal.
        node.kind = if count == 0 { NodeKind::Over } else { kind };
        (node.first, node.count) = (first as u32, count as u32);
        true
    }

    /// Adds a node for each action of each seat, in shuffled order so that action ids do not bias the visits.
    fn push_actions(&mut self, seats: SeatSet, kind: NodeKind, rng: &mut Stream) {
        for seat in seats.iter() {
            self.legal.clear();
            self.work.legal(seat, &mut self.legal);
            rng.shuffle(&mut self.legal);
            self.nodes.extend(self.legal.iter().map(|&a| Node::new(a, seat as u8, kind)));
        }
    }

    /// Sets the PUCT priors of the actions of `seat`, whose nodes start at index `first`. Sets the initial mean of
    /// these nodes to the midpoint of the game's bounds.
    fn set_priors(&mut self, first: usize, seat: Seat) {
        let Some(ahead) = &mut self.ahead else { return };
        let children = &mut self.nodes[first..];
        let value = |n: &Node| {
            ahead.copy_from(&*self.work);
            ahead.play_unchecked(n.action);
            if ahead.turn() == ToMove::Over { Some(ahead.returns()[seat]) } else { ahead.evaluate(seat) }
        };
        let values: Option<Vec<f64>> = children.iter().map(value).collect();
        let mut weights = vec![1.0; children.len()];
        if let Some(values) = values {
            let best = values.iter().fold(f64::NEG_INFINITY, |best, v| best.max(*v));
            let behind = values.iter().map(|v| best - v).sum::<f64>() / values.len() as f64;
            if behind > 0.0 {
                weights.iter_mut().zip(values).for_each(|(w, v)| *w = 1.0 / (1.0 + (best - v) / behind));
            }
        }
        let sum: f64 = weights.iter().sum();
        for (n, w) in children.iter_mut().zip(weights) {
            (n.bonus, n.mean) = (w / sum, self.middle[seat]);
        }
    }

    /// Selects and plays an action of the seat to move. Returns the action's node.
    #[inline]
    fn choose(&mut self, at: usize) -> usize {
        let child = self.pick(at);
        self.work.play_unchecked(self.nodes[child].action);
        child
    }

    /// Selects a child, the first in a tie. UCT: the next unvisited child, then the child with the greatest
    /// `mean + c * sqrt(ln(visits) / n)`. PUCT: the child with the greatest
    /// `mean + c * prior * sqrt(visits) / (1 + n)`. Here, n is the number of visits of the child.
    #[inline]
    fn pick(&self, at: usize) -> usize {
        let (visits, arms) = (self.nodes[at].visits, self.nodes[at].children());
        // The first visit of a node was its rollout; every later visit went to a child.
        let tried = visits as usize - 1;
        if tried < arms.len() && !self.settings.puct {
            return arms.start + tried;
        }
        let growth = if self.settings.puct { f64::from(visits).sqrt() } else { self.logs.at(visits) };
        let spread = match self.spread() {
            0.0 => 2.0,
            spread => spread,
        };
        let factor = self.settings.c * (spread / 2.0) * growth;
        let (mut best, mut most) = (arms.start, f64::NEG_INFINITY);
        for (i, n) in self.nodes[arms.clone()].iter().enumerate() {
            let value = n.mean + factor * n.bonus;
            if value > most {
                (best, most) = (arms.start + i, value);
            }
        }
        best
    }

    /// Draws a chance outcome by its weight and plays it. Returns the outcome's node.
    fn draw(&mut self, at: usize, rng: &mut Stream) -> usize {
        self.work.chance(&mut self.outcomes);
        let a = rng.pick(&self.outcomes).unwrap_or(0);
        let children = self.nodes[at].children();
        let child = children.clone().find(|&i| self.nodes[i].action == a).unwrap_or(children.start);
        self.work.play_unchecked(self.nodes[child].action);
        child
    }

    /// Samples a joint move by the regrets of each seat and plays it. Returns the node after the joint move.
    fn choose_together(&mut self, at: usize, rng: &mut Stream) -> usize {
        let all = self.nodes[at].children();
        let (here, mut code, mut stride, mut from) = (self.path.len() - 1, 0, 1u128, all.start);
        while from < all.end {
            let arms = self.arms(from, all.end);
            let arm = self.draw_arm(arms.clone(), rng);
            self.path.push(arm as u32);
            self.together[usize::from(self.nodes[arm].by)] = self.nodes[arm].action;
            // Mixed radix over the seats' arms: exact for up to 2^128 joint moves.
            code = stride.wrapping_mul((arm - from) as u128).wrapping_add(code);
            stride = stride.wrapping_mul(arms.len() as u128);
            from = arms.end;
        }
        self.together_at.push((here, code));
        self.work.play_together_unchecked(&self.together);
        let (nodes, means) = (&mut self.nodes, &mut self.joint_means);
        *self.joint.entry((at as u32, code)).or_insert_with(|| {
            nodes.push(Node::new(means.len() as u32, NOBODY, NodeKind::Fresh));
            means.resize(means.len() + self.base.len(), 0.0);
            nodes.len() as u32 - 1
        }) as usize
    }

    /// Returns the indices of the arms of one seat; `from` is its first arm.
    fn arms(&self, from: usize, end: usize) -> std::ops::Range<usize> {
        let by = self.nodes[from].by;
        from..from + self.nodes[from..end].iter().take_while(|n| n.by == by).count()
    }

    /// Samples one of a seat's arms. The choice is uniform with probability [`CURIOSITY`] or if no regret is positive;
    /// otherwise it is in proportion to the positive regrets.
    fn draw_arm(&self, arms: std::ops::Range<usize>, rng: &mut Stream) -> usize {
        let regret = |i: usize| self.nodes[i].bonus.max(0.0);
        let sum: f64 = arms.clone().map(regret).sum();
        if sum <= 0.0 || rng.unit() < CURIOSITY {
            return arms.start + rng.below(arms.len());
        }
        let mut left = rng.unit() * sum;
        let last = arms.end - 1;
        arms.into_iter()
            .find(|&i| {
                left -= regret(i);
                left < 0.0
            })
            .unwrap_or(last)
    }

    /// Updates the regrets after the joint move `code` at `path[i]`. The regret of an arm that its seat did not play
    /// increases by the gain that the arm would have brought against the same moves of the other seats. Gains are
    /// estimated by the means of visited positions.
    fn regret(&mut self, i: usize, code: u128) {
        let at = self.path[i];
        let all = self.nodes[at as usize].children();
        let Some(&child) = self.joint.get(&(at, code)) else {
            return;
        };
        let child = &self.nodes[child as usize];
        let n = f64::from(child.visits);
        let means = &mut self.joint_means[child.action as usize..][..self.returns.len()];
        for (mean, r) in means.iter_mut().zip(&self.returns) {
            *mean += (r - *mean) / n;
        }
        let (mut chosen, mut stride, mut from) = (i + 1, 1u128, all.start);
        while from < all.end {
            let arms = self.arms(from, all.end);
            let (seat, played) = (usize::from(self.nodes[from].by), self.path[chosen] as usize);
            for other in arms.clone().filter(|&other| other != played) {
                let step = |arm: usize| stride.wrapping_mul((arm - from) as u128);
                let code = code.wrapping_sub(step(played)).wrapping_add(step(other));
                // Unvisited joint moves add no regret; uniform exploration will play them.
                if let Some(&there) = self.joint.get(&(at, code)) {
                    let mean = self.joint_means[self.nodes[there as usize].action as usize + seat];
                    self.nodes[other].bonus += mean - self.returns[seat];
                }
            }
            stride = stride.wrapping_mul(arms.len() as u128);
            (chosen, from) = (chosen + 1, arms.end);
        }
    }

    fn take_returns(&mut self) {
        self.work.returns_into(&mut self.returns);
        self.settle();
    }

    /// Uses the game's evaluation as the simulated returns. Returns false if the game has no evaluation or the episode
    /// is over.
    fn take_guess(&mut self) -> bool {
        let (work, over) = (&self.work, self.work.turn() == ToMove::Over);
        let guessed = |(seat, r): (Seat, &mut f64)| work.evaluate(seat).map(|guess| *r = guess).is_some();
        let known = !over && self.returns.iter_mut().enumerate().all(guessed);
        if known {
            self.settle();
        }
        known
    }

    /// Subtracts the returns up to the root from the simulated returns.
    fn settle(&mut self) {
        for (r, base) in self.returns.iter_mut().zip(&self.base) {
            *r -= base;
            self.seen = [self.seen[0].min(*r), self.seen[1].max(*r)];
        }
    }

    fn back_up(&mut self, mut solved: bool) {
        for i in (0..self.path.len()).rev() {
            let at = self.path[i] as usize;
            let node = &mut self.nodes[at];
            node.visits += 1;
            if node.proof == NONE {
                if node.by != NOBODY {
                    let n = f64::from(node.visits);
                    node.mean += (self.returns[usize::from(node.by)] - node.mean) / n;
                    if node.kind != NodeKind::Arm {
                        node.bonus = if self.settings.puct { node.bonus * n / (n + 1.0) } else { 1.0 / n.sqrt() };
                    }
                }
                // Leaves and arms have no children, so the proof is checked at their parent.
                if solved && node.count > 0 {
                    let proof = self.proof_of(at);
                    solved = proof.is_some();
                    if let Some(proof) = proof {
                        self.prove(at, proof);
                    }
                }
            }
        }
        while let Some((i, code)) = self.together_at.pop() {
            self.regret(i, code);
        }
    }

    fn prove(&mut self, at: usize, proof: u32) {
        let node = &mut self.nodes[at];
        node.proof = proof;
        if node.by != NOBODY {
            node.mean = self.proofs[proof as usize + usize::from(node.by)];
            node.bonus = 0.0;
        }
    }

    /// Derives the proof of a node from the proofs of its children. Returns `None` if they prove nothing.
    ///
    /// A seat's choice is proven if one move gives the maximum return, or if all moves are proven. A chance node is
    /// proven if all outcomes have the same proven returns. Joint moves are never proven.
    fn proof_of(&self, at: usize) -> Option<u32> {
        let node = &self.nodes[at];
        let children = &self.nodes[node.children()];
        match node.kind {
            NodeKind::Choice => {
                let seat = usize::from(children[0].by);
                let proven = children.iter().filter(|n| n.proof != NONE);
                let best = proven.clone().max_by(|a, b| a.mean.total_cmp(&b.mean))?;
                (best.mean >= self.best[seat] || proven.count() == children.len()).then_some(best.proof)
            }
            NodeKind::Chance => {
                let outcome = |n: &Node| {
                    let from = n.proof as usize;
                    (n.proof != NONE).then(|| &self.proofs[from..from + self.base.len()])
                };
                let first = outcome(&children[0])?;
                children.iter().all(|n| outcome(n) == Some(first)).then_some(children[0].proof)
            }
            NodeKind::Joint | NodeKind::Fresh | NodeKind::Arm | NodeKind::Over => None,
        }
    }
}

/// Table of sqrt(ln n) for n = 0, 1, 2, ..., extended on demand. Computed with only + - * / and square roots, so that
/// results are identical on every machine.
pub(super) struct Logs {
    roots: Vec<f64>,
    last: f64,
}

impl Logs {
    pub fn new() -> Self {
        Logs { roots: vec![0.0, 0.0], last: 0.0 }
    }

    /// Extends the table to `n`.
    pub fn reach(&mut self, n: u32) {
        while self.roots.len() <= n as usize {
            // ln(m + 1) - ln(m) = 2 atanh(1 / (2m + 1)) for m, the preceding integer.
            let x = 1.0 / (2 * self.roots.len() - 1) as f64;
            let (mut power, mut k, mut sum) = (x, 1.0, 0.0);
            while power > 1e-18 {
                sum += power / k;
                power *= x * x;
                k += 2.0;
            }
            self.last += 2.0 * sum;
            self.roots.push(self.last.sqrt());
        }
    }

    #[inline]
    pub fn at(&self, n: u32) -> f64 {
        self.roots[n as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_table_contains_roots_of_natural_logarithms() {
        let mut logs = Logs::new();
        logs.reach(100_000);
        for n in [1u32, 2, 3, 10, 1_000, 100_000] {
            assert!((logs.at(n) - f64::from(n).ln().sqrt()).abs() < 1e-9, "{n}");
        }
    }
}
