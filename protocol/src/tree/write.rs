//! A serde serializer that writes a message as a tree.

use std::borrow::Cow;

use serde::ser::{Error, Impossible, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple};
use serde::{Serialize, Serializer};

use super::{FieldError, Node};

/// A serializer that produces a tree.
#[derive(Clone, Copy)]
pub(crate) struct Writer {
    /// True for a human-readable encoding.
    pub as_text: bool,
}

type Written = Result<Node<'static>, FieldError>;

/// Defines serializer methods for values that become a single node.
macro_rules! nodes {
    ($($method:ident($value:ty) -> $node:ident;)*) => {
        $(fn $method(self, value: $value) -> Written {
            Ok(Node::$node(value.into()))
        })*
    };
}

fn unsupported<T>() -> Result<T, FieldError> {
    Err(FieldError::custom("values of this type are not allowed in messages"))
}

impl Serializer for Writer {
    type Ok = Node<'static>;
    type Error = FieldError;
    type SerializeSeq = List;
    type SerializeTuple = List;
    type SerializeTupleStruct = Impossible<Node<'static>, FieldError>;
    type SerializeTupleVariant = Impossible<Node<'static>, FieldError>;
    type SerializeMap = Map;
    type SerializeStruct = Map;
    type SerializeStructVariant = Impossible<Node<'static>, FieldError>;

    fn is_human_readable(&self) -> bool {
        self.as_text
    }

    nodes! {
        serialize_bool(bool) -> Bool;
        serialize_i8(i8) -> Int;
        serialize_i16(i16) -> Int;
        serialize_i32(i32) -> Int;
        serialize_i64(i64) -> Int;
        serialize_u8(u8) -> Unsigned;
        serialize_u16(u16) -> Unsigned;
        serialize_u32(u32) -> Unsigned;
        serialize_u64(u64) -> Unsigned;
        serialize_f32(f32) -> Single;
        serialize_f64(f64) -> Float;
    }

    fn serialize_char(self, value: char) -> Written {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Written {
        Ok(Node::Text(Cow::Owned(value.to_owned())))
    }

    fn serialize_bytes(self, value: &[u8]) -> Written {
        Ok(Node::Bytes(Cow::Owned(value.to_owned())))
    }

    fn serialize_none(self) -> Written {
        Ok(Node::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Written {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Written {
        Ok(Node::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Written {
        Ok(Node::Null)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Written {
        Ok(Node::Text(Cow::Borrowed(variant)))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Written {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Written {
        unsupported()
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<List, FieldError> {
        Ok(List { writer: self, nodes: Vec::with_capacity(len.unwrap_or(0)) })
    }

    fn serialize_tuple(self, len: usize) -> Result<List, FieldError> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct, FieldError> {
        unsupported()
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, FieldError> {
        unsupported()
    }

    fn serialize_map(self, len: Option<usize>) -> Result<Map, FieldError> {
        Ok(Map { writer: self, entries: Vec::with_capacity(len.unwrap_or(0)), key: Node::Null })
    }

    fn serialize_struct(self, _: &'static str, len: usize) -> Result<Map, FieldError> {
        self.serialize_map(Some(len))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, FieldError> {
        unsupported()
    }
}

/// A list under construction.
pub(crate) struct List {
    writer: Writer,
    nodes: Vec<Node<'static>>,
}

impl SerializeSeq for List {
    type Ok = Node<'static>;
    type Error = FieldError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), FieldError> {
        self.nodes.push(value.serialize(self.writer)?);
        Ok(())
    }

    fn end(self) -> Written {
        Ok(Node::List(self.nodes))
    }
}

impl SerializeTuple for List {
    type Ok = Node<'static>;
    type Error = FieldError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), FieldError> {
        SerializeSeq::serialize_element(self, value)
    }

    fn end(self) -> Written {
        SerializeSeq::end(self)
    }
}

/// A map under construction.
pub(crate) struct Map {
    writer: Writer,
    entries: Vec<(Node<'static>, Node<'static>)>,
    key: Node<'static>,
}

impl SerializeMap for Map {
    type Ok = Node<'static>;
    type Error = FieldError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), FieldError> {
        self.key = key.serialize(self.writer)?;
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), FieldError> {
        let key = std::mem::replace(&mut self.key, Node::Null);
        self.entries.push((key, value.serialize(self.writer)?));
        Ok(())
    }

    fn end(self) -> Written {
        Ok(Node::Map(self.entries))
    }
}

impl SerializeStruct for Map {
    type Ok = Node<'static>;
    type Error = FieldError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), FieldError> {
        self.entries.push((Node::Text(Cow::Borrowed(name)), value.serialize(self.writer)?));
        Ok(())
    }

    fn end(self) -> Written {
        Ok(Node::Map(self.entries))
    }
}
