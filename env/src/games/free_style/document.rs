//! FSR/1, the documents that rules are written in: their types, defaults, canonical form and hash.

use std::collections::BTreeMap;

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde::{Deserialize, Serialize, Serializer as _};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::board::{self, Cell};

/// The most bytes of a document, written as JSON.
pub(super) const MOST_BYTES: usize = 4_096;
/// The most kinds of pieces.
pub(super) const MOST_KINDS: usize = 4;
/// The most plies of a game.
pub(super) const MOST_PLIES: u8 = 100;

/// One thing for each seat.
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
    /// The zones, seat 0's first.
    pub(super) fn both(&self) -> [&str; 2] {
        [&self.first, &self.second]
    }
}

/// A set of rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// The version of the format: 1.
    #[schemars(range(min = 1, max = 1))]
    pub fsr: u8,
    /// What the rules are called. The hash leaves it out.
    #[schemars(length(max = 40))]
    pub name: String,
    /// Rows and columns of the board: 5.
    #[schemars(range(min = 5, max = 5))]
    pub board: u8,
    /// Who moves first in play.
    #[serde(default)]
    pub first: First,
    /// The board is scored after this many plies.
    #[schemars(range(min = 1, max = 100))]
    pub ply_cap: u8,
    /// Whether seats move in turn or together.
    #[serde(default)]
    pub mode: Mode,
    /// Kinds of pieces.
    #[schemars(length(min = 1, max = 4))]
    pub kinds: Vec<Kind>,
    /// Pieces on the board at the beginning.
    #[serde(default)]
    #[schemars(length(max = 25))]
    pub setup: Vec<Setup>,
    /// Named sets of cells.
    #[serde(default)]
    pub zones: BTreeMap<String, Vec<Cell>>,
    /// What a seat may do.
    #[schemars(length(min = 1, max = 8))]
    pub actions: Vec<ActionRule>,
    /// What happens after an action.
    #[serde(default)]
    #[schemars(length(max = 6))]
    pub effects: Vec<Effect>,
    /// What seats do not see.
    #[serde(default)]
    pub hidden: Hidden,
    /// What ends the game before the cap.
    #[serde(default)]
    #[schemars(length(max = 8))]
    pub end: Vec<End>,
    /// What counts when the board is scored.
    #[serde(default)]
    #[schemars(length(max = 8))]
    pub score: Vec<Score>,
    /// What decides when the scores are equal.
    #[serde(default)]
    pub tie: Tie,
}

/// Who moves first in play.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum First {
    /// The seat that wrote the rules.
    Author,
    /// The seat that accepted them.
    #[default]
    Other,
    /// Seat 0.
    Seat0,
    /// Chance decides.
    Random,
}

/// Whether seats move in turn or together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// In turn.
    #[default]
    Alternate,
    /// Together.
    Simultaneous,
}

/// A kind of piece.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    /// Its name in the document.
    #[schemars(length(min = 1, max = 12), regex(pattern = r"^[a-z][a-z0-9_]*$"))]
    pub id: String,
    /// The numbers that its pieces may have.
    #[serde(default)]
    pub values: Option<Values>,
    /// How many of it each seat may place.
    #[serde(default)]
    #[schemars(range(min = 1, max = 25))]
    pub supply: Option<u8>,
}

/// The numbers that pieces may have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Values {
    /// The least.
    #[schemars(range(min = 0, max = 25))]
    pub min: u8,
    /// The greatest.
    #[schemars(range(min = 0, max = 25))]
    pub max: u8,
    /// Whether a seat may use each number once only.
    pub unique: bool,
    /// The most that a seat's numbers may add to.
    #[schemars(range(min = 0, max = 625))]
    pub sum_max: Option<u16>,
}

/// A piece on the board at the beginning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// Whose it is.
    #[schemars(range(min = 0, max = 1))]
    pub owner: u8,
    /// Its kind.
    pub kind: String,
    /// Its cell.
    pub at: Cell,
    /// Its number, if its kind has numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 25))]
    pub value: Option<u8>,
}

/// What a seat may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum ActionRule {
    /// Puts a piece on an empty cell.
    Place {
        /// Its kind.
        kind: String,
        /// Where each seat may.
        by: BySeat,
        /// Next to what.
        #[serde(default)]
        near: Near,
    },
    /// Moves a piece.
    Move {
        /// Its kind.
        kind: String,
        /// Its steps.
        steps: Steps,
        /// How many of them.
        #[serde(default = "one")]
        #[schemars(range(min = 1, max = 4))]
        range: u8,
        /// Whether it may only go away from its own home row.
        #[serde(default)]
        forward_only: bool,
        /// What may be on the cell that it goes to.
        onto: Onto,
    },
    /// Does nothing.
    Pass {
        /// When.
        when: When,
    },
}

