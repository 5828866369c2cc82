//! Bots of the iterated prisoner's dilemma. Ids: 0 cooperate, 1 defect.

use std::sync::Arc;
use std::time::Instant;

use ludex_env::games::iterated_prisoners_dilemma::View;
use ludex_env::{Ask, GameRef};

use super::{plays_only, view};
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
    plays_only(GAME, spec, game)?;
    Ok(Arc::new(TitForTat))
}

/// Rapoport's entry to Axelrod's tournaments (1980).
struct TitForTat;

impl Agent for TitForTat {
    fn act(&self, ask: &Ask<'_>, _deadline: Option<Instant>) -> Result<Answer, AgentError> {
        let seen: View = view(ask)?;
        let other = &seen.moves[usize::from(ask.seat == 0)];
        Ok(Answer::id(u32::from(other.ends_with('D'))))
    }
}
