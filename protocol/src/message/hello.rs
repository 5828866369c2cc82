//! The first message of a client.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ClientBody;
use crate::envelope::Message;
use crate::error::{ErrorCode, Refusal};
use crate::record::{AgentKind, Tokens};
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// Model that the agent is based on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Prices of the model, from which the server computes the cost of moves whose notes have tokens and no `usd`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<TokenPrice>,
}

/// Prices of a model, in US dollars per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TokenPrice {
    /// Price of input tokens.
    #[serde(rename = "in")]
    pub input: f64,
    /// Price of output tokens.
    pub out: f64,
}

impl TokenPrice {
    /// Returns the cost of these tokens in US dollars.
    pub fn cost(&self, tokens: Tokens) -> f64 {
        (tokens.input as f64 * self.input + tokens.out as f64 * self.out) / 1e6
    }
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
    pub seen: BTreeMap<String, SeenFrames>,
}

/// The last processed `seq` of a match, for one seat or for several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum SeenFrames {
    /// Number of the session's only seat.
    Seat(u64),
    /// Numbers of several seats, by seat in decimal.
    Seats(BTreeMap<String, u64>),
}

impl SeenFrames {
    /// Returns the number of a seat; `None` if the client has not processed any of the seat's messages. `only` is true
    /// if the session holds no other seat of the match.
    pub fn of(&self, seat: u32, only: bool) -> Option<u64> {
        match self {
            SeenFrames::Seat(seq) => only.then_some(*seq),
            SeenFrames::Seats(seats) => seats.get(&seat.to_string()).copied(),
        }
    }
}

impl Message for Hello {
    const TYPE: &'static str = "hello";
    const REPLIES: &'static [&'static str] = &["welcome"];
}

impl ClientBody for Hello {
    fn complete(&self) -> Result<(), Refusal> {
        let price = self.agent.as_ref().and_then(|agent| agent.price).unwrap_or_default();
        if [price.input, price.out].iter().all(|dollars| (0.0..=1e6).contains(dollars)) {
            return Ok(());
        }
        let text = "expected prices from 0 to 1,000,000 dollars per million tokens";
        Err(Refusal::new(ErrorCode::BadField, text).path("agent.price"))
    }
}
