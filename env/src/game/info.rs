//! Properties of a game that depend on its parameters ([`Facts`]) and properties that do not ([`GameInfo`]).

use std::collections::BTreeMap;

use ludex_protocol::spec::{ChanceMode, Dynamics, Information, LegalForm, Params, RewardModel, TensorSpec, Utility};
use serde_json::Value;

use crate::marks::MarkDoc;
use crate::notation::Notation;
use crate::params::ParamError;

/// Properties of a game with given parameters. These properties determine the shape of every message and array.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Names of the seats, in seat order; their count is the number of players.
    pub seats: Vec<String>,
    /// Order of moves: sequential, simultaneous or mixed.
    pub dynamics: Dynamics,
    /// Kind of chance: none, sampled outcomes or explicit probabilities.
    pub chance: ChanceMode,
    /// Perfect or imperfect information.
    pub information: Information,
    /// Relation between the seats' returns, such as zero-sum.
    pub utility: Utility,
    /// Time of rewards: at each step or at the end.
    pub rewards: RewardModel,
    /// Least and greatest return of any seat.
    pub returns: [f64; 2],
    /// Upper bound on the moves of an episode. A joint move counts once; chance outcomes do not count.
    pub max_length: u32,
    /// Number of action ids; ids are `0..actions`.
    pub actions: u32,
    /// Exclusive upper bound on chance outcome ids; 0 without chance.
    pub max_chance: u32,
    /// Wire form of legal actions.
    pub legal: LegalForm,
    /// Name and shape of the observation array, one byte per element. `None`: no observation array.
    pub tensor: Option<(&'static str, TensorSpec)>,
    /// Name and shape of the perfect-recall array, one byte per element. `None`: no perfect-recall array.
    pub info: Option<(&'static str, TensorSpec)>,
    /// Shape of the array that [`GameObservation::openspiel_tensor`](super::GameObservation::openspiel_tensor) writes.
    /// `None`: the game does not write that array.
    pub openspiel: Option<TensorSpec>,
    /// JSON Schemas of documents, for games whose moves are documents. A turn uses the key `phase/seat-name` if
    /// present, else `phase`. Schemas describe structure and size only, and must not depend on hidden information.
    pub document_schemas: Option<BTreeMap<String, Value>>,
}

/// One comparison of two agents of an anchor ladder, such as an episode or a set of duplicate deals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// One episode, scored as a win, draw or loss.
    Episode,
    /// A block of this many seeds, each played twice with the seats swapped (with four seats, two against two). The
    /// greater sum of returns wins. Choose the number large enough that skill outweighs luck.
    Duplicate(u32),
    /// Mean return of each agent in matches with these opponents, used instead of a direct comparison.
    Field(&'static [&'static str]),
}

/// A preset: its name, its parameters as JSON text, and a note on their source and differences from the defaults.
pub type PresetText = (&'static str, &'static str, &'static str);

/// An alternative name of a game, with a conversion of its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Alias {
    /// The name accepted in game strings.
    pub name: &'static str,
    /// Conversion of the alias's parameters to the game's parameters. Use `Ok` if the parameters need no conversion.
    pub map: fn(Params) -> Result<Params, ParamError>,
}

/// Identity, texts and ladder of a game: everything that is independent of its parameters.
///
/// ```
/// use ludex_env::game::GameInfo;
///
/// const INFO: GameInfo = GameInfo { players: [2, 4], ..GameInfo::new("my_game", "My game", "# My game\n") };
/// assert_eq!((INFO.rules, INFO.players), (1, [2, 4]));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct GameInfo {
    /// The game's id, in snake case.
    pub id: &'static str,
    /// The title, for display.
    pub title: &'static str,
    /// The game's documentation page in Markdown, whose first line is the title.
    pub page: &'static str,
    /// Template of the manual for players (`<id>.j2`; see `docs/adding-a-game.md`), rendered with the parameters. The
    /// manual contains the rules, then `## Moves` with the notation of moves, then `## Position` with the format of
    /// positions. Default: empty; the page then serves as the manual.
    pub manual: &'static str,
    /// Version of the rules; increase it with every change of behavior. Default: 1.
    pub rules: u32,
    /// Least and greatest number of seats over all parameters. Default: two seats.
    pub players: [u32; 2],
    /// Presets in display order. The first preset, if any, is a name for the default parameters. Default: none.
    pub presets: &'static [PresetText],
    /// Names of this game in other programs. Default: none.
    pub aliases: &'static [Alias],
    /// The anchor ladder, as `(level, bot, agent spec)`; level 0 is `random`. Default: level 0 only.
    pub ladder: &'static [(u32, u32, &'static str)],
    /// The unit of play in which agents of the ladder are compared. Default: one episode.
    pub unit: Unit,
    /// Documentation of the marks that [`GameMarks`](super::GameMarks) emits, printed on the game's page under
    /// `## Marks`. Two-player games without chance and hidden information get `missed_win` and `missed_block`
    /// automatically. Default: none.
    pub marks: &'static [MarkDoc],
    /// True if the marks contain the score of every hand of an episode as `hand_score`. The metric `wall_points` then
    /// ranks the entrants of a block once per hand. Default: false.
    pub hand_scores: bool,
    /// Role names of the teams, indexed by team number; see [`GameMarks::teams`](super::GameMarks::teams). Default:
    /// none.
    pub roles: &'static [&'static str],
    /// The standard notation for complete games, written by [`GameText::in_notation`](super::GameText::in_notation).
    /// Default: none.
    pub notation: Option<Notation>,
}

impl GameInfo {
    /// Creates the description of a game with this id, title and page, with defaults for everything else.
    pub const fn new(id: &'static str, title: &'static str, page: &'static str) -> Self {
        GameInfo {
            id,
            title,
            page,
            manual: "",
            rules: 1,
            players: [2, 2],
            presets: &[],
            aliases: &[],
            ladder: &[(0, 1, "random")],
            unit: Unit::Episode,
            marks: &[],
            hand_scores: false,
            roles: &[],
            notation: None,
        }
    }
}
