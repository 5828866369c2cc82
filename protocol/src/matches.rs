//! What servers send about matches.
//!
//! The four messages that are numbered ([`MatchStart`], [`Turn`], [`Event`], [`MatchEnd`]) carry their `seq`, so that one
//! that was built is kept and sent again as it is.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::error::{ErrorCode, Issue};
use crate::fields::{is_default, numbers, or_default};
use crate::record::{AgentKind, Clock, Illegal, IllegalPolicy, Outcome, Reason};
use crate::spec::Params;
use crate::tensor::Tensors;

/// Who sits on a seat of a match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SeatInfo {
    /// The agent's name.
    pub name: String,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What it is.
    #[serde(default, deserialize_with = "or_default")]
    pub kind: AgentKind,
}

/// `match_start`: the whole public record of a match that begins. Its `seq` is 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MatchStart {
    /// Number within the match for this viewer.
    pub seq: u64,
    /// The match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// The join that led to it; absent for a spectator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub join: Option<String>,
    /// Game id.
    pub game: String,
    /// Complete parameters.
    pub params: Params,
    /// Rules version.
    pub rules: u32,
    /// The spec's hash.
    pub hash: String,
    /// The viewer's seat; absent for a spectator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<u32>,
    /// Who sits where.
    pub seats: Vec<SeatInfo>,
    /// Whether the match counts.
    #[serde(default, deserialize_with = "or_default")]
    pub rated: bool,
    /// The clock of every seat.
    #[serde(default, deserialize_with = "or_default")]
    pub clock: Clock,
    /// How illegal moves are treated.
    #[serde(default, deserialize_with = "or_default")]
    pub illegal: Illegal,
    /// Whether forced moves are played without asking.
    #[serde(default, deserialize_with = "or_default")]
    pub skip_forced: bool,
    /// Hex SHA-256 over the salt's bytes and the seed's decimal text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed_commit: Option<String>,
}

/// Legal actions, in the form that the spec's `legal` names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Legal {
    /// Ascending ids.
    Ids(Vec<u32>),
    /// Ascending inclusive ranges `[lo, hi]`.
    Ranges(Vec<[u32; 2]>),
}

impl Default for Legal {
    fn default() -> Self {
        Legal::Ids(Vec::new())
    }
}

impl Legal {
    /// Whether an id is among them.
    pub fn contains(&self, id: u32) -> bool {
        match self {
            Legal::Ids(ids) => ids.binary_search(&id).is_ok(),
            Legal::Ranges(ranges) => {
                let after = ranges.partition_point(|&[lo, _]| lo <= id);
                after > 0 && id <= ranges[after - 1][1]
            }
        }
    }

    /// All ids, ascending. A range that a server made absurdly long costs nothing until it is walked.
    pub fn iter(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        match self {
            Legal::Ids(ids) => Box::new(ids.iter().copied()),
            Legal::Ranges(ranges) => Box::new(ranges.iter().flat_map(|&[lo, hi]| lo..=hi)),
        }
    }
}

/// What a viewer sees of a state, in the forms that it asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SeatView {
    /// The structured view.
    #[serde(rename = "struct", default, skip_serializing_if = "Option::is_none")]
    pub structure: Option<Value>,
    /// The text view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The egocentric observation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tensor: Option<Tensors>,
    /// The perfect-recall information state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub info: Option<Tensors>,
}

/// `turn`: this seat is to move.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Turn {
    /// Number within the match for this viewer.
    pub seq: u64,
    /// The match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// This seat's own turns, from 0.
    pub turn: u32,
    /// Refusals within the turn.
    #[serde(rename = "try", default, deserialize_with = "or_default")]
    pub attempt: u32,
    /// After this much the seat has lost on time; absent: no clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_ms: Option<u64>,
    /// The bank of every seat.
    #[serde(default, deserialize_with = "or_default")]
    pub bank_ms: Vec<u64>,
    /// The legal actions; empty in phases of proposals.
    #[serde(default, deserialize_with = "or_default")]
    pub legal: Legal,
    /// The text of each legal action (view `texts`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<String>>,
    /// What the seat sees.
    #[serde(default, deserialize_with = "or_default")]
    pub view: SeatView,
    /// Which of the spec's `proposals` is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
}

/// `accepted`: the act was played.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Accepted {
    /// The match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// The turn that was answered.
    pub turn: u32,
    /// The action's id, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<u32>,
    /// The move as text.
    pub text: String,
    /// The seat's bank.
    #[serde(default, deserialize_with = "or_default")]
    pub bank_ms: u64,
}

/// `refused`: the act was not legal; the state is as it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Refused {
    /// The match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// The turn.
    pub turn: u32,
    /// The try to act again with.
    #[serde(rename = "try")]
    pub attempt: u32,
    /// Why, for programs.
    pub code: ErrorCode,
    /// Why, for people.
    pub message: String,
    /// Refusals left; 0: `then` says what the policy did.
    pub tries_left: u32,
    /// The legal actions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub legal: Option<Legal>,
    /// What is wrong with a proposal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issues: Option<Vec<Issue>>,
    /// What the policy did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then: Option<IllegalPolicy>,
}

/// `event`: something happened in a match, as this viewer sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Event {
    /// Number within the match for this viewer.
    pub seq: u64,
    /// The match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
    /// What a spectator who asked for views sees afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<SeatView>,
}

