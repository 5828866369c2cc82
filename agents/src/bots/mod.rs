//! Bots of single games: one file per game, named after it.

use ludex_env::{Ask, GameRef};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::AgentError;
use crate::roster::Entry;
use crate::spec::AgentSpec;

pub mod bargaining;
pub mod fight_the_landlord;
pub mod first_sealed_auction;
pub mod hanabi;
pub mod iterated_prisoners_dilemma;
pub mod kuhn_poker;
pub mod leduc_poker;
pub mod liars_dice;
pub mod negotiation;
pub mod pig;
mod sharing;
pub mod texas_holdem;

/// The entries of all bots, game by game.
pub(crate) const BOTS: &[&[Entry]] = &[
    fight_the_landlord::BOTS,
    first_sealed_auction::BOTS,
    hanabi::BOTS,
    iterated_prisoners_dilemma::BOTS,
    kuhn_poker::BOTS,
    leduc_poker::BOTS,
    liars_dice::BOTS,
    pig::BOTS,
    sharing::BOTS,
    texas_holdem::BOTS,
];

/// Refuses every game but `id`.
pub(crate) fn plays_only(id: &str, spec: &AgentSpec, game: &GameRef) -> Result<(), AgentError> {
    let asked = &game.spec().game;
    if asked == id {
        return Ok(());
    }
    Err(AgentError::unfit(spec.name(), asked, "it is a bot of another game", &format!("it plays {id}")))
}

/// The asked seat's view in the game's own type `V`.
pub(crate) fn view<V: Clone + 'static>(ask: &Ask<'_>) -> Result<V, AgentError> {
    let view = ask.view();
    let own: Option<&V> = view.as_any().downcast_ref();
    own.cloned()
        .ok_or_else(|| AgentError::failed(format!("a view of {}, which this bot cannot read", view.spec().game)))
}

/// The game's parameters in its own type `P`.
pub(crate) fn params<P: DeserializeOwned>(game: &GameRef) -> Result<P, AgentError> {
    let spec = game.spec();
    serde_json::from_value(Value::Object(spec.params.clone()))
        .map_err(|e| AgentError::failed(format!("the parameters of {} cannot be read: {e}", spec.string)))
}
