//! What is wrong with a message that could not be read: the field, what stands there, what may.
//!
//! Only a frame that failed comes here. It is read as plain values first; then the message is read from those with an
//! error type that remembers the way it came.

use std::borrow::Cow;
use std::fmt::{self, Display};

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Error, Expected, IgnoredAny, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    Visitor,
};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};
use serde_json::Value;

use crate::error::{ErrorCode, Refusal, nearest, shortened};

/// Any value of either encoding.
#[derive(Debug)]
pub(crate) enum Node<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Unsigned(u64),
    Float(f64),
    Text(Cow<'a, str>),
    Bytes(&'a [u8]),
    List(Vec<Node<'a>>),
    Map(Vec<(Node<'a>, Node<'a>)>),
    /// A MessagePack extension, which no message has.
    Extension,
}

impl<'de> Deserialize<'de> for Node<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node<'de>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_unit<E: Error>(self) -> Result<Node<'de>, E> {
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
        Ok(Node::Bytes(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node<'de>, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = list.next_element()? {
            nodes.push(node);
        }
        Ok(Node::List(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node<'de>, A::Error> {
        let mut nodes = Vec::new();
        while let Some(entry) = map.next_entry()? {
            nodes.push(entry);
        }
        Ok(Node::Map(nodes))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<Node<'de>, D::Error> {
        IgnoredAny::deserialize(inner).map(|_| Node::Extension)
    }
}

impl Node<'_> {
    /// The value to show in an answer: numbers, words and flags; texts cut short.
    fn shown(&self) -> Option<Value> {
        match self {
            Node::Bool(value) => Some(Value::from(*value)),
            Node::Int(value) => Some(Value::from(*value)),
            Node::Unsigned(value) => Some(Value::from(*value)),
            Node::Float(value) if value.is_finite() => Some(Value::from(*value)),
            Node::Text(value) => Some(Value::from(shortened(value))),
            _ => None,
        }
    }
}

/// One step of the way to a field.
#[derive(Debug)]
enum Step {
    Field(String),
    At(usize),
}

/// What is wrong, and where. As an error type of serde it collects the way to the field from the inside out.
#[derive(Debug, Default)]
pub(crate) struct Problem {
    message: String,
    way: Vec<Step>,
    got: Option<Value>,
    word: Option<String>,
    allowed: Option<&'static [&'static str]>,
}

/// Reads a `T` from a value and says what is wrong; `None` if nothing is.
pub(crate) fn problem<T: DeserializeOwned>(node: &Node) -> Option<Problem> {
    T::deserialize(Probe(node)).err()
}

impl Problem {
    fn inside(mut self, step: Step, node: &Node) -> Self {
        if self.way.is_empty() {
            self.got = node.shown();
        }
        self.way.push(step);
        self
    }

    /// The answer: `bad_field` (`bad_seed` for a seed) with the path; the position apart if the way ends in a list.
    pub fn into_error(self) -> Refusal {
        let mut way = self.way;
        way.reverse();
        let at = match way.last() {
            Some(&Step::At(at)) if way.len() > 1 => Some(at),
            _ => None,
        };
        let mut path = String::new();
        for step in &way[..way.len() - usize::from(at.is_some())] {
            match step {
                Step::Field(name) if path.is_empty() => path.push_str(name),
                Step::Field(name) => path.extend([".", name.as_str()]),
                Step::At(at) => path.push_str(&format!("[{at}]")),
            }
        }
        let is_seed = matches!(way.first(), Some(Step::Field(name)) if name == "seed" || name == "seeds");
        let code = if is_seed { ErrorCode::BadSeed } else { ErrorCode::BadField };
        let place = at.map(|at| format!("[{at}]")).unwrap_or_default();
        let near = self.word.zip(self.allowed).and_then(|(word, allowed)| nearest(&word, allowed.iter().copied()));
        let hint = near.map(|word| format!("; did you mean {word:?}?")).unwrap_or_default();
        let text = match path.is_empty() {
            true => shortened(&self.message),
            false => format!("`{}{place}`: {}{hint}", shortened(&path), shortened(&self.message)),
        };
        let mut error = Refusal::new(code, text);
        if !path.is_empty() {
            error = error.path(shortened(&path));
        }
        if let Some(at) = at {
            error = error.at(at);
        }
        if let Some(got) = self.got {
            error = error.got(got);
        }
        if let Some(allowed) = self.allowed {
            error = error.allowed(allowed);
        }
        if let Some(near) = near {
            error = error.nearest(near);
        }
        error
    }
}

impl Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

/// What stands there, in words that are neither of Rust nor of serde.
fn described(unexpected: Unexpected) -> String {
    match unexpected {
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Unsigned(value) => value.to_string(),
        Unexpected::Signed(value) => value.to_string(),
        Unexpected::Float(value) => value.to_string(),
        Unexpected::Str(text) => format!("{:?}", shortened(text)),
        Unexpected::Bytes(_) => "bytes".to_owned(),
        Unexpected::Unit => "null".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a map".to_owned(),
        other => other.to_string(),
    }
}

/// What should stand there. serde's own words for a struct say what it is called in the source.
fn wanted(expected: &dyn Expected) -> String {
    let text = expected.to_string();
    if text.starts_with("struct ") || text.starts_with("internally tagged enum") {
        return "a map".to_owned();
    }
    match text.as_str() {
        "u32" | "u64" => "an integer, not negative".to_owned(),
        "i64" => "an integer".to_owned(),
        "a sequence" => "a list".to_owned(),
        _ => text,
    }
}

impl Error for Problem {
    fn custom<T: Display>(message: T) -> Self {
        Problem { message: message.to_string(), ..Problem::default() }
    }

    fn invalid_type(unexpected: Unexpected, expected: &dyn Expected) -> Self {
        Problem::custom(format_args!("expected {}, got {}", wanted(expected), described(unexpected)))
    }

    fn invalid_value(unexpected: Unexpected, expected: &dyn Expected) -> Self {
        Problem::invalid_type(unexpected, expected)
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Problem {
            message: format!("{:?} is none of {}", shortened(variant), expected.join(", ")),
            word: Some(variant.to_owned()),
            allowed: Some(expected),
            ..Problem::default()
        }
    }

    fn missing_field(field: &'static str) -> Self {
        Problem { message: "missing".to_owned(), way: vec![Step::Field(field.to_owned())], ..Problem::default() }
    }

    fn duplicate_field(field: &'static str) -> Self {
        Problem { message: "there twice".to_owned(), way: vec![Step::Field(field.to_owned())], ..Problem::default() }
    }
}

/// A value to read a message from.
struct Probe<'n, 'a>(&'n Node<'a>);

impl<'de> Deserializer<'de> for Probe<'de, '_> {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.0 {
            Node::Null => visitor.visit_unit(),
            Node::Bool(value) => visitor.visit_bool(*value),
            Node::Int(value) => visitor.visit_i64(*value),
            Node::Unsigned(value) => visitor.visit_u64(*value),
            Node::Float(value) => visitor.visit_f64(*value),
            Node::Text(value) => visitor.visit_borrowed_str(value),
            Node::Bytes(value) => visitor.visit_borrowed_bytes(value),
            Node::List(nodes) => visitor.visit_seq(Items { nodes: nodes.iter().enumerate() }),
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
        seed.deserialize(Probe(node)).map(Some).map_err(|problem| problem.inside(Step::At(at), node))
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
            Some((key, _)) => seed.deserialize(Probe(key)).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<T: DeserializeSeed<'n>>(&mut self, seed: T) -> Result<T::Value, Problem> {
        let Some((key, node)) = self.entry.take() else {
            return Err(Problem::custom("a value without a key"));
        };
        seed.deserialize(Probe(node)).map_err(|problem| {
            let name = match key {
                Node::Text(name) => name.clone().into_owned(),
                _ => "?".to_owned(),
            };
            problem.inside(Step::Field(name), node)
        })
    }
}
