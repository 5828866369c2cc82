//! What is read of a run, finished or still going on: its settings, the records of its matches, the calls that its language
//! models made, and its log.
//!
//! A run is a folder, or a bundle that was made of one. A last line that is cut off is what a killed process leaves: it is
//! passed over and named in [`Archive::cut`]; any other line that cannot be read is named in [`Archive::refused`], and the
//! rest is still read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use ludex_protocol::record::{Parts, Tokens};
use ludex_referee::read::{Found, Refused, Source, read_lines};
use ludex_referee::suite::plan;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::runs::play::key_of;
use crate::runs::settings::Settings;

use crate::bundle;

/// The run's settings.
pub const RUN: &str = "run.json";
/// The suite as it was.
pub const SUITE: &str = "suite.toml";
/// The records, one a line.
pub const EPISODES: &str = "episodes.jsonl";
/// The calls, one a line.
pub const CALLS: &str = "calls.jsonl";
/// What happened to the run, one event a line.
pub const LOG: &str = "log.jsonl";
/// The files of a run. All but the first and the records may be missing.
pub const FILES: [&str; 5] = [RUN, SUITE, EPISODES, CALLS, LOG];

/// Where a match stands in its run, as the name of the episode tells: `RUN.PART.PAIRING.INDEX.TURN`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The part of the suite.
    pub part: String,
    /// Who met, as indices into the run's agents, joined by `-`.
    pub pairing: String,
    /// The number of the seed in the part.
    pub index: u64,
    /// The rotation of the seats.
    pub turn: u32,
    /// Whether it was played because the first try failed.
    pub rematch: bool,
}

impl Place {
    /// The place of an episode of `run`; `None` for the name of anything else.
    pub fn parse(run: &str, episode: &str) -> Option<Place> {
        let (key, rematch) = key_of(run, episode)?;
        let plan::Place { part, pairing, index, turn } = plan::Place::parse(key)?;
        let pairing = pairing.iter().map(usize::to_string).collect::<Vec<_>>().join("-");
        Some(Place { part, pairing, index, turn: turn as u32, rematch })
    }
}

/// One message of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// `system`, `user` or `assistant`.
    pub role: String,
    /// What it says.
    pub content: String,
}

/// A call of an endpoint, as the agent that made it keeps it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// What it was made for: `move`, `sample`, `vote`, ...
    #[serde(default)]
    pub purpose: String,
    /// The model.
    #[serde(default)]
    pub model: String,
    /// The prompt.
    #[serde(default)]
    pub messages: Vec<Message>,
    /// The answer as it came.
    #[serde(default)]
    pub answer: String,
    /// Why the answer ended: `stop`, `length`, ...
    #[serde(default)]
    pub finish: Option<String>,
    /// What it cost in tokens.
    #[serde(default)]
    pub tokens: Tokens,
    /// Whether `tokens` is a guess from the number of characters.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// Milliseconds from request to answer.
    #[serde(default)]
    pub ms: u64,
    /// Requests that failed before.
    #[serde(default)]
    pub retries: u32,
    /// US dollars; `None` where no price is known.
    #[serde(default)]
    pub usd: Option<f64>,
    /// What became of the answer: `ok`, `unparsed`, `illegal`, ...
    #[serde(default)]
    pub verdict: String,
    /// The move that was read in it.
    #[serde(default)]
    pub read: Option<String>,
    /// Everything else.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl Call {
    /// All that messages of one role say, an empty line between them.
    pub fn said(&self, role: &str) -> String {
        let of_role = self.messages.iter().filter(|m| m.role == role);
        of_role.map(|m| m.content.as_str()).collect::<Vec<_>>().join("\n\n")
    }

    /// What the model thought before it answered, where the endpoint tells.
    pub fn reasoning(&self) -> Option<&str> {
        self.more.get("reasoning").and_then(Value::as_str)
    }
}

