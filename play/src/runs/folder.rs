//! Folder of a run with its files `run.json`, `suite.toml`, `episodes.jsonl`, `calls.jsonl` and `log.jsonl`.
//!
//! The JSON Lines files are append-only. A match is done once its record is appended and synced. A killed process may
//! leave an incomplete last line, which is removed when the run is resumed.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use anyhow::{Context as _, bail};
use ludex_env::{Journal, Shelf};
use ludex_protocol::record::Record;
use ludex_report::runs::run_files::{
    self, ANSWERS, AnswerLine, CALLS, CallLine, EPISODES, FORMER_ANSWERS, LOG, LogLine, RUN, SUITE,
};
use ludex_report::runs::settings::RunSettings;
use ludex_report::runs::usage::Usage;
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::settings;
use crate::files::write_whole;
use crate::local::Journals;

/// Returns the path `DATA/runs/NAME` of the run with the folder name `run` ([`RunSettings::folder`]).
pub fn path_of(data: &Path, run: &str) -> PathBuf {
    data.join("runs").join(run)
}

/// Calls of an interrupted match, by seat and key.
pub type Calls = HashMap<(usize, String), Value>;

/// History of a run, read from its files.
#[derive(Default)]
pub struct RunHistory {
    /// Records of matches, in the order of writing.
    pub records: Vec<Record>,
    /// Total usage of all calls.
    pub usage: Usage,
    /// Calls of interrupted matches (which have no record), by episode.
    pub open: HashMap<String, Calls>,
    pub log: Vec<LogLine>,
    pub answers: Vec<AnswerLine>,
}

