//! Checks of the game, and access to views and parameters by their Rust types, for bots of a single game.

use ludex_env::{GameRef, MoveRequest};
use ludex_protocol::Refusal;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::AgentError;
use crate::refusal::{bad_spec, does_not_play};
use crate::spec::AgentSpec;

/// Returns a refusal unless the game is `id`.
pub(crate) fn require_game(id: &str, spec: &AgentSpec, game: &GameRef) -> Result<(), Refusal> {
    let asked = &game.spec().game;
    if asked == id {
        return Ok(());
    }
    Err(does_not_play(spec.name(), asked, "it is a bot for another game", &format!("it plays {id}")))
}

/// Returns the seat's view as the game's view type `V`.
pub(crate) fn view<V: Clone + 'static>(ask: &MoveRequest<'_>) -> Result<V, AgentError> {
    let view = ask.view();
    let own: Option<&V> = view.as_any().downcast_ref();
    own.cloned().ok_or_else(|| AgentError::failed(format!("this bot cannot read views of {}", view.spec().game)))
}

/// Returns the game's parameters as the game's parameter type `P`.
pub(crate) fn params<P: DeserializeOwned>(game: &GameRef) -> Result<P, Refusal> {
    let spec = game.spec();
    serde_json::from_value(Value::Object(spec.params.clone()))
        .map_err(|e| bad_spec(format!("invalid parameters of {}: {e}", spec.string)))
}
