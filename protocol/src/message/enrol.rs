//! Enters an agent for a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use super::FromClient;
use super::join::{MatchView, are_match_views, match_views, or_match_views};
use super::welcome::Scope;
use crate::envelope::Message;
use crate::serde_helpers::{is_default, is_one, one, or_default, or_else, or_one};

fn whole() -> f64 {
    1.0
}

fn or_whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    or_else(deserializer, whole)
}

fn is_whole(scale: &f64) -> bool {
    *scale == 1.0
}

/// `enrol`: the agent plays a suite of the server, or takes its place in a run that has one for it. The same request continues
/// the run after any interruption.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Enrol {
    /// The suite. Absent for a run that the server or its operator began.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub suite: String,
    /// The name of the run.
    pub run: String,
    /// The share of the suite that is played.
    #[serde(default = "whole", deserialize_with = "or_whole", skip_serializing_if = "is_whole")]
    pub scale: f64,
    /// Matches at a time.
    #[serde(default = "one", deserialize_with = "or_one", skip_serializing_if = "is_one")]
    pub slots: u32,
    /// Only these parts of the suite.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub only: Vec<String>,
    /// Agents of the server that fill roles of the suite, by role.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub roles: BTreeMap<String, Vec<String>>,
    /// How many agents the run is for. It begins when they have all enrolled.
    #[serde(default = "one", deserialize_with = "or_one", skip_serializing_if = "is_one")]
    pub candidates: u32,
    /// What turns show.
    #[serde(default = "match_views", deserialize_with = "or_match_views", skip_serializing_if = "are_match_views")]
    pub views: Vec<MatchView>,
    /// Layout of the tensor: `ludex`, or one that the specs of all games of the run list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
}

impl Enrol {
    /// One candidate plays the whole suite, one match at a time.
    pub fn new(suite: impl Into<String>, run: impl Into<String>) -> Self {
        Enrol {
            suite: suite.into(),
            run: run.into(),
            scale: 1.0,
            slots: 1,
            only: Vec::new(),
            roles: BTreeMap::new(),
            candidates: 1,
            views: match_views(),
            layout: None,
        }
    }
}

impl Message for Enrol {
    const TYPE: &'static str = "enrol";
}

impl FromClient for Enrol {
    fn scope(&self) -> Option<Scope> {
        Some(Scope::Play)
    }

    fn begins(&self) -> bool {
        true
    }
}
