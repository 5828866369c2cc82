//! The first message of a client.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ClientBody;
use crate::envelope::Message;
use crate::record::AgentKind;
use crate::serde_helpers::{is_default, or_default};

/// `hello`: opens a session; must be the first message of a connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hello {
    /// Protocol versions that the client supports.
    pub protocol: Vec<u32>,
    /// Name of the client program, free text, e.g. `mybot-go/0.1`.
    pub client: String,
    /// Access token, unless sent in the `Authorization` header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Identity of the agent. A client without an identity has no name for ratings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// Session to resume; absent: a new session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<ResumeSession>,
    /// True to take over the seats still reserved for the agent's name.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub reclaim: bool,
}

/// Identity of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentId {
    /// Name of the agent, under which ratings are recorded: 1 to 40 characters of `A-Za-z0-9._-`.
    pub name: String,
    /// Version of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Kind of the agent; default `bot`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<AgentKind>,
}

/// The session to resume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResumeSession {
    /// Id of the session, from `welcome.session`.
    pub session: String,
    /// Latest key of the session, from `welcome.key`.
    pub key: String,
    /// Last processed `seq` of each match, by match id.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub seen: BTreeMap<String, u64>,
}

impl Message for Hello {
    const TYPE: &'static str = "hello";
    const REPLIES: &'static [&'static str] = &["welcome"];
}

impl ClientBody for Hello {}