/// Which call of a seat: its turn, the attempt in that turn, the step of that attempt, all from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallKey {
    /// The seat's own turn.
    pub turn: u32,
    /// The attempt.
    pub attempt: u32,
    /// The step.
    pub step: u32,
}

impl CallKey {
    /// Reads `turn.attempt.step`.
    pub fn parse(text: &str) -> Option<CallKey> {
        let mut numbers = text.split('.').map(|n| n.parse::<u32>().ok());
        let key = CallKey { turn: numbers.next()??, attempt: numbers.next()??, step: numbers.next()?? };
        numbers.next().is_none().then_some(key)
    }
}

/// A call, and where it belongs.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// Line of `calls.jsonl`, from 1.
    pub line: usize,
    /// The episode.
    pub episode: String,
    /// The seat.
    pub seat: usize,
    /// Which one of that seat.
    pub key: CallKey,
    /// The call.
    pub call: Call,
}

/// A line of `calls.jsonl`.
#[derive(Deserialize)]
struct CallLine {
    episode: String,
    seat: usize,
    key: String,
    call: Call,
}

/// A line of the log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When, RFC 3339.
    #[serde(default)]
    pub at: String,
    /// What: `begun`, `resumed`, `failed`, `done`, ...
    pub what: String,
    /// The episode that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub episode: Option<String>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Everything else.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// What a run left.
#[derive(Clone, Debug, Default)]
pub struct Archive {
    /// Where it was found: a folder, or a file.
    pub place: PathBuf,
    /// Its settings.
    pub about: Settings,
    /// Its files as they are, by name.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Its records, in the order in which matches ended.
    pub found: Vec<Found>,
    /// Its calls by episode, in the order of seats and keys.
    pub calls: BTreeMap<String, Vec<Kept>>,
    /// Its log.
    pub log: Vec<Event>,
    /// Last lines that were cut off, which is no fault of the run.
    pub cut: Vec<Source>,
    /// Lines that cannot be read.
    pub refused: Vec<Refused>,
}

impl Archive {
    /// Reads the run that `name` means: a folder, a bundle, or a name below `data`/runs.
    ///
    /// # Errors
    /// When there is no such run, or its settings cannot be read; the message says what there is.
    pub fn open(name: &str, data: &Path) -> anyhow::Result<Archive> {
        if bundle::is_bundle(Path::new(name)) {
            return Archive::of_files(Path::new(name), bundle::read(Path::new(name))?);
        }
        let folder = Self::folder(name, data)?;
        let mut files = BTreeMap::new();
        for file in FILES {
            let path = folder.join(file);
            match fs::read(&path) {
                Ok(bytes) => drop(files.insert(file.to_owned(), bytes)),
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(e).with_context(|| format!("{} cannot be read", path.display())),
            }
        }
        Archive::of_files(&folder, files)
    }

    /// The folder of the run that `name` means.
    ///
    /// # Errors
    /// No run of this name, with those that there are.
    pub fn folder(name: &str, data: &Path) -> anyhow::Result<PathBuf> {
        let runs = data.join("runs");
        let named = runs.join(name);
        if let Some(folder) = [named, PathBuf::from(name)].into_iter().find(|folder| folder.join(RUN).is_file()) {
            return Ok(folder);
        }
        let mut known = runs_in(&runs);
        known.sort();
        let hint = match known.as_slice() {
            [] => format!("there are no runs in {} (--data names another folder)", runs.display()),
            known => format!("runs in {} are {}", runs.display(), known.join(", ")),
        };
        anyhow::bail!("there is no run {name:?}: {hint}")
    }

    /// Whether `name` means a run: a folder with settings, a bundle, or the name of a folder below `data`/runs.
    pub fn is_run(name: &str, data: &Path) -> bool {
        bundle::is_bundle(Path::new(name)) || Self::folder(name, data).is_ok()
    }

