//! Catalogue of the games that the server offers, in protocol types.

use std::collections::BTreeMap;
use std::sync::Arc;

use ludex_env::{GameRef, Games, RegisteredGame};
use ludex_protocol::message::{self, Describe, GameEntry, GameFilter, ListGames, SpecReply};
use ludex_protocol::spec::Params;
use ludex_protocol::{Refusal, ServerMessage};

use crate::compute::{Compute, internal};

/// Materials of games, such as cards. Each entry lists the words that stand for one material in rules. The first word
/// names the material.
const MATERIALS: [&[&str]; 5] = [&["cards"], &["dice", "die"], &["tiles"], &["board"], &["words"]];
/// Minimum number of mentions in a game's rules for a material to be assigned to the game.
const NAMED: usize = 3;

/// Games that one server offers.
#[derive(Clone)]
pub struct Catalogue {
    games: Games,
    entries: Vec<GameEntry>,
    /// Canonical game strings with default parameters, by game id.
    usual: BTreeMap<&'static str, String>,
    /// Materials of games, by game id.
    materials: BTreeMap<&'static str, &'static str>,
}

impl Catalogue {
    /// Creates the catalogue of `games`.
    pub fn new(games: Games) -> Self {
        let entry = |e: &RegisteredGame| {
            let spec = e.load(&Params::new()).ok()?;
            let spec = spec.spec();
            Some(GameEntry {
                game: e.info.id.to_owned(),
                title: e.info.title.to_owned(),
                players: e.info.players,
                dynamics: spec.dynamics,
                chance: spec.chance,
                information: spec.information,
                presets: e.info.presets.iter().map(|p| p.0.to_owned()).collect(),
                rules: e.info.rules,
            })
        };
        let usual = |e: &RegisteredGame| Some((e.info.id, e.load(&Params::new()).ok()?.spec().string.clone()));
        let played_with = |e: &RegisteredGame| Some((e.info.id, material(e.load(&Params::new()).ok()?.info().page)?));
        Catalogue {
            materials: games.iter().filter_map(played_with).collect(),
            entries: games.iter().filter_map(entry).collect(),
            usual: games.iter().filter_map(usual).collect(),
            games,
        }
    }

    /// Resolves a game from its id or game string, and its parameters.
    ///
    /// # Errors
    ///
    /// `unknown_game` or `bad_params`, with the allowed values and the nearest name.
    pub fn load(&self, game: &str, params: &Params) -> Result<GameRef, Box<Refusal>> {
        self.games.load_with(game, params).map_err(|e| Box::new(e.into()))
    }

    /// Resolves a game like [`load`](Self::load). Games with parameters are resolved in a job of `owner`, since
    /// building large tables or judging rules by random play may take milliseconds.
    ///
    /// # Errors
    ///
    /// The errors of [`load`](Self::load), and `internal` if the job fails.
    pub async fn load_as(
        self: &Arc<Self>,
        compute: &Compute,
        owner: &Arc<str>,
        game: &str,
        params: &Params,
    ) -> Result<GameRef, Box<Refusal>> {
        if params.is_empty() && self.usual.contains_key(game) {
            return self.load(game, params);
        }
        let (catalogue, game, params) = (self.clone(), game.to_owned(), params.clone());
        compute.run(owner, move || catalogue.load(&game, &params)).await.unwrap_or_else(|_| Err(internal()))
    }

    /// Returns the registry that loads the games.
    pub fn games(&self) -> &Games {
        &self.games
    }

    /// Returns every game with its default parameters.
    pub fn entries(&self) -> &[GameEntry] {
        &self.entries
    }

