//! Requests seats in matches.

use serde::de::Error as _;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::ClientBody;
use super::welcome::Scope;
use crate::envelope::Message;
use crate::error::Refusal;
use crate::limits::Limits;
use crate::record::Clock;
use crate::serde_helpers::{is_default, is_one, one, or_default, or_else, or_one};
use crate::spec::Params;

/// Form of the views in the turns and events of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MatchView {
    /// Structured view as JSON.
    Struct,
    /// View as plain text.
    Text,
    /// Observation array from the seat's perspective.
    Tensor,
    /// Perfect-recall information state as an array.
    Info,
    /// Texts of the legal actions (`turn.names`).
    Texts,
    /// Picture of the position (SVG).
    Picture,
    /// Prompt for a language model (`turn.view.prompt`).
    Prompt,
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

pub(super) fn match_views() -> Vec<MatchView> {
    vec![MatchView::Struct, MatchView::Texts]
}

pub(super) fn or_match_views<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<MatchView>, D::Error> {
    or_else(deserializer, match_views)
}

pub(super) fn are_match_views(views: &Vec<MatchView>) -> bool {
    *views == [MatchView::Struct, MatchView::Texts]
}

/// The clock of a join. Unknown fields are refused, because a misspelled field would leave the match without a clock.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JoinClock {
    move_ms: Option<u64>,
    bank_ms: Option<u64>,
    inc_ms: Option<u64>,
    first_ms: Option<u64>,
    episode_ms: Option<u64>,
}

fn or_join_clock<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Clock, D::Error> {
    let Some(given) = Option::<JoinClock>::deserialize(deserializer)? else { return Ok(Clock::of_join()) };
    let JoinClock { move_ms, bank_ms, inc_ms, first_ms, episode_ms } = given;
    if [move_ms, bank_ms, inc_ms, first_ms, episode_ms].iter().all(Option::is_none) {
        let text =
            "expected at least one of move_ms, bank_ms, inc_ms, first_ms, episode_ms; {\"bank_ms\":0} means no clock";
        return Err(D::Error::custom(text));
    }
    Ok(Clock { move_ms, bank_ms: bank_ms.unwrap_or(0), inc_ms: inc_ms.unwrap_or(0), first_ms, episode_ms })
}

/// Serializes a clock. A clock without limits is written as `{"bank_ms":0}`, because deserialization refuses an empty
/// map.
fn write_join_clock<S: Serializer>(clock: &Clock, serializer: S) -> Result<S::Ok, S::Error> {
    if *clock != Clock::default() {
        return clock.serialize(serializer);
    }
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry("bank_ms", &0)?;
    map.end()
}

fn is_join_clock(clock: &Clock) -> bool {
    *clock == Clock::of_join()
}

/// `join`: requests seats in matches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Join {
    /// Game id, or a complete game string. Ignored with a `ticket`.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    pub game: String,
    /// Parameters of the game, which override the parameters in the game string.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Params::is_empty")]
    pub params: Params,
    /// Name of the queue. Only joins in the same queue are matched with each other.
    #[serde(default = "open_queue", deserialize_with = "or_open_queue", skip_serializing_if = "is_open_queue")]
    pub queue: String,
    /// Server agents that play the remaining seats: one agent per seat, in seat order, or a single agent for all of
    /// them. With `against`, the match starts immediately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Vec<String>>,
    /// Seat to play. Absent: drawn at random in a queue; with `against`, seat j mod P in match j, where P is the number
    /// of players.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<u32>,
    /// Maximum number of simultaneous matches.
    #[serde(default = "one", deserialize_with = "or_one", skip_serializing_if = "is_one")]
    pub slots: u32,
    /// Total number of matches; 0: no limit until `leave`.
    #[serde(default = "one", deserialize_with = "or_one", skip_serializing_if = "is_one")]
    pub count: u32,
    /// Views included in turns.
    #[serde(default = "match_views", deserialize_with = "or_match_views", skip_serializing_if = "are_match_views")]
    pub views: Vec<MatchView>,
    /// Settings of the view `prompt` and of the reader of answers.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Params::is_empty")]
    pub prompt: Params,
    /// Layout of the tensor: `ludex`, or a layout that the spec lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// True if the matches count for ratings.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub rated: bool,
    /// Clock of the matches. Absent: ten seconds per move.
    #[serde(
        default = "Clock::of_join",
        deserialize_with = "or_join_clock",
        serialize_with = "write_join_clock",
        skip_serializing_if = "is_join_clock"
    )]
    pub clock: Clock,
    /// True to play matches in pairs with the same seed and swapped seats. Absent: the server's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairs: Option<bool>,
    /// Ticket of a tournament; replaces all other fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
}

impl Join {
    /// Creates a request for one unrated match in the open queue. All other fields have their defaults.
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
            prompt: Params::new(),
            layout: None,
            rated: false,
            clock: Clock::of_join(),
            pairs: None,
            ticket: None,
        }
    }

    /// Returns true if the join uses the default queue.
    pub fn is_open(&self) -> bool {
        is_open_queue(&self.queue)
    }
}

impl Message for Join {
    const TYPE: &'static str = "join";
    const REPLIES: &'static [&'static str] = &["joined"];
}

impl ClientBody for Join {
    fn scope(&self) -> Option<Scope> {
        Some(Scope::Play)
    }

    fn starts_work(&self) -> bool {
        true
    }

    fn check(&self, limits: &Limits) -> Result<(), Refusal> {
        limits.document("params", &self.params)?;
        limits.document("prompt", &self.prompt)
    }
}
