//! Ends a run early.

use serde::{Deserialize, Serialize};

use super::ClientBody;
use super::welcome::Scope;
use crate::envelope::Message;

/// `withdraw`: permanently ends the agent's run. The agent loses its unfinished matches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Withdraw {
    /// Name of the run.
    pub run: String,
}

impl Message for Withdraw {
    const TYPE: &'static str = "withdraw";
    const REPLIES: &'static [&'static str] = &["ok"];
}

impl ClientBody for Withdraw {
    fn scope(&self) -> Option<Scope> {
        Some(Scope::Play)
    }
}