impl RunHistory {
    /// Reads the files of a run. With `cut`, removes incomplete last lines, which a killed process may leave.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read, or if a line other than the last is damaged.
    fn read(path: &Path, cut: bool) -> anyhow::Result<RunHistory> {
        let records = rows::<Record>(&path.join(EPISODES), cut)?;
        let done: HashSet<&str> = records.iter().map(|r| r.header.episode.as_str()).collect();
        let mut past = RunHistory {
            log: rows(&path.join(LOG), cut)?,
            answers: [rows(&path.join(FORMER_ANSWERS), cut)?, rows(&path.join(ANSWERS), cut)?].concat(),
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

/// Snapshot of a run, which another process may be playing.
pub struct RunStatus {
    pub settings: RunSettings,
    /// Text of the run's suite.
    pub suite: String,
    pub past: RunHistory,
    /// True if a process is playing the run.
    pub playing: bool,
}

impl RunStatus {
    /// Reads the run in the folder `path`.
    ///
    /// # Errors
    /// Returns an error if the folder is not a run, or if a file cannot be read.
    pub fn at(path: &Path) -> anyhow::Result<RunStatus> {
        let settings = read_settings(path)?;
        let file = path.join(SUITE);
        let suite = fs::read_to_string(&file).with_context(|| format!("{} cannot be read", file.display()))?;
        let past = RunHistory::read(path, false)?;
        let lock = File::open(path.join("lock"));
        // The lock is released immediately, so that a status query does not prevent another process from playing.
        let busy = |lock: File| matches!(lock.try_lock_shared(), Err(fs::TryLockError::WouldBlock));
        let playing = lock.is_ok_and(busy);
        Ok(RunStatus { settings, suite, past, playing })
    }
}

/// Run opened for playing. The folder is locked against other processes until this value is dropped.
pub struct Folder {
    path: PathBuf,
    run: String,
    /// Locked file that prevents other processes from playing the run.
    _lock: File,
    episodes: Mutex<File>,
    calls: Mutex<File>,
    log: Mutex<File>,
    usage: Mutex<Usage>,
}

impl Folder {
    /// Opens the run with these settings, or creates the run.
    ///
    /// # Errors
    /// Returns an error if:
    /// - the run exists and has different settings (the message lists the differences),
    /// - another process is playing the run,
    /// - a folder or a file cannot be used,
    /// - a line other than the last of a file is damaged.
    pub fn open(data: &Path, settings: &RunSettings, suite: &str) -> anyhow::Result<(Folder, RunHistory)> {
        let path = path_of(data, &settings.folder());
        let failed = || format!("{} cannot be used", path.display());
        fs::create_dir_all(&path).with_context(failed)?;
        let lock =
            OpenOptions::new().create(true).truncate(false).write(true).open(path.join("lock")).with_context(failed)?;
        if lock.try_lock().is_err() {
            let name = settings.folder();
            bail!("run {name} is being played by another process; see its progress with `ludex status {name}`");
        }
        let begun = path.join(RUN);
        if begun.exists() {
            let was = read_settings(&path)?;
            let differences = settings::differences(&was, settings);
            // A run without records and calls may start over with other settings.
            let fresh = [EPISODES, CALLS].iter().all(|f| fs::metadata(path.join(f)).map_or(0, |m| m.len()) == 0);
            if fresh {
                begin(&path, settings, suite).with_context(failed)?;
            } else if !differences.is_empty() {
                let list = differences.iter().map(|d| format!("\n  {d}")).collect::<String>();
                bail!(
                    "run {} has other settings; use --run with another name to start a new run{list}",
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

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn run(&self) -> &str {
        &self.run
    }

    /// Returns the total usage of all calls so far.
    pub fn usage(&self) -> Usage {
        *self.usage.lock()
    }

    /// Appends the record of a match and syncs it to disk. The match is done when this function returns.
    ///
    /// # Errors
    /// Returns an error if the record cannot be written.
    pub fn keep(&self, record: &Record) -> anyhow::Result<()> {
        let line = record.to_line()?;
        let mut file = self.episodes.lock();
        append(&mut file, &line).and_then(|()| file.sync_data()).with_context(|| self.cannot(EPISODES))
    }

    /// Appends a line to the log of the run.
    ///
    /// # Errors
    /// Returns an error if the line cannot be written.
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
        self.usage.lock().add(&line.call);
        Ok(())
    }

    fn append(&self, file: &Mutex<File>, name: &str, line: &impl Serialize) -> anyhow::Result<()> {
        let text = serde_json::to_string(line)?;
        let mut file = file.lock();
        append(&mut file, &text).with_context(|| self.cannot(name))
    }

    fn cannot(&self, name: &str) -> String {
        format!("{} cannot be written", self.path.join(name).display())
    }

    /// Returns the journals of an episode; `before` has the episode's calls from before an interruption.
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

/// Journals of one episode, one per seat.
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
    /// Sum of the original durations, in milliseconds, of the entries that `find` has returned. [`Journals::spared`]
    /// resets it to 0.
    spared: AtomicU64,
}

impl Journal for SeatJournal<'_> {
    fn find(&self, key: &str) -> Option<Value> {
        let found = self.known.lock().get(key).cloned()?;
        self.spared.fetch_add(found["ms"].as_u64().unwrap_or(0), Relaxed);
        Some(found)
    }

    fn recall(&self, key: &str) -> Option<Value> {
        self.known.lock().get(key).cloned()
    }

    fn keep(&self, key: &str, entry: &Value) -> Result<(), String> {
        let call = serde_json::from_value(entry.clone()).map_err(|e| e.to_string())?;
        let line = CallLine { line: 0, episode: self.episode.clone(), seat: self.seat, key: key.parse()?, call };
        self.folder.call(&line).map_err(|e| format!("{e:#}"))?;
        self.known.lock().insert(key.to_owned(), entry.clone());
        Ok(())
    }

    fn shelf(&self) -> Option<Shelf<'_>> {
        Some(Shelf { folder: &self.folder.path, journal: format!("{}/{}", self.episode, self.seat) })
    }
}

/// Writes the settings and the suite of a run.
pub(super) fn begin(path: &Path, settings: &RunSettings, suite: &str) -> io::Result<()> {
    write_whole(path, SUITE, suite.as_bytes())?;
    // `run.json` comes last, since its presence makes the folder a run.
    write_whole(path, RUN, format!("{:#}\n", json!(settings)).as_bytes())
}

/// Reads the settings of a run.
///
/// # Errors
/// Returns an error if the folder is not a run, or if the settings cannot be parsed.
pub fn read_settings(path: &Path) -> anyhow::Result<RunSettings> {
    let file = path.join(RUN);
    let text = fs::read_to_string(&file)
        .with_context(|| format!("expected the folder of a run, got {}: run.json cannot be read", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is damaged", file.display()))
}

/// Appends a line in a single write, so that a killed process leaves at most one incomplete line.
///
/// If only a part can be written because the disk is full, that part is removed.
pub(super) fn append(file: &mut File, line: &str) -> io::Result<()> {
    let len = file.metadata()?.len();
    file.write_all(format!("{line}\n").as_bytes()).inspect_err(|_| {
        // If this fails too, an incomplete line remains.
        let _ = file.set_len(len);
    })
}

/// Parses all lines of a file. An incomplete last line is skipped; with `cut`, it is also removed from the file.
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