fn one() -> u8 {
    1
}

/// What a piece is placed next to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Near {
    /// Anything.
    #[default]
    Any,
    /// An own piece, orthogonally.
    Own4,
    /// An own piece, diagonally too.
    Own8,
    /// A piece of the opponent, orthogonally.
    Opp4,
    /// A piece of the opponent, diagonally too.
    Opp8,
    /// No own piece, orthogonally.
    Away4,
}

/// Steps of a move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Steps {
    /// By name.
    Named(StepsPreset),
    /// Leaps by changes of row and column.
    Leaps(#[schemars(length(min = 1, max = 24))] Vec<[Leap; 2]>),
}

/// A change of row or column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Leap(#[schemars(range(min = -4, max = 4))] pub i8);

/// Steps by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepsPreset {
    /// Along rows and columns.
    Orth,
    /// Along diagonals.
    Diag,
    /// In all eight directions.
    King,
    /// As the knight of chess.
    Knight,
}

/// What may be on the cell that a piece moves to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Onto {
    /// Nothing.
    Empty,
    /// A piece of the opponent.
    OppAny,
    /// A piece of the opponent with a lower number.
    OppLower,
    /// A piece of the opponent with a lower or equal number.
    OppLowerEq,
    /// Nothing, or a piece of the opponent.
    EmptyOrOppAny,
    /// Nothing, or a piece of the opponent with a lower number.
    EmptyOrOppLower,
    /// Nothing, or a piece of the opponent with a lower or equal number.
    EmptyOrOppLowerEq,
}

impl Onto {
    /// Whether numbers are compared.
    pub(super) fn compares(self) -> bool {
        !matches!(self, Onto::Empty | Onto::OppAny | Onto::EmptyOrOppAny)
    }

    /// Whether an empty cell will do.
    pub(super) fn empty(self) -> bool {
        !matches!(self, Onto::OppAny | Onto::OppLower | Onto::OppLowerEq)
    }

    /// Whether equal numbers will do.
    pub(super) fn equal(self) -> bool {
        matches!(self, Onto::OppLowerEq | Onto::EmptyOrOppLowerEq)
    }
}

/// When a seat may do nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Never.
    Never,
    /// When there is nothing else.
    Stuck,
    /// Always.
    Always,
}

/// What happens after an action, to pieces around the acting one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Effect {
    /// After which action.
    pub on: On,
    /// On which cells.
    pub cells: Cells,
    /// To whose pieces.
    pub who: Who,
    /// How the other piece's number compares with the acting piece's.
    #[serde(default, rename = "if")]
    pub cond: Option<Cond>,
    /// What happens to them.
    pub then: Then,
    /// How much is added or taken.
    #[serde(default)]
    #[schemars(range(min = 1, max = 25))]
    pub n: Option<u8>,
}

/// After which action an effect comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum On {
    /// Placing.
    Place,
    /// Moving.
    Move,
}

/// Cells of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cells {
    /// Orthogonal neighbours.
    Adj4,
    /// All neighbours.
    Adj8,
    /// Pieces of the opponent between the acting piece and another own one, in all directions.
    Sandwich8,
    /// The same along rows and columns.
    Sandwich4,
    /// The other pieces of every own row of three or more.
    LineRest,
}

/// Whose pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Who {
    /// The opponent's.
    Opp,
    /// One's own.
    Own,
    /// Both.
    Both,
}

/// A comparison of the other piece's number with the acting piece's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cond {
    /// It is lower.
    Lower,
    /// It is higher.
    Higher,
    /// It is equal.
    Equal,
    /// Both add to 10.
    Sum10,
}

/// What happens to a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Then {
    /// It changes sides.
    Flip,
    /// It leaves the board.
    Remove,
    /// Its number grows.
    Add,
    /// Its number shrinks.
    Sub,
}

/// What seats do not see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Hidden {
    /// The numbers of the opponent's pieces.
    pub values: bool,
    /// The opponent's pieces.
    pub pieces: bool,
    /// When they are shown.
    pub reveal: Reveal,
}

/// When hidden things are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reveal {
    /// At the end.
    #[default]
    End,
    /// When a piece moves onto another one, and at the end.
    Contact,
}

