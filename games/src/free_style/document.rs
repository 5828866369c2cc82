//! FSR/1 rule documents: types, defaults, canonical form and hash.

use std::collections::BTreeMap;

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde::{Deserialize, Serialize, Serializer as _};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::board::{self, Cell};

/// Maximum size of a document, in bytes of JSON.
pub(super) const MOST_BYTES: usize = 4_096;
/// Maximum number of piece kinds.
pub(super) const MOST_KINDS: usize = 4;
/// Maximum number of plies.
pub(super) const MOST_PLIES: u8 = 100;

/// A zone for each seat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BySeat {
    /// The zone of seat 0.
    #[serde(rename = "0")]
    #[schemars(length(min = 1, max = 40))]
    pub first: String,
    /// The zone of seat 1.
    #[serde(rename = "1")]
    #[schemars(length(min = 1, max = 40))]
    pub second: String,
}

impl BySeat {
    /// Returns the zones, seat 0's first.
    pub(super) fn both(&self) -> [&str; 2] {
        [&self.first, &self.second]
    }
}

/// The rules of a game.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// The version of the format: 1.
    #[schemars(range(min = 1, max = 1))]
    pub fsr: u8,
    /// Name of the rules; not part of the hash.
    #[schemars(length(max = 40))]
    pub name: String,
    /// Number of rows and columns: 5.
    #[schemars(range(min = 5, max = 5))]
    pub board: u8,
    /// The seat that moves first.
    #[serde(default)]
    pub first: First,
    /// Maximum number of plies; the board is scored after the last one.
    #[schemars(range(min = 1, max = 100))]
    pub ply_cap: u8,
    /// Order of moves: in turn or simultaneous.
    #[serde(default)]
    pub mode: Mode,
    /// Kinds of pieces, 1 to 4.
    #[schemars(length(min = 1, max = 4))]
    pub kinds: Vec<Kind>,
    /// Pieces on the board at the start.
    #[serde(default)]
    #[schemars(length(max = 25))]
    pub setup: Vec<Setup>,
    /// Named sets of cells.
    #[serde(default)]
    pub zones: BTreeMap<String, Vec<Cell>>,
    /// Actions that a seat may take.
    #[schemars(length(min = 1, max = 8))]
    pub actions: Vec<ActionRule>,
    /// Effects of actions on other pieces.
    #[serde(default)]
    #[schemars(length(max = 6))]
    pub effects: Vec<Effect>,
    /// Information that seats cannot see.
    #[serde(default)]
    pub hidden: Hidden,
    /// Conditions that end the game before the ply cap.
    #[serde(default)]
    #[schemars(length(max = 8))]
    pub end: Vec<End>,
    /// Scoring rules; the points of all rules are added.
    #[serde(default)]
    #[schemars(length(max = 8))]
    pub score: Vec<Score>,
    /// Tie-break for equal scores.
    #[serde(default)]
    pub tie: Tie,
}

/// The seat that moves first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum First {
    /// The seat that wrote the rules.
    Author,
    /// The seat that accepted the rules.
    #[default]
    Other,
    /// Seat 0 in every game.
    Seat0,
    /// A seat drawn by chance.
    Random,
}

/// Order in which seats move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The seats move in turn.
    #[default]
    Alternate,
    /// Both seats move at once.
    Simultaneous,
}

/// A kind of piece.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    /// Name of the kind in the document.
    #[schemars(length(min = 1, max = 12), regex(pattern = r"^[a-z][a-z0-9_]*$"))]
    pub id: String,
    /// The numbers of its pieces; null for pieces without numbers.
    #[serde(default)]
    pub values: Option<Values>,
    /// Number of pieces that each seat may place; null for no limit.
    #[serde(default)]
    #[schemars(range(min = 1, max = 25))]
    pub supply: Option<u8>,
}

/// The numbers that pieces may have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Values {
    /// The lowest number allowed.
    #[schemars(range(min = 0, max = 25))]
    pub min: u8,
    /// The highest number allowed.
    #[schemars(range(min = 0, max = 25))]
    pub max: u8,
    /// If true, each seat may use each number only once.
    pub unique: bool,
    /// Maximum sum of the numbers that a seat places; null for no limit.
    #[schemars(range(min = 0, max = 625))]
    pub sum_max: Option<u16>,
}

/// A piece on the board at the start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// The seat that owns the piece.
    #[schemars(range(min = 0, max = 1))]
    pub owner: u8,
    /// The kind of the piece.
    pub kind: String,
    /// The cell of the piece.
    pub at: Cell,
    /// The number of the piece, if its kind has numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 25))]
    pub value: Option<u8>,
}

