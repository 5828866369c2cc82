//! The games that the server offers, in the protocol's words.

use std::sync::OnceLock;

use ludex_env::GameRef;
use ludex_protocol::message::{Describe, GameEntry, GameFilter, Games, ListGames, SpecReply};
use ludex_protocol::spec::Params;
use ludex_protocol::{Refusal, ServerMessage};

/// A game from its id or game string and parameters.
///
/// # Errors
/// `unknown_game` or `bad_params`, with what is allowed and the nearest name.
pub fn load(game: &str, params: &Params) -> Result<GameRef, Box<Refusal>> {
    ludex_env::load_with(game, params).map_err(|e| Box::new(e.into()))
}

/// Every game with its default parameters.
pub fn entries() -> &'static [GameEntry] {
    static ENTRIES: OnceLock<Vec<GameEntry>> = OnceLock::new();
    ENTRIES.get_or_init(|| {
        let entry = |e: &ludex_env::Entry| {
            let spec = e.load(&Params::new()).ok()?;
            let spec = spec.spec();
            Some(GameEntry {
                game: e.id.to_owned(),
                title: e.title.to_owned(),
                players: e.players,
                dynamics: spec.dynamics,
                chance: spec.chance,
                information: spec.information,
                presets: e.presets.iter().map(|p| p.0.to_owned()).collect(),
                rules: e.rules,
            })
        };
        ludex_env::games().iter().filter_map(entry).collect()
    })
}

/// The answer of `list_games`.
pub fn list(request: &ListGames) -> ServerMessage {
    let fits = |e: &&GameEntry| request.filter.as_ref().is_none_or(|f| matches(f, e));
    ServerMessage::Games(Games { games: entries().iter().filter(fits).cloned().collect() })
}

fn matches(f: &GameFilter, e: &GameEntry) -> bool {
    let text = f.text.as_ref().map(|t| t.to_lowercase());
    f.information.is_none_or(|i| i == e.information)
        && f.chance.is_none_or(|c| c == e.chance)
        && f.dynamics.is_none_or(|d| d == e.dynamics)
        && f.players.is_none_or(|p| (e.players[0]..=e.players[1]).contains(&p))
        && text.is_none_or(|t| e.game.contains(&t) || e.title.to_lowercase().contains(&t))
}

/// The answer of `describe`.
///
/// # Errors
/// As [`load`].
pub fn describe(request: &Describe) -> Result<ServerMessage, Box<Refusal>> {
    let game = load(&request.game, &request.params)?;
    let mut spec = game.spec().clone();
    spec.text = request.rules_text.then(|| game.page().to_owned());
    Ok(ServerMessage::Spec(Box::new(SpecReply { spec })))
}
