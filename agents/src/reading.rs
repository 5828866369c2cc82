//! Parsing of moves from people and models by the game's own rules.

use ludex_env::erased::DynView;
use ludex_env::{Ask, Heard};
use ludex_protocol::Move;

/// Parses a submitted move.
///
/// The parser runs on a sampled state that is consistent with the view, so the reason reveals nothing hidden.
///
/// # Errors
/// The game's reason why the text is not a move.
pub(crate) fn understand(ask: &Ask<'_>, view: &dyn DynView, given: &Move) -> Result<Move, String> {
    match view.world(&mut ask.stream()).read(ask.seat, given) {
        Ok(Heard::Action(a)) => Ok(Move::Id(a.into())),
        Ok(Heard::Said(said)) => Ok(Move::Document(said)),
        Err(refusal) => Err(refusal.message),
    }
}
