//! Bots for Leduc poker. Action ids: 0 folds, 1 calls, 2 raises.

use std::sync::Arc;

use ludex_env::{GameRef, MoveRequest};
use ludex_games::leduc_poker::View;
use ludex_protocol::Refusal;

use crate::agent::{Agent, MoveReply};
use crate::error::AgentError;
use crate::spec::{AgentEntry, AgentSpec};
use crate::typed_access::{require_game, view};

const GAME: &str = "leduc_poker";

pub(crate) const BOTS: &[AgentEntry] = &[AgentEntry::new(
    "leduc_honest",
    "leduc_poker: raises with a pair or the highest rank, folds the lower ranks to a raise",
    build,
)];

fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    require_game(GAME, spec, game)?;
    // A card number is a rank if suits are not distinguished; otherwise each rank has two card numbers.
    let suits = game.spec().params.get("suit_isomorphism") != Some(&true.into());
    Ok(Arc::new(Honest { suits }))
}

/// Bot that plays by its own cards and the board, and ignores the opponents' moves.
struct Honest {
    suits: bool,
}

impl Agent for Honest {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        let seen: View = view(ask)?;
        let rank = |card: u8| usize::from(if self.suits { card / 2 } else { card });
        let (own, board) = (seen.card.map_or(0, rank), seen.board.map(rank));
        let (pair, highest) = (board == Some(own), seen.chips.len());
        // If the board has a different rank, the highest rank only calls, since it loses to any pair with the board.
        let [fold, call, raise] = [0, 1, 2];
        let wanted = if pair || (own == highest && board.is_none()) {
            raise
        } else if own == highest || (own > 0 && board.is_none()) {
            call
        } else {
            fold
        };
        // If the wanted action is illegal, calls. If there is nothing to pay, calls instead of folding.
        let best = if ask.legal.contains(&wanted) { wanted } else { call };
        let must_pay = seen.chips.get(ask.seat) < seen.chips.iter().max();
        Ok(MoveReply::id(if best == fold && !must_pay { call } else { best }))
    }
}
