//! The folder of a run: `run.json`, `suite.toml`, `episodes.jsonl`, `calls.jsonl`, `log.jsonl`.
//!
//! Lines are only ever appended. When a match is over, its record is appended and written to the disk: that makes the match
//! done. A killed run may leave a last line that is cut off; it is removed when the run continues.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, bail};
use ludex_env::{Journal, Shelf};
use ludex_protocol::record::Record;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::run_files::{self, CALLS, CallLine, EPISODES, LOG, LogLine, ONCE, OnceLine, RUN, SUITE};
use super::settings::RunSettings;
use super::usage::Usage;
use crate::files::write_whole;
use crate::local::Journals;

/// A folder of runs by its name ([`RunSettings::folder`]): `DATA/runs/NAME`.
pub fn path_of(data: &Path, run: &str) -> PathBuf {
    data.join("runs").join(run)
}

/// The calls of a match that was interrupted, by seat and key.
pub type Calls = HashMap<(usize, String), Value>;

/// What a run has done so far.
#[derive(Default)]
pub struct RunHistory {
    /// The records, in the order in which they were kept.
    pub records: Vec<Record>,
    /// The cost of all calls.
    pub usage: Usage,
    /// Calls of matches without a record, by episode: these matches were interrupted.
    pub open: HashMap<String, Calls>,
    /// Its log.
    pub log: Vec<LogLine>,
    /// Answers that are given again.
    pub once: Vec<OnceLine>,
}

impl RunHistory {
    /// Reads the files of a run. With `cut`, the remains of a line that a killed process left are cut away.
    ///
    /// # Errors
    /// A file that cannot be read, or is damaged before its end.
    fn read(path: &Path, cut: bool) -> anyhow::Result<RunHistory> {
        let records = rows::<Record>(&path.join(EPISODES), cut)?;
        let done: HashSet<&str> = records.iter().map(|r| r.header.episode.as_str()).collect();
        let mut past = RunHistory {
            log: rows(&path.join(LOG), cut)?,
            once: rows(&path.join(ONCE), cut)?,
            ..RunHistory::default()
        };
        for CallLine { episode, seat, key, call, .. } in rows(&path.join(CALLS), cut)? {
            past.usage.add(&call);
            if !done.contains(episode.as_str()) {
                past.open.entry(episode).or_default().insert((seat, key.to_string()), serde_json::to_value(call)?);
            }
        }
        drop(done);
        past.records = records;
        Ok(past)
    }
}

/// A run as it is now. Another process may be playing it.
pub struct RunStatus {
    /// Its settings.
    pub settings: RunSettings,
    /// The text of its suite.
    pub suite: String,
    /// What it has done so far.
    pub past: RunHistory,
    /// Whether a process is playing it.
    pub playing: bool,
}

impl RunStatus {
    /// Reads a run.
    ///
    /// # Errors
    /// A folder that is not a run, or a file of it that cannot be read.
    pub fn at(path: &Path) -> anyhow::Result<RunStatus> {
        let settings = read_settings(path)?;
        let file = path.join(SUITE);
        let suite = fs::read_to_string(&file).with_context(|| format!("{} cannot be read", file.display()))?;
        let past = RunHistory::read(path, false)?;
        let lock = File::open(path.join("lock"));
        // The lock is released at once, so that looking at a run does not keep another process from playing it.
        let busy = |lock: File| matches!(lock.try_lock_shared(), Err(fs::TryLockError::WouldBlock));
        let playing = lock.is_ok_and(busy);
        Ok(RunStatus { settings, suite, past, playing })
    }
}

/// A run that is open for playing. No other process can open it until this is dropped.
pub struct Folder {
    path: PathBuf,
    run: String,
    /// Held for its lock.
    _lock: File,
    episodes: Mutex<File>,
    calls: Mutex<File>,
    log: Mutex<File>,
    usage: Mutex<Usage>,
}

