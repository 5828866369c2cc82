//! Takes no new matches.

use serde::{Deserialize, Serialize};

use super::FromClient;
use super::welcome::Scope;
use crate::envelope::Message;

/// `leave`: takes no new matches. Matches that run are played to their end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Leave {
    /// The join.
    pub join: String,
}

impl Message for Leave {
    const TYPE: &'static str = "leave";
}

impl FromClient for Leave {
    fn scope(&self) -> Option<Scope> {
        Some(Scope::Play)
    }
}
