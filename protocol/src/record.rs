//! Episode records: everything needed to re-create one play of a game, as one JSON object per line.
//!
//! The terms of a match that its messages share with the record ([`Clock`], [`Illegal`], [`Outcome`], [`Reason`],
//! [`Notes`]) live here too.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{ErrorCode, Issue};
use crate::serde_helpers::{is_default, numbers, or_default};
use crate::spec::Params;

mod line;

/// Version of the record format.
pub const VERSION: u32 = 1;

/// The fields after `events`: what is known at the end.
pub const FOOTER: [&str; 12] = [
    "returns", "outcome", "reason", "at_fault", "ended", "stall_ms", "mirror", "run", "pair", "seed", "salt", "digest",
];

/// What kind of agent sits on a seat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AgentKind {
    /// A program.
    #[default]
    Bot,
    /// A language model.
    Llm,
    /// A person.
    Human,
    /// A program in training.
    Learner,
}

/// The clock of a match, the same for every seat. If all fields are absent, there is no clock.
///
/// A turn may use `move_ms` freely. Time beyond that comes off the seat's bank. When both are used up, the seat has lost by
/// `timeout`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Clock {
    /// Milliseconds free in each turn; 0 is a chess clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub move_ms: Option<u64>,
    /// Milliseconds in the bank at the start.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub bank_ms: u64,
    /// Milliseconds added to the bank by every accepted act.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub inc_ms: u64,
    /// Replaces `move_ms` in the seat's first turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_ms: Option<u64>,
    /// Milliseconds of the whole episode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub episode_ms: Option<u64>,
}

impl Clock {
    /// This number of milliseconds for each move, and no bank.
    pub const fn per_move(ms: u64) -> Self {
        Clock { move_ms: Some(ms), bank_ms: 0, inc_ms: 0, first_ms: None, episode_ms: None }
    }

    /// What a `join` without a clock means: ten seconds for each move.
    pub const fn of_join() -> Self {
        Clock::per_move(10_000)
    }
}

/// What follows the last refusal of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum IllegalPolicy {
    /// The match ends against the offender.
    #[default]
    Forfeit,
    /// A random legal action is played.
    Random,
    /// The move that the game's page names for errors is played.
    Default,
}

/// How many refusals a turn may have, and what follows the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Refusals {
    /// What follows the last refusal.
    pub policy: IllegalPolicy,
    /// Refusals in one turn until then.
    pub tries: u32,
}

/// How a match treats illegal moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IllegalMoveRules {
    /// What follows the last refusal.
    pub policy: IllegalPolicy,
    /// Refusals in one turn until then.
    pub tries: u32,
    /// What holds for texts that name no move, which are then counted apart; absent: they count as illegal moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unparsed: Option<Refusals>,
}

impl Default for IllegalMoveRules {
    fn default() -> Self {
        IllegalMoveRules { policy: IllegalPolicy::Forfeit, tries: 3, unparsed: None }
    }
}

impl IllegalMoveRules {
    /// What holds for a refusal with this code.
    pub fn rule(&self, code: ErrorCode) -> Refusals {
        let apart = self.unparsed.filter(|_| code == ErrorCode::Unparsed);
        apart.unwrap_or(Refusals { policy: self.policy, tries: self.tries })
    }

    /// How many of these attempts of one turn count together with a refusal with this code.
    pub fn used(&self, tries: &[RefusedMove], code: ErrorCode) -> u32 {
        let unparsed = |code| code == ErrorCode::Unparsed;
        let together = |tried: &&RefusedMove| self.unparsed.is_none() || unparsed(tried.code) == unparsed(code);
        tries.iter().filter(together).count() as u32
    }
}

/// How a seat came out of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Won.
    Win,
    /// Lost.
    Loss,
    /// Neither won nor lost.
    Draw,
    /// None of these words applies: see the returns.
    None,
}