/// What ends the game.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "if", rename_all = "snake_case", deny_unknown_fields)]
pub enum End {
    /// A row of own pieces.
    Line {
        /// How long.
        #[schemars(range(min = 3, max = 5))]
        len: u8,
        /// Whether longer rows do not count.
        #[serde(default)]
        exact: bool,
        /// In which directions.
        #[serde(default)]
        dirs: Dirs,
        /// What it means for its owner.
        then: WinLose,
    },
    /// An own piece in the zone.
    Reach {
        /// The zone of each seat.
        zone: BySeat,
        /// What it means for its owner.
        then: Win,
    },
    /// The opponent has lost all pieces.
    Eliminated {
        /// What it means for the other seat.
        then: Win,
    },
    /// The seat to move has no action but pass.
    Stuck {
        /// What it means for that seat.
        then: StuckThen,
    },
    /// This many own pieces.
    PiecesGe {
        /// How many.
        #[schemars(range(min = 1, max = 25))]
        n: u8,
        /// What it means for their owner.
        then: Win,
    },
    /// There is no empty cell.
    Full {
        /// The board is scored.
        then: Scored,
    },
    /// Both seats have placed all that they may.
    SupplyOut {
        /// The board is scored.
        then: Scored,
    },
}

/// Directions of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dirs {
    /// Rows and columns.
    Orth,
    /// Diagonals.
    Diag,
    /// All.
    #[default]
    All,
}

/// Won or lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WinLose {
    /// Won.
    Win,
    /// Lost.
    Lose,
}

/// Won.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Win {
    /// Won.
    Win,
}

/// Scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scored {
    /// Scored.
    Score,
}

/// What being stuck means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StuckThen {
    /// Lost.
    Lose,
    /// The board is scored.
    Score,
    /// Drawn.
    Draw,
}

/// What counts when the board is scored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "per", rename_all = "snake_case")]
pub enum Score {
    /// Own pieces on the board.
    Piece(Points),
    /// Their numbers.
    Value(Points),
    /// Empty cells of regions that touch own pieces only.
    Territory4(Points),
    /// Pieces of the largest orthogonal group.
    LargestGroup4(Points),
    /// Pieces of the opponent that left the board in own plies.
    Capture(Points),
    /// Stretches of `len` own pieces.
    Line(Points),
    /// Rows in which the seat's numbers add to more.
    RowCompare(Compare),
    /// Columns in which the seat's numbers add to more.
    ColCompare(Compare),
}

/// Points for each of what is counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Points {
    /// Length of stretches, for lines only.
    #[serde(default)]
    #[schemars(range(min = 2, max = 5))]
    pub len: Option<u8>,
    /// Points for each.
    #[schemars(range(min = -100, max = 100))]
    pub pts: i16,
}

/// Points for each row or column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compare {
    /// The zone in which each seat's pieces count.
    pub cells: BySeat,
    /// Points for each.
    #[schemars(range(min = -100, max = 100))]
    pub pts: i16,
}

/// What decides when the scores are equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tie {
    /// Nothing.
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

/// JSON Schema of a document.
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

/// Replaces `oneOf` where one field tells the forms apart, so that an issue names the field that is wrong instead of saying
/// that no form fits: lists of words become `enum`, objects become one `if` and `then` for each form.
fn tell_apart(schema: &mut Value) {
    match schema {
        Value::Array(list) => list.iter_mut().for_each(tell_apart),
        Value::Object(map) => {
            map.values_mut().for_each(tell_apart);
            let Some(Value::Array(forms)) = map.get("oneOf") else { return };
            let forms = forms.clone();
            if let Some(words) = forms.iter().map(|f| f.get("const").cloned()).collect::<Option<Vec<Value>>>() {
                map.remove("oneOf");
                let told = |f: &Value| Some(format!("{}: {}", f["const"].as_str()?, f["description"].as_str()?));
                let told: Vec<String> = forms.iter().filter_map(told).collect();
                map.insert("description".into(), told.join(" ").into());
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
    /// The canonical form as a value: every field that has a default is written out, and keys are sorted.
    pub(super) fn value(&self) -> Value {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        value.sort_all_objects();
        value
    }
}

/// The first 8 hex digits of SHA-256 over a canonical form (RFC 8785) without the name.
///
/// Its keys are sorted and its numbers whole. So as long as everything is ASCII, JSON without spaces is that form.
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

/// The canonical form (RFC 8785) of a value.
pub(super) fn canonical(value: &Value) -> String {
    serde_json_canonicalizer::to_string(value).unwrap_or_else(|_| value.to_string())
}

/// The set of a zone of the document, or a built-in one.
pub(super) fn zone(document: &Document, name: &str) -> Option<u32> {
    let own = || document.zones.get(name).map(|cells| cells.iter().fold(0, |set, c| set | 1 << c.0));
    board::zone(name).or_else(own)
}

/// The place in the list of a kind.
pub(super) fn kind(document: &Document, id: &str) -> Option<usize> {
    document.kinds.iter().take(MOST_KINDS).position(|k| k.id == id)
}
