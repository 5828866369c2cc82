//! `alphabeta`: iterative deepening with a transposition table, for two seats, zero sum, without chance or secrets.
//!
//! Positions at the horizon count what the game's evaluation says, or the returns so far where it gives none; ends count
//! their returns. The search deepens until `depth`, until it has proved a win (so that the shortest one is played), a loss
//! (then the move that the previous depth liked best is played, which holds out longest), or until nothing is left to
//! look at. Of equally good moves it plays the first in an order shuffled by the turn's stream, the best of the
//! previous depth before all: a function of key, turn and view.
//!
//! The transposition table is made anew for every move, and only where the game has a hash and pays at the end: equal
//! hashes promise an equal rest of the episode, not equal rewards so far.

use std::sync::Arc;
use std::time::Instant;

use ludex_env::{Action, Ask, DynState, GameRef, Seat, Turn};
use ludex_protocol::spec::{ChanceMode, Dynamics, Information, RewardModel, Spec, Utility};

use crate::agent::{Agent, Answer, Move};
use crate::error::AgentError;
use crate::roster::{Entry, Kind};
use crate::spec::{AgentSpec, ArgDef, ArgKind};

pub(crate) const ENTRY: Entry = Entry {
    name: "alphabeta",
    kind: Kind::Builtin,
    doc: "looks ahead a number of plies; two seats, zero sum, no chance, nothing hidden",
    args: &[ArgDef::new("depth", ArgKind::Int { min: 1, max: 1_000 }, "plies to look ahead").default("4")],
    free: false,
    build,
};

fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, AgentError> {
    if let Some(why) = misfit(game.spec()) {
        let fits = "it plays games of two seats and zero sum, one move at a time, without chance, with nothing hidden; \
                    mcts plays this one";
        return Err(AgentError::unfit(spec.name(), &game.spec().game, why, fits));
    }
    Ok(Arc::new(AlphaBeta { depth: spec.int("depth").unwrap_or(1) as usize }))
}

fn misfit(spec: &Spec) -> Option<&'static str> {
    [
        (spec.players != 2, "it has not two seats"),
        (spec.utility != Utility::ZeroSum, "its returns do not sum to zero"),
        (spec.dynamics != Dynamics::Sequential, "seats move at the same time"),
        (spec.chance != ChanceMode::Deterministic, "it has chance"),
        (spec.information != Information::Perfect, "information is hidden"),
    ]
    .into_iter()
    .find_map(|(wrong, why)| wrong.then_some(why))
}

struct AlphaBeta {
    depth: usize,
}

impl Agent for AlphaBeta {
    fn act(&self, ask: &Ask<'_>, deadline: Option<Instant>) -> Result<Answer, AgentError> {
        let mut order = ask.legal.to_vec();
        let Some(mut choice) = order.first().copied() else {
            return Err(AgentError::failed("alphabeta: there is no action id to choose from"));
        };
        let mut rng = ask.stream();
        let root = ask.view().world(&mut rng);
        rng.shuffle(&mut order);
        let spec = root.spec().clone();
        let mut search = Search::new(root, self.depth, deadline);
        let mut reached = (0, 0.0);
        for depth in 1..=self.depth {
            search.open = false;
            let Some((best, value)) = search.root(ask.seat, depth, &order) else {
                break;
            };
            let lost = value <= spec.min_return;
            if depth == 1 || !lost {
                choice = best;
            }
            reached = (depth, value);
            if lost || value >= spec.max_return || !search.open {
                break;
            }
            // The best first, the others as they were.
            let at = order.iter().position(|&a| a == best).unwrap_or(0);
            order[..=at].rotate_right(1);
        }
        let value = (reached.1 * 1e4).round() / 1e4;
        let answer = Answer::new(Move::Id(choice)).note("depth", reached.0).note("value", value);
        let answer = answer.note("nodes", search.nodes);
        Ok(if search.stopped { answer.note("cut", true) } else { answer })
    }
}

/// What a value in the table says about the true one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bound {
    /// Nothing: the slot is empty.
    Empty,
    /// It is this.
    Exact,
    /// It is this or more.
    Least,
    /// It is this or less.
    Most,
}

#[derive(Clone, Copy)]
struct Slot {
    hash: u64,
    /// For the seat to move.
    value: f64,
    best: Action,
    depth: u16,
    bound: Bound,
}

const EMPTY: Slot = Slot { hash: 0, value: 0.0, best: 0, depth: 0, bound: Bound::Empty };
/// Nodes between two looks at the clock.
const NODES_PER_LOOK: u64 = 256;

struct Search {
    /// The position at every ply of the line being looked at.
    line: Vec<Box<dyn DynState>>,
    /// The moves at every ply, best guesses first.
    moves: Vec<Vec<Action>>,
    /// A power of two of slots, or none at all.
    table: Vec<Slot>,
    /// How much each action has cut off, by seat: the order of moves that the table says nothing about.
    history: [Vec<u32>; 2],
    /// Evaluations stay between these, so that only ends count as won or lost.
    within: [f64; 2],
    returns: [f64; 2],
    nodes: u64,
    /// Whether this iteration met the horizon, or the table, which may stand for it.
    open: bool,
    deadline: Option<Instant>,
    stopped: bool,
}

