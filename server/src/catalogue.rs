//! The games that the server offers, in the protocol's words.

use ludex_env::{Entry, GameRef, Games};
use ludex_protocol::message::{self, Describe, GameEntry, GameFilter, ListGames, SpecReply};
use ludex_protocol::spec::Params;
use ludex_protocol::{Refusal, ServerMessage};

/// The games of one server.
#[derive(Clone)]
pub struct Catalogue {
    games: Games,
    entries: Vec<GameEntry>,
}

impl Catalogue {
    /// Of these games.
    pub fn new(games: Games) -> Self {
        let entry = |e: &Entry| {
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
        Catalogue { entries: games.iter().filter_map(entry).collect(), games }
    }

    /// A game from its id or game string and parameters.
    ///
    /// # Errors
    /// `unknown_game` or `bad_params`, with what is allowed and the nearest name.
    pub fn load(&self, game: &str, params: &Params) -> Result<GameRef, Box<Refusal>> {
        self.games.load_with(game, params).map_err(|e| Box::new(e.into()))
    }

    pub(crate) fn games(&self) -> &Games {
        &self.games
    }

    /// Every game with its default parameters.
    pub fn entries(&self) -> &[GameEntry] {
        &self.entries
    }

    /// The answer of `list_games`.
    pub(crate) fn list(&self, request: &ListGames) -> ServerMessage {
        let fits = |e: &&GameEntry| request.filter.as_ref().is_none_or(|f| matches(f, e));
        ServerMessage::Games(message::Games { games: self.entries.iter().filter(fits).cloned().collect() })
    }

    /// The answer of `describe`.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub(crate) fn describe(&self, request: &Describe) -> Result<ServerMessage, Box<Refusal>> {
        let game = self.load(&request.game, &request.params)?;
        let mut spec = game.spec().clone();
        spec.text = request.rules_text.then(|| game.page().to_owned());
        Ok(ServerMessage::Spec(Box::new(SpecReply { spec })))
    }
}

impl Default for Catalogue {
    /// Of the built-in games.
    fn default() -> Self {
        Catalogue::new(Games::builtin())
    }
}

fn matches(f: &GameFilter, e: &GameEntry) -> bool {
    let text = f.text.as_ref().map(|t| t.to_lowercase());
    f.information.is_none_or(|i| i == e.information)
        && f.chance.is_none_or(|c| c == e.chance)
        && f.dynamics.is_none_or(|d| d == e.dynamics)
        && f.players.is_none_or(|p| (e.players[0]..=e.players[1]).contains(&p))
        && text.is_none_or(|t| e.game.contains(&t) || e.title.to_lowercase().contains(&t))
}
