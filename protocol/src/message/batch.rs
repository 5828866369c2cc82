//! Reply to `reset`, `step` and `restore`.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::ServerBody;
use super::answers::ReadAnswer;
use crate::call::ChatMessage;
use crate::column::{Column, ColumnVisitor, Element};
use crate::envelope::Message;
use crate::tensor::Tensors;

/// Values of `batch.to_move` that are not seats.
pub mod to_move {
    /// Chance is to move.
    pub const CHANCE: i8 = -1;
    /// Several seats move simultaneously.
    pub const SIMULTANEOUS: i8 = -2;
    /// The episode has ended.
    pub const OVER: i8 = -4;
}

/// `batch`: reply to `reset`, `step` and `restore`. Contains one row per requested environment, in the order of the
/// request. Shapes refer to R rows, P players and A actions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Batch {
    /// Handle of the environments.
    pub env: u32,
    /// Environment index of each row; absent: all environments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envs: Option<Column<u32>>,
    /// Shape R: the seat to move, or one of the constants in the module [`to_move`] (chance, simultaneous, over).
    pub to_move: Column<i8>,
    /// Shape R: the client's seat; present if the client plays exactly one seat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<Column<i8>>,
    /// Observation of the observing seat; first axis R (R x P with `observer = all`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obs: Option<Tensors>,
    /// Perfect-recall information state; first axis as in `obs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub info: Option<Tensors>,
    /// Structured views; rows as in `obs`.
    #[serde(rename = "struct", default, skip_serializing_if = "Option::is_none")]
    pub structure: Option<Vec<Value>>,
    /// Text views; rows as in `obs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Vec<String>>,
    /// Prompts for a language model; rows as in `obs`, `null` for a seat that does not act.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Vec<Option<Vec<ChatMessage>>>>,
    /// Legal actions of the observing seat; rows as in `obs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mask: Option<Mask>,
    /// Shape R: the outcomes of chance nodes; only with `chance = "client"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chance: Option<ChanceRows>,
    /// Shape R x P: reward since the client's previous action in the environment.
    pub reward: Column<f32>,
    /// Shape R x P: sum of rewards in the episode so far; present if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returns: Option<Column<f64>>,
    /// Shape R: 1 if the rules or a forfeit ended the episode.
    pub terminated: Column<u8>,
    /// Shape R: 1 if the step limit ended the episode.
    pub truncated: Column<u8>,
    /// Shape R: number of moves of seats in the episode so far.
    pub length: Column<u32>,
    /// Shape R: episode number of the environment.
    pub episode: Column<u32>,
    /// Final views of the rows that were reset in this call (`same_step` only).
    #[serde(rename = "final", default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<FinalRows>,
    /// Positions of rows whose episode ended by an illegal action (`on_illegal = "lose"`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub illegal: Option<Column<u32>>,
    /// The `answers` of the step as read, by position; `null` where none was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Vec<Option<ReadAnswer>>>,
    /// Episodes that ended before the client could act.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<Skipped>,
}

impl Batch {
    /// Returns the total bytes of all packed columns and tensors.
    pub fn packed_bytes(&self) -> usize {
        fn column<T: Element>(column: &Column<T>) -> usize {
            column.as_bytes().len()
        }
        fn option<T: Element>(of: &Option<Column<T>>) -> usize {
            of.as_ref().map_or(0, column)
        }
        fn tensors(of: &Option<Tensors>) -> usize {
            of.iter().flatten().map(|(_, tensor)| tensor.b.len() + 64).sum()
        }
        let mask = match &self.mask {
            Some(Mask::Dense(dense)) => column(dense),
            Some(Mask::Ids(rows)) => column(&rows.o) + column(&rows.a),
            None => 0,
        };
        let chance = self.chance.as_ref().map_or(0, |rows| column(&rows.o) + column(&rows.a) + column(&rows.p));
        let ended = self.ended.as_ref().map_or(0, |ended| {
            column(&ended.at)
                + option(&ended.seat)
                + tensors(&ended.obs)
                + tensors(&ended.info)
                + column(&ended.returns)
                + column(&ended.length)
        });
        let skipped = self.skipped.as_ref().map_or(0, |skipped| column(&skipped.at) + column(&skipped.returns));
        option(&self.envs)
            + column(&self.to_move)
            + option(&self.seat)
            + tensors(&self.obs)
            + tensors(&self.info)
            + mask
            + chance
            + column(&self.reward)
            + option(&self.returns)
            + column(&self.terminated)
            + column(&self.truncated)
            + column(&self.length)
            + column(&self.episode)
            + ended
            + option(&self.illegal)
            + skipped
    }
}

