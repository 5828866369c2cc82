//! Answers `hello`.

use serde::{Deserialize, Serialize};

use super::FromServer;
use crate::envelope::Message;
use crate::limits::Limits;
use crate::serde_helpers::or_default;

/// What a token grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Environments.
    Gym,
    /// Seats in matches.
    Play,
    /// Watching matches.
    Spectate,
    /// Everything.
    Admin,
}

/// `welcome`: answers `hello`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Welcome {
    /// The protocol version in use.
    pub protocol: u32,
    /// The program, e.g. `ludex/0.1.0`.
    pub server: String,
    /// The session; with `key` it can be resumed.
    pub session: String,
    /// A new key at every connection.
    pub key: String,
    /// Whether an earlier session was resumed.
    #[serde(default, deserialize_with = "or_default")]
    pub resumed: bool,
    /// What the client may do.
    #[serde(default, deserialize_with = "or_default")]
    pub scopes: Vec<Scope>,
    /// The agent's name; empty for a client without one.
    #[serde(default, deserialize_with = "or_default")]
    pub agent: String,
    /// What the server allows.
    #[serde(default, deserialize_with = "or_default")]
    pub limits: Limits,
    /// The session's environment handles.
    #[serde(default, deserialize_with = "or_default")]
    pub envs: Vec<u32>,
    /// The session's running matches.
    #[serde(default, deserialize_with = "or_default")]
    pub matches: Vec<ResumedMatch>,
    /// The session's joins.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub joins: Vec<ResumedJoin>,
}

/// A running match of a resumed session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResumedMatch {
    /// The match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// The seat; absent for a spectator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<u32>,
    /// The last `seq` so far.
    pub seq: u64,
}

/// A join of a resumed session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResumedJoin {
    /// The join.
    pub join: String,
    /// The canonical game string.
    pub game: String,
    /// Matches still to come; absent: no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<u32>,
}

impl Message for Welcome {
    const TYPE: &'static str = "welcome";
}

impl FromServer for Welcome {}
