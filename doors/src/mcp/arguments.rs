//! Arguments of the tools, with the descriptions that clients show to their models.

use ludex_client::protocol::spec::Params;
use rmcp::schemars;
use rmcp::schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// Arguments of `list_games`. All conditions must hold.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListGamesArguments {
    /// Part of the id or the title of a game
    pub text: Option<String>,
    /// Number of players that can play the game
    pub players: Option<u32>,
    /// Information of the players: "perfect" or "imperfect"
    pub information: Option<String>,
    /// "deterministic", "explicit" or "sampled"
    pub chance: Option<String>,
    /// "sequential", "simultaneous" or "mixed"
    pub dynamics: Option<String>,
}

/// Arguments of the tool `rules`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RulesArguments {
    /// Id of a game, or a game with parameters such as "breakthrough(rows=8,columns=3)"
    pub game: String,
}

/// Arguments of the tool `begin`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BeginArguments {
    /// Id of a game, or a game with parameters such as "breakthrough(rows=8,columns=3)"
    pub game: String,
    /// Agent of the server for all other seats, such as "random", "anchor level=1" or "mcts sims=100"; or a list with one
    /// agent for each other seat, in seat order. Default: "random"
    pub opponent: Option<AgentNames>,
    /// Your seat, by number from 0 or by name such as "white". Default: 0
    pub seat: Option<SeatChoice>,
    /// Seed of the game, from 0 to 2^53. The same seed gives the same game. Default: drawn by the server
    pub seed: Option<u64>,
    /// Settings of the prompts by name, such as {"history": 8}. Default: one conversation for the whole game
    #[serde(default)]
    pub prompt: Params,
}

/// Arguments of the tool `join`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct JoinArguments {
    /// Game of the match: an id, or a game with parameters. Required unless there is a run
    pub game: Option<String>,
    /// Agents of the server for the other seats, as `opponent` of `begin`. Default: other clients in the queue
    pub against: Option<AgentNames>,
    /// Queue to wait in; clients of equal game, queue and clock meet. Default: "open"
    pub queue: Option<String>,
    /// Your seat, by number from 0 or by name. Default: drawn by the server
    pub seat: Option<SeatChoice>,
    /// True for a rated match. Default: false
    #[serde(default)]
    pub rated: bool,
    /// Seconds for each of your moves; 0: no limit. Default: 300, or no limit with `against`
    pub move_seconds: Option<u64>,
    /// Suite to be evaluated with, for a new run
    pub suite: Option<String>,
    /// Name of the run, in small letters, digits, _ and -. An existing run continues
    pub run: Option<String>,
    /// Share of the suite to play, above 0 and at most 1. Default: 1
    pub scale: Option<f64>,
    /// Parts of the suite to play. Default: all
    #[serde(default)]
    pub parts: Vec<String>,
    /// Agent name under which you play. Default: "mcp"
    pub name: Option<String>,
    /// Language model that plays, for records and reports
    pub model: Option<String>,
    /// True to receive pictures of the positions. Default: false
    #[serde(default)]
    pub pictures: bool,
    /// True to take over the seats that the server still reserves for the agent name, instead of joining. Default: false
    #[serde(default)]
    pub resume: bool,
}

/// Arguments of the tool `position`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PositionArguments {
    /// Id of the game, from `begin` or `join`
    pub id: String,
    /// Form of a picture of the position. Default: no picture
    pub picture: Option<PictureForm>,
    /// True to repeat the rules and the form of the answer. Default: false
    #[serde(default)]
    pub full: bool,
}

/// Arguments of the tool `play`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PlayArguments {
    /// Id of the game, from `begin` or `join`
    pub id: String,
    /// Your answer: a move as it stands in the list of legal moves, or a whole answer in the requested form
    pub answer: Answer,
}

/// Arguments of the tool `resign`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ResignArguments {
    /// Id of the game, from `begin` or `join`
    pub id: String,
}

/// Arguments of the tool `history`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HistoryArguments {
    /// Id of the game, from `begin` or `join`
    pub id: String,
}

/// Arguments of the tool `own_games`, which takes none.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OwnGamesArguments {}

/// Text, or a list of texts.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum AgentNames {
    One(String),
    Many(Vec<String>),
}

/// Number or name of a seat.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum SeatChoice {
    Number(u32),
    Name(String),
}

/// Answer of a model: its text, or the JSON object that the prompt requests.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Answer {
    Text(String),
    Object(serde_json::Map<String, Value>),
}

impl Answer {
    /// Returns the answer as text.
    pub fn into_text(self) -> String {
        match self {
            Answer::Text(text) => text,
            Answer::Object(object) => Value::Object(object).to_string(),
        }
    }
}

/// Form of a picture.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum PictureForm {
    /// Image block of the type image/svg+xml, which not all clients can show
    Image,
    /// Embedded resource with the SVG document as text
    Resource,
}
