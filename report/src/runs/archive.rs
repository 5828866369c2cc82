//! Contents of a run, finished or not: settings, records, calls of language models, and log.
//!
//! A run is a folder, or a bundle packed from a folder. A killed process may leave an incomplete last line, which is
//! skipped and listed in [`Archive::truncated_lines`]. Other unreadable lines are listed in [`Archive::refused`]; the
//! remaining lines are read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use ludex_protocol::record::RecordParts;
use ludex_referee::read::{RawLine, RejectedRecord, Source, SourcedRecord};
use ludex_referee::suite::is_word;

use super::bundle;
use super::reported_calls::reported_calls;
use super::run_files::{self, CALLS, CallLine, EPISODES, FILES, LABELS, LOG, LabelLine, LogLine, RUN, SUITE};
use super::settings::RunSettings;
use crate::runs::episode::{MatchPlace, episode_of};

/// Run as stored in its files.
#[derive(Clone, Debug, Default)]
pub struct Archive {
    /// Folder of the run, or file of its bundle.
    pub place: PathBuf,
    pub about: RunSettings,
    /// Raw files by name.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Records in the order in which matches ended.
    pub found: Vec<SourcedRecord>,
    /// Calls by episode, in the order of seats and keys.
    pub calls: BTreeMap<String, Vec<CallLine>>,
    /// Calls of the episodes in which clients report calls: those of the journal, and the reported ones.
    reported: BTreeMap<String, Vec<CallLine>>,
    /// Labels of decisions, in the order of the file.
    pub labels: Vec<LabelLine>,
    pub log: Vec<LogLine>,
    /// Incomplete last lines, which are not faults of the run.
    pub truncated_lines: Vec<Source>,
    /// Lines that cannot be read.
    pub refused: Vec<RejectedRecord>,
}

impl Archive {
    /// Reads the run `name`: a folder, a bundle, or a name below `data`/runs.
    ///
    /// # Errors
    /// Returns an error that lists the existing runs if the run is missing, or an error for unreadable settings.
    pub fn open(name: &str, data: &Path) -> anyhow::Result<Archive> {
        if bundle::is_bundle(Path::new(name)) {
            return Archive::of_files(Path::new(name), bundle::read(Path::new(name))?);
        }
        let folder = Self::folder(name, data)?;
        Archive::of_files(&folder, files_of(&folder, &FILES)?)
    }

    /// Reads the settings and the suite of the run in a folder, without records, calls and log.
    ///
    /// # Errors
    /// Returns an error if the folder is not a run or its settings cannot be read.
    pub fn without_lines(folder: &Path) -> anyhow::Result<Archive> {
        Archive::of_files(folder, files_of(folder, &[RUN, SUITE])?)
    }

    /// Returns the folder of the run `name`.
    ///
    /// # Errors
    /// Returns an error that lists the existing runs if the run is missing.
    pub fn folder(name: &str, data: &Path) -> anyhow::Result<PathBuf> {
        let runs = data.join("runs");
        let named = runs.join(name);
        if let Some(folder) = [named, PathBuf::from(name)].into_iter().find(|folder| folder.join(RUN).is_file()) {
            return Ok(folder);
        }
        let known = Self::list(data);
        let hint = match known.as_slice() {
            [] => format!("there are no runs in {} (select another folder with --data)", runs.display()),
            known => format!("runs in {} are {}", runs.display(), known.join(", ")),
        };
        anyhow::bail!("there is no run {name:?}: {hint}")
    }

