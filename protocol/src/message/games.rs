//! Reply to `list_games`.

use serde::{Deserialize, Serialize};

use super::ServerBody;
use crate::envelope::Message;
use crate::serde_helpers::or_default;
use crate::spec::{ChanceMode, Dynamics, Information};

/// `games`: reply to `list_games`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GameList {
    /// Matching games, in catalogue order.
    pub games: Vec<GameEntry>,
}

/// A game of the catalogue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GameEntry {
    /// Id of the game, for `describe`, `open` and `join`.
    pub game: String,
    /// Title of the game for display.
    pub title: String,
    /// Least and greatest number of seats.
    pub players: [u32; 2],
    /// Order of moves: sequential, simultaneous or mixed.
    pub dynamics: Dynamics,
    /// Kind of chance in the game.
    pub chance: ChanceMode,
    /// Perfect or imperfect information.
    pub information: Information,
    /// Names of the game's presets.
    #[serde(default, deserialize_with = "or_default")]
    pub presets: Vec<String>,
    /// Version of the rules.
    pub rules: u32,
}

impl Message for GameList {
    const TYPE: &'static str = "games";
}

impl ServerBody for GameList {}