impl Search {
    fn new(root: Box<dyn DynState>, depth: usize, deadline: Option<Instant>) -> Self {
        let spec = root.spec();
        let tabled = root.hash().is_some() && spec.rewards == RewardModel::Terminal && depth > 2;
        let slots = if tabled { 1 << (2 * depth + 6).min(20) } else { 0 };
        let edge = (spec.max_return - spec.min_return) * 1e-6;
        Search {
            table: vec![EMPTY; slots],
            moves: Vec::new(),
            history: [0, 1].map(|_| vec![0; spec.actions as usize]),
            within: [spec.min_return + edge, spec.max_return - edge],
            returns: [0.0; 2],
            nodes: 0,
            open: false,
            deadline,
            stopped: false,
            line: vec![root],
        }
    }

    /// The best of `order` for `seat` at the root and its value; `None` if time ran out (not at depth 1).
    fn root(&mut self, seat: Seat, depth: usize, order: &[Action]) -> Option<(Action, f64)> {
        let mut best = (order[0], f64::NEG_INFINITY);
        for &a in order {
            self.play(0, a);
            let value = self.value(1, seat, depth - 1, best.1, f64::INFINITY);
            if self.stopped && depth > 1 {
                return None;
            }
            if value > best.1 {
                best = (a, value);
            }
        }
        Some(best)
    }

    /// Puts the position after `a` at `ply` onto the next ply.
    fn play(&mut self, ply: usize, a: Action) {
        if self.line.len() == ply + 1 {
            self.line.push(self.line[ply].boxed());
        }
        let (before, after) = self.line.split_at_mut(ply + 1);
        after[0].copy_from(&*before[ply]);
        after[0].play_unchecked(a);
    }

    /// The value of the position at `ply` for `seat`, exact between `alpha` and `beta`, else a bound beyond them.
    fn value(&mut self, ply: usize, seat: Seat, depth: usize, alpha: f64, beta: f64) -> f64 {
        match self.line[ply].turn() {
            Turn::Seat(mover) if depth > 0 => {
                if mover == seat {
                    self.node(ply, mover, depth, alpha, beta)
                } else {
                    -self.node(ply, mover, depth, -beta, -alpha)
                }
            }
            Turn::Over => self.so_far(ply, seat),
            _ => {
                self.open = true;
                let guess = self.line[ply].evaluate(seat).unwrap_or_else(|| self.so_far(ply, seat));
                guess.clamp(self.within[0], self.within[1])
            }
        }
    }

    fn so_far(&mut self, ply: usize, seat: Seat) -> f64 {
        self.line[ply].returns_into(&mut self.returns);
        self.returns[seat]
    }

    /// As [`Search::value`], for the seat to move and with plies left.
    fn node(&mut self, ply: usize, mover: Seat, depth: usize, mut alpha: f64, mut beta: f64) -> f64 {
        self.nodes += 1;
        if self.nodes.is_multiple_of(NODES_PER_LOOK) && self.deadline.is_some_and(|t| Instant::now() >= t) {
            self.stopped = true;
        }
        if self.stopped {
            return 0.0;
        }
        let hash = if self.table.is_empty() { None } else { self.line[ply].hash() };
        let mut guess = None;
        if let Some(hash) = hash {
            let slot = &self.table[self.slot(hash)];
            if slot.hash == hash && slot.bound != Bound::Empty {
                guess = Some(slot.best);
                if usize::from(slot.depth) >= depth {
                    self.open = true;
                    match slot.bound {
                        Bound::Exact => return slot.value,
                        Bound::Least => alpha = alpha.max(slot.value),
                        Bound::Most | Bound::Empty => beta = beta.min(slot.value),
                    }
                    if alpha >= beta {
                        return slot.value;
                    }
                }
            }
        }
        let moves = self.ordered(ply, mover, guess);
        let from = alpha;
        let (mut best, mut most) = (moves.first().copied().unwrap_or(0), f64::NEG_INFINITY);
        for &a in &moves {
            self.play(ply, a);
            let value = self.value(ply + 1, mover, depth - 1, alpha, beta);
            if value > most {
                (best, most) = (a, value);
            }
            alpha = alpha.max(value);
            if alpha >= beta {
                let cuts = &mut self.history[mover][a as usize];
                *cuts = cuts.saturating_add((depth * depth) as u32);
                break;
            }
        }
        if moves.is_empty() {
            most = self.so_far(ply, mover);
        }
        self.moves[ply] = moves;
        if let (Some(hash), false) = (hash, self.stopped) {
            let bound = match most {
                v if v <= from => Bound::Most,
                v if v >= beta => Bound::Least,
                _ => Bound::Exact,
            };
            let at = self.slot(hash);
            self.table[at] = Slot { hash, value: most, best, depth: depth as u16, bound };
        }
        most
    }

    fn slot(&self, hash: u64) -> usize {
        // The high bits of a product: games need not mix the low bits of their hashes.
        let mixed = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        mixed as usize & (self.table.len() - 1)
    }

    /// The legal moves at `ply`: the table's first, then by what they have cut off, then by id. The list goes back to
    /// `moves[ply]` after use.
    fn ordered(&mut self, ply: usize, mover: Seat, guess: Option<Action>) -> Vec<Action> {
        if self.moves.len() <= ply {
            self.moves.resize(ply + 1, Vec::new());
        }
        let mut list = std::mem::take(&mut self.moves[ply]);
        list.clear();
        self.line[ply].legal(mover, &mut list);
        let history = &self.history[mover];
        list.sort_by_key(|&a| (Some(a) != guess, std::cmp::Reverse(history[a as usize])));
        list
    }
}
