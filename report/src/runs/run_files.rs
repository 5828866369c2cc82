//! Files of a run, and the reader of their lines.
//!
//! Lines are only appended. A killed process may leave an incomplete last line. [`read`] skips and reports such a line,
//! as well as any line that cannot be parsed.

use std::fmt;
use std::str::FromStr;

use ludex_protocol::Move;
use ludex_protocol::call::Call;
use ludex_protocol::record::Notes;
use ludex_referee::read::{RawLine, RejectedRecord, Source, raw_lines};
use serde::de::{DeserializeOwned, Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// Settings of the run.
pub const RUN: &str = "run.json";
/// Text of the suite, or settings of the tournament.
pub const SUITE: &str = "suite.toml";
/// Records, one per line.
pub const EPISODES: &str = "episodes.jsonl";
/// Calls of language models, one per line.
pub const CALLS: &str = "calls.jsonl";
/// Events of the run, one per line.
pub const LOG: &str = "log.jsonl";
/// Cached replies, one per line.
pub const ANSWERS: &str = "answers.jsonl";
/// Cached replies in runs that the version before 0.1.0 started.
pub const FORMER_ANSWERS: &str = "once.jsonl";
/// Labels of decisions, one line per decision and labeler.
pub const LABELS: &str = "labels.jsonl";
/// Acceptances of the consent text by people, one per line.
pub const CONSENT: &str = "consent.jsonl";
/// Files of a run. All files except the first may be missing.
pub const FILES: [&str; 9] = [RUN, SUITE, EPISODES, CALLS, ANSWERS, FORMER_ANSWERS, LABELS, CONSENT, LOG];

/// Number of a call of a seat: the turn, the attempt in the turn and the call in the attempt, each from 0. The text
/// form is `turn.attempt.step`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallKey {
    pub turn: u32,
    pub attempt: u32,
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
            _ => Err(format!("expected a key of the form turn.attempt.step, got {text:?}")),
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

/// Line of `answers.jsonl`: a cached reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswerLine {
    pub agent: String,
    pub spec: String,
    pub game: String,
    pub seat: usize,
    pub phase: String,
    /// Hex SHA-256 of the view and of the refused attempts.
    pub asked: String,
    /// Episode in which the reply was first requested.
    pub episode: String,
    #[serde(rename = "move")]
    pub mv: Move,
    #[serde(default, skip_serializing_if = "Notes::is_empty")]
    pub notes: Notes,
}

/// Line of `calls.jsonl`: a language model call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallLine {
    /// Number of the line in the file, from 1.
    #[serde(skip)]
    pub line: usize,
    pub episode: String,
    pub seat: usize,
    pub key: CallKey,
    pub call: Call,
}

/// Line of `labels.jsonl`: the labels that a labeler gave to a decision.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelLine {
    /// Number of the line in the file, from 1.
    #[serde(skip)]
    pub line: usize,
    pub episode: String,
    pub seat: usize,
    /// Index of the seat's own turn, from 0, as in records.
    pub turn: u32,
    /// Id of the rubric.
    pub rubric: String,
    /// Labels of the rubric; empty if none applies.
    pub labels: Vec<String>,
    /// Labeler: `judge:NAME` or `person:NAME`.
    pub by: String,
    /// Time in RFC 3339.
    pub at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Decision of a run: the episode, the seat, and the index of the seat's own turn.
pub type DecisionKey = (String, usize, u32);

impl LabelLine {
    /// Returns the decision of the line.
    pub fn key(&self) -> DecisionKey {
        (self.episode.clone(), self.seat, self.turn)
    }
}

/// Line of `log.jsonl`: an event of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LogLine {
    /// Time in RFC 3339.
    #[serde(default)]
    pub at: String,
    /// Event: `begun`, `resumed`, `hello`, `failed`, `rematch`, `discarded`, `forfeit`, `stopped`, `done`, `ci`.
    pub what: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub episode: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Fields unknown to this version.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// Content of a file with one item per line.
pub struct ParsedLines<T> {
    /// Valid lines, in order.
    pub rows: Vec<T>,
    /// Lines that do not parse.
    pub refused: Vec<RejectedRecord>,
    /// Location of the last line, if the line is incomplete.
    pub cut: Option<Source>,
    /// Number of bytes in the complete lines.
    pub end: usize,
}

/// Parses the complete lines of a file; `name` is the file's name in messages. Empty lines are skipped.
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

/// Parses a line of JSON, for [`read`].
///
/// # Errors
/// Returns an error for a line that is not a `T`. The error includes the line's `episode`, if present.
pub fn json<T: DeserializeOwned>(line: &RawLine) -> Result<T, RejectedRecord> {
    #[derive(Deserialize)]
    struct Line {
        episode: String,
    }
    serde_json::from_str(&line.text).map_err(|e| {
        let parsed: Result<Line, _> = serde_json::from_str(&line.text);
        RejectedRecord {
            source: line.source.clone(),
            episode: parsed.ok().map(|line| line.episode),
            message: e.to_string(),
        }
    })
}

/// Returns the number of bytes before a last line that has no line break or is not JSON.
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
    fn whole_lines_exclude_an_incomplete_last_line() {
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
    fn call_key_has_numbers_of_turn_attempt_and_step() {
        let key = CallKey { turn: 12, attempt: 0, step: 3 };
        assert_eq!((key.to_string().as_str(), "12.0.3".parse()), ("12.0.3", Ok(key)));
        for other in ["", "1.2", "1.2.3.4", "1.2.x"] {
            assert!(other.parse::<CallKey>().is_err(), "{other}");
        }
    }
}