/// An action that a seat may take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum ActionRule {
    /// Places a piece on an empty cell.
    Place {
        /// The kind of the piece.
        kind: String,
        /// The zone in which each seat may place.
        by: BySeat,
        /// Required neighbor of the cell.
        #[serde(default)]
        near: Near,
    },
    /// Moves a piece on the board.
    Move {
        /// The kind of the piece.
        kind: String,
        /// Directions or leaps of the move.
        steps: Steps,
        /// Maximum number of steps in one move.
        #[serde(default = "one")]
        #[schemars(range(min = 1, max = 4))]
        range: u8,
        /// If true, pieces only move away from their home row.
        #[serde(default)]
        forward_only: bool,
        /// Required content of the target cell.
        onto: Onto,
    },
    /// Leaves the board as it is.
    Pass {
        /// Condition under which the pass is legal.
        when: When,
    },
}

fn one() -> u8 {
    1
}

/// Required neighbor of a placed piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Near {
    /// No requirement on adjacent cells.
    #[default]
    Any,
    /// An own piece, orthogonally adjacent.
    Own4,
    /// An own piece, orthogonally or diagonally adjacent.
    Own8,
    /// An opposing piece, orthogonally adjacent.
    Opp4,
    /// An opposing piece, orthogonally or diagonally adjacent.
    Opp8,
    /// No own piece orthogonally adjacent.
    Away4,
}

/// Directions or leaps of a move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Steps {
    /// A predefined set of directions or leaps.
    Named(StepsPreset),
    /// A list of leaps, each `[rows, columns]`.
    Leaps(#[schemars(length(min = 1, max = 24))] Vec<[Leap; 2]>),
}

/// A change of row or column, -4 to 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Leap(#[schemars(range(min = -4, max = 4))] pub i8);

/// A predefined set of directions or leaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepsPreset {
    /// Along rows and columns.
    Orth,
    /// Along the diagonals only.
    Diag,
    /// In all eight directions.
    King,
    /// Like the knight in chess.
    Knight,
}

/// Required content of the target cell of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Onto {
    /// A cell without a piece.
    Empty,
    /// A piece of the opponent.
    OppAny,
    /// An opposing piece with a lower number.
    OppLower,
    /// An opposing piece with a lower or equal number.
    OppLowerEq,
    /// An empty cell or an opposing piece.
    EmptyOrOppAny,
    /// An empty cell or an opposing piece with a lower number.
    EmptyOrOppLower,
    /// An empty cell or an opposing piece with a lower or equal number.
    EmptyOrOppLowerEq,
}

impl Onto {
    /// Returns true if the numbers of the two pieces are compared.
    pub(super) fn compares(self) -> bool {
        !matches!(self, Onto::Empty | Onto::OppAny | Onto::EmptyOrOppAny)
    }

    /// Returns true if the target cell may be empty.
    pub(super) fn empty(self) -> bool {
        !matches!(self, Onto::OppAny | Onto::OppLower | Onto::OppLowerEq)
    }

    /// Returns true if the opposing piece may have an equal number.
    pub(super) fn equal(self) -> bool {
        matches!(self, Onto::OppLowerEq | Onto::EmptyOrOppLowerEq)
    }
}

/// Condition under which a pass is legal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// A pass is never legal.
    Never,
    /// Only if no other action is legal.
    Stuck,
    /// A pass is always legal.
    Always,
}

/// An effect of an action on pieces around the acting one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Effect {
    /// The action that triggers the effect.
    pub on: On,
    /// The affected cells, relative to the acting piece.
    pub cells: Cells,
    /// The owner of the affected pieces.
    pub who: Who,
    /// Required comparison of the affected piece's number with the acting piece's.
    #[serde(default, rename = "if")]
    pub cond: Option<Cond>,
    /// The change made to each affected piece.
    pub then: Then,
    /// The amount that `add` and `sub` change numbers by.
    #[serde(default)]
    #[schemars(range(min = 1, max = 25))]
    pub n: Option<u8>,
}

/// The action that triggers an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum On {
    /// Placement of a piece.
    Place,
    /// Move of a piece.
    Move,
}

/// Cells of an effect, relative to the acting piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cells {
    /// Cells that are orthogonally adjacent.
    Adj4,
    /// Orthogonally and diagonally adjacent cells.
    Adj8,
    /// Opposing pieces between the acting piece and another own piece, in all directions.
    Sandwich8,
    /// Opposing pieces between the acting piece and another own piece, along rows and columns.
    Sandwich4,
    /// The other pieces of each unbroken own row of three or more.
    LineRest,
}

