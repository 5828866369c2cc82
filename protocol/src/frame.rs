//! Frames: the two encodings, and encoding and decoding of a single message.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, IgnoredAny};
use serde::{Deserialize, Serialize};

use crate::envelope::{Envelope, Message};
use crate::error::{ErrorCode, Refusal, truncate_text};
use crate::head::{Head, Scalar};
use crate::limits::Limits;
use crate::serde_helpers::MAX_INT;
use crate::tree::{Node, NodeBudget};
use crate::{Id, SUBPROTOCOL_JSON, SUBPROTOCOL_MSGPACK};

/// Maximum nesting depth of serde_json, which cannot be increased.
const JSON_DEPTH: u32 = 127;

const TRAILING: &str = "unexpected data after the message";

/// Encoding of all messages of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// MessagePack maps with string keys, in binary frames.
    MsgPack,
    /// JSON objects in text frames.
    Json,
}

/// The error for a message with a number that is not finite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodeError(String);

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for EncodeError {}

/// A frame that is not a valid message, with the refusal to send back.
#[derive(Clone, Debug, PartialEq)]
pub struct DecodeError {
    /// `id` or `re` of the frame, if readable.
    pub id: Option<Id>,
    /// Refusal to send back.
    pub error: Box<Refusal>,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for DecodeError {}

impl Encoding {
    /// Returns the WebSocket sub-protocol of the encoding.
    pub const fn subprotocol(self) -> &'static str {
        match self {
            Encoding::MsgPack => SUBPROTOCOL_MSGPACK,
            Encoding::Json => SUBPROTOCOL_JSON,
        }
    }

    /// Returns the encoding of a WebSocket sub-protocol.
    pub fn from_subprotocol(name: &str) -> Option<Self> {
        [Encoding::MsgPack, Encoding::Json].into_iter().find(|encoding| encoding.subprotocol() == name)
    }

    /// Encodes a message into a buffer with an initial capacity of `room` bytes.
    pub(crate) fn write<M: Message>(self, envelope: &Envelope<M>, room: usize) -> Result<Vec<u8>, EncodeError> {
        if M::WRITTEN_OFTEN {
            return self.write_value(envelope, room);
        }
        let tree = envelope.tree(self == Encoding::Json).map_err(|problem| EncodeError(problem.to_string()))?;
        self.write_value(&tree, room)
    }

    fn write_value<T: Serialize>(self, message: &T, room: usize) -> Result<Vec<u8>, EncodeError> {
        let mut frame = Vec::with_capacity(room);
        match self {
            Encoding::MsgPack => {
                rmp_serde::encode::write_named(&mut frame, message).map_err(|e| EncodeError(e.to_string()))?;
            }
            Encoding::Json => {
                serde_json::to_writer(&mut frame, message).map_err(|e| EncodeError(e.to_string()))?;
            }
        }
        Ok(frame)
    }

    /// Runs the first pass, which finds `type` and `id`.
    pub(crate) fn head<'a>(
        self,
        id: &'static str,
        frame: &'a [u8],
        depth: u32,
        values: usize,
    ) -> Result<(Cow<'a, str>, Reader<'a>), DecodeError> {
        let mut reader = Reader { encoding: self, frame, depth, values, limits: None, id: None };
        let mut head = Head::new(id);
        let read = match self {
            Encoding::MsgPack => head.deserialize(&mut reader.msgpack()).is_ok(),
            Encoding::Json => head.deserialize(&mut serde_json::Deserializer::from_slice(frame)).is_ok(),
        };
        reader.id = match head.id {
            Some(Scalar::Int(int)) if int.unsigned_abs() <= MAX_INT as u64 => Some(int),
            _ => None,
        };
        // A complete head stops the pass inside the map. Decoders report that as an error, so `read` is then false.
        if !read && !head.is_complete() {
            let error = Refusal::new(ErrorCode::BadMessage, "expected a message: a map with the field `type`");
            return Err(reader.tree().err().unwrap_or_else(|| reader.reject(error)));
        }
        if head.id.is_some() && reader.id.is_none() {
            let text = format!("`{id}`: expected an integer between -{MAX_INT} and {MAX_INT}");
            return Err(reader.reject(Refusal::new(ErrorCode::BadMessage, text).path(id)));
        }
        match head.kind {
            Some(Scalar::Text(kind)) => Ok((kind, reader)),
            _ => {
                let error = Refusal::new(ErrorCode::UnknownType, "`type`: expected a string");
                Err(reader.reject(error.path("type")))
            }
        }
    }
}

/// A frame whose head has been read.
pub(crate) struct Reader<'a> {
    encoding: Encoding,
    frame: &'a [u8],
    depth: u32,
    /// Maximum number of values in a tree of the frame.
    values: usize,
    /// Limits on lists and texts of the tree. The flag is true for messages with one list entry per environment.
    pub(crate) limits: Option<(&'a Limits, bool)>,
    /// Value of `id` or `re`.
    pub(crate) id: Option<Id>,
}