/// Why a match ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// By the rules.
    Finished,
    /// Too many illegal moves.
    Illegal,
    /// A clock ran out.
    Timeout,
    /// A seat stayed away longer than it is held.
    Disconnect,
    /// A seat gave up.
    Resign,
    /// The step limit.
    Truncated,
    /// A seat's agent failed.
    AgentError,
    /// A seat never answered anything. Not rated.
    NoShow,
    /// The server failed. Not rated.
    InfraError,
    /// The match was called off. Not rated.
    Aborted,
}

impl EndReason {
    /// Whether a rated match that ended so counts.
    pub const fn counts(self) -> bool {
        !matches!(self, EndReason::NoShow | EndReason::InfraError | EndReason::Aborted)
    }
}

/// Tokens that an answer cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tokens {
    /// Tokens read.
    #[serde(rename = "in")]
    pub input: u64,
    /// Tokens written.
    pub out: u64,
}

/// What an agent says beside its move. Kept in the record, shown to nobody before the end but `say`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Notes {
    /// Why the move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis: Option<String>,
    /// How it feels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emotion: Option<String>,
    /// Said aloud: the others receive a `say` event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub say: Option<String>,
    /// What the answer cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// Anything else.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl Notes {
    /// Whether nothing was noted.
    pub fn is_empty(&self) -> bool {
        *self == Notes::default()
    }
}

/// Who sat on a seat.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordSeat {
    /// The agent's name.
    pub name: String,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What it is.
    #[serde(default, deserialize_with = "or_default")]
    pub kind: AgentKind,
    /// Its spec, if the server played it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<String>,
}

/// A refused attempt, as it was sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RefusedMove {
    /// The action id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<i64>,
    /// The move as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The move as a document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Value>,
    /// Why it was refused.
    pub code: ErrorCode,
    /// What was wrong with a document.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<Issue>,
    /// Milliseconds that it took.
    pub ms: u64,
    /// What was said beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<Notes>,
}

/// A chance outcome in a record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChanceRecord {
    /// The outcome's id; absent where the reader of a running match may not see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<u32>,
}

/// A seat's move in a record. `action` and `said` exclude each other; both are absent where the reader of a running
/// match may not see them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MoveRecord {
    /// The seat.
    pub seat: u32,
    /// The seat's own turn, from 0.
    pub turn: u32,
    /// The action's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<u32>,
    /// The canonical form of a proposal or speech.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<Value>,
    /// Milliseconds that it took.
    #[serde(default, deserialize_with = "or_default")]
    pub ms: u64,
    /// The refused attempts before it.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub tries: Vec<RefusedMove>,
    /// What was said beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<Notes>,
    /// Played by the illegal-move policy, not by the agent.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub forced: bool,
    /// More moves of the same joint turn follow.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub more: bool,
}

/// One event of a record. Events are in the order of play.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "nearly every event is a move")]
pub enum RecordEvent {
    /// A chance outcome.
    Chance(ChanceRecord),
    /// A seat's move.
    Move(MoveRecord),
}

/// Everything before `events`: what is known at the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Header {
    /// Version of the record format: 1.
    pub ludex: u32,
    /// Name of the episode; a match's is the match's.
    pub episode: String,
    /// Episode number, the one in the chance key; 0 for a match.
    #[serde(default, deserialize_with = "or_default")]
    pub number: u32,
    /// What makes the episode special, e.g. `peek`.
    #[serde(default, deserialize_with = "or_default")]
    pub flags: Vec<String>,
    /// Game id.
    pub game: String,
    /// Complete parameters.
    pub params: Params,
    /// Rules version.
    pub rules: u32,
    /// The spec's hash.
    pub hash: String,
    /// The program that wrote it, e.g. `ludex/0.1.0`.
    #[serde(default, deserialize_with = "or_default")]
    pub server: String,
    /// Who sat where.
    pub seats: Vec<RecordSeat>,
    /// Whether the match was rated.
    #[serde(default, deserialize_with = "or_default")]
    pub rated: bool,
    /// The clock.
    #[serde(default, deserialize_with = "or_default")]
    pub clock: Clock,
    /// How illegal moves were treated.
    #[serde(default, deserialize_with = "or_default")]
    pub illegal: IllegalMoveRules,
    /// Hex SHA-256 over the salt's bytes and the seed's decimal text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed_commit: Option<String>,
    /// How many of the first events are a start that was given: no agent chose them, and the seed did not draw them.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub start: u32,
    /// When it started, UTC in RFC 3339.
    #[serde(default, deserialize_with = "or_default")]
    pub started: String,
}