impl Folder {
    /// Opens the run with these settings, or begins it.
    ///
    /// # Errors
    /// A run of the same name with other settings, each named; a run that another process is playing; a folder or a file
    /// that cannot be used; a damaged line before the end of a file.
    pub fn open(data: &Path, settings: &RunSettings, suite: &str) -> anyhow::Result<(Folder, RunHistory)> {
        let path = path_of(data, &settings.folder());
        let failed = || format!("{} cannot be used", path.display());
        fs::create_dir_all(&path).with_context(failed)?;
        let lock =
            OpenOptions::new().create(true).truncate(false).write(true).open(path.join("lock")).with_context(failed)?;
        if lock.try_lock().is_err() {
            let name = settings.folder();
            bail!("run {name} is being played by another process; `ludex status {name}` shows it");
        }
        let begun = path.join(RUN);
        if begun.exists() {
            let was = read_settings(&path)?;
            let differences = was.differences(settings);
            // A run that has played nothing may begin again with other settings.
            let fresh = [EPISODES, CALLS].iter().all(|f| fs::metadata(path.join(f)).map_or(0, |m| m.len()) == 0);
            if fresh {
                begin(&path, settings, suite).with_context(failed)?;
            } else if !differences.is_empty() {
                let list = differences.iter().map(|d| format!("\n  {d}")).collect::<String>();
                bail!(
                    "run {} was begun with other settings; --run with another name begins a new one{list}",
                    settings.folder()
                );
            }
        } else {
            begin(&path, settings, suite).with_context(failed)?;
        }
        let past = RunHistory::read(&path, true)?;
        let append =
            |name: &str| OpenOptions::new().create(true).append(true).open(path.join(name)).with_context(failed);
        let folder = Folder {
            run: settings.run.clone(),
            _lock: lock,
            episodes: Mutex::new(append(EPISODES)?),
            calls: Mutex::new(append(CALLS)?),
            log: Mutex::new(append(LOG)?),
            usage: Mutex::new(past.usage),
            path: path.clone(),
        };
        let new = past.records.is_empty() && past.usage.calls == 0;
        folder.log(if new { "begun" } else { "resumed" }, None, None)?;
        Ok((folder, past))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The run's name.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// The cost of all calls so far.
    pub fn usage(&self) -> Usage {
        *self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a record. The match is done when this returns.
    ///
    /// # Errors
    /// The record cannot be written.
    pub fn keep(&self, record: &Record) -> anyhow::Result<()> {
        let line = record.to_line()?;
        let mut file = self.episodes.lock().unwrap_or_else(PoisonError::into_inner);
        append(&mut file, &line).and_then(|()| file.sync_data()).with_context(|| self.cannot(EPISODES))
    }

    /// Adds a line to the log of the run.
    ///
    /// # Errors
    /// The line cannot be written.
    pub fn log(&self, what: &str, episode: Option<&str>, why: Option<&str>) -> anyhow::Result<()> {
        let line = LogLine {
            at: crate::time::now_text(),
            what: what.to_owned(),
            episode: episode.map(str::to_owned),
            why: why.map(str::to_owned),
            more: Map::new(),
        };
        self.append(&self.log, LOG, &line)
    }

    fn call(&self, line: &CallLine) -> anyhow::Result<()> {
        self.append(&self.calls, CALLS, line)?;
        self.usage.lock().unwrap_or_else(PoisonError::into_inner).add(&line.call);
        Ok(())
    }

    fn append(&self, file: &Mutex<File>, name: &str, line: &impl Serialize) -> anyhow::Result<()> {
        let text = serde_json::to_string(line)?;
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        append(&mut file, &text).with_context(|| self.cannot(name))
    }

    fn cannot(&self, name: &str) -> String {
        format!("{} cannot be written", self.path.join(name).display())
    }

    /// The journals of an episode; `before` holds the calls that were made in it before the run was interrupted.
    pub fn journals<'f>(&'f self, episode: &str, seats: usize, before: Calls) -> EpisodeJournals<'f> {
        let mut by_seat: Vec<HashMap<String, Value>> = (0..seats).map(|_| HashMap::new()).collect();
        for ((seat, key), call) in before {
            if let Some(known) = by_seat.get_mut(seat) {
                known.insert(key, call);
            }
        }
        let seat = |(seat, known)| SeatJournal {
            folder: self,
            episode: episode.to_owned(),
            seat,
            known: Mutex::new(known),
            spared: AtomicU64::new(0),
        };
        EpisodeJournals(by_seat.into_iter().enumerate().map(seat).collect())
    }
}

