//! `alphabeta`: iterative-deepening alpha-beta search with a transposition table, for two-player zero-sum games without
//! chance or hidden information.
//!
//! The search is a principal variation search: at each node, the first move is searched with the full window. Every
//! other move is searched with a null window, and again with the full window if it may be better. Late moves are first
//! searched at a reduced depth. Move order: the table's move, the game's preferred moves (`search_moves`), two killer
//! moves of the ply, then the history heuristic.
//!
//! At the horizon, the search follows the game's quiescence moves (`quiescence_moves`). It then uses the game's
//! evaluation or, if the game has none, the returns so far. Terminal positions use their returns. The search deepens
//! until it reaches `depth`, has searched `nodes` positions, has proved a win or a loss, or has searched the whole
//! tree. The results of an unfinished iteration are used. The agent plays the shortest proven win. If a loss is proved,
//! it plays the best move of the previous depth, which delays the loss longest. Ties are broken by an order shuffled by
//! the turn's stream, with the best move of the previous depth first. The move is a function of key, turn and view.
//!
//! `noise=x` adds a uniform error of up to ±`x` times the span of the game's returns to the value of each root move,
//! drawn once per turn. With noise, the search considers all legal moves at the root. Small values vary the play; large
//! values weaken it.
//!
//! The transposition table is created for each move, and only if the game has a position hash and pays returns at the
//! end. Positions with equal hashes have the same continuations, but not necessarily the same rewards so far.

use std::sync::Arc;

use ludex_env::{Action, Budget, DynState, GameRef, MoveRequest, Seat, ToMove};
use ludex_protocol::Refusal;
use ludex_protocol::spec::{ChanceMode, Dynamics, Information, RewardModel, Spec, Utility};

use crate::agent::{Agent, MoveReply};
use crate::error::AgentError;
use crate::refusal::does_not_play;
use crate::spec::{AgentEntry, AgentSpec, ArgDef, ArgKind};

pub(crate) const ENTRY: AgentEntry = AgentEntry::new(
    "alphabeta",
    "alpha-beta search for two-seat zero-sum games without chance and hidden information",
    build,
)
.args(&[
    ArgDef::new("depth", ArgKind::Int { min: 1, max: MOST_PLIES as u64 }, "plies to look ahead")
        .default_unless("4", "nodes"),
    ArgDef::new(
        "nodes",
        ArgKind::Int { min: 1, max: 1_000_000_000 },
        "maximum positions to search; the first ply is always completed",
    ),
    ArgDef::new(
        "noise",
        ArgKind::Number { min: 0.0, max: 1.0 },
        "maximum random error of move values, as a share of the span of returns",
    )
    .default("0"),
]);

/// Maximum search depth in plies. A deeper search could overflow the stack.
const MOST_PLIES: usize = 1_000;

fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    if let Some(why) = misfit(game.spec()) {
        let fits = "it plays two-seat zero-sum games without simultaneous moves, chance or hidden information; use \
                    mcts for this game";
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
        (spec.players != 2, "it does not have two seats"),
        (spec.utility != Utility::ZeroSum, "its returns do not sum to zero"),
        (spec.dynamics != Dynamics::Sequential, "it has simultaneous moves"),
        (spec.chance != ChanceMode::Deterministic, "it has chance events"),
        (spec.information != Information::Perfect, "it has hidden information"),
    ]
    .into_iter()
    .find_map(|(wrong, why)| wrong.then_some(why))
}

struct AlphaBeta {
    depth: usize,
    nodes: u64,
    noise: f64,
}

/// Root move with its value.
#[derive(Clone, Copy)]
struct Choice {
    action: Action,
    /// Noise added to the value.
    error: f64,
    /// Value without noise; an upper bound if the move was proved to be no better than an earlier move.
    value: f64,
}

impl Agent for AlphaBeta {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        if ask.legal.is_empty() {
            return Err(AgentError::failed("alphabeta: expected at least one legal action id, got none"));
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
            return Err(AgentError::failed("alphabeta: expected at least one search move, got none"));
        };
        let deepest = self.depth.min(spec.max_length as usize).max(1);
        let mut search = AlphaBetaSearch::new(root, deepest, self.nodes, ask.budget());
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
                // Moves the best move to the front and keeps the order of all other moves.
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

/// Relation between the stored value and the exact value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bound {
    Empty,
    Exact,
    /// Stored value is a lower bound.
    Least,
    /// Stored value is an upper bound.
    Most,
}