/// Everything after `events`: what is known at the end. It is absent while the match runs.
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
    /// How each seat came out.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub outcome: Vec<Outcome>,
    /// Why it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<EndReason>,
    /// The seat whose forfeit ended the episode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_fault: Option<u32>,
    /// When it ended, UTC in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// For how many milliseconds the server itself was held up and could not hear a seat. The clocks did not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall_ms: Option<u64>,
    /// Return of each seat when the server's opponent plays every seat on the same seed; kept where the agent's matches
    /// have a seed of their own each.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty",
        serialize_with = "numbers"
    )]
    pub mirror: Vec<f64>,
    /// The run that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The pair that it belongs to: same seed, seats swapped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair: Option<String>,
    /// The seed, decimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<String>,
    /// 16 bytes as 32 hex digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub salt: Option<String>,
    /// The digest chain's end, hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// One episode.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Record {
    /// What is known at the start.
    #[serde(flatten)]
    pub header: Header,
    /// What happened, in the order of play.
    pub events: Vec<RecordEvent>,
    /// What is known at the end.
    #[serde(flatten)]
    pub footer: Footer,
}

/// A line that is not a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedRecord {
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for DamagedRecord {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for DamagedRecord {}

fn damaged(error: serde_json::Error) -> DamagedRecord {
    // serde_json counts lines too; a record is one line, so only the column says something.
    let text = error.to_string();
    let message = match text.strip_suffix(&format!(" at line {} column {}", error.line(), error.column())) {
        Some(text) if error.line() > 0 => format!("{text} (column {})", error.column()),
        _ => text,
    };
    DamagedRecord { message }
}

impl Record {
    /// Reads one line. Unknown fields are dropped; to check a digest, which covers them too, read [`Parts`].
    ///
    /// # Errors
    /// When the line is cut, is not JSON, or lacks a field that a record needs. The caller knows the file and the line.
    pub fn parse(line: &str) -> Result<Self, DamagedRecord> {
        RecordParts::parse(line)?.record()
    }

    /// The record as one line of JSON, without the line break.
    ///
    /// # Errors
    /// When a return is not finite.
    pub fn to_line(&self) -> Result<String, DamagedRecord> {
        line::write(self).map_err(damaged)
    }
}

/// A record as its three parts of plain JSON, unknown fields kept: what the digest is taken over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordParts {
    /// Everything that is not in `events` or the footer.
    pub header: Map<String, Value>,
    /// The events, in order.
    pub events: Vec<Value>,
    /// The fields of [`FOOTER`], as far as they are there.
    pub footer: Map<String, Value>,
}

impl RecordParts {
    /// Reads one line.
    ///
    /// # Errors
    /// When the line is not a JSON object or has no list of `events`.
    pub fn parse(line: &str) -> Result<Self, DamagedRecord> {
        RecordParts::from_map(serde_json::from_str(line).map_err(damaged)?)
    }

