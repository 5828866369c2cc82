//! Reply to `hello`.

use serde::{Deserialize, Serialize};

use super::ServerBody;
use crate::envelope::Message;
use crate::limits::Limits;
use crate::serde_helpers::or_default;

/// A permission that a token grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Open and step environments.
    Gym,
    /// Play in matches, runs and tournaments.
    Play,
    /// List and watch matches.
    Spectate,
    /// All permissions, including administration.
    Admin,
}

/// `welcome`: reply to `hello`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Welcome {
    /// Protocol version in use.
    pub protocol: u32,
    /// Server program, e.g. `ludex/0.1.0`.
    pub server: String,
    /// Id of the session, which can be resumed with `key`.
    pub session: String,
    /// Key for resuming the session; new for every connection.
    pub key: String,
    /// True if an earlier session was resumed.
    #[serde(default, deserialize_with = "or_default")]
    pub resumed: bool,
    /// Permissions of the client.
    #[serde(default, deserialize_with = "or_default")]
    pub scopes: Vec<Scope>,
    /// Name of the agent; empty if the client has no agent name.
    #[serde(default, deserialize_with = "or_default")]
    pub agent: String,
    /// Limits of the connection.
    #[serde(default, deserialize_with = "or_default")]
    pub limits: Limits,
    /// Environment handles of the session.
    #[serde(default, deserialize_with = "or_default")]
    pub envs: Vec<u32>,
    /// Running matches of the session.
    #[serde(default, deserialize_with = "or_default")]
    pub matches: Vec<ResumedMatch>,
    /// Active joins of the session.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub joins: Vec<ResumedJoin>,
}

/// A running match of a resumed session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResumedMatch {
    /// Id of the match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// Seat of the client; absent for a spectator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<u32>,
    /// Last sequence number sent so far.
    pub seq: u64,
}

/// A join of a resumed session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResumedJoin {
    /// Id of the join.
    pub join: String,
    /// Canonical game string of the join.
    pub game: String,
    /// Number of remaining matches; absent: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<u32>,
}

impl Message for Welcome {
    const TYPE: &'static str = "welcome";
}

impl ServerBody for Welcome {}
