//! Stops a join from getting new matches.

use serde::{Deserialize, Serialize};

use super::ClientBody;
use super::welcome::Scope;
use crate::envelope::Message;

/// `leave`: stops a join from getting new matches. Running matches continue to their end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Leave {
    /// Id of the join.
    pub join: String,
}

impl Message for Leave {
    const TYPE: &'static str = "leave";
    const REPLIES: &'static [&'static str] = &["ok"];
}

impl ClientBody for Leave {
    fn scope(&self) -> Option<Scope> {
        Some(Scope::Play)
    }
}
