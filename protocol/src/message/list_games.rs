//! Requests the list of games.

use serde::{Deserialize, Serialize};

use super::ClientBody;
use crate::envelope::Message;
use crate::spec::{ChanceMode, Dynamics, Information};

/// `list_games`: requests the list of games.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListGames {
    /// Condition on the games; absent: all games.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<GameFilter>,
}

/// A condition on games. Absent fields match every game.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GameFilter {
    /// Perfect or imperfect information.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub information: Option<Information>,
    /// Kind of chance in the game.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chance: Option<ChanceMode>,
    /// Order of moves: sequential, simultaneous or mixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dynamics: Option<Dynamics>,
    /// Number of players that the game must support.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub players: Option<u32>,
    /// Text that occurs in the id or title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl Message for ListGames {
    const TYPE: &'static str = "list_games";
    const REPLIES: &'static [&'static str] = &["games"];
}

impl ClientBody for ListGames {}
