//! Starts watching a match.

use serde::{Deserialize, Serialize};

use super::ClientBody;
use super::join::MatchView;
use super::welcome::Scope;
use crate::envelope::Message;
use crate::serde_helpers::{is_default, or_default};

/// Information that a spectator sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SpectatorView {
    /// Only information visible to everyone.
    #[default]
    Public,
    /// Public and hidden information; requires admin scope or a finished match.
    Full,
}

/// `spectate`: starts watching a match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spectate {
    /// Id of the match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// Information to include: public or full.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub view: SpectatorView,
    /// Views included in each event as `view`; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub views: Option<Vec<MatchView>>,
}

impl Message for Spectate {
    const TYPE: &'static str = "spectate";
    const REPLIES: &'static [&'static str] = &["ok"];
}

impl ClientBody for Spectate {
    fn scope(&self) -> Option<Scope> {
        Some(Scope::Spectate)
    }
}
