//! Answers an `act` that was not legal.

use serde::{Deserialize, Serialize};

use super::FromServer;
use crate::envelope::Message;
use crate::error::{ErrorCode, Issue};
use crate::legal::Legal;
use crate::record::IllegalPolicy;

/// `refused`: the act was not legal; the state is as it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ActRefused {
    /// The match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// The turn.
    pub turn: u32,
    /// The try to act again with.
    #[serde(rename = "try")]
    pub attempt: u32,
    /// Why, for programs.
    pub code: ErrorCode,
    /// Why, for people.
    pub message: String,
    /// Refusals left; 0: `then` says what the policy did.
    pub tries_left: u32,
    /// The legal actions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub legal: Option<Legal>,
    /// What is wrong with a proposal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issues: Option<Vec<Issue>>,
    /// What the policy did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then: Option<IllegalPolicy>,
}

impl Message for ActRefused {
    const TYPE: &'static str = "refused";
}

impl FromServer for ActRefused {}
