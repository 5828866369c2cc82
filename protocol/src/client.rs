//! What clients send: requests (with an `id`, which travels in the envelope) and the two messages without reply.
//!
//! Every field is as `docs/protocol.md` says. Absent and `null` mean the same; unknown fields are ignored; defaults are
//! filled in on reading and left out on writing.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::fields::{is_default, is_one, one, or_default, or_else, or_one};
pub use crate::gym::{
    Autoreset, ChanceBy, CloneEnvs, Close, GymView, MaskForm, Observer, OnIllegal, Open, Reset, Restore, Rotate, Seed,
    Snapshot, Step, View,
};
use crate::moves::Move;
use crate::record::{AgentKind, Clock, Notes};
use crate::spec::{ChanceMode, Dynamics, Information, Params};

/// A message of a client.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ClientMessage {
    /// The first message.
    Hello(Box<Hello>),
    /// Asks for the server's time.
    Ping(Ping),
    /// Answers the server's `ping`; gets no reply.
    Pong(Pong),
    /// Asks for the catalogue.
    ListGames(ListGames),
    /// Asks for a game's spec.
    Describe(Describe),
    /// Opens environments.
    Open(Box<Open>),
    /// Starts episodes.
    Reset(Reset),
    /// Acts in environments.
    Step(Step),
    /// Looks at an environment.
    View(View),
    /// Copies environments into a new handle.
    Clone(CloneEnvs),
    /// Asks for states as bytes.
    Snapshot(Snapshot),
    /// Sets states from bytes.
    Restore(Restore),
    /// Closes a handle.
    Close(Close),
    /// Asks for seats in matches.
    Join(Box<Join>),
    /// Takes no new matches.
    Leave(Leave),
    /// Moves in a match.
    Act(Box<Act>),
    /// Gives up a match.
    Resign(Resign),
    /// Asks for the list of matches.
    ListMatches(ListMatches),
    /// Watches a match.
    Spectate(Spectate),
    /// Watches no longer.
    Unspectate(Unspectate),
    /// Saw the events of a match up to here; gets no reply.
    Ack(Ack),
}

impl ClientMessage {
    /// Every `type` that a client may send.
    pub const TYPES: [&str; 21] = [
        "hello",
        "ping",
        "pong",
        "list_games",
        "describe",
        "open",
        "reset",
        "step",
        "view",
        "clone",
        "snapshot",
        "restore",
        "close",
        "join",
        "leave",
        "act",
        "resign",
        "list_matches",
        "spectate",
        "unspectate",
        "ack",
    ];

    /// Whether it needs an `id`: all but `pong` and `ack` do.
    pub fn is_request(&self) -> bool {
        !matches!(self, ClientMessage::Pong(_) | ClientMessage::Ack(_))
    }
}

/// `hello`: must be the first message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hello {
    /// Protocol versions that the client speaks.
    pub protocol: Vec<u32>,
    /// Free text, e.g. `mybot-go/0.1`.
    pub client: String,
    /// The token, if it did not come in the `Authorization` header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Who plays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// The session to go on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<Resume>,
    /// Take over the seats that the agent's name still holds.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub reclaim: bool,
}

/// Who plays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentId {
    /// What ratings are kept under: 1-40 of `A-Za-z0-9._-`.
    pub name: String,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What it is; `bot` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<AgentKind>,
}

/// The session to go on with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resume {
    /// `welcome.session`.
    pub session: String,
    /// `welcome.key`.
    pub key: String,
    /// The last `seq` seen, by match.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub seen: BTreeMap<String, u64>,
}

/// `ping`: asks for a `pong`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ping {}

/// `pong`: the answer to the server's `ping`; optional.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pong {
    /// The nonce of the `ping`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<u64>,
}

/// `list_games`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListGames {
    /// Which games.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<GameFilter>,
}

/// Which games are asked for; what is absent does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GameFilter {
    /// Whether anything is hidden.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub information: Option<Information>,
    /// What kind of luck there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chance: Option<ChanceMode>,
    /// Who moves when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dynamics: Option<Dynamics>,
    /// Playable by so many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub players: Option<u32>,
    /// Occurs in the id or title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// `describe`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Describe {
    /// Game id, or the whole game string.
    pub game: String,
    /// Parameters.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Params::is_empty")]
    pub params: Params,
    /// Send the rules page too.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub rules_text: bool,
}

/// A form in which the match plane shows a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MatchView {
    /// The structured view.
    Struct,
    /// The text view.
    Text,
    /// The egocentric observation.
    Tensor,
    /// The perfect-recall information state.
    Info,
    /// The texts of the legal actions (`turn.names`).
    Texts,
}

fn open_queue() -> String {
    "open".to_owned()
}

fn or_open_queue<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    or_else(deserializer, open_queue)
}

fn is_open_queue(queue: &str) -> bool {
    queue == "open"
}

fn match_views() -> Vec<MatchView> {
    vec![MatchView::Struct, MatchView::Texts]
}

fn or_match_views<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<MatchView>, D::Error> {
    or_else(deserializer, match_views)
}