impl<'a> Reader<'a> {
    fn msgpack(&self) -> rmp_serde::Deserializer<rmp_serde::decode::ReadRefReader<'a, [u8]>> {
        let mut decoder = rmp_serde::Deserializer::from_read_ref(self.frame);
        // The decoder fails when its counter reaches zero, so the counter starts one above the allowed depth.
        decoder.set_max_depth(self.depth.max(1) as usize + 1);
        decoder
    }

    /// Runs the second pass, which reads the message and refuses trailing data.
    pub(crate) fn read<M: Message>(&self) -> Result<M, DecodeError> {
        let reason = match M::READ_OFTEN {
            true => match self.value(PhantomData::<M>) {
                Ok(message) => return Ok(message),
                Err(reason) => Some(reason),
            },
            false => None,
        };
        let tree = self.tree()?;
        if let (Some((limits, bulk)), Some(tree)) = (self.limits, &tree)
            && let Some(refusal) = tree.limit_excess(limits, bulk)
        {
            return Err(self.reject(refusal));
        }
        let read = tree.map(|tree| tree.read()).transpose();
        let read = read.map_err(|problem| self.reject(problem.into_refusal()))?;
        match (read, reason) {
            (Some(message), None) => Ok(message),
            (_, Some(reason)) => Err(self.reject(Refusal::new(ErrorCode::BadField, truncate_text(&reason)))),
            (None, None) => {
                let text = format!("expected a message of at most {} values, got more", self.values);
                Err(self.reject(Refusal::new(ErrorCode::TooLarge, text).allowed(self.values)))
            }
        }
    }

    /// Returns the complete frame as a tree; `None` if the tree would have too many values.
    ///
    /// Fails on a frame that is nested too deep or is not one value of its encoding.
    fn tree(&self) -> Result<Option<Node<'a>>, DecodeError> {
        let room = Cell::new(self.values);
        let reason = match self.value(NodeBudget(&room)) {
            Ok(tree) => return Ok(Some(tree)),
            Err(reason) => reason,
        };
        if self.is_too_deep() {
            let text = format!("expected at most {} nested levels of maps and lists, got more", self.depth);
            return Err(self.reject(Refusal::new(ErrorCode::TooDeep, text).allowed(self.depth)));
        }
        let broken = if room.get() > 0 { Some(reason) } else { self.value(PhantomData::<IgnoredAny>).err() };
        let Some(reason) = broken else { return Ok(None) };
        let name = match self.encoding {
            Encoding::MsgPack => "MessagePack",
            Encoding::Json => "JSON",
        };
        let text = format!("the frame is not exactly one {name} value: {reason}");
        Err(self.reject(Refusal::new(ErrorCode::BadFrame, text)))
    }

    /// Decodes the frame, which must contain exactly one value. On failure, returns the decoder's error text.
    fn value<T: DeserializeSeed<'a>>(&self, seed: T) -> Result<T::Value, String> {
        match self.encoding {
            Encoding::MsgPack => {
                let mut decoder = self.msgpack();
                let value = seed.deserialize(&mut decoder).map_err(|e| e.to_string())?;
                // Decoding a bool reads one byte and gives this error only if the frame has no further bytes.
                match bool::deserialize(&mut decoder) {
                    Err(rmp_serde::decode::Error::InvalidMarkerRead(_)) => Ok(value),
                    _ => Err(TRAILING.to_owned()),
                }
            }
            Encoding::Json => {
                if nested_json(self.frame) > self.depth.clamp(1, JSON_DEPTH) {
                    return Err(format!("expected at most {} nested levels of maps and lists, got more", self.depth));
                }
                let mut decoder = serde_json::Deserializer::from_slice(self.frame);
                let value = seed.deserialize(&mut decoder).map_err(|e| e.to_string())?;
                decoder.end().map_err(|e| e.to_string())?;
                Ok(value)
            }
        }
    }

    fn is_too_deep(&self) -> bool {
        match self.encoding {
            Encoding::MsgPack => {
                let read = IgnoredAny::deserialize(&mut self.msgpack());
                matches!(read, Err(rmp_serde::decode::Error::DepthLimitExceeded))
            }
            Encoding::Json => nested_json(self.frame) > self.depth.clamp(1, JSON_DEPTH),
        }
    }

    pub(crate) fn unknown_type(&self, kind: &str, types: &[&'static str]) -> DecodeError {
        let error = Refusal::unknown(ErrorCode::UnknownType, "message", kind, types.iter().copied());
        self.reject(error.path("type"))
    }

    pub(crate) fn reject(&self, error: Refusal) -> DecodeError {
        DecodeError { id: self.id, error: Box::new(error) }
    }
}

/// Returns the nesting depth of lists and maps in a JSON text. For invalid JSON, returns an upper bound of the depth
/// before the error.
fn nested_json(text: &[u8]) -> u32 {
    let (mut depth, mut deepest) = (0u32, 0);
    let (mut quoted, mut escaped) = (false, false);
    for byte in text {
        if quoted {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => quoted = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => quoted = true,
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}
