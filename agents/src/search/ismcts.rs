//! `ismcts`: single-observer information set Monte Carlo tree search, for games with hidden information.
//!
//! The nodes of the tree are information sets of the searching seat, not positions. Every simulation samples a state
//! that is consistent with the seat's view (a determinization), and descends the tree in this state. At each node only
//! the actions that are legal in this state are available. If there are untried actions, a random one of them is
//! played, and the rest of the simulation is random play. Otherwise the seat to move takes the action with the greatest
//! `mean + c * sqrt(ln(times available) / visits)`. The mean is over the seat's own returns (max^n), and `c` is in
//! units of half the spread of the observed returns, as in [`mcts`](super::mcts). The formula counts how often an
//! action was available, not the visits of its node. This prevents over-exploration of actions that are rarely legal.
//! Chance outcomes are sampled by their weights.
//!
//! Edges are moves as the searching seat observes them ([`DynState::seen`]). Each visible action has its own edge;
//! hidden actions with the same observation share an edge. The agent plays the action with the most visits; ties go to
//! the greater mean. While [`mcts`](super::mcts) searches each sampled state as if all seats saw it, this search makes
//! one decision for all states of an information set. However, opponents are modeled as if they saw the seat's cards,
//! and the result is a single action, not a mixed strategy. The play therefore does not converge to an equilibrium.
//!
//! Source: Cowling, Powley and Whitehouse, *Information set Monte Carlo tree search* (2012), algorithm SO-ISMCTS.

use std::collections::HashMap;
use std::sync::Arc;

use ludex_env::{Action, DynState, DynView, GameRef, MoveRequest, Mover, Outcomes, Seat, Stream, ToMove, Viewer};
use ludex_protocol::Refusal;
use ludex_protocol::spec::{Dynamics, Information};

use super::tree::{Logs, ROLLOUT_LIMIT};
use crate::agent::{Agent, MoveReply};
use crate::error::AgentError;
use crate::refusal::does_not_play;
use crate::spec::{AgentEntry, AgentSpec, ArgDef, ArgKind};

/// Maximum number of nodes. A tree of this size is still searched but does not grow.
const MAX_NODES: usize = 1 << 22;
const NO_ROOM: u32 = u32::MAX;

pub(crate) const ENTRY: AgentEntry = AgentEntry::new(
    "ismcts",
    "information set Monte Carlo tree search: one tree for all states consistent with the seat's view",
    build,
)
.args(&[
    ArgDef::new("sims", ArgKind::Int { min: 1, max: 1_000_000_000 }, "simulations per move").default("1000"),
    ArgDef::new("c", ArgKind::Number { min: 0.0, max: 1e6 }, "exploration constant").default("1.4"),
]);

fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    let facts = game.spec();
    let unfit = |why: &str| Err(does_not_play(spec.name(), &facts.game, why, "use mcts for this game"));
    if facts.information == Information::Perfect {
        return unfit("it has no hidden information");
    }
    if facts.dynamics != Dynamics::Sequential {
        return unfit("it has simultaneous moves");
    }
    Ok(Arc::new(Ismcts { sims: spec.int("sims").unwrap_or(1), c: spec.number("c").unwrap_or(1.4) }))
}

struct Ismcts {
    sims: u64,
    c: f64,
}

impl Agent for Ismcts {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        match ask.legal {
            [] => return Err(AgentError::failed("ismcts: expected at least one legal action id, got none")),
            [only] => return Ok(MoveReply::id(*only)),
            _ => {}
        }
        let (view, mut rng) = (ask.view(), ask.stream());
        let mut search = IsmctsSearch::new(ask.seat, &*view, self.c);
        let (mut made, mut cut) = (0, false);
        while made < self.sims && !cut {
            search.simulate(&*view, &mut rng);
            made += 1;
            cut = made < self.sims && ask.budget().is_spent();
        }
        let best = search.best().unwrap_or(Arm::new(ask.legal[0], ask.seat));
        let value = (best.mean() * 1e4).round() / 1e4;
        let answer = MoveReply::id(best.action).note("sims", made).note("value", value);
        Ok(if cut { answer.note("cut", true) } else { answer })
    }
}

/// Statistics of an action at a node.
#[derive(Clone, Copy)]
struct Arm {
    action: Action,
    /// Seat that chooses the action.
    by: u8,
    visits: u32,
    /// Number of visits to the node in which the sampled state allowed the action.
    open: u32,
    /// Sum of the returns of seat `by`.
    total: f64,
}

impl Arm {
    fn new(action: Action, by: Seat) -> Self {
        Arm { action, by: by as u8, visits: 0, open: 0, total: 0.0 }
    }

    fn mean(&self) -> f64 {
        if self.visits == 0 { 0.0 } else { self.total / f64::from(self.visits) }
    }
}

/// Label of an edge: the action or, if the searching seat does not see the action, the text that the seat sees instead.
#[derive(PartialEq, Eq, Hash)]
enum Edge {
    Shown(Action),
    Hidden(Option<String>),
}

/// State of one search.
struct IsmctsSearch {
    me: Seat,
    c: f64,
    /// Actions found so far at each node, in ascending order.
    nodes: Vec<Vec<Arm>>,
    edges: HashMap<(u32, Edge), u32>,
    /// Return that each seat has at the root, subtracted from the simulated returns.
    base: Vec<f64>,
    /// Minimum and maximum return of any seat over all simulations.
    seen: [f64; 2],
    logs: Logs,
    /// Path of the current simulation, as pairs of node and arm index.
    path: Vec<(u32, u32)>,
    /// Indices of the arms that are available in the current state.
    open: Vec<u32>,
    legal: Vec<Action>,
    returns: Vec<f64>,
    outcomes: Outcomes,
}

