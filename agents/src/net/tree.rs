//! Search tree of `puct`. Supports any number of seats and chance, but no joint moves.

use ludex_env::{Action, DynState, Outcomes, Seat, Stream, ToMove};
use rand_distr::{Distribution, Gamma};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// Number of nodes at which a search ends (320 MB).
const MAX_NODES: usize = 1 << 23;
/// Value of [`Node::by`] for nodes that do not result from a seat's choice.
const NOBODY: u8 = u8::MAX;

/// State of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NodeKind {
    /// No descent has reached the node.
    Fresh,
    /// Waiting for its evaluation.
    Pending,
    /// Children are the legal actions of the seat to move.
    Choice,
    /// Children are chance outcomes.
    Chance,
    /// No children, because the episode is over.
    Over,
}

/// Position in the tree, with the action or outcome that leads to it.
struct Node {
    /// Sum of the values of all visits for seat `by`.
    total: f32,
    visits: u32,
    /// Descents through this node whose evaluation is pending. Each counts as a visit with the value -1.
    pending: u32,
    /// Probability of the action.
    prior: f32,
    action: Action,
    /// Index of the first child.
    first: u32,
    count: u32,
    /// Seat that chose `action`.
    by: u8,
    kind: NodeKind,
}

impl Node {
    fn new(action: Action, by: u8, prior: f32) -> Self {
        let kind = NodeKind::Fresh;
        Node { total: 0.0, visits: 0, pending: 0, prior, action, first: 0, count: 0, by, kind }
    }

    fn children(&self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }
}

/// Settings of a tree.
#[derive(Clone, Copy, Debug)]
pub struct PuctSettings {
    /// Constant that multiplies the exploration bonus.
    pub c: f32,
    /// Share of Dirichlet noise in the priors of the root; 0 for none.
    pub noise: f32,
    /// Parameter of the Dirichlet noise; `None` for 10 divided by the number of legal actions.
    pub alpha: Option<f32>,
}

/// Position that the network must evaluate.
pub(super) struct Leaf {
    /// Nodes from the root to the leaf.
    path: Vec<u32>,
    /// Seat that moves in the position.
    pub seat: Seat,
    /// Legal actions of the seat, ascending.
    pub legal: Vec<Action>,
}

/// Result of a descent.
pub(super) enum Descent {
    /// The descent ended in a position that needs an evaluation.
    Leaf(Leaf),
    /// The descent ended in a position with known returns, which have been backed up.
    Backed,
    /// The descent ended in a position whose evaluation is pending.
    Blocked,
}

/// Statistics of an action at the root.
#[derive(Clone, Copy, Default)]
pub(super) struct RootAction {
    pub visits: u32,
    /// Sum of the values of all visits for the seat at the root.
    pub total: f32,
}

/// Tree of one search.
pub(super) struct Tree {
    settings: PuctSettings,
    root: Box<dyn DynState>,
    work: Box<dyn DynState>,
    nodes: Vec<Node>,
    path: Vec<u32>,
    /// Return of each seat in the current descent.
    returns: Vec<f64>,
    outcomes: Outcomes,
}

impl Tree {
    /// Creates a tree that contains only the root.
    pub fn new(root: Box<dyn DynState>, settings: PuctSettings) -> Self {
        let players = root.spec().players as usize;
        Tree {
            settings,
            work: root.boxed(),
            root,
            nodes: vec![Node::new(0, NOBODY, 1.0)],
            path: Vec::new(),
            returns: vec![0.0; players],
            outcomes: Outcomes::new(),
        }
    }

    /// Descends from the root to a position without children. For a [`Descent::Leaf`], calls `observe` with the
    /// position and its seat to move; [`Tree::expand`] must follow.
    pub fn descend(&mut self, rng: &mut Stream, observe: &mut dyn FnMut(&dyn DynState, Seat)) -> Descent {
        self.work.copy_from(&*self.root);
        self.path.clear();
        let mut at = 0;
        loop {
            if self.nodes[at].kind == NodeKind::Fresh {
                self.enter(at);
            }
            self.path.push(at as u32);
            match self.nodes[at].kind {
                NodeKind::Choice => {
                    at = self.choose(at);
                    self.work.play_unchecked(self.nodes[at].action);
                }
                NodeKind::Chance => at = self.draw(at, rng),
                NodeKind::Over => {
                    self.back_up_returns();
                    return Descent::Backed;
                }
                NodeKind::Pending => return Descent::Blocked,
                NodeKind::Fresh => {
                    let ToMove::Seat(seat) = self.work.turn() else { return Descent::Blocked };
                    self.nodes[at].kind = NodeKind::Pending;
                    let path = std::mem::take(&mut self.path);
                    path.iter().for_each(|&i| self.nodes[i as usize].pending += 1);
                    observe(&*self.work, seat);
                    return Descent::Leaf(Leaf { path, seat, legal: self.work.legal_list(seat) });
                }
            }
        }
    }