/// What happened in a match.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EventKind {
    /// A seat moved.
    Move {
        /// The seat.
        seat: u32,
        /// The action's id, where it has one and the viewer may see it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        action: Option<u32>,
        /// The move as text.
        text: String,
        /// Milliseconds that it took.
        #[serde(default, deserialize_with = "or_default")]
        ms: u64,
        /// Played by the illegal-move policy, not by the agent.
        #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
        forced: bool,
    },
    /// Chance decided.
    Chance {
        /// The outcome's id, if the viewer may see it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        action: Option<u32>,
        /// The outcome as text.
        text: String,
    },
    /// Something hidden is shown.
    Reveal {
        /// For people.
        text: String,
        /// For programs.
        #[serde(default)]
        data: Value,
    },
    /// A seat spoke.
    Say {
        /// The seat.
        seat: u32,
        /// What it said.
        text: String,
    },
    /// A phase begins.
    Phase {
        /// Its name.
        phase: String,
    },
    /// Rewards were paid.
    Reward {
        /// For each seat.
        #[serde(serialize_with = "numbers")]
        rewards: Vec<f64>,
    },
    /// A seat's agent went or came back.
    Presence {
        /// The seat.
        seat: u32,
        /// Whether it is there.
        online: bool,
        /// How long the seat is held.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grace_ms: Option<u64>,
    },
}

/// `match_end`: a match is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MatchEnd {
    /// Number within the match for this viewer.
    pub seq: u64,
    /// The match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// Return of each seat.
    #[serde(serialize_with = "numbers")]
    pub returns: Vec<f64>,
    /// How each seat came out.
    pub outcome: Vec<Outcome>,
    /// Why it ended.
    pub reason: Reason,
    /// Which seat is to blame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_fault: Option<u32>,
    /// Whether the match counts.
    #[serde(default, deserialize_with = "or_default")]
    pub rated: bool,
    /// The digest chain's end, hex; once every match of the seed is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The seed, decimal; once every match of the seed is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<String>,
    /// The salt of `seed_commit`, hex; with the seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub salt: Option<String>,
    /// Path of the episode over HTTP.
    pub record: String,
}

/// A numbered message of a match, as it is kept to be sent again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MatchFrame {
    /// A match begins.
    MatchStart(Box<MatchStart>),
    /// This seat is to move.
    Turn(Box<Turn>),
    /// Something happened.
    Event(Box<Event>),
    /// A match is over.
    MatchEnd(Box<MatchEnd>),
}

impl MatchFrame {
    /// Number within the match for its viewer.
    pub fn seq(&self) -> u64 {
        match self {
            MatchFrame::MatchStart(frame) => frame.seq,
            MatchFrame::Turn(frame) => frame.seq,
            MatchFrame::Event(frame) => frame.seq,
            MatchFrame::MatchEnd(frame) => frame.seq,
        }
    }

    /// Gives it another number, for another viewer of the same thing.
    pub fn set_seq(&mut self, seq: u64) {
        match self {
            MatchFrame::MatchStart(frame) => frame.seq = seq,
            MatchFrame::Turn(frame) => frame.seq = seq,
            MatchFrame::Event(frame) => frame.seq = seq,
            MatchFrame::MatchEnd(frame) => frame.seq = seq,
        }
    }
}

/// `resync`: forget what you knew of this match, this is all of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resync {
    /// The last number covered; the resync uses none itself.
    pub seq: u64,
    /// The match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// How it began.
    #[serde(serialize_with = "with_type")]
    pub start: Box<MatchStart>,
    /// What happened since.
    #[serde(default, deserialize_with = "or_default")]
    pub events: Vec<MatchFrame>,
    /// The turn that waits for this seat, with its own `seq`.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "option_with_type")]
    pub turn: Option<Box<Turn>>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "option_with_type")]
    pub end: Option<Box<MatchEnd>>,
}

/// A message inside a `resync`, as whole as it would come alone.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Typed<'a> {
    MatchStart(&'a MatchStart),
    Turn(&'a Turn),
    MatchEnd(&'a MatchEnd),
}

impl<'a> From<&'a Turn> for Typed<'a> {
    fn from(turn: &'a Turn) -> Self {
        Typed::Turn(turn)
    }
}

impl<'a> From<&'a MatchEnd> for Typed<'a> {
    fn from(end: &'a MatchEnd) -> Self {
        Typed::MatchEnd(end)
    }
}

fn with_type<S: Serializer>(start: &MatchStart, serializer: S) -> Result<S::Ok, S::Error> {
    Typed::MatchStart(start).serialize(serializer)
}

fn option_with_type<'a, S: Serializer, T>(message: &'a Option<Box<T>>, serializer: S) -> Result<S::Ok, S::Error>
where
    Typed<'a>: From<&'a T>,
{
    message.as_deref().map(Typed::from).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::ServerMessage;

    #[test]
    fn legal_tells_ids_from_ranges() {
        let ids: Legal = serde_json::from_str("[0,4,9]").unwrap();
        let ranges: Legal = serde_json::from_str("[[0,4],[9,9]]").unwrap();
        assert_eq!(ids, Legal::Ids(vec![0, 4, 9]));
        assert_eq!(ranges.iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 9]);
        for id in 0..12 {
            assert_eq!(ids.contains(id), [0, 4, 9].contains(&id));
            assert_eq!(ranges.contains(id), id <= 4 || id == 9);
        }
        assert!(serde_json::from_str::<Legal>("[[1,2,3]]").is_err());
        assert_eq!(serde_json::to_string(&ranges).unwrap(), "[[0,4],[9,9]]");
    }

    #[test]
    fn a_frame_can_be_numbered_again() {
        let mut frame = MatchFrame::Turn(Box::default());
        frame.set_seq(7);
        assert_eq!(frame.seq(), 7);
        assert!(matches!(frame.into(), ServerMessage::Turn(turn) if turn.seq == 7));
    }
}
