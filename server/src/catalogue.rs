//! The games that the server offers, in the protocol's words.

use std::sync::OnceLock;

use ludex_env::{GameRef, ParamError};
use ludex_protocol::client::{Describe, GameFilter, ListGames};
use ludex_protocol::error::shortened;
use ludex_protocol::server::{GameEntry, Games, SpecReply};
use ludex_protocol::spec::Params;
use ludex_protocol::{ErrorCode, Refusal, ServerMessage};

/// A game from its id or game string and parameters.
///
/// # Errors
/// `unknown_game` or `bad_params`, with what is allowed and the nearest name.
pub fn load(game: &str, params: &Params) -> Result<GameRef, Box<Refusal>> {
    ludex_env::load_with(game, params).map_err(refusal)
}

/// A wrong game or parameter as an error.
pub fn refusal(e: ParamError) -> Box<Refusal> {
    let (code, path) = match e.name {
        _ if e.unknown_game => (ErrorCode::UnknownGame, "game".to_owned()),
        Some(name) => (ErrorCode::BadParams, format!("params.{}", shortened(&name))),
        None => (ErrorCode::BadParams, "params".to_owned()),
    };
    let got = match e.got {
        serde_json::Value::String(text) => shortened(&text).into(),
        other if other.to_string().len() > 256 => serde_json::Value::Null,
        other => other,
    };
    let mut error = Refusal::new(code, shortened_sentence(&e.message)).path(path);
    if !got.is_null() {
        error = error.got(got);
    }
    if !e.allowed.is_null() {
        error = error.allowed(e.allowed);
    }
    match e.nearest {
        Some(word) => Box::new(error.nearest(word)),
        None => Box::new(error),
    }
}

/// Sentences may quote what a client sent; they stay readable.
fn shortened_sentence(text: &str) -> String {
    match text.char_indices().nth(600) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
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
