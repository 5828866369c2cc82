//! What clients send: requests (with an `id`, which travels in the envelope) and the two messages without reply.
//!
//! Every field is as `docs/protocol.md` says. Absent and `null` mean the same; unknown fields are ignored; defaults are
//! filled in on reading and left out on writing.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::bytes::Bytes;
use crate::column::Column;
use crate::fields::{is_default, is_one, one, or_default, or_else, or_one};
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

/// How seats change from episode to episode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Rotate {
    /// They do not.
    #[default]
    None,
    /// In episode e seat k is played by entry (k + e) mod P of the list.
    Cycle,
    /// As `cycle`, with a shift drawn from the episode's key.
    Random,
}

/// Who decides chance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChanceBy {
    /// The server draws, by the seed.
    #[default]
    Server,
    /// The client acts at chance nodes.
    Client,
}

/// What happens to an environment whose episode is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Autoreset {
    /// The next step starts the new episode; its action is ignored.
    #[default]
    NextStep,
    /// The step that ends the episode starts the new one.
    SameStep,
    /// Only `reset` starts a new one.
    Disabled,
}

/// A form in which the gym plane shows a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GymView {
    /// The egocentric observation.
    Tensor,
    /// The perfect-recall information state.
    Info,
    /// The structured view.
    Struct,
    /// The text view.
    Text,
    /// The sum of rewards of the episode so far.
    Returns,
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

/// The form in which a batch carries the legal actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MaskForm {
    /// One byte per action.
    U1,
    /// One bit per action, least significant first, rows padded to bytes.
    Bits,
    /// Offsets and ascending ids.
    Ids,
    /// Not at all.
    None,
}

/// Whose views a batch carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Observer {
    /// The acting seat's: one row per environment.
    #[default]
    Acting,
    /// Every seat's: one row per environment and seat.
    All,
}

/// What an illegal action does in the gym plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OnIllegal {
    /// The whole call is refused and nothing has moved.
    #[default]
    Refuse,
    /// The offender's episode ends with its least return.
    Lose,
}

/// `open`: `count` environments of one game under one handle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Open {
    /// Game id, or the whole game string.
    pub game: String,
    /// Parameters.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Params::is_empty")]
    pub params: Params,
    /// How many environments.
    #[serde(default = "one", deserialize_with = "or_one", skip_serializing_if = "is_one")]
    pub count: u32,
    /// Who plays each seat: `"agent"` (the client) or an agent spec. Absent: all seats are the client's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seats: Option<Vec<String>>,
    /// How seats change from episode to episode.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub rotate: Rotate,
    /// Who decides chance.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub chance: ChanceBy,
    /// What happens when an episode is over.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub autoreset: Autoreset,
    /// What batches show. Absent: `tensor`, left out where the game has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub views: Option<Vec<GymView>>,
    /// Layout of the tensor: `ludex`, or one that the spec lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// Form of the masks. Absent: `u1` up to 512 actions, else `ids`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mask: Option<MaskForm>,
    /// Whose views batches carry.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub observer: Observer,
    /// What an illegal action does.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub on_illegal: OnIllegal,
    /// Truncates episodes after so many moves of seats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
    /// Keep episode records.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub record: bool,
}

impl Open {
    /// One environment of a game, everything else by default.
    pub fn new(game: impl Into<String>) -> Self {
        Open {
            game: game.into(),
            params: Params::new(),
            count: 1,
            seats: None,
            rotate: Rotate::default(),
            chance: ChanceBy::default(),
            autoreset: Autoreset::default(),
            views: None,
            layout: None,
            mask: None,
            observer: Observer::default(),
            on_illegal: OnIllegal::default(),
            max_steps: None,
            record: false,
        }
    }
}

/// `reset`: starts episodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reset {
    /// The handle.
    pub env: u32,
    /// Which environments; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envs: Option<Column<u32>>,
    /// Environment i gets this plus i, modulo 2^64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<Seed>,
    /// A seed for each environment named, by position in `envs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds: Option<Vec<Seed>>,
    /// Who plays each seat from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seats: Option<Vec<String>>,
}

