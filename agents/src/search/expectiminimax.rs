//! `expectiminimax`: depth-limited search that weighs every chance outcome by its probability.
//!
//! Supports any number of seats, each of which maximizes its own return. Only decisions count towards the depth, not
//! chance outcomes. Positions at the horizon use the game's evaluation or, if the game has none, the returns so far.
//! Terminal positions use their returns. The search deepens up to `depth`, until the whole tree has been searched or
//! the deadline is near. Ties are broken by an order shuffled by the turn's stream.
//!
//! Source: Michie, *Game-playing and game-learning automata* (1966); for more than two seats, Luckhardt and Irani, *An
//! algorithmic solution of n-person games* (1986).

use std::sync::Arc;

use ludex_env::{Action, Budget, DynState, GameRef, MoveRequest, Outcomes, ToMove};
use ludex_protocol::Refusal;
use ludex_protocol::spec::{ChanceMode, Dynamics, Information, Spec};

use crate::agent::{Agent, MoveReply};
use crate::error::AgentError;
use crate::refusal::does_not_play;
use crate::spec::{AgentEntry, AgentSpec, ArgDef, ArgKind};

pub(crate) const ENTRY: AgentEntry = AgentEntry::new(
    "expectiminimax",
    "depth-limited search over decisions and all chance outcomes, for games without hidden information",
    build,
)
.args(&[ArgDef::new("depth", ArgKind::Int { min: 1, max: 1_000 }, "decisions to look ahead").default("2")]);

/// Maximum number of seats of a supported game.
const SEATS: usize = 16;
/// Number of positions between two checks of the clock.
const NODES_PER_LOOK: u64 = 256;

/// Value for every seat.
type Values = [f64; SEATS];

fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    if let Some(why) = misfit(game.spec()) {
        let fits = "it plays games with listed chance outcomes and without simultaneous moves or hidden information; \
                    use mcts for this game";
        return Err(does_not_play(spec.name(), &game.spec().game, why, fits));
    }
    Ok(Arc::new(Expectiminimax { depth: spec.int("depth").unwrap_or(1) }))
}

fn misfit(spec: &Spec) -> Option<&'static str> {
    [
        (spec.dynamics != Dynamics::Sequential, "it has simultaneous moves"),
        (spec.chance == ChanceMode::Sampled, "its chance outcomes cannot be listed"),
        (spec.information != Information::Perfect, "it has hidden information"),
    ]
    .into_iter()
    .find_map(|(wrong, why)| wrong.then_some(why))
}

struct Expectiminimax {
    depth: u64,
}

impl Agent for Expectiminimax {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        let mut order = ask.legal.to_vec();
        match order[..] {
            [] => return Err(AgentError::failed("expectiminimax: expected at least one legal action id, got none")),
            [only] => return Ok(MoveReply::id(only)),
            _ => {}
        }
        let mut rng = ask.stream();
        let root = ask.view().world(&mut rng);
        rng.shuffle(&mut order);
        let mut search = ExpectiminimaxSearch { nodes: 0, open: false, budget: ask.budget(), stopped: false };
        let (mut choice, mut reached) = (order[0], (0, 0.0));
        for depth in 1..=self.depth {
            search.open = false;
            let found = search.best(&*root, ask.seat, &order, depth);
            if search.stopped && depth > 1 {
                break;
            }
            choice = found.0;
            reached = (depth, found.1[ask.seat]);
            if search.stopped || !search.open {
                break;
            }
        }
        let value = (reached.1 * 1e4).round() / 1e4;
        let answer = MoveReply::id(choice).note("depth", reached.0).note("value", value).note("nodes", search.nodes);
        Ok(if search.stopped { answer.note("cut", true) } else { answer })
    }
}

struct ExpectiminimaxSearch<'a> {
    nodes: u64,
    /// True if the iteration reached the horizon.
    open: bool,
    budget: Budget<'a>,
    stopped: bool,
}

impl ExpectiminimaxSearch<'_> {
    /// Returns the first of the best `moves` for `seat`, with its value for every seat.
    fn best(&mut self, state: &dyn DynState, seat: usize, moves: &[Action], depth: u64) -> (Action, Values) {
        let mut best = (0, [f64::NEG_INFINITY; SEATS]);
        let mut next = state.boxed();
        for &a in moves {
            next.copy_from(state);
            next.play_unchecked(a);
            let values = self.values(&*next, depth - 1);
            if values[seat] > best.1[seat] {
                best = (a, values);
            }
        }
        best
    }

    /// Returns the value of a position for every seat. `depth` is the number of decisions left to search.
    fn values(&mut self, state: &dyn DynState, depth: u64) -> Values {
        self.nodes += 1;
        if self.nodes.is_multiple_of(NODES_PER_LOOK) && self.budget.is_spent() {
            self.stopped = true;
        }
        if self.stopped {
            return [0.0; SEATS];
        }
        match state.turn() {
            ToMove::Chance => self.mean(state, depth),
            ToMove::Seat(seat) if depth > 0 => {
                let mut moves = Vec::new();
                state.legal(seat, &mut moves);
                self.best(state, seat, &moves, depth).1
            }
            ToMove::Over => so_far(state),
            _ => {
                self.open = true;
                let mut values = so_far(state);
                for (seat, value) in values.iter_mut().enumerate().take(state.spec().players as usize) {
                    *value = state.evaluate(seat).unwrap_or(*value);
                }
                values
            }
        }
    }

    /// Returns the mean value over the outcomes of a chance node, for every seat.
    fn mean(&mut self, state: &dyn DynState, depth: u64) -> Values {
        let mut outcomes = Outcomes::new();
        state.chance(&mut outcomes);
        let mut mean = [0.0; SEATS];
        let mut next = state.boxed();
        for (a, p) in outcomes.probabilities() {
            next.copy_from(state);
            next.play_unchecked(a);
            let values = self.values(&*next, depth);
            mean.iter_mut().zip(values).for_each(|(mean, value)| *mean += p * value);
        }
        mean
    }
}

fn so_far(state: &dyn DynState) -> Values {
    let mut values = [0.0; SEATS];
    state.returns_into(&mut values[..state.spec().players as usize]);
    values
}
