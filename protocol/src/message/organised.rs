//! Reply to `organise`.

use serde::{Deserialize, Serialize};

use super::ServerBody;
use crate::envelope::Message;

/// The ticket of a client that takes part in a tournament.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TournamentTicket {
    /// Name of the entrant.
    pub name: String,
    /// Value for `ticket` in a `join`, for clients that do not enroll.
    pub ticket: String,
}

/// `organised`: reply to `organise`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Organised {
    /// Name of the tournament's run.
    pub run: String,
    /// One ticket for each client that takes part.
    pub tickets: Vec<TournamentTicket>,
}

impl Message for Organised {
    const TYPE: &'static str = "organised";
}

impl ServerBody for Organised {}