    /// Returns the material of a game, such as cards or dice. `None` if the rules mention no
    /// material often enough.
    pub fn material(&self, id: &str) -> Option<&'static str> {
        self.materials.get(id).copied()
    }

    /// Returns the display name of a canonical game string: the game's title, and the parameters
    /// that differ from the defaults.
    pub fn called(&self, string: &str) -> String {
        let id = id_of(string);
        let Some(title) = self.entries.iter().find(|e| e.game == id).map(|e| &e.title) else {
            return string.to_owned();
        };
        let usual = self.usual.get(id).map(|usual| params_of(usual)).unwrap_or_default();
        let other: Vec<&str> = params_of(string).into_iter().filter(|param| !usual.contains(param)).collect();
        if other.is_empty() { title.clone() } else { format!("{title} ({})", other.join(", ")) }
    }

    /// Returns the reply to `list_games`.
    pub fn list(&self, request: &ListGames) -> ServerMessage {
        let fits = |e: &&GameEntry| request.filter.as_ref().is_none_or(|f| matches(f, e));
        ServerMessage::Games(message::GameList { games: self.entries.iter().filter(fits).cloned().collect() })
    }

    /// Returns the reply to `describe` for `game`.
    pub fn describe(game: &GameRef, request: &Describe) -> ServerMessage {
        let mut spec = game.spec().clone();
        spec.text = request.rules_text.then(|| game.info().page.to_owned());
        ServerMessage::Spec(Box::new(SpecReply { spec }))
    }
}

impl Default for Catalogue {
    /// Returns the catalogue of the built-in games.
    fn default() -> Self {
        Catalogue::new(ludex_games::builtin())
    }
}

/// Returns the first material that the rules mention at least [`NAMED`] times.
fn material(rules: &str) -> Option<&'static str> {
    let named = |names: &[&str]| {
        let words = rules.split(|c: char| !c.is_alphabetic());
        words.filter(|word| names.iter().any(|name| word.eq_ignore_ascii_case(name))).count()
    };
    MATERIALS.into_iter().find(|names| named(names) >= NAMED).map(|names| names[0])
}

/// Returns the id in a game string.
fn id_of(string: &str) -> &str {
    string.split('(').next().unwrap_or_default()
}

/// Returns the parameters of a game string, each as `name=value`.
fn params_of(string: &str) -> Vec<&str> {
    let Some((_, inside)) = string.strip_suffix(')').and_then(|string| string.split_once('(')) else {
        return Vec::new();
    };
    let (mut depth, mut from, mut all) = (0, 0, Vec::new());
    for (at, c) in inside.char_indices() {
        match c {
            '[' | '(' | '{' => depth += 1,
            ']' | ')' | '}' => depth -= 1,
            ',' if depth == 0 => {
                all.push(&inside[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    all.push(&inside[from..]);
    all
}

fn matches(f: &GameFilter, e: &GameEntry) -> bool {
    let text = f.text.as_ref().map(|t| t.to_lowercase());
    f.information.is_none_or(|i| i == e.information)
        && f.chance.is_none_or(|c| c == e.chance)
        && f.dynamics.is_none_or(|d| d == e.dynamics)
        && f.players.is_none_or(|p| (e.players[0]..=e.players[1]).contains(&p))
        && text.is_none_or(|t| e.game.contains(&t) || e.title.to_lowercase().contains(&t))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn games_are_found_by_material() {
        let catalogue = Catalogue::default();
        let of = |id: &str| catalogue.material(id);
        for (wanted, ids) in [
            (
                "cards",
                &["battle_cards", "fight_the_landlord", "hanabi", "kuhn_poker", "leduc_poker", "texas_holdem"][..],
            ),
            ("dice", &["liars_dice", "pig"]),
            ("tiles", &["mcr_mahjong"]),
            ("board", &["chess", "connect_four", "go", "reversi", "tic_tac_toe"]),
            ("words", &["undercover"]),
        ] {
            for id in ids {
                assert_eq!(of(id), Some(wanted), "{id}");
            }
        }
        assert_eq!(of("nim"), None);
    }

    #[test]
    fn game_title_shows_changed_parameters() {
        let catalogue = Catalogue::default();
        let of = |game: &str| catalogue.called(&catalogue.load(game, &Params::new()).unwrap().spec().string);
        assert_eq!(of("connect_four"), "Connect Four");
        assert_eq!(of("connect_four(rows=7)"), "Connect Four (rows=7)");
        assert_eq!(of("nim(pile_sizes=1;2)"), "Nim (pile_sizes=[1,2])");
        assert_eq!(catalogue.called("gone(a=1)"), "gone(a=1)");
    }
}