/// Owner of the affected pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Who {
    /// The opponent's pieces only.
    Opp,
    /// The acting seat's pieces only.
    Own,
    /// The pieces of both seats.
    Both,
}

/// A comparison of the affected piece's number with the acting piece's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cond {
    /// The affected number is lower.
    Lower,
    /// The affected number is higher.
    Higher,
    /// The numbers are equal.
    Equal,
    /// The numbers add up to 10.
    Sum10,
}

/// A change made to an affected piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Then {
    /// The piece changes sides.
    Flip,
    /// The piece leaves the board.
    Remove,
    /// The number increases by `n`.
    Add,
    /// The number decreases by `n`.
    Sub,
}

/// Information that seats cannot see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Hidden {
    /// If true, the numbers of the opponent's pieces are hidden.
    pub values: bool,
    /// If true, the opponent's pieces are hidden.
    pub pieces: bool,
    /// The time at which hidden information is revealed.
    pub reveal: Reveal,
}

/// The time at which hidden information is revealed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reveal {
    /// At the end of the game.
    #[default]
    End,
    /// On contact, if a piece moves onto another one, and at the end of the game.
    Contact,
}

/// A condition that ends the game.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "if", rename_all = "snake_case", deny_unknown_fields)]
pub enum End {
    /// An unbroken row of own pieces.
    Line {
        /// Length of the row in pieces.
        #[schemars(range(min = 3, max = 5))]
        len: u8,
        /// If true, longer rows do not count.
        #[serde(default)]
        exact: bool,
        /// Directions that rows may have.
        #[serde(default)]
        dirs: Dirs,
        /// Result for the owner of the row.
        then: WinLose,
    },
    /// An own piece in the zone.
    Reach {
        /// The target zone of each seat.
        zone: BySeat,
        /// Result for the owner of the piece.
        then: Win,
    },
    /// A seat that had pieces has none on the board and none to place.
    Eliminated {
        /// Result for the other seat.
        then: Win,
    },
    /// The seat to move has no action other than pass.
    Stuck {
        /// Result for the stuck seat.
        then: StuckThen,
    },
    /// A number of own pieces on the board.
    PiecesGe {
        /// Minimum number of pieces.
        #[schemars(range(min = 1, max = 25))]
        n: u8,
        /// Result for the owner of the pieces.
        then: Win,
    },
    /// No empty cell is left.
    Full {
        /// The board is scored.
        then: Scored,
    },
    /// Both seats have placed all their pieces.
    SupplyOut {
        /// The board is scored.
        then: Scored,
    },
}

/// Directions of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dirs {
    /// Along rows and columns.
    Orth,
    /// Along the diagonals only.
    Diag,
    /// In all four directions.
    #[default]
    All,
}

/// Result of an end condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WinLose {
    /// The seat wins the game.
    Win,
    /// The seat loses the game.
    Lose,
}

/// Result of an end condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Win {
    /// The seat wins the game.
    Win,
}

/// Result of an end condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scored {
    /// The board is scored.
    Score,
}

/// Result for a stuck seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StuckThen {
    /// The seat loses the game.
    Lose,
    /// The board is scored.
    Score,
    /// The game is a draw.
    Draw,
}

/// A rule that adds points.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "per", rename_all = "snake_case")]
pub enum Score {
    /// Own pieces on the board.
    Piece(Points),
    /// Sum of the numbers of own pieces.
    Value(Points),
    /// Empty cells of regions that touch own pieces only.
    Territory4(Points),
    /// Pieces of the largest orthogonally connected own group.
    LargestGroup4(Points),
    /// Opposing pieces that left the board in the seat's own plies.
    Capture(Points),
    /// Runs of `len` own pieces in a line.
    Line(Points),
    /// Rows in which the seat's numbers have the higher sum.
    RowCompare(Compare),
    /// Columns in which the seat's numbers have the higher sum.
    ColCompare(Compare),
}

/// Points per counted item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Points {
    /// Length of the runs; for `line` only.
    #[serde(default)]
    #[schemars(range(min = 2, max = 5))]
    pub len: Option<u8>,
    /// Points per counted item.
    #[schemars(range(min = -100, max = 100))]
    pub pts: i16,
}

/// Points per row or column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compare {
    /// The zone in which each seat's pieces count.
    pub cells: BySeat,
    /// Points per row or column.
    #[schemars(range(min = -100, max = 100))]
    pub pts: i16,
}

