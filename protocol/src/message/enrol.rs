//! Enrolls an agent in a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use super::ClientBody;
use super::join::{MatchView, are_match_views, match_views, or_match_views};
use super::welcome::Scope;
use crate::envelope::Message;
use crate::error::Refusal;
use crate::limits::Limits;
use crate::serde_helpers::{is_default, is_one, is_yes, one, or_default, or_else, or_one, or_yes, yes};
use crate::spec::Params;

fn whole() -> f64 {
    1.0
}

fn or_whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    or_else(deserializer, whole)
}

fn is_whole(scale: &f64) -> bool {
    *scale == 1.0
}

/// `enrol`: enrolls the agent in a run of a suite, or in an existing run that has a slot for the agent. To continue the
/// run after an interruption, repeat the request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Enrol {
    /// Name of the suite. Absent for a run created by the server or its operator.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub suite: String,
    /// Name of the run, chosen by the client.
    pub run: String,
    /// Fraction of the suite to play, above 0 and at most 1.
    #[serde(default = "whole", deserialize_with = "or_whole", skip_serializing_if = "is_whole")]
    pub scale: f64,
    /// Maximum number of simultaneous matches.
    #[serde(default = "one", deserialize_with = "or_one", skip_serializing_if = "is_one")]
    pub slots: u32,
    /// Ids of the suite's parts to play; empty: all parts.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub only: Vec<String>,
    /// Server agents for the roles of the suite, by role name.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub roles: BTreeMap<String, Vec<String>>,
    /// Labels of the agent's variants, for example its settings to compare; empty: none. Each variant plays the whole run as
    /// a candidate of its own, with other deals. `match_start.variant` names the variant of a match.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub variants: Vec<String>,
    /// Number of candidates. The run starts when all candidates have enrolled.
    #[serde(default = "one", deserialize_with = "or_one", skip_serializing_if = "is_one")]
    pub candidates: u32,
    /// True if the run's matches count for ratings. A run with `false` belongs to no season. Only the run's first
    /// request sets this value.
    #[serde(default = "yes", deserialize_with = "or_yes", skip_serializing_if = "is_yes")]
    pub rated: bool,
    /// Views included in turns.
    #[serde(default = "match_views", deserialize_with = "or_match_views", skip_serializing_if = "are_match_views")]
    pub views: Vec<MatchView>,
    /// Settings of the view `prompt` and of the reader of answers.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Params::is_empty")]
    pub prompt: Params,
    /// Layout of the tensor: `ludex`, or a layout that is listed in the specs of all games of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
}

impl Enrol {
    /// Creates a request with one candidate that plays the whole suite, one match at a time.
    pub fn new(suite: impl Into<String>, run: impl Into<String>) -> Self {
        Enrol {
            suite: suite.into(),
            run: run.into(),
            scale: 1.0,
            slots: 1,
            only: Vec::new(),
            roles: BTreeMap::new(),
            variants: Vec::new(),
            candidates: 1,
            rated: true,
            views: match_views(),
            prompt: Params::new(),
            layout: None,
        }
    }
}

impl Message for Enrol {
    const TYPE: &'static str = "enrol";
    const REPLIES: &'static [&'static str] = &["enrolled"];
}

impl ClientBody for Enrol {
    fn scope(&self) -> Option<Scope> {
        Some(Scope::Play)
    }

    fn starts_work(&self) -> bool {
        true
    }

    fn check(&self, limits: &Limits) -> Result<(), Refusal> {
        limits.document("prompt", &self.prompt)
    }
}
