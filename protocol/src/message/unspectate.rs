//! Stops watching a match.

use serde::{Deserialize, Serialize};

use super::ClientBody;
use super::welcome::Scope;
use crate::envelope::Message;

/// `unspectate`: stops watching a match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unspectate {
    /// Id of the match.
    #[serde(rename = "match")]
    pub match_id: String,
}

impl Message for Unspectate {
    const TYPE: &'static str = "unspectate";
    const REPLIES: &'static [&'static str] = &["ok"];
}

impl ClientBody for Unspectate {
    fn scope(&self) -> Option<Scope> {
        Some(Scope::Spectate)
    }
}
