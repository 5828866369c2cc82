//! The first message of a client.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::FromClient;
use crate::envelope::Message;
use crate::record::AgentKind;
use crate::serde_helpers::{is_default, or_default};

/// `hello`: must be the first message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hello {
    /// Protocol versions that the client speaks.
    pub protocol: Vec<u32>,
    /// Free text, e.g. `mybot-go/0.1`.
    pub client: String,
    /// The token, if it did not come in the `Authorization` header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Who plays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// The session to resume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<ResumeSession>,
    /// Take over the seats that the agent's name still holds.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub reclaim: bool,
}

/// Who plays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentId {
    /// What ratings are kept under: 1-40 of `A-Za-z0-9._-`.
    pub name: String,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What it is; `bot` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<AgentKind>,
}

/// The session to resume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResumeSession {
    /// `welcome.session`.
    pub session: String,
    /// `welcome.key`.
    pub key: String,
    /// The last `seq` seen, by match.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub seen: BTreeMap<String, u64>,
}

impl Message for Hello {
    const TYPE: &'static str = "hello";
}

impl FromClient for Hello {}
