//! Bot for Free Style. The bot proposes a built-in document, accepts the opponent's rules if they are fair, and plays
//! by one-ply lookahead or search.
//!
//! Action ids: 0 to 2 propose, 3 accepts, 4 rejects; the rest are moves of the agreed game.

use std::sync::Arc;

use ludex_env::{Action, DynState, DynView, GameRef, MoveRequest, Seat, Stream, ToMove};
use ludex_games::free_style::{Phase, View};
use ludex_protocol::Refusal;

use crate::agent::{Agent, MoveReply};
use crate::error::AgentError;
use crate::search::mcts;
use crate::spec::{AgentEntry, AgentSpec, ArgDef, ArgKind};
use crate::typed_access::{require_game, view};

const GAME: &str = "free_style";

pub(crate) const BOTS: &[AgentEntry] = &[AgentEntry::new(
    "rule_maker",
    "free_style: proposes a built-in document, accepts rules that 200 random games find fair, wins or blocks in one ply, or searches",
    build,
)
.args(&[ArgDef::new("sims", ArgKind::Int { min: 1, max: 1_000_000_000 }, "play as mcts with this many simulations")])];

const ACCEPT: Action = 3;
const REJECT: Action = 4;
/// Number of random games played to judge a proposal.
const PLAYOUTS: u32 = 200;
/// Minimum mean score in the random games at which a proposal counts as fair. A loss scores 0, a draw 0.5 and a win 1.
const FAIR: f64 = 0.35;
/// Maximum number of moves and chance outcomes in a random game.
const LONG: usize = 1_000;
/// Maximum number of opponent replies examined per decision.
const REPLIES: usize = 4_000;

fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    require_game(GAME, spec, game)?;
    let search = spec.int("sims").map(|sims| {
        let spec = AgentSpec::of(mcts::ENTRY, vec![("sims", sims.to_string())], spec.name())?;
        (mcts::ENTRY.build)(&spec, game)
    });
    Ok(Arc::new(RuleMaker { search: search.transpose()? }))
}

struct RuleMaker {
    search: Option<Arc<dyn Agent>>,
}

impl Agent for RuleMaker {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        let seen: View = view(ask)?;
        let mut rng = ask.stream();
        if seen.phase == Phase::Negotiate {
            return Ok(MoveReply::id(message(&*ask.view(), ask.seat, ask.legal, &mut rng)));
        }
        match &self.search {
            Some(search) => search.act(ask),
            None => Ok(MoveReply::id(one_ply(&*ask.view().world(&mut rng), ask.seat, ask.legal, &mut rng))),
        }
    }
}

/// Accepts fair rules. Otherwise proposes a built-in document or, if no proposal is legal, rejects the rules.
fn message(view: &dyn DynView, seat: Seat, legal: &[Action], rng: &mut Stream) -> Action {
    if legal.contains(&ACCEPT) && share(view, seat, rng) >= FAIR {
        return ACCEPT;
    }
    let proposals: Vec<Action> = legal.iter().copied().filter(|&a| a < ACCEPT).collect();
    proposals.get(rng.below(proposals.len().max(1))).copied().unwrap_or(REJECT)
}

/// Returns the seat's mean score from 0 to 1 in random games under the opponent's rules; a draw scores 0.5.
fn share(view: &dyn DynView, seat: Seat, rng: &mut Stream) -> f64 {
    let mut begin = view.world(rng);
    if begin.play(seat, ACCEPT).is_err() {
        return 0.0;
    }
    let mut won = 0.0;
    for _ in 0..PLAYOUTS {
        let mut game = begin.boxed();
        game.rollout(rng, LONG);
        won += (game.returns().get(seat).copied().unwrap_or(0.0) + 1.0) / 2.0;
    }
    won / f64::from(PLAYOUTS)
}

/// Returns a winning ply; otherwise a ply after which no winning reply was found; otherwise any legal ply.
fn one_ply(state: &dyn DynState, seat: Seat, legal: &[Action], rng: &mut Stream) -> Action {
    let mut order = legal.to_vec();
    rng.shuffle(&mut order);
    if let Some(a) = order.iter().copied().find(|&a| after(state, seat, a, rng).returns().get(seat) == Some(&1.0)) {
        return a;
    }
    let (other, mut left) = (1 - seat, REPLIES);
    let mut safe = |a: Action| {
        let next = after(state, seat, a, rng);
        let replies = if next.turn().seats().has(other) { next.legal_list(other) } else { Vec::new() };
        left = left.saturating_sub(replies.len());
        left == 0 || !replies.iter().any(|&b| after(&*next, other, b, rng).returns().get(other) == Some(&1.0))
    };
    let found = order.iter().copied().find(|&a| safe(a));
    found.or(order.first().copied()).unwrap_or(REJECT)
}

/// Returns the position after `a`. In a simultaneous move, the opponent's action is random.
fn after(state: &dyn DynState, seat: Seat, a: Action, rng: &mut Stream) -> Box<dyn DynState> {
    let mut next = state.boxed();
    let _ = match state.turn() {
        ToMove::Simultaneous(seats) => {
            let mut one = |p: Seat| seats.has(p).then(|| if p == seat { a } else { state.random_action(p, rng) });
            let joint = [one(0), one(1)];
            next.play_together(&joint)
        }
        _ => next.play(seat, a),
    };
    next
}
