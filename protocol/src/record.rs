//! Episode records: everything needed to reproduce one episode of a game, as one JSON object per line.
//!
//! Also defines the types that records share with match messages: [`Clock`], [`IllegalPolicy`], [`Outcome`],
//! [`EndReason`] and [`Notes`].

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{ErrorCode, Issue};
use crate::serde_helpers::{is_default, numbers, or_default};
use crate::spec::Params;

mod line;

/// Version of the record format.
pub const VERSION: u32 = 2;

/// The fields after `events`, known at the end of the episode.
pub const FOOTER: [&str; 13] = [
    "returns", "outcome", "reason", "at_fault", "ended", "stall_ms", "away_ms", "mirror", "run", "pair", "seed",
    "salt", "digest",
];

/// Kind of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AgentKind {
    /// A program other than a language model.
    #[default]
    Bot,
    /// An agent based on a language model.
    Llm,
    /// A person playing through a client.
    Human,
    /// A program in training.
    Learner,
}

/// The clock of a match, the same for every seat. If all fields are absent, turns have no time limit.
///
/// Each turn has `move_ms` of free time. Time beyond `move_ms` is taken from the seat's bank. A seat whose bank runs
/// out loses by `timeout`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Clock {
    /// Free time per turn in milliseconds; 0: all time is taken from the bank, as with a chess clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub move_ms: Option<u64>,
    /// Milliseconds in the bank at the start.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub bank_ms: u64,
    /// Milliseconds added to the bank by every accepted move.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub inc_ms: u64,
    /// Replacement for `move_ms` in the seat's first turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_ms: Option<u64>,
    /// Time limit of the whole episode, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub episode_ms: Option<u64>,
}

impl Clock {
    /// Returns a clock with this number of milliseconds per move and no bank.
    pub const fn per_move(ms: u64) -> Self {
        Clock { move_ms: Some(ms), bank_ms: 0, inc_ms: 0, first_ms: None, episode_ms: None }
    }

    /// Returns the default clock of a `join`: ten seconds per move.
    pub const fn of_join() -> Self {
        Clock::per_move(10_000)
    }
}

/// Consequence of reaching the limit of refusals in a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum IllegalPolicy {
    /// The match ends with a forfeit of the offender.
    #[default]
    Forfeit,
    /// A random legal action is played.
    Random,
    /// The default move is played, as defined on the game's page.
    Default,
}

/// Limit of refusals in a turn, and the consequence of reaching the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Refusals {
    /// Consequence of reaching the limit.
    pub policy: IllegalPolicy,
    /// Number of refusals in one turn at which the policy applies.
    pub tries: u32,
}

/// Handling of illegal moves in a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IllegalMoveRules {
    /// Consequence of reaching the limit.
    pub policy: IllegalPolicy,
    /// Number of refusals in one turn at which the policy applies.
    pub tries: u32,
    /// Separate rule for texts that contain no move; absent: such texts count as illegal moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unparsed: Option<Refusals>,
}

impl Default for IllegalMoveRules {
    fn default() -> Self {
        IllegalMoveRules { policy: IllegalPolicy::Forfeit, tries: 3, unparsed: None }
    }
}

impl IllegalMoveRules {
    /// Returns the rule for refusals with this code.
    pub fn rule(&self, code: ErrorCode) -> Refusals {
        let apart = self.unparsed.filter(|_| code == ErrorCode::Unparsed);
        apart.unwrap_or(Refusals { policy: self.policy, tries: self.tries })
    }

    /// Returns the number of attempts of one turn that count toward the limit for this code.
    pub fn used(&self, tries: &[RefusedMove], code: ErrorCode) -> u32 {
        let unparsed = |code| code == ErrorCode::Unparsed;
        let together = |tried: &&RefusedMove| self.unparsed.is_none() || unparsed(tried.code) == unparsed(code);
        tries.iter().filter(together).count() as u32
    }
}

