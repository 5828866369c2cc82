//! Parsing of moves from people and models, according to the game's rules.

use ludex_env::dyn_state::DynView;
use ludex_env::{MoveRequest, ParsedMove};
use ludex_protocol::Move;

/// Parses a submitted move.
///
/// The parser runs on a sampled state that is consistent with the view, so its error messages reveal nothing hidden.
///
/// # Errors
/// The game's reason why the text is not a move.
pub(crate) fn parse_move(ask: &MoveRequest<'_>, view: &dyn DynView, given: &Move) -> Result<Move, String> {
    match view.world(&mut ask.stream()).parse_move(ask.seat, given) {
        Ok(ParsedMove::Action(a)) => Ok(Move::Id(a.into())),
        Ok(ParsedMove::Document(document)) => Ok(Move::Document(document)),
        Err(refusal) => Err(refusal.message),
    }
}
