//! The page on which a person plays a game. The page's script is a client of the protocol.
#![allow(missing_docs, reason = "the other names are self-explanatory")]

use serde::Serialize;

/// Page on which a person plays a game.
#[derive(Clone, Debug, Serialize)]
pub struct PlayPage {
    /// Id of the game.
    pub id: String,
    /// Game as requested: an id or a game string.
    pub asked: String,
    pub string: String,
    /// Display name of the game.
    pub title: String,
    pub players: u32,
    /// Names of the seats.
    pub seats: Vec<String>,
    /// Variants of the game.
    pub variants: Vec<GameVariant>,
    /// Levels of the game's ladder, lowest first.
    pub levels: Vec<LevelOption>,
    /// Names of the operator's agents.
    pub named: Vec<String>,
    /// Agent name of the visitor's token.
    pub agent: Option<String>,
    /// Prefix of the allowed agent names; used if the token does not specify a name.
    pub prefix: String,
}

/// Variant of a game: the default parameters or a preset.
#[derive(Clone, Debug, Serialize)]
pub struct GameVariant {
    pub id: String,
    /// Name of the variant.
    pub name: String,
    /// Description of the variant; may be empty.
    pub note: String,
    pub string: String,
}

/// Level that a person can play against.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LevelOption {
    /// Number of the level.
    pub level: u32,
    /// Rating of the level's agent, if known.
    pub rating: Option<i64>,
}