    /// Adds the children of a leaf, with the probability of each of its legal actions, and backs up the value of each
    /// seat.
    pub fn expand(&mut self, leaf: &Leaf, priors: &[f32], values: &[f32], rng: &mut Stream) {
        let at = leaf.path.last().map_or(0, |&at| at as usize);
        let first = self.nodes.len() as u32;
        let child = |(&a, &prior): (&Action, &f32)| Node::new(a, leaf.seat as u8, prior);
        self.nodes.extend(leaf.legal.iter().zip(priors).map(child));
        (self.nodes[at].first, self.nodes[at].count) = (first, leaf.legal.len() as u32);
        self.nodes[at].kind = NodeKind::Choice;
        if at == 0 {
            self.add_noise(rng);
        }
        leaf.path.iter().for_each(|&i| self.nodes[i as usize].pending -= 1);
        self.back_up(&leaf.path, values);
    }

    /// Returns true if the tree has reached its maximum size, so that the search must end.
    pub fn is_full(&self) -> bool {
        self.nodes.len() >= MAX_NODES
    }

    /// Returns the statistics of the legal actions at the root, ascending by action; empty before the first expansion.
    pub fn root_actions(&self) -> impl Iterator<Item = RootAction> + '_ {
        let root = &self.nodes[0];
        self.nodes[root.children()].iter().map(|node| RootAction { visits: node.visits, total: node.total })
    }

    /// Returns the child with the greatest `value + c * prior * sqrt(parent's visits) / (1 + visits)`, the first in a
    /// tie. The value of an unvisited child is 0, the midpoint of the game's bounds.
    fn choose(&self, at: usize) -> usize {
        let node = &self.nodes[at];
        let weight = self.settings.c * ((node.visits + node.pending) as f32).sqrt();
        let mut best = (f32::NEG_INFINITY, node.first as usize);
        for i in node.children() {
            let child = &self.nodes[i];
            let n = (child.visits + child.pending) as f32;
            let value = if n == 0.0 { 0.0 } else { (child.total - child.pending as f32) / n };
            let score = value + weight * child.prior / (1.0 + n);
            if score > best.0 {
                best = (score, i);
            }
        }
        best.1
    }

    /// Adds the outcomes of a chance node, or marks the end of the episode. Other nodes stay fresh.
    fn enter(&mut self, at: usize) {
        match self.work.turn() {
            ToMove::Chance => {
                self.work.chance(&mut self.outcomes);
                let first = self.nodes.len() as u32;
                self.nodes.extend(self.outcomes.items().iter().map(|&(a, _)| Node::new(a, NOBODY, 0.0)));
                (self.nodes[at].first, self.nodes[at].count) = (first, self.outcomes.items().len() as u32);
                self.nodes[at].kind = NodeKind::Chance;
            }
            ToMove::Over => self.nodes[at].kind = NodeKind::Over,
            ToMove::Seat(_) | ToMove::Simultaneous(_) => {}
        }
    }

    /// Samples an outcome by weight and plays it. Returns the node after the outcome.
    fn draw(&mut self, at: usize, rng: &mut Stream) -> usize {
        self.work.chance(&mut self.outcomes);
        let outcome = rng.pick(&self.outcomes).unwrap_or(0);
        let children = self.nodes[at].children();
        let child = children.clone().find(|&i| self.nodes[i].action == outcome).unwrap_or(children.start);
        self.work.play_unchecked(self.nodes[child].action);
        child
    }

    /// Backs up the returns at the end of the episode.
    fn back_up_returns(&mut self) {
        let (least, greatest) = (self.root.spec().min_return, self.root.spec().max_return);
        self.work.returns_into(&mut self.returns);
        let values: Vec<f32> = self.returns.iter().map(|&r| scaled(r, least, greatest) as f32).collect();
        let path = std::mem::take(&mut self.path);
        self.back_up(&path, &values);
        self.path = path;
    }

    fn back_up(&mut self, path: &[u32], values: &[f32]) {
        for &i in path {
            let node = &mut self.nodes[i as usize];
            node.visits += 1;
            node.total += values.get(usize::from(node.by)).unwrap_or(&0.0);
        }
    }

    /// Mixes Dirichlet noise into the priors of the root.
    fn add_noise(&mut self, rng: &mut Stream) {
        let children = self.nodes[0].children();
        let alpha = self.settings.alpha.unwrap_or(10.0 / children.len().max(1) as f32);
        let Ok(gamma) = Gamma::new(alpha, 1.0) else { return };
        if self.settings.noise == 0.0 {
            return;
        }
        // A Dirichlet sample is a normalized vector of Gamma samples.
        let mut random = Xoshiro256PlusPlus::seed_from_u64(rng.bits());
        let noise: Vec<f32> = children.clone().map(|_| gamma.sample(&mut random)).collect();
        let sum = noise.iter().sum::<f32>().max(f32::MIN_POSITIVE);
        for (i, noise) in children.zip(noise) {
            let prior = &mut self.nodes[i].prior;
            *prior += self.settings.noise * (noise / sum - *prior);
        }
    }
}

/// Scales a return so that -1 and 1 are the bounds of the game's returns.
pub(super) fn scaled(value: f64, least: f64, greatest: f64) -> f64 {
    if greatest > least { 2.0 * (value - least) / (greatest - least) - 1.0 } else { 0.0 }
}