/// Outcome of a match for a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The seat won the match.
    Win,
    /// The seat lost the match.
    Loss,
    /// The match is a draw for the seat.
    Draw,
    /// The match has no winner or loser, only returns.
    None,
}

/// Reason of the end of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The game ended by its rules.
    Finished,
    /// A seat exceeded the limit of illegal moves.
    Illegal,
    /// A seat's clock ran out.
    Timeout,
    /// A seat was disconnected for longer than the grace time of the match.
    Disconnect,
    /// A seat resigned the match.
    Resign,
    /// The step limit was reached.
    Truncated,
    /// A seat's agent failed.
    AgentError,
    /// A seat's client was never connected during the match. Not rated.
    NoShow,
    /// The server failed. Not rated.
    InfraError,
    /// The match was aborted. Not rated.
    Aborted,
}

impl EndReason {
    /// Returns true if a rated match that ends for this reason counts for ratings.
    pub const fn counts(self) -> bool {
        !matches!(self, EndReason::NoShow | EndReason::InfraError | EndReason::Aborted)
    }
}

/// Number of tokens used for a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tokens {
    /// Number of input tokens.
    #[serde(rename = "in")]
    pub input: u64,
    /// Number of output tokens.
    pub out: u64,
}

/// Notes of an agent that accompany its move. Stored in the record; only `say` is disclosed before the match ends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Notes {
    /// Reasoning behind the move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis: Option<String>,
    /// Current emotion of the agent, free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emotion: Option<String>,
    /// Message to the other seats, which receive a `say` event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub say: Option<String>,
    /// Tokens used for the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// Further members, with any values.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl Notes {
    /// Returns true if there are no notes.
    pub fn is_empty(&self) -> bool {
        *self == Notes::default()
    }
}

/// The agent that played a seat.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordSeat {
    /// Name of the agent.
    pub name: String,
    /// Version of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Kind of the agent.
    #[serde(default, deserialize_with = "or_default")]
    pub kind: AgentKind,
    /// Model that the agent is based on, as the agent's client states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Agent spec, if the server ran the agent; for an agent that the operator configured, its configured name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<String>,
}

/// A refused attempt, as submitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RefusedMove {
    /// Submitted move as an action id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<i64>,
    /// Submitted move as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Submitted move as a document.
    #[serde(default, alias = "proposal", skip_serializing_if = "Option::is_none")]
    pub document: Option<Value>,
    /// Reason of the refusal.
    pub code: ErrorCode,
    /// Issues found in the document.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<Issue>,
    /// Thinking time in milliseconds.
    pub ms: u64,
    /// Notes that accompanied the attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<Notes>,
}

/// A chance outcome in a record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChanceRecord {
    /// Id of the outcome; absent if hidden from the reader of a running match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<u32>,
}

/// A seat's move in a record. Either `action` or `document` is present. Both are absent if hidden from the reader of a
/// running match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MoveRecord {
    /// Seat that played the move.
    pub seat: u32,
    /// Turn number of the seat, from 0.
    pub turn: u32,
    /// Id of the action, if the move is an action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<u32>,
    /// Canonical form of the document or utterance.
    #[serde(default, alias = "said", skip_serializing_if = "Option::is_none")]
    pub document: Option<Value>,
    /// Thinking time in milliseconds.
    #[serde(default, deserialize_with = "or_default")]
    pub ms: u64,
    /// Refused attempts before the move.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub tries: Vec<RefusedMove>,
    /// Notes that accompanied the move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<Notes>,
    /// True if the agent did not choose the move: a move of the illegal-move policy, a seat's only legal move, or a
    /// move of the start that the suite prescribes.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub forced: bool,
    /// True if more moves of the same joint turn follow.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub more: bool,
}

/// One event of a record. Events are in order of play.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "nearly every event is a move")]
pub enum RecordEvent {
    /// A chance outcome that was drawn.
    Chance(ChanceRecord),
    /// A move of a seat.
    Move(MoveRecord),
}

