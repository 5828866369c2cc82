//! Watches a match.

use serde::{Deserialize, Serialize};

use super::FromClient;
use super::join::MatchView;
use super::welcome::Scope;
use crate::envelope::Message;
use crate::serde_helpers::{is_default, or_default};

/// How much a spectator sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SpectatorView {
    /// What everybody at the table sees.
    #[default]
    Public,
    /// Hidden information too: admin scope, or after the match.
    Full,
}

/// `spectate`: watches a match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spectate {
    /// The match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// How much is seen.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub view: SpectatorView,
    /// What each event carries as its `view`; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub views: Option<Vec<MatchView>>,
}

impl Message for Spectate {
    const TYPE: &'static str = "spectate";
}

impl FromClient for Spectate {
    fn scope(&self) -> Option<Scope> {
        Some(Scope::Spectate)
    }
}