    /// Takes a run from the bytes of its files; `place` stands for it in messages.
    ///
    /// # Errors
    /// When settings are missing or cannot be read.
    pub fn of_files(place: &Path, files: BTreeMap<String, Vec<u8>>) -> anyhow::Result<Archive> {
        let settings = files.get(RUN).with_context(|| format!("{} is no run: it has no {RUN}", place.display()))?;
        let about = serde_json::from_slice(settings).with_context(|| {
            format!("{} is damaged, and without it nothing of the run can be told", place.join(RUN).display())
        })?;
        let mut archive = Archive { place: place.to_owned(), about, ..Archive::default() };
        archive.take_episodes(&files);
        archive.take_calls(&files);
        archive.take_log(&files);
        archive.files = files;
        Ok(archive)
    }

    fn name_of(&self, file: &str) -> String {
        self.place.join(file).display().to_string()
    }

    /// The whole lines of a file; a last one that is cut off is noted.
    fn whole<'a>(&mut self, files: &'a BTreeMap<String, Vec<u8>>, file: &str) -> &'a [u8] {
        let bytes = files.get(file).map(Vec::as_slice).unwrap_or_default();
        let end = whole_lines(bytes);
        if end < bytes.len() {
            let line = bytes[..end].iter().filter(|&&b| b == b'\n').count() + 1;
            self.cut.push(Source { file: self.name_of(file), line });
        }
        &bytes[..end]
    }

    fn take_episodes(&mut self, files: &BTreeMap<String, Vec<u8>>) {
        let lines = read_lines(&self.name_of(EPISODES), self.whole(files, EPISODES));
        self.found = lines.found;
        self.refused.extend(lines.refused);
    }

    fn take_calls(&mut self, files: &BTreeMap<String, Vec<u8>>) {
        for (line, read) in self.typed::<CallLine>(files, CALLS) {
            let Some(key) = CallKey::parse(&read.key) else {
                let source = Source { file: self.name_of(CALLS), line };
                let message = format!("key {:?} is not turn.attempt.step", read.key);
                self.refused.push(Refused { source, episode: Some(read.episode), message });
                continue;
            };
            let kept = Kept { line, episode: read.episode.clone(), seat: read.seat, key, call: read.call };
            self.calls.entry(read.episode).or_default().push(kept);
        }
        self.calls.values_mut().for_each(|calls| calls.sort_by_key(|kept| (kept.seat, kept.key, kept.line)));
    }

    fn take_log(&mut self, files: &BTreeMap<String, Vec<u8>>) {
        self.log = self.typed::<Event>(files, LOG).into_iter().map(|(_, event)| event).collect();
    }

    /// The lines of a file that are what they should be, with their numbers; the others are refused.
    fn typed<T: for<'de> Deserialize<'de>>(
        &mut self,
        files: &BTreeMap<String, Vec<u8>>,
        file: &str,
    ) -> Vec<(usize, T)> {
        let name = self.name_of(file);
        let mut out = Vec::new();
        for (line, bytes) in (1..).zip(self.whole(files, file).split(|&b| b == b'\n')) {
            if bytes.trim_ascii().is_empty() {
                continue;
            }
            match serde_json::from_slice(bytes) {
                Ok(read) => out.push((line, read)),
                Err(e) => {
                    let source = Source { file: name.clone(), line };
                    self.refused.push(Refused { source, episode: None, message: format!("no line of {file}: {e}") });
                }
            }
        }
        out
    }

    /// Where a record stands in the run.
    pub fn place_of(&self, parts: &Parts) -> Option<Place> {
        Place::parse(&self.about.run, episode_of(parts))
    }

    /// The calls of one episode, in the order of seats and keys.
    pub fn calls_of(&self, episode: &str) -> &[Kept] {
        self.calls.get(episode).map(Vec::as_slice).unwrap_or_default()
    }

    /// Episodes that have calls and no record: broken off, or still running.
    pub fn unfinished(&self) -> BTreeSet<&str> {
        let ended: BTreeSet<&str> = self.found.iter().map(|found| episode_of(&found.parts)).collect();
        self.calls.keys().map(String::as_str).filter(|episode| !ended.contains(episode)).collect()
    }

    /// Whether the log says that the run is done.
    pub fn done(&self) -> bool {
        self.log
            .iter()
            .rev()
            .find(|e| matches!(e.what.as_str(), "done" | "begun" | "resumed"))
            .is_some_and(|e| e.what == "done")
    }
}

