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
    /// Version of the format; always 1.
    #[schemars(range(min = 1, max = 1))]
    pub fsr: u8,
    /// Name of the rules. Ignored by the hash.
    #[schemars(length(max = 40))]
    pub name: String,
    /// Number of rows and of columns; always 5.
    #[schemars(range(min = 5, max = 5))]
    pub board: u8,
    /// The seat that moves first.
    #[serde(default)]
    pub first: First,
    /// Maximum number of plies. After the last ply, the board is scored.
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
    /// Sets of cells by name, in addition to the built-in zones.
    #[serde(default)]
    pub zones: BTreeMap<String, Vec<Cell>>,
    /// Actions that a seat may take.
    #[schemars(length(min = 1, max = 8))]
    pub actions: Vec<ActionRule>,
    /// Effects of actions on surrounding pieces.
    #[serde(default)]
    #[schemars(length(max = 6))]
    pub effects: Vec<Effect>,
    /// Information hidden from seats.
    #[serde(default)]
    pub hidden: Hidden,
    /// Conditions that end the game before the ply cap.
    #[serde(default)]
    #[schemars(length(max = 8))]
    pub end: Vec<End>,
    /// Scoring rules. A seat's points from all rules are added.
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
    /// The seat that wrote the agreed rules.
    Author,
    /// The seat that did not write the agreed rules.
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
    /// The seats act in turn.
    #[default]
    Alternate,
    /// Both seats act simultaneously.
    Simultaneous,
}

/// A kind of piece.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    /// Name of the kind in the document.
    #[schemars(length(min = 1, max = 12), regex(pattern = r"^[a-z][a-z0-9_]*$"))]
    pub id: String,
    /// The numbers that pieces of this kind may have; null for pieces without a number.
    #[serde(default)]
    pub values: Option<Values>,
    /// Maximum number of pieces that each seat may place; null for no limit.
    #[serde(default)]
    #[schemars(range(min = 1, max = 25))]
    pub supply: Option<u8>,
}

/// The numbers that pieces of a kind may have.
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
    /// The cell on which the piece stands.
    pub at: Cell,
    /// The number of the piece; required if the kind has numbers.
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
        /// Condition on the cells next to the target cell.
        #[serde(default)]
        near: Near,
    },
    /// Moves a piece on the board.
    Move {
        /// The kind of the piece.
        kind: String,
        /// Directions or leaps of the move.
        steps: Steps,
        /// Maximum number of steps in one direction, 1 to 4.
        #[serde(default = "one")]
        #[schemars(range(min = 1, max = 4))]
        range: u8,
        /// If true, pieces only move away from their owner's home row.
        #[serde(default)]
        forward_only: bool,
        /// Required content of the target cell.
        onto: Onto,
    },
    /// Does nothing for one ply.
    Pass {
        /// Condition under which a seat may pass.
        when: When,
    },
}

fn one() -> u8 {
    1
}

/// Condition on the cells next to a placement. Conditions on own pieces are ignored while the placing seat has no piece
/// on the board, and conditions on opposing pieces while its opponent has no piece on the board.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Near {
    /// No condition on the adjacent cells.
    #[default]
    Any,
    /// Orthogonally next to a piece of the placing seat.
    Own4,
    /// Orthogonally or diagonally next to a piece of the placing seat.
    Own8,
    /// Orthogonally next to a piece of the opponent.
    Opp4,
    /// Orthogonally or diagonally next to a piece of the opponent.
    Opp8,
    /// Not orthogonally next to a piece of the placing seat.
    Away4,
}

/// Directions or leaps of a move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Steps {
    /// A predefined set of directions or leaps.
    Named(StepsPreset),
    /// A list of leaps, each as `[rows, columns]`.
    Leaps(#[schemars(length(min = 1, max = 24))] Vec<[Leap; 2]>),
}

/// A change of the row or column by -4 to 4.
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
    /// A pass is legal if the seat has no other action.
    Stuck,
    /// A pass is always legal.
    Always,
}

/// An effect of an action on pieces around the piece that acted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Effect {
    /// The action that triggers the effect.
    pub on: On,
    /// The affected cells, relative to the piece that acted.
    pub cells: Cells,
    /// The owner of the affected pieces.
    pub who: Who,
    /// Condition on the number of the affected piece, compared with the number of the piece that acted.
    #[serde(default, rename = "if")]
    pub cond: Option<Cond>,
    /// The change made to each affected piece.
    pub then: Then,
    /// The amount of a change by `add` or `sub`.
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

/// Cells of an effect, relative to the piece that acted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cells {
    /// The four orthogonally adjacent cells.
    Adj4,
    /// The eight orthogonally and diagonally adjacent cells.
    Adj8,
    /// Opposing pieces in an unbroken row between the piece that acted and another piece of the same owner, in all
    /// eight directions.
    Sandwich8,
    /// Opposing pieces in an unbroken row between the piece that acted and another piece of the same owner, along rows
    /// and columns.
    Sandwich4,
    /// The other pieces of each unbroken row that contains the piece that acted and has three or more pieces of the
    /// same owner.
    LineRest,
}