/// The journals of the seats of an episode.
pub struct EpisodeJournals<'f>(Vec<SeatJournal<'f>>);

impl Journals for EpisodeJournals<'_> {
    fn of(&self, seat: usize) -> &dyn Journal {
        &self.0[seat]
    }

    fn spared(&self, seat: usize) -> u64 {
        self.0[seat].spared.swap(0, Relaxed)
    }
}

struct SeatJournal<'f> {
    folder: &'f Folder,
    episode: String,
    seat: usize,
    known: Mutex<HashMap<String, Value>>,
    /// Milliseconds of the calls that were found.
    spared: AtomicU64,
}

impl Journal for SeatJournal<'_> {
    fn find(&self, key: &str) -> Option<Value> {
        let found = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()?;
        self.spared.fetch_add(found["ms"].as_u64().unwrap_or(0), Relaxed);
        Some(found)
    }

    fn recall(&self, key: &str) -> Option<Value> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    fn keep(&self, key: &str, entry: &Value) -> Result<(), String> {
        let call = serde_json::from_value(entry.clone()).map_err(|e| e.to_string())?;
        let line = CallLine { line: 0, episode: self.episode.clone(), seat: self.seat, key: key.parse()?, call };
        self.folder.call(&line).map_err(|e| format!("{e:#}"))?;
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned(), entry.clone());
        Ok(())
    }

    fn shelf(&self) -> Option<Shelf<'_>> {
        Some(Shelf { folder: &self.folder.path, journal: format!("{}/{}", self.episode, self.seat) })
    }
}

/// Writes the settings and the suite of a run.
pub(super) fn begin(path: &Path, settings: &RunSettings, suite: &str) -> io::Result<()> {
    write_whole(path, SUITE, suite.as_bytes())?;
    // Last: a folder with this file is a run.
    write_whole(path, RUN, format!("{:#}\n", json!(settings)).as_bytes())
}

/// The settings of a run.
///
/// # Errors
/// A folder that is not a run, or settings that cannot be read.
pub fn read_settings(path: &Path) -> anyhow::Result<RunSettings> {
    let file = path.join(RUN);
    let text = fs::read_to_string(&file)
        .with_context(|| format!("{} is not a run: run.json cannot be read", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is damaged", file.display()))
}

/// Appends a line in one write, so that a kill leaves at most one line that is cut off.
///
/// If the line does not fit on the disk, what was written of it is removed, so that the next line does not follow half a
/// line.
pub(super) fn append(file: &mut File, line: &str) -> io::Result<()> {
    let len = file.metadata()?.len();
    file.write_all(format!("{line}\n").as_bytes()).inspect_err(|_| {
        // If this fails too, a line that is cut off remains.
        let _ = file.set_len(len);
    })
}

/// The lines of a file that all have to be readable. A last line that is cut off is left out and, with `cut`, cut away.
fn rows<T: DeserializeOwned>(path: &Path, cut: bool) -> anyhow::Result<Vec<T>> {
    let failed = || format!("{} cannot be read", path.display());
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(e).with_context(failed),
    };
    let read = run_files::read(&path.display().to_string(), &bytes, run_files::json);
    if cut && read.cut.is_some() {
        let cut = |file: File| file.set_len(read.end as u64);
        OpenOptions::new().write(true).open(path).and_then(cut).with_context(failed)?;
    }
    if let Some(why) = read.refused.first() {
        bail!("{}: line {} is damaged: {}", path.display(), why.source.line, why.message);
    }
    Ok(read.rows)
}
