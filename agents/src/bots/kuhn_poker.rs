//! Bots for Kuhn poker. Action ids: 0 passes, 1 bets.

use std::sync::Arc;

use ludex_env::{GameRef, MoveRequest};
use ludex_games::kuhn_poker::View;
use ludex_protocol::Refusal;

use crate::agent::{Agent, MoveReply};
use crate::error::AgentError;
use crate::spec::{AgentEntry, AgentSpec};
use crate::typed_access::{require_game, view};

const GAME: &str = "kuhn_poker";

pub(crate) const BOTS: &[AgentEntry] = &[AgentEntry::new(
    "kuhn_honest",
    "kuhn_poker: bets and calls with a card of the upper half, passes with lower cards",
    build,
)];

fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    require_game(GAME, spec, game)?;
    Ok(Arc::new(Honest))
}

/// Bot that bets and calls only with a card in the upper half of the deck. It never bluffs, so its bets show that its
/// card is high.
struct Honest;

impl Agent for Honest {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        let seen: View = view(ask)?;
        // With n seats, the cards are numbered from 0 to n.
        let upper = 2 * usize::from(seen.card.unwrap_or(0)) >= seen.chips.len();
        Ok(MoveReply::id(u32::from(upper)))
    }
}