/// The fields before `events`, known at the start of the episode.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Header {
    /// Version of the record format, currently 2.
    pub ludex: u32,
    /// Id of the episode; equal to the match id for a match.
    pub episode: String,
    /// Episode number, a part of the key of the chance draws; 0 for a match.
    #[serde(default, deserialize_with = "or_default")]
    pub number: u32,
    /// Special conditions of the episode, e.g. `peek`.
    #[serde(default, deserialize_with = "or_default")]
    pub flags: Vec<String>,
    /// Id of the game.
    pub game: String,
    /// Complete parameters, including defaults.
    pub params: Params,
    /// Version of the rules.
    pub rules: u32,
    /// Rules hash from the game's spec.
    pub hash: String,
    /// Program that wrote the record, e.g. `ludex/0.1.0`.
    #[serde(default, deserialize_with = "or_default")]
    pub server: String,
    /// Agents in seat order.
    pub seats: Vec<RecordSeat>,
    /// True if the match was rated.
    #[serde(default, deserialize_with = "or_default")]
    pub rated: bool,
    /// Clock of every seat.
    #[serde(default, deserialize_with = "or_default")]
    pub clock: Clock,
    /// Handling of illegal moves.
    #[serde(default, deserialize_with = "or_default")]
    pub illegal: IllegalMoveRules,
    /// Commitment to the seed: hex SHA-256 over the salt's bytes and the seed's decimal text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed_commit: Option<String>,
    /// Number of first events that the suite prescribes. Neither the agents nor the seed determine these events.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub start: u32,
    /// Start time, UTC in RFC 3339.
    #[serde(default, deserialize_with = "or_default")]
    pub started: String,
}

/// The fields after `events`, known at the end. Absent while the match runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Footer {
    /// Return of each seat.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty",
        serialize_with = "numbers"
    )]
    pub returns: Vec<f64>,
    /// Outcome of each seat.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub outcome: Vec<Outcome>,
    /// Reason of the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<EndReason>,
    /// Seat whose forfeit ended the episode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_fault: Option<u32>,
    /// End time, UTC in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// Milliseconds for which the server was stalled and could not receive messages; excluded from the clocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall_ms: Option<u64>,
    /// Milliseconds for which each seat's client was disconnected during the match; absent if all were connected
    /// throughout.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub away_ms: Vec<u64>,
    /// Return of each seat in the mirror match: a match with the same seed, in which the server's agent plays every
    /// seat. Absent without a mirror match.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty",
        serialize_with = "numbers"
    )]
    pub mirror: Vec<f64>,
    /// Name of the run to which the match belongs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Id of the pair to which the match belongs. The matches of a pair have the same seed and swapped seats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair: Option<String>,
    /// Seed of the episode, in decimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<String>,
    /// Salt of `seed_commit`: 16 bytes as 32 hex digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub salt: Option<String>,
    /// Final value of the digest chain, in hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// The record of one episode.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Record {
    /// Fields known at the start.
    #[serde(flatten)]
    pub header: Header,
    /// Events in order of play.
    pub events: Vec<RecordEvent>,
    /// Fields known at the end.
    #[serde(flatten)]
    pub footer: Footer,
}

/// The error for a line that is not a valid record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordError {
    /// Description of the error.
    pub message: String,
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RecordError {}

fn damaged(error: serde_json::Error) -> RecordError {
    // serde_json also counts lines; a record is a single line, so only the column is useful.
    let text = error.to_string();
    let message = match text.strip_suffix(&format!(" at line {} column {}", error.line(), error.column())) {
        Some(text) if error.line() > 0 => format!("{text} (column {})", error.column()),
        _ => text,
    };
    RecordError { message }
}

