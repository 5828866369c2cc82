//! Asks for the catalogue.

use serde::{Deserialize, Serialize};

use super::FromClient;
use crate::envelope::Message;
use crate::spec::{ChanceMode, Dynamics, Information};

/// `list_games`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListGames {
    /// Which games.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<GameFilter>,
}

/// Which games are asked for. A field that is absent does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GameFilter {
    /// Whether anything is hidden.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub information: Option<Information>,
    /// What kind of luck there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chance: Option<ChanceMode>,
    /// Who moves when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dynamics: Option<Dynamics>,
    /// Playable by this number of players.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub players: Option<u32>,
    /// Occurs in the id or title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl Message for ListGames {
    const TYPE: &'static str = "list_games";
}

impl FromClient for ListGames {}
