//! Moves as people and models write them, in the game's own reading.

use ludex_env::dyn_state::DynView;
use ludex_env::{MoveRequest, ParsedMove};
use ludex_protocol::Move;

/// The move that `given` means, or the game's reason why it is not a move.
///
/// The reading happens in a world that the seat cannot tell from the true one, so the reason gives nothing away.
pub(crate) fn parse_move(ask: &MoveRequest<'_>, view: &dyn DynView, given: &Move) -> Result<Move, String> {
    match view.world(&mut ask.stream()).parse_move(ask.seat, given) {
        Ok(ParsedMove::Action(a)) => Ok(Move::Id(a.into())),
        Ok(ParsedMove::Document(said)) => Ok(Move::Document(said)),
        Err(refusal) => Err(refusal.message),
    }
}
