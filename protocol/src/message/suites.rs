//! The suites that a server offers.

use serde::{Deserialize, Serialize};

use super::{FromClient, FromServer};
use crate::envelope::Message;

/// `suites` of a client: asks which suites there are to enrol for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListSuites {}

/// `suites` of a server: answers that request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SuiteList {
    /// The suites, by name.
    pub suites: Vec<SuiteEntry>,
}

/// A suite of the list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SuiteEntry {
    /// The name to enrol with.
    pub suite: String,
    /// Raised with every change that has an effect on results.
    pub version: u32,
    /// Shortened SHA-256 of its text.
    pub digest: String,
    /// What it is.
    pub title: String,
    /// How many matches one candidate plays at most.
    pub matches: u64,
    /// What is played.
    pub parts: Vec<SuitePart>,
    /// The season in which a run that begins now is played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub season: Option<String>,
}

/// A part of a suite.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SuitePart {
    /// Its id, for `enrol.only`.
    pub part: String,
    /// The canonical game string.
    pub game: String,
    /// How many matches one candidate plays in it at most.
    pub matches: u64,
    /// How many candidates it needs, at least.
    pub candidates: u32,
    /// What is measured.
    pub metrics: Vec<String>,
}

impl Message for ListSuites {
    const TYPE: &'static str = "suites";
}

impl FromClient for ListSuites {}

impl Message for SuiteList {
    const TYPE: &'static str = "suites";
}

impl FromServer for SuiteList {}