#[derive(Clone, Copy)]
struct Slot {
    hash: u64,
    /// Value for the seat to move.
    value: f64,
    best: Action,
    depth: u16,
    bound: Bound,
}

const EMPTY: Slot = Slot { hash: 0, value: 0.0, best: 0, depth: 0, bound: Bound::Empty };
/// Number of nodes between two checks of the clock.
const NODES_PER_LOOK: u64 = 256;
/// Maximum depth of the quiescence search in plies. `NOISY_NODES` is the approximate maximum number of nodes that the
/// quiescence search visits per horizon position.
const NOISY_PLIES: usize = 12;
const NOISY_NODES: u64 = 200;
/// Number of moves per node that are always searched at full depth; `DEPTH_TO_REDUCE` is the minimum depth at which
/// other moves are searched at reduced depth.
const EARLY_MOVES: usize = 4;
const DEPTH_TO_REDUCE: usize = 3;

struct AlphaBetaSearch<'a> {
    /// Position at every ply of the current line.
    line: Vec<Box<dyn DynState>>,
    /// Buffers for the moves of each ply, in search order.
    moves: Vec<Vec<Action>>,
    /// Last two moves that caused a cutoff, by ply.
    killers: Vec<[Action; 2]>,
    /// Transposition table: a power of two slots, or empty if the search uses no table.
    table: Vec<Slot>,
    /// Cutoff counts of the history heuristic, by seat and action.
    history: [Vec<u32>; 2],
    /// Bounds to which evaluations are clamped, so that only terminal positions count as won or lost.
    within: [f64; 2],
    returns: [f64; 2],
    nodes: u64,
    /// Node count at which the quiescence search of the current horizon position stops.
    noisy_until: u64,
    /// Node count at which the search stops. The first iteration is always completed.
    most_nodes: u64,
    /// True if the iteration reached the horizon or used the table, in which case a deeper search may change the
    /// result.
    open: bool,
    budget: Budget<'a>,
    stopped: bool,
    /// True if the budget stopped the search.
    late: bool,
}

impl<'a> AlphaBetaSearch<'a> {
    fn new(root: Box<dyn DynState>, depth: usize, nodes: u64, budget: Budget<'a>) -> Self {
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
            budget,
            stopped: false,
            late: false,
            line: vec![root],
        }
    }

    /// Searches the root moves in `order` for `seat`, stores their values and returns the index of the best move.
    /// Returns `None` if an iteration deeper than 1 stopped before any move was searched.
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
            // The first iteration always completes, so that there is a move to play.
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

    /// Copies the position at `ply` to the next ply and plays `a` there.
    fn play(&mut self, ply: usize, a: Action) {
        if self.line.len() == ply + 1 {
            self.line.push(self.line[ply].boxed());
        }
        let (before, after) = self.line.split_at_mut(ply + 1);
        after[0].copy_from(&*before[ply]);
        after[0].play_unchecked(a);
    }

    /// Returns the value of the position at `ply` for `seat`. The value is exact between `alpha` and `beta`, otherwise
    /// a bound.
    fn value(&mut self, ply: usize, seat: Seat, depth: usize, alpha: f64, beta: f64) -> f64 {
        self.nodes += 1;
        if self.nodes.is_multiple_of(NODES_PER_LOOK) && self.budget.is_spent() {
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

    /// Returns the value of the position at `ply` by a quiescence search of up to `left` plies.
    fn horizon(&mut self, ply: usize, mover: Seat, left: usize, mut alpha: f64, beta: f64) -> f64 {
        self.open = true;
        let mut moves = self.list(ply);
        let may_leave = left == 0 || self.stopped || self.line[ply].noisy(mover, &mut moves);
        // The last ply gets no optional move, since a reply that parries it would not be searched.
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

    /// Returns the value of the position at `ply` for `mover`, the seat to move. `depth` must be at least 1.
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
        // Uses the high bits of a product, since games need not mix the low bits of their hashes.
        let mixed = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        mixed as usize & (self.table.len() - 1)
    }

    /// Updates killer moves and history after action `a` caused a cutoff at `ply`.
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

    /// Takes the move buffer of `ply`, emptied. The caller puts the buffer back into `moves[ply]`.
    fn list(&mut self, ply: usize) -> Vec<Action> {
        if self.moves.len() <= ply {
            self.moves.resize(ply + 1, Vec::new());
        }
        let mut list = std::mem::take(&mut self.moves[ply]);
        list.clear();
        list
    }

    /// Returns the moves in search order (table move, preferred moves, killer moves, history), and the number of moves
    /// up to and including the preferred moves.
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
