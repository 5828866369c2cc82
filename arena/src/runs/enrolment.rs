//! Enrolment of a run: the body of the run's row in the store.

use std::collections::BTreeMap;

use ludex_protocol::message::{Enrol, RunEnd, RunReason};
use ludex_referee::suite::roles::RoleAssignment;
use ludex_referee::tournament::TournamentFormat;
use ludex_store::{RunRow, Unkept, text};
use serde::{Deserialize, Serialize};

use crate::consent::Acceptance;

/// Stored enrolment of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Enrolment {
    /// Request of the first agent.
    pub request: Enrol,
    /// Text of the suite at the time of the first request.
    pub text: String,
    /// Agents that the first agent assigned to the roles of the suite.
    #[serde(default, skip_serializing_if = "RoleAssignment::is_empty")]
    pub roles: RoleAssignment,
    /// Parts of the suite that cannot be played, by part, each with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<String, String>,
    /// Tournament settings. A tournament has no suite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cup: Option<StoredTournament>,
    /// Season that the run belongs to, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub season: Option<InSeason>,
    /// Agents in the order of enrolment.
    pub entrants: Vec<EnrolledAgent>,
    /// Deadline of the run, in milliseconds since the Unix epoch.
    pub until_ms: i64,
    /// Reason to end the run early, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<EarlyStop>,
    /// Result of the run, once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<RunEnd>,
    /// End of the run, or of its season if that ended later, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_ms: Option<i64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct StoredTournament {
    pub game: String,
    pub format: TournamentFormat,
    pub blocks: u64,
    pub strikes: u64,
    pub move_s: u64,
    /// Maximum time that a match waits for an absent client, in milliseconds.
    pub grace_ms: u64,
    /// Time at which the tournament starts even if clients are absent, in milliseconds since the Unix epoch.
    pub begins_ms: i64,
    /// Names and specs of all participants in order.
    pub agents: Vec<(String, String)>,
    /// Participants excluded because of their absence, with the reason for each.
    #[serde(default)]
    pub left_out: BTreeMap<String, String>,
}

/// Agent enrolled in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EnrolledAgent {
    pub agent: String,
    /// Owner of the agent's token; `None` for a guest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Ticket of the agent's join.
    pub ticket: String,
    /// Id of the agent's join, whichever session holds it.
    pub join: String,
    /// Maximum number of concurrent matches of the agent.
    pub slots: u32,
    /// True once the agent has enrolled. In a tournament, entrants are listed before they enroll.
    #[serde(default)]
    pub came: bool,
    /// Acceptance of the consent text, if the agent is a person and the server has such a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consent: Option<Acceptance>,
}

/// Season of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct InSeason {
    pub name: String,
    /// True if the season is over and the run's hidden data are public.
    #[serde(default)]
    pub released: bool,
}

/// Reason to end a run early.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct EarlyStop {
    pub reason: RunReason,
    /// Name of the agent that withdrew; `None` if no agent did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

impl Enrolment {
    /// Returns the name of the run.
    pub(super) fn run(&self) -> &str {
        &self.request.run
    }

    /// Returns the entrant with this name and owner.
    pub(super) fn entrant(&self, agent: &str, owner: Option<&str>) -> Option<&EnrolledAgent> {
        self.entrants.iter().find(|e| e.agent == agent && e.owner.as_deref() == owner)
    }

    /// Returns true if the run plays a part of its suite.
    pub(super) fn plays(&self, part: &str) -> bool {
        !self.left_out.contains_key(part)
            && (self.request.only.is_empty() || self.request.only.iter().any(|id| id == part))
    }

    /// Returns true if the run may start: all agents have enrolled, or the start time of a tournament has come.
    pub(super) fn is_ready(&self) -> bool {
        let all = self.entrants.len() >= self.request.candidates as usize && self.entrants.iter().all(|e| e.came);
        let late = |cup: &StoredTournament| cup.begins_ms <= ludex_play::time::epoch_ms();
        all || self.cup.as_ref().is_some_and(late)
    }

    /// Returns true if the season of the run still hides the run's records.
    pub(super) fn is_held(&self) -> bool {
        self.season.as_ref().is_some_and(|season| !season.released)
    }

    /// Returns true if one more agent may enroll.
    pub(super) fn has_room(&self) -> bool {
        self.entrants.len() < self.request.candidates as usize
    }

    /// Returns the row of the run.
    ///
    /// # Errors
    ///
    /// An enrolment that JSON cannot represent.
    pub(super) fn row(&self) -> Result<RunRow, Unkept> {
        Ok(RunRow {
            name: self.request.run.clone(),
            suite: self.request.suite.clone(),
            season: self.season.as_ref().map(|season| season.name.clone()),
            hidden: self.is_held(),
            ended_ms: self.ended_ms,
            body: text(self)?,
        })
    }

    /// Returns the enrolments of rows, without removed runs. Unreadable rows are logged.
    pub(super) fn all(rows: Vec<RunRow>) -> Vec<Self> {
        let read = |row: RunRow| {
            let read = serde_json::from_str(&row.body);
            read.map_err(|error| tracing::error!(run = row.name, %error, "reading an enrolment failed")).ok()
        };
        rows.into_iter().filter(|row| !row.body.is_empty()).filter_map(read).collect()
    }

    /// Returns true if the run belongs to this season of a suite.
    pub(super) fn is_of(&self, suite: &str, season: &str) -> bool {
        self.request.suite == suite && self.season.as_ref().is_some_and(|own| own.name == season)
    }
}