fn are_match_views(views: &Vec<MatchView>) -> bool {
    *views == [MatchView::Struct, MatchView::Texts]
}

fn or_join_clock<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Clock, D::Error> {
    or_else(deserializer, Clock::of_join)
}

fn is_join_clock(clock: &Clock) -> bool {
    *clock == Clock::of_join()
}

/// `join`: asks for seats in matches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Join {
    /// Game id, or the whole game string. A `ticket` replaces it.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    pub game: String,
    /// Parameters.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Params::is_empty")]
    pub params: Params,
    /// Who meets: equal queues do.
    #[serde(default = "open_queue", deserialize_with = "or_open_queue", skip_serializing_if = "is_open_queue")]
    pub queue: String,
    /// The server's agents for the other seats, in seat order, or one for all; the match starts at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Vec<String>>,
    /// The seat. Absent: drawn in a queue; with `against` match j is played in seat j mod P.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<u32>,
    /// Matches at a time.
    #[serde(default = "one", deserialize_with = "or_one", skip_serializing_if = "is_one")]
    pub slots: u32,
    /// Matches in all; 0: until `leave`.
    #[serde(default = "one", deserialize_with = "or_one", skip_serializing_if = "is_one")]
    pub count: u32,
    /// What turns show.
    #[serde(default = "match_views", deserialize_with = "or_match_views", skip_serializing_if = "are_match_views")]
    pub views: Vec<MatchView>,
    /// Layout of the tensor: `ludex`, or one that the spec lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// Whether the matches count.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub rated: bool,
    /// The clock. Absent: ten seconds for each move.
    #[serde(default = "Clock::of_join", deserialize_with = "or_join_clock", skip_serializing_if = "is_join_clock")]
    pub clock: Clock,
    /// A tournament's ticket; replaces everything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
}

impl Join {
    /// One unrated match of a game against whoever waits, everything else by default.
    pub fn new(game: impl Into<String>) -> Self {
        Join {
            game: game.into(),
            params: Params::new(),
            queue: open_queue(),
            against: None,
            seat: None,
            slots: 1,
            count: 1,
            views: match_views(),
            layout: None,
            rated: false,
            clock: Clock::of_join(),
            ticket: None,
        }
    }
}

/// `leave`: takes no new matches; running ones go on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Leave {
    /// The join.
    pub join: String,
}

/// `act`: moves in a match. Exactly one of `action`, `text`, `proposal`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Act {
    /// The match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// The `turn` that is answered.
    pub turn: u32,
    /// The try within it: refusals so far.
    #[serde(rename = "try", default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub attempt: u32,
    /// The move as an action id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<i64>,
    /// The move as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The move as a document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Value>,
    /// What is said beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<Notes>,
}

impl Act {
    /// Whether there is exactly one move. What was decoded has one.
    pub fn is_whole(&self) -> bool {
        [self.action.is_some(), self.text.is_some(), self.proposal.is_some()].into_iter().filter(|&is| is).count() == 1
    }

    /// The move, if there is exactly one.
    pub fn chosen(&self) -> Option<Move> {
        match (self.action, &self.text, &self.proposal) {
            (Some(id), None, None) => Some(Move::Id(id)),
            (None, Some(text), None) => Some(Move::Text(text.clone())),
            (None, None, Some(document)) => Some(Move::Document(document.clone())),
            _ => None,
        }
    }
}

/// `resign`: gives up a match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resign {
    /// The match.
    #[serde(rename = "match")]
    pub match_id: String,
}

fn yes() -> bool {
    true
}

fn or_yes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    or_else(deserializer, yes)
}

fn is_yes(flag: &bool) -> bool {
    *flag
}

fn fifty() -> u32 {
    50
}

fn or_fifty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    or_else(deserializer, fifty)
}

fn is_fifty(limit: &u32) -> bool {
    *limit == 50
}

/// `list_matches`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListMatches {
    /// Only this game's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub game: Option<String>,
    /// Running matches, else finished ones.
    #[serde(default = "yes", deserialize_with = "or_yes", skip_serializing_if = "is_yes")]
    pub live: bool,
    /// At most so many.
    #[serde(default = "fifty", deserialize_with = "or_fifty", skip_serializing_if = "is_fifty")]
    pub limit: u32,
}

impl Default for ListMatches {
    fn default() -> Self {
        ListMatches { game: None, live: true, limit: 50 }
    }
}

/// How much a spectator sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SpectatorView {
    /// What everybody at the table sees.
    #[default]
    Public,
    /// Hidden information too: admin scope, or after the match.
    Full,
}

/// `spectate`: watches a match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spectate {
    /// The match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// How much is seen.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub view: SpectatorView,
    /// What each event carries as its `view`; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub views: Option<Vec<MatchView>>,
}

/// `unspectate`: watches no longer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unspectate {
    /// The match.
    #[serde(rename = "match")]
    pub match_id: String,
}

/// `ack`: saw the events of a match up to here; optional, gets no reply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ack {
    /// The match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// The last `seq` seen.
    pub seq: u64,
}
