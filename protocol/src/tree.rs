//! Trees of values, independent of the encoding.
//!
//! Most messages are decoded from a tree and encoded through a tree, so that their code is compiled once instead of
//! once per encoding. A decoding error contains the path, the value and the allowed values.

mod bounds;
mod problem;
mod read;
mod write;

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeOwned, DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

pub(crate) use problem::FieldError;
pub(crate) use write::Writer;

use crate::error::truncate_text;

/// A MessagePack or JSON value.
#[derive(Debug)]
pub(crate) enum Node<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Unsigned(u64),
    Float(f64),
    /// A single-precision float. Used only for encoding; decoding produces [`Float`](Node::Float).
    Single(f32),
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
    List(Vec<Node<'a>>),
    Map(Vec<(Node<'a>, Node<'a>)>),
    /// A MessagePack extension, which is invalid in messages.
    Extension,
}

impl Node<'_> {
    /// Reads a `T`, or returns the error with its path.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, FieldError> {
        T::deserialize(read::NodeReader(self))
    }

    /// Returns the value of a field.
    pub fn field(&self, name: &str) -> Option<&Self> {
        match self {
            Node::Map(entries) => entries.iter().find(|(key, _)| key.as_str() == Some(name)).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Returns the text; `None` if the value is not a text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Node::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns a number, flag or truncated text for display in an error; `None` for all other values.
    fn short_value(&self) -> Option<Value> {
        match self {
            Node::Bool(value) => Some(Value::from(*value)),
            Node::Int(value) => Some(Value::from(*value)),
            Node::Unsigned(value) => Some(Value::from(*value)),
            Node::Float(value) if value.is_finite() => Some(Value::from(*value)),
            Node::Single(value) if value.is_finite() => Some(Value::from(*value)),
            Node::Text(value) => Some(Value::from(truncate_text(value))),
            _ => None,
        }
    }
}

impl Serialize for Node<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Node::Null | Node::Extension => serializer.serialize_unit(),
            Node::Bool(value) => serializer.serialize_bool(*value),
            Node::Int(value) => serializer.serialize_i64(*value),
            Node::Unsigned(value) => serializer.serialize_u64(*value),
            Node::Float(value) => serializer.serialize_f64(*value),
            Node::Single(value) => serializer.serialize_f32(*value),
            Node::Text(value) => serializer.serialize_str(value),
            Node::Bytes(value) => serializer.serialize_bytes(value),
            Node::List(nodes) => {
                let mut list = serializer.serialize_seq(Some(nodes.len()))?;
                nodes.iter().try_for_each(|node| list.serialize_element(node))?;
                list.end()
            }
            Node::Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                entries.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Node<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        NodeBudget(&Cell::new(usize::MAX)).deserialize(deserializer)
    }
}

/// A reader for trees with a limited number of values. A tree uses up to forty times as much memory as its frame.
#[derive(Clone, Copy)]
pub(crate) struct NodeBudget<'r>(pub &'r Cell<usize>);

impl NodeBudget<'_> {
    /// Counts one value against the limit.
    fn take<E: Error>(self) -> Result<(), E> {
        let left = self.0.get().checked_sub(1).ok_or_else(|| E::custom("too many values"))?;
        self.0.set(left);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for NodeBudget<'_> {
    type Value = Node<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node<'de>, D::Error> {
        self.take()?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for NodeBudget<'_> {
    type Value = Node<'de>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_unit<E: Error>(self) -> Result<Node<'de>, E> {
        Ok(Node::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Node<'de>, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Node<'de>, E> {
        Ok(Node::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Node<'de>, E> {
        Ok(Node::Int(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Node<'de>, E> {
        Ok(Node::Unsigned(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Node<'de>, E> {
        Ok(Node::Float(value))
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<Node<'de>, E> {
        Ok(Node::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Node<'de>, E> {
        Ok(Node::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_borrowed_bytes<E: Error>(self, value: &'de [u8]) -> Result<Node<'de>, E> {
        Ok(Node::Bytes(Cow::Borrowed(value)))
    }

    fn visit_bytes<E: Error>(self, value: &[u8]) -> Result<Node<'de>, E> {
        Ok(Node::Bytes(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node<'de>, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = list.next_element_seed(self)? {
            nodes.push(node);
        }
        Ok(Node::List(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node<'de>, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry_seed(self, self)? {
            entries.push(entry);
        }
        Ok(Node::Map(entries))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<Node<'de>, D::Error> {
        IgnoredAny::deserialize(inner).map(|_| Node::Extension)
    }
}
