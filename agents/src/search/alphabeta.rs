//! `alphabeta`: iterative deepening with a transposition table, for two seats, zero sum, without chance or secrets.
//!
//! Principal variation search: after a node's first move the others only have to show that they are no better (a null
//! window), and are looked at fully where they are. Late moves show it a ply or two shallower first. Moves are ordered:
//! the table's, what the game puts in front ([`promising`](ludex_env::Game::promising)), two killers of the ply, then by
//! what each action has cut off elsewhere.
//!
//! At the horizon a position counts what the game's evaluation says, or the returns so far where it gives none, once
//! nothing is left there that the game calls [`noisy`](ludex_env::Game::noisy); ends count their returns. The search
//! deepens until `depth`, until it has looked at `nodes` positions (an iteration that is cut short counts as far as it
//! came), until it has proved a win (so that the shortest one is played), a loss (then the move that the previous depth
//! liked best is played, which holds out longest), or until nothing is left to look at. Of equally good moves it plays
//! the first in an order shuffled by the turn's stream, the best of the previous depth before all: a function of key,
//! turn and view.
//!
//! `noise=x` adds to the value of each move at the root a uniform error of up to `x` times the span of the game's returns
//! either way, drawn once per turn, and looks at all legal moves there: a little makes play vary, much makes it weak.
//!
//! The transposition table is made anew for every move, and only where the game has a hash and pays at the end: equal
//! hashes promise an equal rest of the episode, not equal rewards so far.

use std::sync::Arc;
use std::time::Instant;

use ludex_env::{Action, DynState, GameRef, MoveRequest, Seat, ToMove};
use ludex_protocol::Refusal;
use ludex_protocol::spec::{ChanceMode, Dynamics, Information, RewardModel, Spec, Utility};

use crate::agent::{Agent, MoveReply};
use crate::error::AgentError;
use crate::refusal::does_not_play;
use crate::spec::{AgentEntry, AgentSpec, ArgDef, ArgKind};

pub(crate) const ENTRY: AgentEntry = AgentEntry::new(
    "alphabeta",
    "looks ahead a number of plies; two seats, zero sum, no chance, nothing hidden",
    build,
)
.args(&[
    ArgDef::new("depth", ArgKind::Int { min: 1, max: MOST_PLIES as u64 }, "plies to look ahead")
        .default_unless("4", "nodes"),
    ArgDef::new("nodes", ArgKind::Int { min: 1, max: 1_000_000_000 }, "positions to look at, at least one ply deep"),
    ArgDef::new("noise", ArgKind::Number { min: 0.0, max: 1.0 }, "error in the moves' values, in spans of the returns")
        .default("0"),
]);

/// The deepest search; a deeper one would need a larger stack.
const MOST_PLIES: usize = 1_000;

fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    if let Some(why) = misfit(game.spec()) {
        let fits = "it plays games of two seats and zero sum, one move at a time, without chance, with nothing hidden; \
                    mcts plays this one";
        return Err(does_not_play(spec.name(), &game.spec().game, why, fits));
    }
    Ok(Arc::new(AlphaBeta {
        depth: spec.int("depth").map_or(MOST_PLIES, |depth| depth as usize),
        nodes: spec.int("nodes").unwrap_or(u64::MAX),
        noise: spec.number("noise").unwrap_or(0.0),
    }))
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
    nodes: u64,
    noise: f64,
}

/// A move at the root.
#[derive(Clone, Copy)]
struct Choice {
    action: Action,
    /// What noise adds to its value.
    error: f64,
    /// Its value without the error; of moves that were shown to be no better than another, a bound.
    value: f64,
}

impl Agent for AlphaBeta {
    fn act(&self, ask: &MoveRequest<'_>, deadline: Option<Instant>) -> Result<MoveReply, AgentError> {
        if ask.legal.is_empty() {
            return Err(AgentError::failed("alphabeta: there is no action id to choose from"));
        }
        let mut rng = ask.stream();
        let root = ask.view().world(&mut rng);
        let mut actions = Vec::new();
        if self.noise > 0.0 {
            actions.extend_from_slice(ask.legal);
        } else {
            root.promising(ask.seat, &mut actions);
        }
        rng.shuffle(&mut actions);
        let spec = root.spec().clone();
        let span = self.noise * (spec.max_return - spec.min_return);
        let mut error = || if self.noise > 0.0 { span * (2.0 * rng.unit() - 1.0) } else { 0.0 };
        let mut order: Vec<Choice> =
            actions.into_iter().map(|action| Choice { action, error: error(), value: 0.0 }).collect();
        let Some(mut choice) = order.first().copied() else {
            return Err(AgentError::failed("alphabeta: the game finds none of its moves promising"));
        };
        let deepest = self.depth.min(spec.max_length as usize).max(1);
        let mut search = AlphaBetaSearch::new(root, deepest, self.nodes, deadline);
        let mut reached = 0;
        for depth in 1..=deepest {
            search.open = false;
            let Some(at) = search.root(ask.seat, depth, &mut order) else {
                break;
            };
            let best = order[at];
            let lost = best.value <= spec.min_return;
            if depth == 1 || !lost {
                choice = best;
            }
            reached = depth;
            if lost || best.value >= spec.max_return || !search.open || search.stopped {
                break;
            }
            if depth == 1 {
                // All values are exact.
                order.sort_by(|a, b| (b.value + b.error).total_cmp(&(a.value + a.error)));
            } else {
                // The best first, the others as they were.
                order[..=at].rotate_right(1);
            }
            if search.nodes >= self.nodes {
                break;
            }
        }
        let value = (choice.value * 1e4).round() / 1e4;
        let answer = MoveReply::id(choice.action).note("depth", reached).note("value", value);
        let answer = answer.note("nodes", search.nodes);
        Ok(if search.late { answer.note("cut", true) } else { answer })
    }
}

