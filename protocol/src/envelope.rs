//! The trait of all messages, and their envelope: `type`, then `id` or `re`, written before the fields of the message.

use std::fmt::Display;

use serde::de::DeserializeOwned;
use serde::ser::{Error, Impossible, SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};

use crate::Id;
use crate::tree::{FieldError, Node, Writer};

/// A message of the protocol, with the constants that the codec needs.
pub(crate) trait Message: Serialize + DeserializeOwned {
    /// Value of the field `type`.
    const TYPE: &'static str;

    /// Types of the possible replies, without `error`; empty for messages that get no reply.
    const REPLIES: &'static [&'static str] = &[];

    /// True for messages that servers read frequently. Their decoders are compiled separately for each encoding. All
    /// other messages are decoded from a tree of values, which is slightly slower but compiles much faster.
    const READ_OFTEN: bool = false;

    /// True for messages that servers write frequently. Their encoders are compiled separately for each encoding. All
    /// other messages are encoded through a tree of values.
    const WRITTEN_OFTEN: bool = false;
}

impl<M: Message> Message for Box<M> {
    const TYPE: &'static str = M::TYPE;
    const REPLIES: &'static [&'static str] = M::REPLIES;
    const READ_OFTEN: bool = M::READ_OFTEN;
    const WRITTEN_OFTEN: bool = M::WRITTEN_OFTEN;
}

/// A message with its `id` or `re`, serialized without buffering.
pub(crate) struct Envelope<'a, M> {
    /// Name of the id field: `id` or `re`.
    pub id_name: &'static str,
    /// Value of the id field, if present.
    pub id: Option<Id>,
    /// Message, whose fields are written after the id field.
    pub message: &'a M,
}

impl<M: Message> Envelope<'_, M> {
    /// Returns the envelope and the message as one tree, in human-readable form if `as_text`.
    pub fn tree(&self, as_text: bool) -> Result<Node<'static>, FieldError> {
        self.serialize(Writer { as_text })
    }
}

impl<M: Message> Serialize for Envelope<'_, M> {
    fn serialize<S: Serializer>(&self, inner: S) -> Result<S::Ok, S::Error> {
        self.message.serialize(EnvelopeSerializer { kind: M::TYPE, id_name: self.id_name, id: self.id, inner })
    }
}

/// A serializer for one struct or map that writes the envelope's fields first.
struct EnvelopeSerializer<S> {
    kind: &'static str,
    id_name: &'static str,
    id: Option<Id>,
    inner: S,
}

impl<S: Serializer> EnvelopeSerializer<S> {
    /// Returns the number of envelope fields.
    fn fields(&self) -> usize {
        1 + usize::from(self.id.is_some())
    }

    fn unsupported<T>(self) -> Result<T, S::Error> {
        Err(S::Error::custom("expected a message: a struct or a map"))
    }
}

/// Implements the serializer methods for types that cannot be messages.
macro_rules! refuse {
    ($($method:ident($($arg:ty),*) -> $out:ty;)*) => {
        $(fn $method(self, $(_: $arg),*) -> Result<$out, S::Error> {
            self.unsupported()
        })*
    };
}

impl<S: Serializer> Serializer for EnvelopeSerializer<S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Impossible<S::Ok, S::Error>;
    type SerializeTuple = Impossible<S::Ok, S::Error>;
    type SerializeTupleStruct = Impossible<S::Ok, S::Error>;
    type SerializeTupleVariant = Impossible<S::Ok, S::Error>;
    type SerializeMap = S::SerializeMap;
    type SerializeStruct = S::SerializeStruct;
    type SerializeStructVariant = Impossible<S::Ok, S::Error>;

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }

    fn serialize_struct(self, name: &'static str, len: usize) -> Result<Self::SerializeStruct, S::Error> {
        let len = len + self.fields();
        let mut fields = self.inner.serialize_struct(name, len)?;
        fields.serialize_field("type", self.kind)?;
        if let Some(id) = self.id {
            fields.serialize_field(self.id_name, &id)?;
        }
        Ok(fields)
    }

    /// A message with a flattened field serializes as a map.
    fn serialize_map(self, len: Option<usize>) -> Result<Self::SerializeMap, S::Error> {
        let len = len.map(|len| len + self.fields());
        let mut entries = self.inner.serialize_map(len)?;
        entries.serialize_entry("type", self.kind)?;
        if let Some(id) = self.id {
            entries.serialize_entry(self.id_name, &id)?;
        }
        Ok(entries)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<S::Ok, S::Error> {
        self.unsupported()
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, _: &T) -> Result<S::Ok, S::Error> {
        self.unsupported()
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<S::Ok, S::Error> {
        self.unsupported()
    }

    fn collect_str<T: Display + ?Sized>(self, _: &T) -> Result<S::Ok, S::Error> {
        self.unsupported()
    }

    refuse! {
        serialize_bool(bool) -> S::Ok;
        serialize_i8(i8) -> S::Ok;
        serialize_i16(i16) -> S::Ok;
        serialize_i32(i32) -> S::Ok;
        serialize_i64(i64) -> S::Ok;
        serialize_u8(u8) -> S::Ok;
        serialize_u16(u16) -> S::Ok;
        serialize_u32(u32) -> S::Ok;
        serialize_u64(u64) -> S::Ok;
        serialize_f32(f32) -> S::Ok;
        serialize_f64(f64) -> S::Ok;
        serialize_char(char) -> S::Ok;
        serialize_str(&str) -> S::Ok;
        serialize_bytes(&[u8]) -> S::Ok;
        serialize_none() -> S::Ok;
        serialize_unit() -> S::Ok;
        serialize_unit_struct(&'static str) -> S::Ok;
        serialize_unit_variant(&'static str, u32, &'static str) -> S::Ok;
        serialize_seq(Option<usize>) -> Self::SerializeSeq;
        serialize_tuple(usize) -> Self::SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant;
    }
}