/// The name of a record's episode; empty where it has none.
pub fn episode_of(parts: &Parts) -> &str {
    parts.header.get("episode").and_then(Value::as_str).unwrap_or_default()
}

/// Where the whole lines of a `.jsonl` file end: before a last line without line break, or one that is no JSON.
pub fn whole_lines(bytes: &[u8]) -> usize {
    let end = bytes.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
    let Some(before) = end.checked_sub(1) else { return end };
    let start = bytes[..before].iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
    let last = bytes[start..before].trim_ascii();
    if last.is_empty() || serde_json::from_slice::<serde::de::IgnoredAny>(last).is_ok() { end } else { start }
}

/// The names of the runs in a folder.
fn runs_in(runs: &Path) -> Vec<String> {
    let entries = fs::read_dir(runs).into_iter().flatten().flatten();
    entries.filter(|e| e.path().join(RUN).is_file()).filter_map(|e| e.file_name().into_string().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read() {
        let place = Place::parse("my-run", "my-run.chess.0-12.3.1.re").unwrap();
        let said = (place.part.as_str(), place.pairing.as_str(), place.index, place.turn, place.rematch);
        assert_eq!(said, ("chess", "0-12", 3, 1, true));
        assert!(!Place::parse("r", "r.p.0-1.0.0").unwrap().rematch);
        for other in ["r.p.0-1.0", "x.p.0-1.0.0", "r.p.0-x.0.0", "r..0-1.0.0", "r", "l_0123_1"] {
            assert_eq!(Place::parse("r", other), None, "{other}");
        }
    }

    #[test]
    fn a_last_line_that_is_cut_off_is_passed_over() {
        for (text, end) in [
            ("", 0),
            ("{}", 0),
            ("{}\n", 3),
            ("{}\n{\"a\"", 3),
            ("{}\n{\"a\"\n", 3),
            ("{}\n\0\0\0\n", 3),
            ("{\"a\"\n{}\n", 8),
            ("{}\n\n", 4),
        ] {
            assert_eq!(whole_lines(text.as_bytes()), end, "{text:?}");
        }
    }

    #[test]
    fn what_is_damaged_is_named_and_the_rest_is_read() {
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
        assert_eq!(run.about.seeds, crate::runs::settings::RunSeeds::Open(7));
        assert_eq!((run.about.suite.name.as_str(), run.done()), ("s", true));
        let keys: Vec<u32> = run.calls_of("r.p.0-1.0.0").iter().map(|kept| kept.key.turn).collect();
        assert_eq!(keys, [0, 1]);
        assert_eq!(run.calls_of("r.p.0-1.0.0")[1].call.more["later"], 1);
        let said: Vec<String> = run.refused.iter().map(ToString::to_string).collect();
        assert!(said.len() == 2 && said[0].starts_with("f/calls.jsonl:2: "), "{said:?}");
        assert!(said[1].contains("f/calls.jsonl:4: r.p.0-1.0.0: key \"1.0\""), "{said:?}");
        assert_eq!(run.cut.iter().map(ToString::to_string).collect::<Vec<_>>(), ["f/calls.jsonl:5"]);
        assert_eq!(run.unfinished().into_iter().collect::<Vec<_>>(), ["r.p.0-1.0.0"]);

        let bad = Archive::of_files(Path::new("f"), BTreeMap::from([(RUN.to_owned(), text("{"))])).unwrap_err();
        assert!(format!("{bad:#}").starts_with("f/run.json is damaged"), "{bad:#}");
    }
}