    /// Takes a record's object apart.
    ///
    /// # Errors
    /// When it has no list of `events`.
    pub fn from_map(map: Map<String, Value>) -> Result<Self, DamagedRecord> {
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
            return Err(DamagedRecord { message: "no list of `events`".to_owned() });
        };
        parts.events = events;
        Ok(parts)
    }

    /// The typed form.
    ///
    /// # Errors
    /// When a field is missing or wrong; the message names the event.
    pub fn record(self) -> Result<Record, DamagedRecord> {
        let part =
            |name: &str, e: serde_json::Error| DamagedRecord { message: format!("{name}: {}", damaged(e).message) };
        let header: Header = serde_json::from_value(Value::Object(self.header)).map_err(|e| part("header", e))?;
        if header.ludex != VERSION {
            return Err(DamagedRecord {
                message: format!("record format {} is unknown (this program reads {VERSION})", header.ludex),
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
            "ludex": 1, "episode": "m_7c", "number": 0, "flags": [], "game": "tic_tac_toe", "params": {}, "rules": 1,
            "hash": "9d0c41aa", "server": "ludex/0.1.0",
            "seats": [{"name": "mybot", "version": "0.1", "kind": "bot"}, {"name": "random", "kind": "bot", "spec": "random"}],
            "rated": false, "clock": {"move_ms": 10000}, "illegal": {"policy": "forfeit", "tries": 3},
            "seed_commit": "e3b0c442", "started": "2026-11-20T20:00:00.000Z",
            "events": [
                {"kind": "chance", "action": 3},
                {"kind": "move", "seat": 0, "turn": 0, "action": 4, "ms": 12,
                 "tries": [{"action": 9, "code": "illegal_action", "ms": 3}], "notes": {}},
                {"kind": "move", "seat": 1, "turn": 0, "said": {"text": "..."}, "ms": 5, "more": true},
                {"kind": "move", "seat": 0, "turn": 1, "action": 1, "ms": 0, "forced": true,
                 "notes": {"say": "hm", "tokens": {"in": 5, "out": 1}, "mood": [1]}}
            ],
            "returns": [1, -1], "outcome": ["win", "loss"], "reason": "finished", "at_fault": 1, "ended": "2026-11-20T20:00:01.000Z",
            "stall_ms": 250, "mirror": [-1, 1],
            "run": "r", "pair": "p", "seed": "1844674407370955", "salt": "5be1", "digest": "77ab01f2"
        })
    }

    #[test]
    fn a_record_goes_round_without_change() {
        let line = sample().to_string();
        let record = Record::parse(&line).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&record.to_line().unwrap()).unwrap(), sample());
        assert_eq!(Record::parse(&record.to_line().unwrap()).unwrap(), record);
    }

    #[test]
    fn parts_keep_what_is_unknown() {
        let mut value = sample();
        value["later"] = json!(1);
        let parts = RecordParts::parse(&value.to_string()).unwrap();
        assert_eq!(parts.header["later"], 1);
        assert_eq!(parts.footer.len(), FOOTER.len());
        assert_eq!(parts.events.len(), 4);
        assert!(parts.record().is_ok());
    }

    #[test]
    fn a_running_match_has_no_footer() {
        let mut value = sample();
        for name in FOOTER {
            value.as_object_mut().unwrap().remove(name);
        }
        let record = Record::parse(&value.to_string()).unwrap();
        assert_eq!(record.footer, Footer::default());
        assert_eq!(serde_json::to_value(&record).unwrap(), value);
    }

    #[test]
    fn a_damaged_line_is_an_error_that_says_where() {
        let line = sample().to_string();
        for cut in 0..line.len() {
            assert!(Record::parse(&line[..cut]).is_err(), "cut at {cut}");
        }
        let mut value = sample();
        value["events"][1]["seat"] = json!("x");
        let error = Record::parse(&value.to_string()).unwrap_err().to_string();
        assert!(error.contains("events[1]") && error.contains("\"x\""), "{error}");
        value = sample();
        value["ludex"] = json!(2);
        assert!(Record::parse(&value.to_string()).unwrap_err().to_string().contains("format 2"));
        assert!(Record::parse("{\"ludex\":1,").unwrap_err().to_string().contains("column"));
        assert!(Record::parse("[]").is_err());
    }

    #[test]
    fn returns_are_finite() {
        let mut record = Record::parse(&sample().to_string()).unwrap();
        record.footer.returns[0] = f64::NAN;
        assert!(record.to_line().is_err());
    }
}
