//! Reads a message from a tree.

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};

use super::problem::Step;
use super::{Node, Problem};

/// A value to read a message from.
pub(super) struct Reader<'n, 'a>(pub &'n Node<'a>);

impl<'de> Deserializer<'de> for Reader<'de, '_> {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.0 {
            Node::Null => visitor.visit_unit(),
            Node::Bool(value) => visitor.visit_bool(*value),
            Node::Int(value) => visitor.visit_i64(*value),
            Node::Unsigned(value) => visitor.visit_u64(*value),
            Node::Float(value) => visitor.visit_f64(*value),
            Node::Single(value) => visitor.visit_f32(*value),
            Node::Text(value) => visitor.visit_borrowed_str(value),
            Node::Bytes(value) => visitor.visit_borrowed_bytes(value),
            Node::List(nodes) => {
                let mut items = Items { nodes: nodes.iter().enumerate() };
                let value = visitor.visit_seq(&mut items)?;
                match items.nodes.next() {
                    None => Ok(value),
                    Some((at, _)) => Err(Problem::custom(format_args!("expected a list of {at}, got {}", nodes.len()))),
                }
            }
            Node::Map(nodes) => visitor.visit_map(Entries { nodes: nodes.iter(), entry: None }),
            Node::Extension => Err(Problem::custom("a MessagePack extension, which no message has")),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.0 {
            Node::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        match self.0 {
            Node::Text(word) => {
                let word: StrDeserializer<Problem> = (&**word).into_deserializer();
                visitor.visit_enum(word)
            }
            _ => Err(Problem {
                message: format!("expected one of {}", words.join(", ")),
                allowed: Some(words),
                ..Problem::default()
            }),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
                bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier
    }
}

struct Items<'n, 'a> {
    nodes: std::iter::Enumerate<std::slice::Iter<'n, Node<'a>>>,
}

impl<'n> SeqAccess<'n> for Items<'n, '_> {
    type Error = Problem;

    fn next_element_seed<T: DeserializeSeed<'n>>(&mut self, seed: T) -> Result<Option<T::Value>, Problem> {
        let Some((at, node)) = self.nodes.next() else {
            return Ok(None);
        };
        seed.deserialize(Reader(node)).map(Some).map_err(|problem| problem.inside(Step::At(at), node))
    }
}

struct Entries<'n, 'a> {
    nodes: std::slice::Iter<'n, (Node<'a>, Node<'a>)>,
    entry: Option<&'n (Node<'a>, Node<'a>)>,
}

impl<'n> MapAccess<'n> for Entries<'n, '_> {
    type Error = Problem;

    fn next_key_seed<K: DeserializeSeed<'n>>(&mut self, seed: K) -> Result<Option<K::Value>, Problem> {
        self.entry = self.nodes.next();
        match self.entry {
            Some((key, _)) => seed.deserialize(Reader(key)).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<T: DeserializeSeed<'n>>(&mut self, seed: T) -> Result<T::Value, Problem> {
        let Some((key, node)) = self.entry.take() else {
            return Err(Problem::custom("a value without a key"));
        };
        seed.deserialize(Reader(node)).map_err(|problem| {
            let name = match key {
                Node::Text(name) => name.clone().into_owned(),
                _ => "?".to_owned(),
            };
            problem.inside(Step::Field(name), node)
        })
    }
}
