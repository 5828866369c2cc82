//! What servers send: replies (with a `re`, which travels in the envelope) and events.
//!
//! Every field is as `docs/protocol.md` says.

use serde::{Deserialize, Serialize};

use crate::batch::{Batch, Viewed};
use crate::bytes::Bytes;
pub use crate::error::Issue;
use crate::error::Refusal;
use crate::fields::or_default;
use crate::limits::Limits;
pub use crate::matches::{
    Accepted, Event, EventKind, Legal, MatchEnd, MatchFrame, MatchStart, Refused, Resync, SeatInfo, SeatView, Turn,
};
use crate::spec::{ChanceMode, Dynamics, Information, Spec};

/// A message of a server.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ServerMessage {
    /// Answers `hello`.
    Welcome(Box<Welcome>),
    /// Answers `ping`.
    Pong(Pong),
    /// Is the client there? Answering with `pong` is optional.
    Ping(Ping),
    /// Answers `list_games`.
    Games(Games),
    /// Answers `describe`.
    Spec(Box<SpecReply>),
    /// Answers `open` and `clone`.
    Opened(Box<Opened>),
    /// Answers `reset`, `step` and `restore`.
    Batch(Box<Batch>),
    /// Answers `view`.
    Viewed(Box<Viewed>),
    /// Answers `snapshot`.
    Snapshots(Snapshots),
    /// Answers `close`, `leave`, `resign`, `spectate` and `unspectate`.
    Ok(Done),
    /// Answers `join`.
    Joined(Joined),
    /// A join waits for others.
    Queued(Queued),
    /// A match begins.
    MatchStart(Box<MatchStart>),
    /// This seat is to move.
    Turn(Box<Turn>),
    /// Answers an `act` that was played.
    Accepted(Accepted),
    /// Answers an `act` that was not legal.
    Refused(Box<Refused>),
    /// Something happened in a match.
    Event(Box<Event>),
    /// A match is over.
    MatchEnd(Box<MatchEnd>),
    /// Everything about a match again, instead of what was missed.
    Resync(Box<Resync>),
    /// Answers `list_matches`.
    Matches(Matches),
    /// The server goes down.
    Draining(Draining),
    /// Answers a request that was not carried out, or a frame that was not understood.
    Error(Box<Refusal>),
}

impl ServerMessage {
    /// Every `type` that a server may send.
    pub const TYPES: [&str; 22] = [
        "welcome",
        "pong",
        "ping",
        "games",
        "spec",
        "opened",
        "batch",
        "viewed",
        "snapshots",
        "ok",
        "joined",
        "queued",
        "match_start",
        "turn",
        "accepted",
        "refused",
        "event",
        "match_end",
        "resync",
        "matches",
        "draining",
        "error",
    ];

    /// About how many bytes the message takes in MessagePack, so that its buffer is made once.
    pub fn size_hint(&self) -> usize {
        match self {
            ServerMessage::Batch(batch) => 256 + batch.packed_bytes(),
            ServerMessage::Snapshots(snapshots) => {
                128 + snapshots.items.iter().map(|item| item.len() + 8).sum::<usize>()
            }
            _ => 256,
        }
    }
}

impl From<Refusal> for ServerMessage {
    fn from(error: Refusal) -> Self {
        ServerMessage::Error(Box::new(error))
    }
}

impl From<MatchFrame> for ServerMessage {
    fn from(frame: MatchFrame) -> Self {
        match frame {
            MatchFrame::MatchStart(frame) => ServerMessage::MatchStart(frame),
            MatchFrame::Turn(frame) => ServerMessage::Turn(frame),
            MatchFrame::Event(frame) => ServerMessage::Event(frame),
            MatchFrame::MatchEnd(frame) => ServerMessage::MatchEnd(frame),
        }
    }
}

/// What a token grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Environments.
    Gym,
    /// Seats in matches.
    Play,
    /// Watching matches.
    Spectate,
    /// Everything.
    Admin,
}