impl Record {
    /// Parses one line and drops unknown fields. The digest covers unknown fields; to check the digest, parse
    /// [`RecordParts`].
    ///
    /// # Errors
    /// Fails if the line is truncated, is not JSON, or lacks a required field. The caller adds the file and line
    /// number.
    pub fn parse(line: &str) -> Result<Self, RecordError> {
        RecordParts::parse(line)?.record()
    }

    /// Returns the record as one line of JSON, without the line break.
    ///
    /// # Errors
    /// Fails if a return is not finite.
    pub fn to_line(&self) -> Result<String, RecordError> {
        line::write(self).map_err(damaged)
    }

    /// Returns the seat that lost the match without having acted: its client was away, or silent.
    pub fn absent_seat(&self) -> Option<u32> {
        let seat = self.footer.at_fault?;
        let silent = matches!(self.footer.reason, Some(EndReason::Timeout | EndReason::Disconnect | EndReason::NoShow));
        let own = |event: &RecordEvent| matches!(event, RecordEvent::Move(m) if m.seat == seat && !m.forced);
        (silent && !self.events.iter().any(own)).then_some(seat)
    }
}

/// A record as three JSON parts, including unknown fields. The digest is computed from this form.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordParts {
    /// All fields except `events` and the footer's fields.
    pub header: Map<String, Value>,
    /// Events in order of play.
    pub events: Vec<Value>,
    /// Fields of [`FOOTER`] that are present in the record.
    pub footer: Map<String, Value>,
}

impl RecordParts {
    /// Parses one line.
    ///
    /// # Errors
    /// Fails if the line is not a JSON object or has no list `events`.
    pub fn parse(line: &str) -> Result<Self, RecordError> {
        RecordParts::from_map(serde_json::from_str(line).map_err(damaged)?)
    }

    /// Splits a record's object into its parts.
    ///
    /// # Errors
    /// Fails if the list `events` is missing.
    pub fn from_map(map: Map<String, Value>) -> Result<Self, RecordError> {
        let mut parts = RecordParts::default();
        let mut events = None;
        for (name, value) in map {
            if name == "events" {
                events = Some(value);
            } else if FOOTER.contains(&name.as_str()) {
                parts.footer.insert(name, value);
            } else {
                parts.header.insert(name, value);
            }
        }
        let Some(Value::Array(events)) = events else {
            return Err(RecordError { message: "expected a list `events`".to_owned() });
        };
        parts.events = events;
        Ok(parts)
    }

