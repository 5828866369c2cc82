//! Answers `list_games`.

use serde::{Deserialize, Serialize};

use super::FromServer;
use crate::envelope::Message;
use crate::serde_helpers::or_default;
use crate::spec::{ChanceMode, Dynamics, Information};

/// `games`: answers `list_games`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GameList {
    /// The games.
    pub games: Vec<GameEntry>,
}

/// A game of the catalogue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GameEntry {
    /// Game id.
    pub game: String,
    /// Title for people.
    pub title: String,
    /// Least and greatest number of seats.
    pub players: [u32; 2],
    /// Who moves when.
    pub dynamics: Dynamics,
    /// What kind of luck there is.
    pub chance: ChanceMode,
    /// Whether anything is hidden.
    pub information: Information,
    /// Names of the presets.
    #[serde(default, deserialize_with = "or_default")]
    pub presets: Vec<String>,
    /// Rules version.
    pub rules: u32,
}

impl Message for GameList {
    const TYPE: &'static str = "games";
}

impl FromServer for GameList {}
