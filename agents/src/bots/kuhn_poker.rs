//! Bots of Kuhn poker. Ids: 0 pass, 1 bet.

use std::sync::Arc;
use std::time::Instant;

use ludex_env::games::kuhn_poker::View;
use ludex_env::{Ask, GameRef};

use super::{plays_only, view};
use crate::agent::{Agent, Answer};
use crate::error::AgentError;
use crate::roster::{Entry, Kind};
use crate::spec::AgentSpec;

const GAME: &str = "kuhn_poker";

pub(crate) const BOTS: &[Entry] = &[Entry {
    name: "kuhn_honest",
    kind: Kind::Builtin,
    doc: "kuhn_poker: bets and calls with a card of the upper half, passes with the others",
    args: &[],
    free: false,
    build,
}];

fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, AgentError> {
    plays_only(GAME, spec, game)?;
    Ok(Arc::new(Honest))
}

/// Its bets tell its card: it never bluffs, and with the middle card it makes bets that only better cards call.
struct Honest;

impl Agent for Honest {
    fn act(&self, ask: &Ask<'_>, _deadline: Option<Instant>) -> Result<Answer, AgentError> {
        let seen: View = view(ask)?;
        // There are as many cards as seats, and one more.
        let upper = 2 * usize::from(seen.card.unwrap_or(0)) >= seen.chips.len();
        Ok(Answer::id(u32::from(upper)))
    }
}
