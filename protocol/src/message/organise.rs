//! Begins a tournament.

use serde::{Deserialize, Serialize};

use super::FromClient;
use super::welcome::Scope;
use crate::envelope::Message;
use crate::serde_helpers::{is_default, is_one, one, or_default, or_one};

/// An entrant of a tournament.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TournamentEntrant {
    /// Its name in the tournament. A client plays under this name.
    pub name: String,
    /// The spec of an agent that the server plays. Absent: a client that connects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The owner of the client's token; absent for a guest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

/// `organise`: begins a tournament, of the server's agents and of clients.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Organise {
    /// The name of the run.
    pub run: String,
    /// Game string.
    pub game: String,
    /// `round_robin`, `double_round_robin`, `swiss` or `ladder`.
    pub format: String,
    /// Rounds of a Swiss tournament. Absent: as many as are usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u64>,
    /// Seeds for each meeting.
    #[serde(default = "one", deserialize_with = "or_one", skip_serializing_if = "is_one")]
    pub blocks: u32,
    /// An entrant is out after this number of matches that its own failures ended; 0: never.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub strikes: u32,
    /// Milliseconds for a move. Absent: 30 seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub move_ms: Option<u64>,
    /// How long the tournament waits for clients to come, and for one that is away. Absent: five minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_ms: Option<u64>,
    /// Who takes part.
    pub entrants: Vec<TournamentEntrant>,
}

impl Message for Organise {
    const TYPE: &'static str = "organise";
}

impl FromClient for Organise {
    fn scope(&self) -> Option<Scope> {
        Some(Scope::Admin)
    }

    fn begins(&self) -> bool {
        true
    }
}
