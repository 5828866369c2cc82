//! Bots for Kuhn poker. Ids: 0 pass, 1 bet.

use std::sync::Arc;
use std::time::Instant;

use ludex_env::games::kuhn_poker::View;
use ludex_env::{Ask, GameRef};
use ludex_protocol::Refusal;

use crate::agent::{Agent, Answer};
use crate::error::AgentError;
use crate::fit::{plays_only, view};
use crate::spec::{AgentEntry, AgentSpec};

const GAME: &str = "kuhn_poker";

pub(crate) const BOTS: &[AgentEntry] = &[AgentEntry::new(
    "kuhn_honest",
    "kuhn_poker: bets and calls with a card of the upper half, passes with the others",
    build,
)];

fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    plays_only(GAME, spec, game)?;
    Ok(Arc::new(Honest))
}

/// Bot whose bets reveal its card: it never bluffs, and with the middle card it makes bets that only better cards call.
struct Honest;

impl Agent for Honest {
    fn act(&self, ask: &Ask<'_>, _deadline: Option<Instant>) -> Result<Answer, AgentError> {
        let seen: View = view(ask)?;
        // There is one more card than seats.
        let upper = 2 * usize::from(seen.card.unwrap_or(0)) >= seen.chips.len();
        Ok(Answer::id(u32::from(upper)))
    }
}
