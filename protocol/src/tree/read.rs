//! A serde deserializer that reads a message from a tree.

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Error, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};

use super::problem::PathSegment;
use super::{FieldError, Node};

/// A deserializer over a tree node.
#[derive(Clone, Copy)]
pub(super) struct NodeReader<'n, 'a>(pub &'n Node<'a>);

impl<'de> NodeReader<'de, '_> {
    fn scalar<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match self.0 {
            Node::Bool(value) => visitor.visit_bool(*value),
            Node::Int(value) => visitor.visit_i64(*value),
            Node::Unsigned(value) => visitor.visit_u64(*value),
            Node::Float(value) => visitor.visit_f64(*value),
            Node::Single(value) => visitor.visit_f32(*value),
            _ => Err(self.unfit(&visitor)),
        }
    }

    fn text<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match self.0 {
            Node::Text(value) => visitor.visit_borrowed_str(value),
            _ => Err(self.unfit(&visitor)),
        }
    }

    fn list<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        let Node::List(nodes) = self.0 else {
            return Err(self.unfit(&visitor));
        };
        let mut items = Items { nodes: nodes.iter().enumerate() };
        let value = visitor.visit_seq(&mut items)?;
        match items.nodes.next() {
            None => Ok(value),
            Some((at, _)) => Err(FieldError::custom(format_args!("expected {at} entries, got {}", nodes.len()))),
        }
    }

    fn map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match self.0 {
            Node::Map(nodes) => visitor.visit_map(Entries { nodes: nodes.iter(), entry: None }),
            _ => Err(self.unfit(&visitor)),
        }
    }

    #[cold]
    fn unfit(self, expected: &dyn Expected) -> FieldError {
        let unexpected = match self.0 {
            Node::Null => Unexpected::Unit,
            Node::Bool(value) => Unexpected::Bool(*value),
            Node::Int(value) => Unexpected::Signed(*value),
            Node::Unsigned(value) => Unexpected::Unsigned(*value),
            Node::Float(value) => Unexpected::Float(*value),
            Node::Single(value) => Unexpected::Float((*value).into()),
            Node::Text(value) => Unexpected::Str(value),
            Node::Bytes(value) => Unexpected::Bytes(value),
            Node::List(_) => Unexpected::Seq,
            Node::Map(_) => Unexpected::Map,
            Node::Extension => return FieldError::custom("MessagePack extensions are not allowed in messages"),
        };
        FieldError::invalid_type(unexpected, expected)
    }
}

/// Defines deserializer methods that accept only one kind of value, which keeps the generated code small.
macro_rules! kinds {
    ($($method:ident($($arg:ty),*) -> $kind:ident;)*) => {
        $(fn $method<V: Visitor<'de>>(self, $(_: $arg,)* visitor: V) -> Result<V::Value, FieldError> {
            self.$kind(visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for NodeReader<'de, '_> {
    type Error = FieldError;

    kinds! {
        deserialize_bool() -> scalar;
        deserialize_i8() -> scalar;
        deserialize_i16() -> scalar;
        deserialize_i32() -> scalar;
        deserialize_i64() -> scalar;
        deserialize_u8() -> scalar;
        deserialize_u16() -> scalar;
        deserialize_u32() -> scalar;
        deserialize_u64() -> scalar;
        deserialize_f32() -> scalar;
        deserialize_f64() -> scalar;
        deserialize_char() -> text;
        deserialize_str() -> text;
        deserialize_string() -> text;
        deserialize_identifier() -> text;
        deserialize_seq() -> list;
        deserialize_tuple(usize) -> list;
        deserialize_tuple_struct(&'static str, usize) -> list;
        deserialize_map() -> map;
        deserialize_struct(&'static str, &'static [&'static str]) -> map;
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match self.0 {
            Node::Null => visitor.visit_unit(),
            Node::Text(_) => self.text(visitor),
            Node::Bytes(value) => visitor.visit_borrowed_bytes(value),
            Node::List(_) => self.list(visitor),
            Node::Map(_) => self.map(visitor),
            _ => self.scalar(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match self.0 {
            Node::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, FieldError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        match self.0 {
            Node::Text(word) => {
                let word: StrDeserializer<FieldError> = (&**word).into_deserializer();
                visitor.visit_enum(word)
            }
            _ => Err(FieldError::expected_word(words)),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        i128 u128 bytes byte_buf unit unit_struct
    }
}

struct Items<'n, 'a> {
    nodes: std::iter::Enumerate<std::slice::Iter<'n, Node<'a>>>,
}

impl<'n> SeqAccess<'n> for Items<'n, '_> {
    type Error = FieldError;

    fn next_element_seed<T: DeserializeSeed<'n>>(&mut self, seed: T) -> Result<Option<T::Value>, FieldError> {
        let Some((at, node)) = self.nodes.next() else {
            return Ok(None);
        };
        seed.deserialize(NodeReader(node)).map(Some).map_err(|problem| problem.inside(PathSegment::At(at), node))
    }
}

struct Entries<'n, 'a> {
    nodes: std::slice::Iter<'n, (Node<'a>, Node<'a>)>,
    entry: Option<&'n (Node<'a>, Node<'a>)>,
}

impl<'n> MapAccess<'n> for Entries<'n, '_> {
    type Error = FieldError;

    fn next_key_seed<K: DeserializeSeed<'n>>(&mut self, seed: K) -> Result<Option<K::Value>, FieldError> {
        self.entry = self.nodes.next();
        match self.entry {
            Some((key, _)) => seed.deserialize(NodeReader(key)).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<T: DeserializeSeed<'n>>(&mut self, seed: T) -> Result<T::Value, FieldError> {
        let Some((key, node)) = self.entry.take() else {
            return Err(FieldError::custom("expected a key before the value, got none"));
        };
        seed.deserialize(NodeReader(node)).map_err(|problem| in_field(problem, key, node))
    }
}

#[cold]
fn in_field(problem: FieldError, key: &Node, node: &Node) -> FieldError {
    problem.inside(PathSegment::Field(key.as_str().unwrap_or("?").to_owned()), node)
}
