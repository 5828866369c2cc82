//! Resigns a match.

use serde::{Deserialize, Serialize};

use super::ClientBody;
use super::welcome::Scope;
use crate::envelope::Message;

/// `resign`: resigns a seat of a match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resign {
    /// Id of the match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// Seat of the client; may be absent while the session holds one seat of the match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<u32>,
}

impl Message for Resign {
    const TYPE: &'static str = "resign";
    const REPLIES: &'static [&'static str] = &["ok"];
}

impl ClientBody for Resign {
    fn scope(&self) -> Option<Scope> {
        Some(Scope::Play)
    }
}
