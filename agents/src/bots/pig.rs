//! Bots for pig. Action ids: 0 rolls, 1 stops.

use std::sync::Arc;

use ludex_env::{GameRef, MoveRequest};
use ludex_games::pig::View;
use ludex_protocol::Refusal;

use crate::agent::{Agent, MoveReply};
use crate::error::AgentError;
use crate::spec::{AgentEntry, AgentSpec, ArgDef, ArgKind};
use crate::typed_access::{require_game, view};

const GAME: &str = "pig";

pub(crate) const BOTS: &[AgentEntry] = &[AgentEntry::new(
    "hold",
    "pig: rolls until the turn total reaches `at`",
    build,
)
.args(&[ArgDef::new("at", ArgKind::Int { min: 1, max: 1_000 }, "turn total at which the bot stops").default("20")])];

fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    require_game(GAME, spec, game)?;
    Ok(Arc::new(Hold { at: spec.int("at").unwrap_or(1) }))
}

/// Bot that stops at a fixed turn total. At 20 points, another roll loses on average as many points as it gains
/// (Knizia, *Dice games properly explained*, 1999).
struct Hold {
    at: u64,
}

impl Agent for Hold {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        let seen: View = view(ask)?;
        // Rolling has the lower id, and is illegal once the points suffice to win.
        let roll = u64::from(seen.turn_total) < self.at;
        let choice = if roll { ask.legal.first() } else { ask.legal.last() };
        choice
            .map(|&a| MoveReply::id(a))
            .ok_or_else(|| AgentError::failed("hold: expected at least one legal action id, got none"))
    }
}
