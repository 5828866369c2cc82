//! Moves of agents.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A move as submitted by an agent, before the game interprets the move.
///
/// `Option<Move>` represents an optional move; `None` is `null` on the wire.
#[derive(Clone, Debug, PartialEq)]
pub enum Move {
    /// Action id: an integer on the wire.
    Id(i64),
    /// Move as text: a string on the wire.
    Text(String),
    /// Move as a document: a map or a list on the wire.
    Document(Value),
}

impl Serialize for Move {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Move::Id(id) => serializer.serialize_i64(*id),
            Move::Text(text) => serializer.serialize_str(text),
            Move::Document(document) => document.serialize(serializer),
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

    fn visit_i64<E: Error>(self, id: i64) -> Result<Move, E> {
        Ok(Move::Id(id))
    }

    fn visit_u64<E: Error>(self, id: u64) -> Result<Move, E> {
        i64::try_from(id).map(Move::Id).map_err(|_| E::custom(format_args!("expected an action id, got {id}")))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Move, E> {
        Ok(Move::Text(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Move, A::Error> {
        Value::deserialize(MapAccessDeserializer::new(map)).map(Move::Document)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Move, A::Error> {
        Value::deserialize(SeqAccessDeserializer::new(list)).map(Move::Document)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Move {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Move".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "An action id, a text or a document.",
            "type": ["integer", "string", "object", "array"]
        })
    }
}