    /// Converts the parts to a typed record.
    ///
    /// # Errors
    /// Fails if a field is missing or invalid; the message names the event.
    pub fn record(self) -> Result<Record, RecordError> {
        let part =
            |name: &str, e: serde_json::Error| RecordError { message: format!("{name}: {}", damaged(e).message) };
        let header: Header = serde_json::from_value(Value::Object(self.header)).map_err(|e| part("header", e))?;
        if !(1..=VERSION).contains(&header.ludex) {
            return Err(RecordError {
                message: format!("expected record format 1 to {VERSION}, got format {}", header.ludex),
            });
        }
        let mut events = Vec::with_capacity(self.events.len());
        for (at, event) in self.events.into_iter().enumerate() {
            events.push(serde_json::from_value(event).map_err(|e| part(&format!("events[{at}]"), e))?);
        }
        let footer = serde_json::from_value(Value::Object(self.footer)).map_err(|e| part("footer", e))?;
        Ok(Record { header, events, footer })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sample() -> Value {
        json!({
            "ludex": 2, "episode": "m_7c", "number": 0, "flags": [], "game": "tic_tac_toe", "params": {}, "rules": 1,
            "hash": "9d0c41aa", "server": "ludex/0.1.0",
            "seats": [{"name": "mybot", "version": "0.1", "kind": "bot"}, {"name": "random", "kind": "bot", "spec": "random"}],
            "rated": false, "clock": {"move_ms": 10000}, "illegal": {"policy": "forfeit", "tries": 3},
            "seed_commit": "e3b0c442", "started": "2026-11-20T20:00:00.000Z",
            "events": [
                {"kind": "chance", "action": 3},
                {"kind": "move", "seat": 0, "turn": 0, "action": 4, "ms": 12,
                 "tries": [{"action": 9, "code": "illegal_action", "ms": 3}], "notes": {}},
                {"kind": "move", "seat": 1, "turn": 0, "document": {"text": "..."}, "ms": 5, "more": true},
                {"kind": "move", "seat": 0, "turn": 1, "action": 1, "ms": 0, "forced": true,
                 "notes": {"say": "hm", "tokens": {"in": 5, "out": 1}, "mood": [1]}}
            ],
            "returns": [1, -1], "outcome": ["win", "loss"], "reason": "finished", "at_fault": 1, "ended": "2026-11-20T20:00:01.000Z",
            "stall_ms": 250, "away_ms": [0, 900], "mirror": [-1, 1],
            "run": "r", "pair": "p", "seed": "1844674407370955", "salt": "5be1", "digest": "77ab01f2"
        })
    }

    #[test]
    fn record_round_trips_unchanged() {
        let line = sample().to_string();
        let record = Record::parse(&line).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&record.to_line().unwrap()).unwrap(), sample());
        assert_eq!(Record::parse(&record.to_line().unwrap()).unwrap(), record);
    }

    #[test]
    fn record_of_format_1_keeps_its_field_names() {
        let mut value = sample();
        value["ludex"] = json!(1);
        let tried = json!([{"proposal": {"text": "!"}, "code": "unparsed", "ms": 3}]);
        value["events"][1]["tries"] = tried;
        let document = value["events"][2].as_object_mut().unwrap().remove("document").unwrap();
        value["events"][2]["said"] = document;
        let record = Record::parse(&value.to_string()).unwrap();
        let RecordEvent::Move(m) = &record.events[2] else { panic!("a move") };
        assert_eq!(m.document, Some(json!({"text": "..."})));
        assert_eq!(serde_json::from_str::<Value>(&record.to_line().unwrap()).unwrap(), value);
    }

    #[test]
    fn record_parts_preserve_unknown_fields() {
        let mut value = sample();
        value["later"] = json!(1);
        let parts = RecordParts::parse(&value.to_string()).unwrap();
        assert_eq!(parts.header["later"], 1);
        assert_eq!(parts.footer.len(), FOOTER.len());
        assert_eq!(parts.events.len(), 4);
        assert!(parts.record().is_ok());
    }

    #[test]
    fn record_of_running_match_has_no_footer() {
        let mut value = sample();
        for name in FOOTER {
            value.as_object_mut().unwrap().remove(name);
        }
        let record = Record::parse(&value.to_string()).unwrap();
        assert_eq!(record.footer, Footer::default());
        assert_eq!(serde_json::to_value(&record).unwrap(), value);
    }

    #[test]
    fn error_for_damaged_line_contains_location() {
        let line = sample().to_string();
        for cut in 0..line.len() {
            assert!(Record::parse(&line[..cut]).is_err(), "cut at {cut}");
        }
        let mut value = sample();
        value["events"][1]["seat"] = json!("x");
        let error = Record::parse(&value.to_string()).unwrap_err().to_string();
        assert!(error.contains("events[1]") && error.contains("\"x\""), "{error}");
        value = sample();
        value["ludex"] = json!(3);
        assert!(Record::parse(&value.to_string()).unwrap_err().to_string().contains("format 3"));
        assert!(Record::parse("{\"ludex\":1,").unwrap_err().to_string().contains("column"));
        assert!(Record::parse("[]").is_err());
    }

    #[test]
    fn infinite_return_is_refused() {
        let mut record = Record::parse(&sample().to_string()).unwrap();
        record.footer.returns[0] = f64::NAN;
        assert!(record.to_line().is_err());
    }
}