/// `step`: one action for each environment named. Either `actions` or `moves`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step {
    /// The handle.
    pub env: u32,
    /// Which environments; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envs: Option<Column<u32>>,
    /// Action ids, R or R x P entries; -1 for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actions: Option<Column<i32>>,
    /// The same as ids, texts and proposals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moves: Option<Vec<Move>>,
}

impl Step {
    /// Whether there are either `actions` or `moves`. What was decoded has one of them.
    pub fn is_whole(&self) -> bool {
        self.actions.is_some() != self.moves.is_some()
    }
}

/// One entry of `step.moves`.
#[derive(Clone, Debug, PartialEq)]
pub enum Move {
    /// None (`null`), like -1 in `actions`.
    None,
    /// An action id.
    Id(i64),
    /// The move as text.
    Text(String),
    /// The move as a document.
    Proposal(Value),
}

impl Serialize for Move {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Move::None => serializer.serialize_unit(),
            Move::Id(id) => serializer.serialize_i64(*id),
            Move::Text(text) => serializer.serialize_str(text),
            Move::Proposal(document) => document.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Move {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MoveVisitor)
    }
}

struct MoveVisitor;

impl<'de> Visitor<'de> for MoveVisitor {
    type Value = Move;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an action id, a text, a document or null")
    }

    fn visit_unit<E: Error>(self) -> Result<Move, E> {
        Ok(Move::None)
    }

    fn visit_i64<E: Error>(self, id: i64) -> Result<Move, E> {
        Ok(Move::Id(id))
    }

    fn visit_u64<E: Error>(self, id: u64) -> Result<Move, E> {
        i64::try_from(id).map(Move::Id).map_err(|_| E::custom(format_args!("{id} is no action id")))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Move, E> {
        Ok(Move::Text(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Move, A::Error> {
        Value::deserialize(MapAccessDeserializer::new(map)).map(Move::Proposal)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Move, A::Error> {
        Value::deserialize(SeqAccessDeserializer::new(list)).map(Move::Proposal)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Move {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Move".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "An action id, a text, a document, or null for none.",
            "type": ["integer", "string", "object", "array", "null"]
        })
    }
}

/// A seed: any number below 2^64, on the wire as a decimal string.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Seed(pub u64);

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Seed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Seed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SeedVisitor)
    }
}

struct SeedVisitor;

impl Visitor<'_> for SeedVisitor {
    type Value = Seed;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a seed: a decimal string below 2^64, such as \"42\"")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Seed, E> {
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let seed = digits.then(|| text.parse().ok()).flatten();
        seed.map(Seed).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Seed {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Seed".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A number below 2^64 as a decimal string.",
            "type": "string",
            "pattern": "^[0-9]{1,20}$"
        })
    }
}

/// `view`: looks at one environment as any seat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct View {
    /// The handle.
    pub env: u32,
    /// The environment's index.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub i: u32,
    /// Which seat looks; absent: the one to move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<u32>,
    /// What it wants to see.
    #[serde(default, deserialize_with = "or_default")]
    pub views: Vec<GymView>,
    /// Action ids whose texts are wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<i64>>,
    /// Texts whose action ids are wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parse: Option<Vec<String>>,
}

/// `clone`: copies environments into a new handle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CloneEnvs {
    /// The handle.
    pub env: u32,
    /// Which environments; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envs: Option<Column<u32>>,
    /// A fresh random stream; absent: the same one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<Seed>,
}

/// `snapshot`: asks for states as bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Snapshot {
    /// The handle.
    pub env: u32,
    /// Which environments; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envs: Option<Column<u32>>,
}

/// `restore`: sets states from bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Restore {
    /// The handle.
    pub env: u32,
    /// Which environments; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envs: Option<Column<u32>>,
    /// A snapshot for each environment named.
    pub items: Vec<Bytes>,
}

/// `close`: closes a handle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Close {
    /// The handle.
    pub env: u32,
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
            (None, None, Some(document)) => Some(Move::Proposal(document.clone())),
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
