//! What is kept of a run beside the files that every run has.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use ludex_play::files::write_whole;
use ludex_play::runs::folder::path_of;
use ludex_protocol::message::{Enrol, RunEnd, RunReason};
use ludex_referee::suite::roles::RoleAssignment;
use ludex_referee::tournament::TournamentFormat;
use serde::{Deserialize, Serialize};

/// The file, in the folder of the run.
const FILE: &str = "enrolment.json";

/// A run that agents enrolled for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Enrolment {
    /// What was asked for by the first agent.
    pub request: Enrol,
    /// The text of the suite, as it was then.
    pub text: String,
    /// The agents that the first agent gave to roles of the suite.
    #[serde(default, skip_serializing_if = "RoleAssignment::is_empty")]
    pub roles: RoleAssignment,
    /// The terms of a tournament, which has no suite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cup: Option<StoredTournament>,
    /// The season in which it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub season: Option<InSeason>,
    /// Who plays, in the order of enrolment.
    pub entrants: Vec<EnrolledAgent>,
    /// The time at which the run ends, done or not, in milliseconds since the Unix epoch.
    pub until_ms: i64,
    /// Why it must end before it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<EarlyStop>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<RunEnd>,
}

/// A tournament, as it was asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct StoredTournament {
    pub game: String,
    pub format: TournamentFormat,
    pub blocks: u64,
    pub strikes: u64,
    pub move_s: u64,
    /// How long it waits for a client.
    pub grace_ms: u64,
    /// When it begins without those who have not come, in milliseconds since the Unix epoch.
    pub begins_ms: i64,
    /// Names and specs of all who take part, in order.
    pub agents: Vec<(String, String)>,
    /// Those who have not come.
    #[serde(default)]
    pub left_out: BTreeMap<String, String>,
}

/// An agent of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EnrolledAgent {
    /// Its name.
    pub agent: String,
    /// The owner of its token; absent for a guest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// What its join shows.
    pub ticket: String,
    /// Matches that it plays at a time.
    pub slots: u32,
    /// Whether it has enrolled. The entrants of a tournament are known before they come.
    #[serde(default)]
    pub came: bool,
}

/// The season of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct InSeason {
    pub name: String,
    /// Whether the season is over and what the run hid was shown.
    #[serde(default)]
    pub released: bool,
}

/// Why a run ends before it is done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct EarlyStop {
    pub reason: RunReason,
    /// The agent that withdrew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

impl Enrolment {
    /// The name of the run.
    pub(super) fn run(&self) -> &str {
        &self.request.run
    }

    /// The entrant of this name and owner.
    pub(super) fn entrant(&self, agent: &str, owner: Option<&str>) -> Option<&EnrolledAgent> {
        self.entrants.iter().find(|e| e.agent == agent && e.owner.as_deref() == owner)
    }

    /// Whether the run may begin: all agents that it is for have enrolled, or a tournament waits no longer.
    pub(super) fn is_ready(&self) -> bool {
        let all = self.entrants.len() >= self.request.candidates as usize && self.entrants.iter().all(|e| e.came);
        let late = |cup: &StoredTournament| cup.begins_ms <= ludex_play::time::epoch_ms();
        all || self.cup.as_ref().is_some_and(late)
    }

    /// Whether its season keeps its records hidden.
    pub(super) fn is_held(&self) -> bool {
        self.season.as_ref().is_some_and(|season| !season.released)
    }

    /// Whether the run has a place for another agent.
    pub(super) fn has_room(&self) -> bool {
        self.entrants.len() < self.request.candidates as usize
    }

    /// Writes it down. It is durable when this returns.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn keep(&self, data: &Path) -> anyhow::Result<()> {
        let folder = path_of(data, self.run());
        fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        let text = serde_json::to_string_pretty(self)?;
        write_whole(&folder, FILE, text.as_bytes()).with_context(|| format!("{FILE} cannot be written"))
    }

    /// The enrolment of a run; `None` if there is no run of this name.
    ///
    /// # Errors
    /// A run without enrolment, which was not played by clients, or a file that cannot be read.
    pub(super) fn read(data: &Path, run: &str) -> anyhow::Result<Option<Self>> {
        let folder = path_of(data, run);
        if !folder.exists() {
            return Ok(None);
        }
        let text =
            fs::read_to_string(folder.join(FILE)).with_context(|| format!("{run} was not played over the wire"))?;
        Ok(Some(serde_json::from_str(&text).with_context(|| format!("{FILE} of {run} is damaged"))?))
    }

    /// Whether it belongs to this season of a suite.
    pub(super) fn is_of(&self, [suite, season]: [&str; 2]) -> bool {
        self.request.suite == suite && self.season.as_ref().is_some_and(|own| own.name == season)
    }

    /// The enrolments of runs that are over, by name, at most `limit` after the name `after`; with a season of a suite, only its.
    pub(super) fn over_after(data: &Path, after: &str, season: Option<[&str; 2]>, limit: usize) -> Vec<Self> {
        let Ok(folders) = fs::read_dir(data.join("runs")) else { return Vec::new() };
        let names = folders.filter_map(|folder| folder.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| name.as_str() > after).collect();
        names.sort();
        let over = |name: String| Self::read(data, &name).ok().flatten().filter(|kept| kept.over.is_some());
        let over = |name| over(name).filter(|kept| season.is_none_or(|season| kept.is_of(season)));
        names.into_iter().filter_map(over).take(limit).collect()
    }

    /// The enrolments of all runs that are not over, and of all that belong to a season. Those that cannot be read are named
    /// in the log.
    pub(super) fn open(data: &Path) -> Vec<Self> {
        let Ok(folders) = fs::read_dir(data.join("runs")) else { return Vec::new() };
        let files = folders.filter_map(|folder| Some(folder.ok()?.path().join(FILE))).filter(|file| file.exists());
        let read = |file: PathBuf| -> Option<Self> {
            let read = fs::read_to_string(&file).map_err(anyhow::Error::from);
            let read = read.and_then(|text| Ok(serde_json::from_str::<Self>(&text)?));
            read.map_err(|error| tracing::error!(file = %file.display(), %error, "an enrolment cannot be read")).ok()
        };
        files.filter_map(read).filter(|enrolment| enrolment.over.is_none() || enrolment.season.is_some()).collect()
    }
}