    /// Returns the names of the runs below `data`/runs in alphabetical order.
    pub fn list(data: &Path) -> Vec<String> {
        let entries = fs::read_dir(data.join("runs")).into_iter().flatten().flatten();
        let runs = entries.filter(|entry| entry.path().join(RUN).is_file());
        let mut names: Vec<String> = runs.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Returns true if `name` is a run: a folder with settings, a bundle, or the name of a folder below `data`/runs.
    pub fn is_run(name: &str, data: &Path) -> bool {
        bundle::is_bundle(Path::new(name)) || Self::folder(name, data).is_ok()
    }

    /// Reads a run from the bytes of its files. `place` is the location of the run in messages.
    ///
    /// # Errors
    /// Returns an error if the settings are missing or cannot be parsed.
    pub fn of_files(place: &Path, files: BTreeMap<String, Vec<u8>>) -> anyhow::Result<Archive> {
        let settings = files.get(RUN).with_context(|| format!("{} is not a run: it has no {RUN}", place.display()))?;
        let about: RunSettings = serde_json::from_slice(settings).with_context(|| {
            format!("{} is damaged, and the rest of the run cannot be read without it", place.join(RUN).display())
        })?;
        // The name becomes a part of paths, and a bundle may come from anybody.
        let (path, run) = (place.join(RUN), &about.run);
        anyhow::ensure!(is_word(run), "{}: run: expected only a-z, 0-9, _ and -, got {run:?}", path.display());
        let mut archive = Archive { place: place.to_owned(), about, files, ..Archive::default() };
        archive.found = archive.take(EPISODES, parse_record);
        for call in archive.take(CALLS, |raw| Ok(CallLine { line: raw.source.line, ..run_files::json(raw)? })) {
            archive.calls.entry(call.episode.clone()).or_default().push(call);
        }
        let sort = |calls: &mut Vec<CallLine>| calls.sort_by_key(|call| (call.seat, call.key, call.line));
        archive.calls.values_mut().for_each(sort);
        for found in &archive.found {
            let reported = reported_calls(&found.parts);
            if !reported.is_empty() {
                let episode = episode_of(&found.parts);
                let mut all = [archive.calls.get(episode).cloned().unwrap_or_default(), reported].concat();
                sort(&mut all);
                archive.reported.insert(episode.to_owned(), all);
            }
        }
        archive.labels = archive.take(LABELS, |raw| Ok(LabelLine { line: raw.source.line, ..run_files::json(raw)? }));
        archive.log = archive.take(LOG, run_files::json);
        Ok(archive)
    }

    /// Parses the lines of a file and records the faults of invalid lines.
    fn take<T>(&mut self, file: &str, parse: impl Fn(&RawLine) -> Result<T, RejectedRecord>) -> Vec<T> {
        let bytes = self.files.get(file).map(Vec::as_slice).unwrap_or_default();
        let read = run_files::read(&self.place.join(file).display().to_string(), bytes, parse);
        self.refused.extend(read.refused);
        self.truncated_lines.extend(read.cut);
        read.rows
    }

    /// Parses an episode name into the position of the match in the run; `None` for other names.
    pub fn place_of(&self, episode: &str) -> Option<MatchPlace> {
        MatchPlace::parse(&self.about.run, episode)
    }

    /// Returns the calls of one episode in the order of seats and keys, including those that clients report.
    pub fn calls_of(&self, episode: &str) -> &[CallLine] {
        let of = self.reported.get(episode).or_else(|| self.calls.get(episode));
        of.map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the episodes with calls but without a record: interrupted, or still running.
    pub fn unfinished(&self) -> BTreeSet<&str> {
        let ended: BTreeSet<&str> = self.found.iter().map(|found| episode_of(&found.parts)).collect();
        self.calls.keys().map(String::as_str).filter(|episode| !ended.contains(episode)).collect()
    }

    /// Returns true if the log states that the run is done.
    pub fn is_done(&self) -> bool {
        self.log
            .iter()
            .rev()
            .find(|e| matches!(e.what.as_str(), "done" | "begun" | "resumed"))
            .is_some_and(|e| e.what == "done")
    }
}

/// Reads the named files from a folder; missing files are omitted.
fn files_of(folder: &Path, names: &[&str]) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for name in names {
        let path = folder.join(name);
        match fs::read(&path) {
            Ok(bytes) => drop(files.insert((*name).to_owned(), bytes)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e).with_context(|| format!("{} cannot be read", path.display())),
        }
    }
    Ok(files)
}

/// Parses a line as a record.
fn parse_record(raw: &RawLine) -> Result<SourcedRecord, RejectedRecord> {
    let refuse = |message| RejectedRecord { source: raw.source.clone(), episode: None, message };
    let parts = RecordParts::parse(&raw.text).map_err(|e| refuse(e.to_string()))?;
    Ok(SourcedRecord { source: raw.source.clone(), parts })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::settings::RunSeeds;

    #[test]
    fn damaged_lines_are_listed_and_skipped() {
        let call =
            r#"{"episode":"r.p.0-1.0.0","seat":0,"key":"1.0.0","call":{"purpose":"move","answer":"x","later":1}}"#;
        let calls = format!(
            "{call}\nnothing\n{}\n{}\n{{\"epi",
            call.replace("1.0.0\",\"call", "0.0.1\",\"call"),
            call.replace("\"1.0.0\"", "\"1.0\"")
        );
        let text = |s: &str| s.as_bytes().to_vec();
        let files = BTreeMap::from([
            (RUN.to_owned(), text(r#"{"run":"r","agents":[{"name":"a"}],"seeds":{"open":7},"suite":{"name":"s"}}"#)),
            (CALLS.to_owned(), calls.into_bytes()),
            (LOG.to_owned(), text("{\"what\":\"begun\"}\n{\"what\":\"done\"}\n")),
        ]);
        let run = Archive::of_files(Path::new("f"), files).unwrap();
        assert_eq!(run.about.seeds, RunSeeds::Open(7));
        assert_eq!((run.about.suite.name.as_str(), run.is_done()), ("s", true));
        let keys: Vec<u32> = run.calls_of("r.p.0-1.0.0").iter().map(|kept| kept.key.turn).collect();
        assert_eq!(keys, [0, 1]);
        assert_eq!(run.calls_of("r.p.0-1.0.0")[1].call.more["later"], 1);
        let said: Vec<String> = run.refused.iter().map(ToString::to_string).collect();
        assert!(said.len() == 2 && said[0].starts_with("f/calls.jsonl:2: "), "{said:?}");
        assert!(said[1].contains("r.p.0-1.0.0: expected a key of the form turn.attempt.step"), "{said:?}");
        assert_eq!(run.truncated_lines.iter().map(ToString::to_string).collect::<Vec<_>>(), ["f/calls.jsonl:5"]);
        assert_eq!(run.unfinished().into_iter().collect::<Vec<_>>(), ["r.p.0-1.0.0"]);

        let bad = text(r#"{"run":"../r","agents":[],"seeds":{"open":7},"suite":{"name":"s"}}"#);
        let bad = Archive::of_files(Path::new("f"), BTreeMap::from([(RUN.to_owned(), bad)])).unwrap_err();
        assert!(bad.to_string().contains("expected only a-z, 0-9, _ and -, got \"../r\""), "{bad:#}");
        let bad = Archive::of_files(Path::new("f"), BTreeMap::from([(RUN.to_owned(), text("{"))])).unwrap_err();
        assert!(format!("{bad:#}").starts_with("f/run.json is damaged"), "{bad:#}");
    }
}
