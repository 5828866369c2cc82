//! The files of a run, and the one reader of their lines.
//!
//! Lines are only ever appended. A killed process may leave a last line that is cut off: [`read`] leaves it out and names
//! it. It names any other line that cannot be read too, and reads the rest.

use std::fmt;
use std::str::FromStr;

use ludex_agents::llm::Call;
use ludex_protocol::Move;
use ludex_protocol::record::Notes;
use ludex_referee::read::{RawLine, RejectedRecord, Source, raw_lines};
use serde::de::{DeserializeOwned, Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// The run's settings.
pub const RUN: &str = "run.json";
/// The text of the suite, or the terms of the tournament.
pub const SUITE: &str = "suite.toml";
/// The records, one a line.
pub const EPISODES: &str = "episodes.jsonl";
/// The calls of language models, one a line.
pub const CALLS: &str = "calls.jsonl";
/// What happened to the run, one event a line.
pub const LOG: &str = "log.jsonl";
/// Answers that are given again, one a line.
pub const ONCE: &str = "once.jsonl";
/// The files of a run. All but the first may be missing.
pub const FILES: [&str; 6] = [RUN, SUITE, EPISODES, CALLS, ONCE, LOG];

/// Which call of a seat: its turn, the attempt in that turn, the call of that attempt, all from 0. As text:
/// `turn.attempt.step`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallKey {
    /// The seat's own turn.
    pub turn: u32,
    /// The attempt.
    pub attempt: u32,
    /// The call.
    pub step: u32,
}

impl fmt::Display for CallKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.turn, self.attempt, self.step)
    }
}

impl FromStr for CallKey {
    type Err = String;

    fn from_str(text: &str) -> Result<CallKey, String> {
        let numbers: Option<Vec<u32>> = text.split('.').map(|n| n.parse().ok()).collect();
        match numbers.as_deref() {
            Some(&[turn, attempt, step]) => Ok(CallKey { turn, attempt, step }),
            _ => Err(format!("key {text:?} is not turn.attempt.step")),
        }
    }
}

impl Serialize for CallKey {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CallKey {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<CallKey, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

/// A line of `once.jsonl`: an answer that may be given again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OnceLine {
    /// The agent's name.
    pub agent: String,
    /// Its spec.
    pub spec: String,
    /// The game.
    pub game: String,
    /// The seat.
    pub seat: usize,
    /// The phase.
    pub phase: String,
    /// The question: hex SHA-256 of the view and of the attempts that were refused.
    pub asked: String,
    /// The episode that it was asked in.
    pub episode: String,
    /// The answer.
    #[serde(rename = "move")]
    pub mv: Move,
    /// What the agent noted with it.
    #[serde(default, skip_serializing_if = "Notes::is_empty")]
    pub notes: Notes,
}

/// A line of `calls.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallLine {
    /// Its number in the file, from 1.
    #[serde(skip)]
    pub line: usize,
    /// The episode's name.
    pub episode: String,
    /// The seat that called.
    pub seat: usize,
    /// Which call of that seat.
    pub key: CallKey,
    /// The call.
    pub call: Call,
}

/// A line of `log.jsonl`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LogLine {
    /// When, RFC 3339.
    #[serde(default)]
    pub at: String,
    /// What: `begun`, `resumed`, `hello`, `failed`, `rematch`, `discarded`, `forfeit`, `stopped`, `done`, `ci`.
    pub what: String,
    /// The episode that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub episode: Option<String>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// What a file of lines holds.
pub struct ParsedLines<T> {
    /// The lines that can be read, in order.
    pub rows: Vec<T>,
    /// The lines that cannot.
    pub refused: Vec<RejectedRecord>,
    /// The last line, if it is cut off.
    pub cut: Option<Source>,
    /// Where the whole lines end, in bytes.
    pub end: usize,
}

/// Reads the whole lines of a file by `parse`; `name` stands for the file in messages. Empty lines are skipped.
pub fn read<T>(name: &str, bytes: &[u8], parse: impl Fn(&RawLine) -> Result<T, RejectedRecord>) -> ParsedLines<T> {
    let end = whole_lines(bytes);
    let (mut rows, mut refused) = (Vec::new(), Vec::new());
    for line in raw_lines(name, &bytes[..end]) {
        match line.and_then(|line| parse(&line)) {
            Ok(row) => rows.push(row),
            Err(why) => refused.push(why),
        }
    }
    let cut = (end < bytes.len()).then(|| {
        let line = bytes[..end].iter().filter(|&&b| b == b'\n').count() + 1;
        Source { file: name.to_owned(), line }
    });
    ParsedLines { rows, refused, cut, end }
}

/// Reads a line of JSON, for [`read`]. What is refused is named by its `episode`, if the line has one.
///
/// # Errors
/// A line that is not a `T`.
pub fn json<T: DeserializeOwned>(line: &RawLine) -> Result<T, RejectedRecord> {
    #[derive(Deserialize)]
    struct Named {
        episode: String,
    }
    serde_json::from_str(&line.text).map_err(|e| {
        let named: Result<Named, _> = serde_json::from_str(&line.text);
        RejectedRecord {
            source: line.source.clone(),
            episode: named.ok().map(|named| named.episode),
            message: e.to_string(),
        }
    })
}

/// Where the whole lines of a `.jsonl` file end: before a last line that has no line break or is not JSON.
pub fn whole_lines(bytes: &[u8]) -> usize {
    let end = bytes.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
    let Some(before) = end.checked_sub(1) else { return end };
    let start = bytes[..before].iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
    let last = bytes[start..before].trim_ascii();
    if last.is_empty() || serde_json::from_slice::<IgnoredAny>(last).is_ok() { end } else { start }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_last_line_that_is_cut_off_is_left_out() {
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
    fn keys_are_three_numbers() {
        let key = CallKey { turn: 12, attempt: 0, step: 3 };
        assert_eq!((key.to_string().as_str(), "12.0.3".parse()), ("12.0.3", Ok(key)));
        for other in ["", "1.2", "1.2.3.4", "1.2.x"] {
            assert!(other.parse::<CallKey>().is_err(), "{other}");
        }
    }
}