/// What a value in the table says about the true one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bound {
    /// The slot is empty.
    Empty,
    /// Exactly this.
    Exact,
    /// This or more.
    Least,
    /// This or less.
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
/// How far noisy moves are followed beyond the horizon, and about how many from one position there.
const NOISY_PLIES: usize = 12;
const NOISY_NODES: u64 = 200;
/// Moves of a node that are looked at in full depth before late ones are tried shallower, and the least depth for that.
const EARLY_MOVES: usize = 4;
const DEPTH_TO_REDUCE: usize = 3;

struct AlphaBetaSearch {
    /// The position at every ply of the line being looked at.
    line: Vec<Box<dyn DynState>>,
    /// The moves at every ply, best guesses first.
    moves: Vec<Vec<Action>>,
    /// The last two moves that cut off at every ply.
    killers: Vec<[Action; 2]>,
    /// A power of two of slots, or none at all.
    table: Vec<Slot>,
    /// How much each action has cut off, by seat: the order of moves about which nothing else is known.
    history: [Vec<u32>; 2],
    /// Evaluations stay between these, so that only ends count as won or lost.
    within: [f64; 2],
    returns: [f64; 2],
    nodes: u64,
    /// After this many nodes the noisy moves of this horizon are not followed further.
    noisy_until: u64,
    /// The search ends after this many nodes, but not before the first iteration is over.
    most_nodes: u64,
    /// Whether this iteration met the horizon, or the table, which may stand for it.
    open: bool,
    deadline: Option<Instant>,
    stopped: bool,
    /// Whether the clock stopped it.
    late: bool,
}

impl AlphaBetaSearch {
    fn new(root: Box<dyn DynState>, depth: usize, nodes: u64, deadline: Option<Instant>) -> Self {
        let spec = root.spec();
        let tabled = root.hash().is_some() && spec.rewards == RewardModel::Terminal && depth > 2;
        let by_nodes = nodes.min(1 << 20).next_power_of_two();
        let slots = if tabled { by_nodes.min(1 << (2 * depth + 6).min(20)) } else { 0 };
        let edge = (spec.max_return - spec.min_return) * 1e-6;
        AlphaBetaSearch {
            table: vec![EMPTY; slots as usize],
            moves: Vec::new(),
            killers: Vec::new(),
            history: [0, 1].map(|_| vec![0; spec.actions as usize]),
            within: [spec.min_return + edge, spec.max_return - edge],
            returns: [0.0; 2],
            nodes: 0,
            noisy_until: 0,
            most_nodes: nodes,
            open: false,
            deadline,
            stopped: false,
            late: false,
            line: vec![root],
        }
    }

    /// Where in `order` the best move for `seat` at the root stands; the values found go into it. `None` if the search
    /// was stopped before it knew more than the iteration before (not at depth 1).
    fn root(&mut self, seat: Seat, depth: usize, order: &mut [Choice]) -> Option<usize> {
        let mut best: Option<(usize, f64)> = None;
        for (i, choice) in order.iter_mut().enumerate() {
            self.play(0, choice.action);
            let value = match best {
                Some((_, most)) if depth > 1 => {
                    let alpha = most - choice.error;
                    match self.value(1, seat, depth - 1, alpha, alpha.next_up()) {
                        better if better > alpha => self.value(1, seat, depth - 1, alpha, f64::INFINITY),
                        value => value,
                    }
                }
                _ => self.value(1, seat, depth - 1, f64::NEG_INFINITY, f64::INFINITY),
            };
            // The first iteration is always completed, so that there is a move to choose.
            if self.stopped && depth > 1 {
                break;
            }
            choice.value = value;
            if best.is_none_or(|(_, most)| value + choice.error > most) {
                best = Some((i, value + choice.error));
            }
        }
        best.map(|(at, _)| at)
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
        self.nodes += 1;
        if self.nodes.is_multiple_of(NODES_PER_LOOK) && self.deadline.is_some_and(|t| Instant::now() >= t) {
            (self.stopped, self.late) = (true, true);
        }
        let value = |search: &mut Self, mover: Seat, alpha: f64, beta: f64| {
            if depth > 0 {
                search.node(ply, mover, depth, alpha, beta)
            } else {
                search.noisy_until = search.nodes + NOISY_NODES;
                search.horizon(ply, mover, NOISY_PLIES, alpha, beta)
            }
        };
        match self.line[ply].turn() {
            ToMove::Seat(mover) if mover == seat => value(self, mover, alpha, beta),
            ToMove::Seat(mover) => -value(self, mover, -beta, -alpha),
            _ => self.so_far(ply, seat),
        }
    }