impl Message for Batch {
    const TYPE: &'static str = "batch";
    const WRITTEN_OFTEN: bool = true;
}

impl ServerBody for Batch {
    fn size_hint(&self) -> usize {
        256 + self.packed_bytes()
    }
}

/// Lists of different lengths, concatenated: row r is `a[o[r]..o[r + 1]]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ragged {
    /// Offsets into `a`: one entry per row and one at the end.
    pub o: Column<u32>,
    /// Ids, ascending within each row.
    pub a: Column<u32>,
}

impl Ragged {
    /// Returns the ids of a row; empty if the offsets are invalid.
    pub fn row(&self, row: usize) -> Vec<u32> {
        let (Some(from), Some(to)) = (self.o.get(row), self.o.get(row.saturating_add(1))) else {
            return Vec::new();
        };
        (from..to).map_while(|at| self.a.get(at as usize)).collect()
    }
}

/// The legal actions of the rows of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mask {
    /// One byte per action (`mask = "u1"`, shape R x A) or one bit per action (`mask = "bits"`, shape R x ceil(A/8),
    /// least significant bit first).
    Dense(Column<u8>),
    /// Offsets and ids (`mask = "ids"`).
    Ids(Ragged),
}

impl Serialize for Mask {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Mask::Dense(column) => column.serialize(serializer),
            Mask::Ids(rows) => rows.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Mask {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MaskVisitor)
    }
}

struct MaskVisitor;

impl<'de> Visitor<'de> for MaskVisitor {
    type Value = Mask;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a mask: a column of u1, or {o, a}")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Mask, E> {
        ColumnVisitor(PhantomData).visit_bytes(bytes).map(Mask::Dense)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Mask, A::Error> {
        ColumnVisitor(PhantomData).visit_seq(list).map(Mask::Dense)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Mask, A::Error> {
        Ragged::deserialize(MapAccessDeserializer::new(map)).map(Mask::Ids)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Mask {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Mask".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let (dense, ids) = (generator.subschema_for::<Column<u8>>(), generator.subschema_for::<Ragged>());
        schemars::json_schema!({
            "description": "Legal actions: bytes or bits (a column of u1), or offsets and ids.",
            "anyOf": [dense, ids]
        })
    }
}

/// The outcomes of chance nodes: row r is `a[o[r]..o[r + 1]]`, with probabilities `p` at the same positions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChanceRows {
    /// Offsets into `a` and `p`: one entry per row and one at the end.
    pub o: Column<u32>,
    /// Ids of the chance outcomes.
    pub a: Column<u32>,
    /// Probabilities of the outcomes.
    pub p: Column<f64>,
}

/// Final rows of ended episodes whose environments were reset in the same call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FinalRows {
    /// For each entry, the position of its environment's row in this reply.
    pub at: Column<u32>,
    /// The client's seat in the ended episode; present if the client plays exactly one seat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<Column<i8>>,
    /// Final observations, in the form of `batch.obs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obs: Option<Tensors>,
    /// Final information states, in the form of `batch.info`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub info: Option<Tensors>,
    /// Final structured views, in the form of `batch.struct`.
    #[serde(rename = "struct", default, skip_serializing_if = "Option::is_none")]
    pub structure: Option<Vec<Value>>,
    /// Final text views, in the form of `batch.text`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Vec<String>>,
    /// Shape entries x P: return of each seat in the ended episode.
    pub returns: Column<f64>,
    /// Number of moves of seats in the ended episodes.
    pub length: Column<u32>,
}

/// Episodes that ended before the client could act. Reported only here, never as rows of a batch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Skipped {
    /// For each skipped episode, the position of its environment's row in this reply.
    pub at: Column<u32>,
    /// Shape entries x P: return of each seat in the skipped episode.
    pub returns: Column<f64>,
}
