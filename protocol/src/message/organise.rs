//! Creates a tournament.

use serde::{Deserialize, Serialize};

use super::ClientBody;
use super::welcome::Scope;
use crate::envelope::Message;
use crate::serde_helpers::{is_default, is_one, one, or_default, or_one};

/// An entrant of a tournament.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TournamentEntrant {
    /// Name of the entrant, unique in the tournament. A client plays under this name.
    pub name: String,
    /// Spec of a server agent. Absent: the entrant is a client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Owner of the client's token; absent for a guest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

/// `organise`: creates a tournament between server agents and clients.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Organise {
    /// Name of the tournament's run.
    pub run: String,
    /// Game string, with parameters if needed.
    pub game: String,
    /// Format: `round_robin`, `double_round_robin`, `swiss` or `ladder`.
    pub format: String,
    /// Number of rounds of a Swiss tournament. Absent: the usual number of rounds for the number of entrants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u64>,
    /// Number of seeds for each pairing.
    #[serde(default = "one", deserialize_with = "or_one", skip_serializing_if = "is_one")]
    pub blocks: u32,
    /// An entrant is excluded after it has ended this many matches by its own failures; 0: never.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub strikes: u32,
    /// Time per move in milliseconds. Absent: 30 seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub move_ms: Option<u64>,
    /// Milliseconds for which the tournament waits for clients to connect or reconnect. Absent: five minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_ms: Option<u64>,
    /// Entrants of the tournament.
    pub entrants: Vec<TournamentEntrant>,
}

impl Message for Organise {
    const TYPE: &'static str = "organise";
    const REPLIES: &'static [&'static str] = &["organised"];
}

impl ClientBody for Organise {
    fn scope(&self) -> Option<Scope> {
        Some(Scope::Admin)
    }

    fn starts_work(&self) -> bool {
        true
    }
}