impl IsmctsSearch {
    fn new(me: Seat, view: &dyn DynView, c: f64) -> Self {
        let players = view.spec().players as usize;
        IsmctsSearch {
            me,
            c,
            nodes: vec![Vec::new()],
            edges: HashMap::new(),
            base: vec![0.0; players],
            seen: [f64::INFINITY, f64::NEG_INFINITY],
            logs: Logs::new(),
            path: Vec::new(),
            open: Vec::new(),
            legal: Vec::new(),
            returns: vec![0.0; players],
            outcomes: Outcomes::new(),
        }
    }

    /// Returns the arm to play: the one with most visits, then the greatest mean, then the lowest action id.
    fn best(&self) -> Option<Arm> {
        let key = |arm: &Arm| (arm.visits, arm.mean());
        self.nodes[0].iter().copied().reduce(|best, arm| if key(&arm) > key(&best) { arm } else { best })
    }

    /// Runs one simulation in a newly sampled state.
    fn simulate(&mut self, view: &dyn DynView, rng: &mut Stream) {
        let mut world = view.world(rng);
        world.returns_into(&mut self.base);
        self.path.clear();
        let mut at = 0;
        loop {
            match world.turn() {
                // Games with simultaneous moves are refused.
                ToMove::Over | ToMove::Simultaneous(_) => break,
                ToMove::Chance => {
                    world.chance(&mut self.outcomes);
                    let a = rng.pick(&self.outcomes).unwrap_or(0);
                    at = self.follow(at, &*world, Mover::Chance, a);
                    world.play_unchecked(a);
                }
                ToMove::Seat(seat) => {
                    let Some(place) = self.choose(at, &*world, seat, rng) else { break };
                    let arm = &self.nodes[at as usize][place];
                    let (a, first) = (arm.action, arm.visits == 0);
                    self.path.push((at, place as u32));
                    if first {
                        world.play_unchecked(a);
                        break;
                    }
                    at = self.follow(at, &*world, Mover::Seat(seat), a);
                    world.play_unchecked(a);
                }
            }
            if at == NO_ROOM {
                break;
            }
        }
        world.rollout(rng, ROLLOUT_LIMIT);
        world.returns_into(&mut self.returns);
        for (r, base) in self.returns.iter_mut().zip(&self.base) {
            *r -= base;
            self.seen = [self.seen[0].min(*r), self.seen[1].max(*r)];
        }
        for &(node, place) in &self.path {
            let arm = &mut self.nodes[node as usize][place as usize];
            arm.visits += 1;
            arm.total += self.returns[usize::from(arm.by)];
        }
    }

    /// Returns the child node for action `a`, as the searching seat observes it; [`NO_ROOM`] if a new node would exceed
    /// the maximum.
    fn follow(&mut self, at: u32, world: &dyn DynState, by: Mover, a: Action) -> u32 {
        let edge = if by == Mover::Seat(self.me) {
            Edge::Shown(a)
        } else {
            let seen = world.seen(Viewer::Seat(self.me), by, a);
            seen.action.map_or_else(|| Edge::Hidden(seen.text), Edge::Shown)
        };
        let next = self.nodes.len();
        if next >= MAX_NODES {
            return self.edges.get(&(at, edge)).copied().unwrap_or(NO_ROOM);
        }
        let node = *self.edges.entry((at, edge)).or_insert(next as u32);
        if node as usize == next {
            self.nodes.push(Vec::new());
        }
        node
    }

    /// Returns the index of the arm that `seat` selects at a node; `None` if the seat has no legal action.
    fn choose(&mut self, at: u32, world: &dyn DynState, seat: Seat, rng: &mut Stream) -> Option<usize> {
        self.legal.clear();
        world.legal(seat, &mut self.legal);
        let arms = &mut self.nodes[at as usize];
        self.open.clear();
        let (mut place, mut fresh) = (0, 0);
        for &a in &self.legal {
            while arms.get(place).is_some_and(|arm| arm.action < a) {
                place += 1;
            }
            if arms.get(place).is_none_or(|arm| arm.action != a) {
                arms.insert(place, Arm::new(a, seat));
            }
            arms[place].open += 1;
            fresh += usize::from(arms[place].visits == 0);
            self.open.push(place as u32);
            place += 1;
        }
        if fresh > 0 {
            let mut untried = self.open.iter().map(|&place| place as usize).filter(|&place| arms[place].visits == 0);
            return untried.nth(rng.below(fresh));
        }
        let spread = if self.seen[1] > self.seen[0] { self.seen[1] - self.seen[0] } else { 2.0 };
        let factor = self.c * spread / 2.0;
        let (mut best, mut most) = (None, f64::NEG_INFINITY);
        for place in self.open.iter().map(|&place| place as usize) {
            let arm = &arms[place];
            self.logs.reach(arm.open);
            let value = arm.mean() + factor * self.logs.at(arm.open) / f64::from(arm.visits).sqrt();
            if value > most {
                (best, most) = (Some(place), value);
            }
        }
        best
    }
}