    fn so_far(&mut self, ply: usize, seat: Seat) -> f64 {
        self.line[ply].returns_into(&mut self.returns);
        self.returns[seat]
    }

    /// As [`AlphaBetaSearch::value`], for the seat to move and no plies left, but `left` for noisy moves.
    fn horizon(&mut self, ply: usize, mover: Seat, left: usize, mut alpha: f64, beta: f64) -> f64 {
        self.open = true;
        let mut moves = self.list(ply);
        let may_leave = left == 0 || self.stopped || self.line[ply].noisy(mover, &mut moves);
        // The last word is an answer: a threat that can still be answered is not a gain.
        if may_leave && (left <= 1 || self.nodes >= self.noisy_until) {
            moves.clear();
        }
        let mut most = f64::NEG_INFINITY;
        if may_leave {
            let guess = self.line[ply].evaluate(mover).unwrap_or_else(|| self.so_far(ply, mover));
            most = guess.clamp(self.within[0], self.within[1]);
            alpha = alpha.max(most);
        }
        for &a in &moves {
            if alpha >= beta {
                break;
            }
            self.play(ply, a);
            self.nodes += 1;
            let value = match self.line[ply + 1].turn() {
                ToMove::Seat(next) if next == mover => self.horizon(ply + 1, next, left - 1, alpha, beta),
                ToMove::Seat(next) => -self.horizon(ply + 1, next, left - 1, -beta, -alpha),
                _ => self.so_far(ply + 1, mover),
            };
            most = most.max(value);
            alpha = alpha.max(value);
        }
        self.moves[ply] = moves;
        most
    }

    /// As [`AlphaBetaSearch::value`], for the seat to move and with plies left.
    fn node(&mut self, ply: usize, mover: Seat, depth: usize, mut alpha: f64, mut beta: f64) -> f64 {
        self.stopped |= self.nodes >= self.most_nodes;
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
        let (moves, first) = self.ordered(ply, mover, guess);
        let from = alpha;
        let (mut best, mut most) = (moves.first().copied().unwrap_or(0), f64::NEG_INFINITY);
        for (i, &a) in moves.iter().enumerate() {
            self.play(ply, a);
            let late = depth >= DEPTH_TO_REDUCE && i >= EARLY_MOVES.max(first);
            let mut value = f64::INFINITY;
            if late {
                value = self.value(ply + 1, mover, depth - 2, alpha, alpha.next_up());
            }
            if i > 0 && value > alpha {
                value = self.value(ply + 1, mover, depth - 1, alpha, alpha.next_up());
            }
            if i == 0 || value > alpha && value < beta {
                value = self.value(ply + 1, mover, depth - 1, alpha, beta);
            }
            if self.stopped {
                break;
            }
            if value > most {
                (best, most) = (a, value);
            }
            alpha = alpha.max(value);
            if alpha >= beta {
                self.cut_off(ply, mover, depth, a);
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

    /// Remembers that `a` was enough at `ply`.
    fn cut_off(&mut self, ply: usize, mover: Seat, depth: usize, a: Action) {
        let cuts = &mut self.history[mover][a as usize];
        *cuts = cuts.saturating_add((depth * depth) as u32);
        if self.killers.len() <= ply {
            self.killers.resize(ply + 1, [Action::MAX; 2]);
        }
        let [last, before] = &mut self.killers[ply];
        if *last != a {
            (*before, *last) = (*last, a);
        }
    }

    /// The empty list of `ply`, which goes back to `moves[ply]` after use.
    fn list(&mut self, ply: usize) -> Vec<Action> {
        if self.moves.len() <= ply {
            self.moves.resize(ply + 1, Vec::new());
        }
        let mut list = std::mem::take(&mut self.moves[ply]);
        list.clear();
        list
    }

    /// The moves to look at: the table's, those that the game puts in front, killers, then by what they have cut off. And
    /// how many those in front are, the table's among them.
    fn ordered(&mut self, ply: usize, mover: Seat, guess: Option<Action>) -> (Vec<Action>, usize) {
        let mut list = self.list(ply);
        let mut first = self.line[ply].promising(mover, &mut list);
        let history = &self.history[mover];
        let killers = self.killers.get(ply).copied().unwrap_or([Action::MAX; 2]);
        list[first..].sort_by_key(|&a| (!killers.contains(&a), std::cmp::Reverse(history[a as usize])));
        if let Some(at) = guess.and_then(|guess| list.iter().position(|&a| a == guess)) {
            list[..=at].rotate_right(1);
            first += usize::from(at >= first);
        }
        (list, first)
    }
}