/// Owner of the affected pieces, relative to the seat that acted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Who {
    /// The pieces of the opponent of the seat that acted.
    Opp,
    /// The pieces of the seat that acted.
    Own,
    /// The pieces of both seats.
    Both,
}

/// A comparison of the affected piece's number with the number of the piece that acted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cond {
    /// The number of the affected piece is lower.
    Lower,
    /// The number of the affected piece is higher.
    Higher,
    /// The numbers are equal.
    Equal,
    /// The numbers have a sum of 10.
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
    /// The number of the piece increases by `n`, at most to the maximum of its kind.
    Add,
    /// The number of the piece decreases by `n`, at most to the minimum of its kind.
    Sub,
}

/// Information hidden from seats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Hidden {
    /// If true, the numbers of the opponent's pieces are hidden.
    pub values: bool,
    /// If true, the opponent's pieces are hidden.
    pub pieces: bool,
    /// Time at which hidden information is revealed.
    pub reveal: Reveal,
}

/// Time at which hidden information is revealed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reveal {
    /// At the end of the game.
    #[default]
    End,
    /// On contact: both numbers when a piece moves onto an opposing piece, and everything else at the end.
    Contact,
}

/// A condition that ends the game.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "if", rename_all = "snake_case", deny_unknown_fields)]
pub enum End {
    /// A seat has an unbroken row of its pieces.
    Line {
        /// Number of pieces in the row.
        #[schemars(range(min = 3, max = 5))]
        len: u8,
        /// If true, the row must have exactly this length.
        #[serde(default)]
        exact: bool,
        /// Directions in which rows count.
        #[serde(default)]
        dirs: Dirs,
        /// Result for the seat that owns the row.
        then: WinLose,
    },
    /// A seat has a piece in its target zone.
    Reach {
        /// The target zone of each seat.
        zone: BySeat,
        /// Result for the seat that owns the piece.
        then: Win,
    },
    /// The opponent has lost all its pieces: it had a piece on the board before, has no piece now, and cannot place any.
    Eliminated {
        /// Result for the seat that still has pieces.
        then: Win,
    },
    /// The seat to move has no action except a pass.
    Stuck {
        /// Result for the seat without an action.
        then: StuckThen,
    },
    /// A seat has a minimum number of pieces on the board.
    PiecesGe {
        /// The minimum number of pieces.
        #[schemars(range(min = 1, max = 25))]
        n: u8,
        /// Result for the seat that owns the pieces.
        then: Win,
    },
    /// The board has no empty cell.
    Full {
        /// Result: the board is scored.
        then: Scored,
    },
    /// Both seats have placed all pieces of their supply.
    SupplyOut {
        /// Result: the board is scored.
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

/// Result of an end condition that can win or lose the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WinLose {
    /// The seat wins the game.
    Win,
    /// The seat loses the game.
    Lose,
}

/// Result of an end condition that wins the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Win {
    /// The seat wins the game.
    Win,
}

/// Result of an end condition that scores the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scored {
    /// The board is scored.
    Score,
}

/// Result for a seat without an action.
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
    /// Points for each of the seat's pieces on the board.
    Piece(Points),
    /// Points times the sum of the numbers of the seat's pieces on the board.
    Value(Points),
    /// Points for each empty cell of a region that touches the seat's pieces and no opposing piece.
    Territory4(Points),
    /// Points for each piece of the seat's largest orthogonally connected group.
    LargestGroup4(Points),
    /// Points for each opposing piece that the seat has captured or removed in its own plies.
    Capture(Points),
    /// Points for each run of `len` pieces of the seat in a straight line.
    Line(Points),
    /// Points for each row in which the numbers of the seat's pieces have a higher sum than those of the opponent.
    RowCompare(Compare),
    /// Points for each column in which the numbers of the seat's pieces have a higher sum than those of the opponent.
    ColCompare(Compare),
}

/// Points per counted item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Points {
    /// Length of a run. Required for `line`, not allowed for other rules.
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
    /// The zone in which the pieces of each seat count.
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
    /// The seat that moves second wins.
    Second,
    /// The seat that moves first wins.
    First,
    /// The seat with fewer pieces on the board wins; equal numbers are a draw.
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

/// Replaces each `oneOf` by a form with more precise validation errors: an error then names the wrong field instead of
/// all alternatives. A list of constants becomes an `enum`. A list of objects with a tag field becomes one `if`/`then`
/// pair per object.
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
    /// Returns the document as JSON with all defaults written out and with sorted keys.
    pub(super) fn value(&self) -> Value {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        value.sort_all_objects();
        value
    }
}

/// Returns the first 8 hex digits of a SHA-256 hash. The hash covers the canonical form (RFC 8785) without the name.
///
/// Expects sorted keys and integer numbers: for ASCII text, compact JSON then equals the canonical form.
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

/// Returns the cells of a built-in zone or of a zone that the document defines.
pub(super) fn zone(document: &Document, name: &str) -> Option<u32> {
    let own = || document.zones.get(name).map(|cells| cells.iter().fold(0, |set, c| set | 1 << c.0));
    board::zone(name).or_else(own)
}

/// Returns the index of a kind in the document's list of kinds.
pub(super) fn kind(document: &Document, id: &str) -> Option<usize> {
    document.kinds.iter().take(MOST_KINDS).position(|k| k.id == id)
}
