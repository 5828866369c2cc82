//! Stored enrolment data of a run, in addition to the files that every run has.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{fs, io};

use anyhow::Context as _;
use ludex_play::files::write_whole;
use ludex_play::runs::folder::path_of;
use ludex_protocol::message::{Enrol, RunEnd, RunReason};
use ludex_referee::suite::roles::RoleAssignment;
use ludex_referee::tournament::TournamentFormat;
use serde::{Deserialize, Serialize};

/// File name in the directory of the run.
const FILE: &str = "enrolment.json";

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
    /// Maximum number of concurrent matches of the agent.
    pub slots: u32,
    /// True once the agent has enrolled. In a tournament, entrants are listed before they enroll.
    #[serde(default)]
    pub came: bool,
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

    /// Writes the enrolment durably.
    ///
    /// # Errors
    ///
    /// A failed write.
    pub(super) fn keep(&self, data: &Path) -> anyhow::Result<()> {
        let folder = path_of(data, self.run());
        fs::create_dir_all(&folder).with_context(|| format!("creating {} failed", folder.display()))?;
        let text = serde_json::to_string_pretty(self)?;
        write_whole(&folder, FILE, text.as_bytes()).with_context(|| format!("writing {FILE} failed"))
    }

    /// Reads the enrolment of a run; `None` if the run does not exist.
    ///
    /// # Errors
    ///
    /// A run that was not played by clients and so has no enrolment, or a file that cannot be read.
    pub(super) fn read(data: &Path, run: &str) -> anyhow::Result<Option<Self>> {
        let folder = path_of(data, run);
        if !folder.exists() {
            return Ok(None);
        }
        let text = fs::read_to_string(folder.join(FILE))
            .with_context(|| format!("expected a run played by clients, got {run}"))?;
        Ok(Some(serde_json::from_str(&text).with_context(|| format!("parsing {FILE} of {run} failed"))?))
    }

    /// Returns the time of the last change of the enrolment.
    ///
    /// # Errors
    ///
    /// A file that cannot be read.
    pub(super) fn changed(&self, data: &Path) -> io::Result<SystemTime> {
        fs::metadata(path_of(data, self.run()).join(FILE))?.modified()
    }

    /// Removes the folder of a run. The enrolment is removed last, so that an interrupted removal can be repeated.
    ///
    /// # Errors
    ///
    /// A file that cannot be removed.
    pub(super) fn remove_folder(folder: &Path) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            match entry.file_type()?.is_dir() {
                true => fs::remove_dir_all(entry.path())?,
                false if entry.file_name() == FILE => {}
                false => fs::remove_file(entry.path())?,
            }
        }
        fs::remove_dir_all(folder)
    }

    /// Returns true if the run belongs to this season of a suite.
    pub(super) fn is_of(&self, [suite, season]: [&str; 2]) -> bool {
        self.request.suite == suite && self.season.as_ref().is_some_and(|own| own.name == season)
    }

    /// Returns at most `limit` finished runs in order of name, starting after the name `after`. With `season`, returns
    /// only runs of this suite and season.
    pub(super) fn over_after(data: &Path, after: &str, season: Option<[&str; 2]>, limit: usize) -> Vec<Self> {
        let Ok(folders) = fs::read_dir(data.join("runs")) else { return Vec::new() };
        let names = folders.filter_map(|folder| folder.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| name.as_str() > after).collect();
        names.sort();
        let over = |name: String| Self::read(data, &name).ok().flatten().filter(|kept| kept.over.is_some());
        let over = |name| over(name).filter(|kept| season.is_none_or(|season| kept.is_of(season)));
        names.into_iter().filter_map(over).take(limit).collect()
    }

    /// Returns the enrolments of all open runs, and of all finished runs that belong to seasons. Unreadable files are
    /// logged.
    pub(super) fn open(data: &Path) -> Vec<Self> {
        let Ok(folders) = fs::read_dir(data.join("runs")) else { return Vec::new() };
        let files = folders.filter_map(|folder| Some(folder.ok()?.path().join(FILE))).filter(|file| file.exists());
        let read = |file: PathBuf| -> Option<Self> {
            let read = fs::read_to_string(&file).map_err(anyhow::Error::from);
            let read = read.and_then(|text| Ok(serde_json::from_str::<Self>(&text)?));
            read.map_err(|error| tracing::error!(file = %file.display(), %error, "reading an enrolment failed")).ok()
        };
        files.filter_map(read).filter(|enrolment| enrolment.over.is_none() || enrolment.season.is_some()).collect()
    }
}
