//! Bots of the iterated prisoner's dilemma. Ids: 0 cooperate, 1 defect.

use std::sync::Arc;
use std::time::Instant;

use serde::Deserialize;

use ludex_env::{Ask, GameRef};

use crate::agent::{Agent, Answer};
use crate::error::AgentError;
use crate::roster::{Entry, Kind};
use crate::spec::AgentSpec;

const GAME: &str = "iterated_prisoners_dilemma";

pub(crate) const BOTS: &[Entry] = &[Entry {
    name: "tit_for_tat",
    kind: Kind::Builtin,
    doc: "iterated_prisoners_dilemma: cooperates first, then does what the other did last",
    args: &[],
    free: false,
    build,
}];

fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, AgentError> {
    let name = &game.spec().game;
    if name != GAME {
        return Err(AgentError::unfit(spec.name(), name, "it is a bot of another game", &format!("it plays {GAME}")));
    }
    Ok(Arc::new(TitForTat))
}

/// What the bot reads of the view.
#[derive(Deserialize)]
struct Seen {
    /// Moves by seat, one letter per round.
    moves: [String; 2],
}

/// Rapoport's entry to Axelrod's tournaments (1980).
struct TitForTat;

impl Agent for TitForTat {
    fn act(&self, ask: &Ask<'_>, _deadline: Option<Instant>) -> Result<Answer, AgentError> {
        let seen: Seen = serde_json::from_value(ask.view().value())
            .map_err(|e| AgentError::failed(format!("tit_for_tat: a view that it cannot read: {e}")))?;
        let other = &seen.moves[usize::from(ask.seat == 0)];
        Ok(Answer::id(u32::from(other.ends_with('D'))))
    }
}
