//! Answers `organise`.

use serde::{Deserialize, Serialize};

use super::FromServer;
use crate::envelope::Message;

/// The ticket of a client that takes part in a tournament.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TournamentTicket {
    /// The entrant.
    pub name: String,
    /// What `join` shows, from a client that does not enrol.
    pub ticket: String,
}

/// `organised`: answers `organise`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Organised {
    /// The run.
    pub run: String,
    /// A ticket for each client that takes part.
    pub tickets: Vec<TournamentTicket>,
}

impl Message for Organised {
    const TYPE: &'static str = "organised";
}

impl FromServer for Organised {}