/// Tie-break for equal scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tie {
    /// The game is a draw.
    #[default]
    Draw,
    /// The seat that moved second wins.
    Second,
    /// The seat that moved first wins.
    First,
    /// The seat with fewer pieces on the board wins.
    FewerPieces,
}

impl JsonSchema for Cell {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Cell".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "enum": (0..25).map(board::name).collect::<Vec<_>>() })
    }
}

/// Returns the JSON Schema of a document.
pub(super) fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|s| {
        s.inline_subschemas = true;
        s.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<Document>().to_value();
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("title");
    }
    tell_apart(&mut schema);
    schema
}

/// Replaces each `oneOf` whose forms differ in one field, so that an issue names the wrong field instead of reporting
/// that no form fits. Lists of constants become `enum`; objects become one `if`/`then` pair per form.
fn tell_apart(schema: &mut Value) {
    match schema {
        Value::Array(list) => list.iter_mut().for_each(tell_apart),
        Value::Object(map) => {
            map.values_mut().for_each(tell_apart);
            let Some(Value::Array(forms)) = map.get("oneOf") else { return };
            let forms = forms.clone();
            if let Some(words) = forms.iter().map(|f| f.get("const").cloned()).collect::<Option<Vec<Value>>>() {
                map.remove("oneOf");
                let described = |f: &Value| Some(format!("{}: {}", f["const"].as_str()?, f["description"].as_str()?));
                let described: Vec<String> = forms.iter().filter_map(described).collect();
                map.insert("description".into(), described.join(" ").into());
                map.insert("enum".into(), words.into());
                return;
            }
            let tag = |form: &Value| -> Option<(String, Value)> {
                let fields = form["properties"].as_object()?;
                fields.iter().find_map(|(key, field)| Some((key.clone(), field.get("const")?.clone())))
            };
            let Some(tags) = forms.iter().map(tag).collect::<Option<Vec<_>>>() else { return };
            let Some(key) = tags.first().map(|t| t.0.clone()).filter(|key| tags.iter().all(|t| t.0 == *key)) else {
                return;
            };
            let one = |(form, (key, word)): (&Value, &(String, Value))| json!({ "if": { "properties": { key: { "const": word } }, "required": [key] }, "then": form });
            let all: Vec<Value> = forms.iter().zip(&tags).map(one).collect();
            let words: Vec<&Value> = tags.iter().map(|t| &t.1).collect();
            map.remove("oneOf");
            map.insert("type".into(), "object".into());
            map.insert("properties".into(), json!({ &key: { "enum": words } }));
            map.insert("required".into(), json!([key]));
            map.insert("allOf".into(), all.into());
        }
        _ => {}
    }
}

impl Document {
    /// Returns the canonical form as a value: all defaults are written out, and keys are sorted.
    pub(super) fn value(&self) -> Value {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        value.sort_all_objects();
        value
    }
}

/// Returns the first 8 hex digits of the SHA-256 of a canonical form (RFC 8785) without the name.
///
/// Keys are sorted and numbers are integers, so for ASCII content compact JSON already is that form.
pub(super) fn hash(value: &Value) -> String {
    let fields = || value.as_object().into_iter().flatten().filter(|(key, _)| *key != "name");
    let mut plain = Vec::with_capacity(MOST_BYTES);
    let written = serde_json::Serializer::new(&mut plain).collect_map(fields());
    let digest = if written.is_ok() && plain.is_ascii() {
        Sha256::digest(&plain)
    } else {
        let fields: Map<String, Value> = fields().map(|(key, value)| (key.clone(), value.clone())).collect();
        Sha256::digest(canonical(&fields.into()))
    };
    hex::encode(&digest[..4])
}

/// Returns the canonical form (RFC 8785) of a value.
pub(super) fn canonical(value: &Value) -> String {
    serde_json_canonicalizer::to_string(value).unwrap_or_else(|_| value.to_string())
}

/// Returns the cells of a built-in zone or of a zone of the document.
pub(super) fn zone(document: &Document, name: &str) -> Option<u32> {
    let own = || document.zones.get(name).map(|cells| cells.iter().fold(0, |set, c| set | 1 << c.0));
    board::zone(name).or_else(own)
}

/// Returns the index of a kind in the list of kinds.
pub(super) fn kind(document: &Document, id: &str) -> Option<usize> {
    document.kinds.iter().take(MOST_KINDS).position(|k| k.id == id)
}