/// `welcome`: answers `hello`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Welcome {
    /// The protocol version in use.
    pub protocol: u32,
    /// The program, e.g. `ludex/0.1.0`.
    pub server: String,
    /// The session; with `key` it can be resumed.
    pub session: String,
    /// A new key at every connection.
    pub key: String,
    /// Whether an earlier session goes on.
    #[serde(default, deserialize_with = "or_default")]
    pub resumed: bool,
    /// What the client may do.
    #[serde(default, deserialize_with = "or_default")]
    pub scopes: Vec<Scope>,
    /// The agent's name; empty for a client without one.
    #[serde(default, deserialize_with = "or_default")]
    pub agent: String,
    /// What the server allows.
    #[serde(default, deserialize_with = "or_default")]
    pub limits: Limits,
    /// The session's environment handles.
    #[serde(default, deserialize_with = "or_default")]
    pub envs: Vec<u32>,
    /// The session's running matches.
    #[serde(default, deserialize_with = "or_default")]
    pub matches: Vec<HeldMatch>,
    /// The session's joins.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub joins: Vec<HeldJoin>,
}

/// A running match of a resumed session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeldMatch {
    /// The match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// The seat; absent for a spectator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<u32>,
    /// The last `seq` so far.
    pub seq: u64,
}

/// A join of a resumed session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeldJoin {
    /// The join.
    pub join: String,
    /// The canonical game string.
    pub game: String,
    /// Matches still to come; absent: no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<u32>,
}

/// `pong`: answers `ping`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ServerPong"))]
pub struct Pong {
    /// The server's monotonic clock.
    pub now_ms: u64,
}

/// `ping`: is the client there?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ServerPing"))]
pub struct Ping {
    /// To be sent back.
    pub nonce: u64,
}

/// `games`: answers `list_games`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Games {
    /// The games.
    pub games: Vec<GameEntry>,
}

/// A game of the catalogue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GameEntry {
    /// Game id.
    pub game: String,
    /// Title for people.
    pub title: String,
    /// Least and greatest number of seats.
    pub players: [u32; 2],
    /// Who moves when.
    pub dynamics: Dynamics,
    /// What kind of luck there is.
    pub chance: ChanceMode,
    /// Whether anything is hidden.
    pub information: Information,
    /// Names of the presets.
    #[serde(default, deserialize_with = "or_default")]
    pub presets: Vec<String>,
    /// Rules version.
    pub rules: u32,
}

/// `spec`: answers `describe`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpecReply {
    /// The spec.
    pub spec: Spec,
}

/// `opened`: answers `open` and `clone`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Opened {
    /// The handle.
    pub env: u32,
    /// How many environments it holds.
    pub count: u32,
    /// The game's spec.
    pub spec: Spec,
}

/// `snapshots`: answers `snapshot`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Snapshots {
    /// The spec's hash; `restore` wants the same.
    pub hash: String,
    /// A snapshot for each environment named.
    pub items: Vec<Bytes>,
}

/// `ok`: done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Done {}

/// `joined`: answers `join`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Joined {
    /// The join.
    pub join: String,
}

/// `queued`: a join waits for others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Queued {
    /// The join.
    pub join: String,
    /// How many wait in the queue, this one counted.
    pub waiting: u32,
    /// About how long it will take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eta_ms: Option<u64>,
}

/// `matches`: answers `list_matches`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Matches {
    /// The matches, newest first.
    pub matches: Vec<MatchEntry>,
}

/// A match of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MatchEntry {
    /// The match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// The canonical game string.
    pub game: String,
    /// Who sits where.
    pub seats: Vec<SeatInfo>,
    /// Whether it counts.
    #[serde(default, deserialize_with = "or_default")]
    pub rated: bool,
    /// When it began, on the server's monotonic clock.
    pub started_ms: u64,
}

/// `draining`: no new `open` or `join`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Draining {
    /// When the server goes, on its monotonic clock.
    pub until_ms: u64,
    /// Whether sessions can be resumed after the restart.
    #[serde(default, deserialize_with = "or_default")]
    pub resume: bool,
}
