//! Resigns a match.

use serde::{Deserialize, Serialize};

use super::ClientBody;
use super::welcome::Scope;
use crate::envelope::Message;

/// `resign`: resigns a match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resign {
    /// Id of the match.
    #[serde(rename = "match")]
    pub match_id: String,
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
