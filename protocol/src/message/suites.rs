//! Request and reply for the suites of a server.

use serde::{Deserialize, Serialize};

use super::{ClientBody, ServerBody};
use crate::envelope::Message;

/// `suites` from a client: requests the suites available for `enrol`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListSuites {}

/// `suites` from a server: reply to `suites` from a client.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SuiteList {
    /// Available suites, ordered by name.
    pub suites: Vec<SuiteEntry>,
}

/// An entry of the list of suites.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SuiteEntry {
    /// Name of the suite, for `enrol`.
    pub suite: String,
    /// Version of the suite; increases with every change that affects results.
    pub version: u32,
    /// Truncated SHA-256 of the suite's text.
    pub digest: String,
    /// Title of the suite for display.
    pub title: String,
    /// Maximum number of matches of one candidate.
    pub matches: u64,
    /// Parts of the suite, in order.
    pub parts: Vec<SuitePart>,
    /// Season of a run that starts now, if the suite has seasons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub season: Option<String>,
}

/// A part of a suite.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SuitePart {
    /// Id of the part, for `enrol.only`.
    pub part: String,
    /// Canonical game string of the part.
    pub game: String,
    /// Maximum number of matches of one candidate in this part.
    pub matches: u64,
    /// Minimum number of candidates.
    pub candidates: u32,
    /// Names of the metrics that the part measures.
    pub metrics: Vec<String>,
}

impl Message for ListSuites {
    const TYPE: &'static str = "suites";
    const REPLIES: &'static [&'static str] = &["suites"];
}

impl ClientBody for ListSuites {}

impl Message for SuiteList {
    const TYPE: &'static str = "suites";
}

impl ServerBody for SuiteList {}
