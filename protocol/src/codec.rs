//! Encoding and decoding of messages as MessagePack and JSON.
//!
//! Decoding takes two passes over the frame. The first pass stops once it has found `type` and `id`; the second pass
//! reads the message.
//!
//! Messages that servers handle frequently (`Message::READ_OFTEN`, `Message::WRITTEN_OFTEN`) are decoded directly into
//! their structs or encoded directly from their structs. The bytes of a packed MessagePack column are then copied once,
//! without inspection. If direct decoding fails, the frame is decoded again to describe the error. All other messages
//! pass through a tree of values, so that their code is compiled once instead of once per encoding.

use std::borrow::Cow;

use crate::Id;
use crate::envelope::Message as _;
use crate::error::{ErrorCode, Refusal};
use crate::frame::Reader;
pub use crate::frame::{DecodeError, EncodeError, Encoding};
use crate::limits::Limits;
use crate::message::{ClientMessage, CloneEnvs, Reset, Restore, ServerMessage, SnapshotEnvs, StepEnvs};

/// Maximum number of values in the tree of a client's message. A tree uses up to forty times as much memory as its
/// frame.
const VALUES: usize = 1 << 18;

/// Types of messages with one list entry per environment. These messages are limited to `message_bytes`, and their
/// lists to `batch` entries.
const BULK: [&str; 5] = [Reset::TYPE, StepEnvs::TYPE, Restore::TYPE, CloneEnvs::TYPE, SnapshotEnvs::TYPE];

/// Number of leading bytes that must contain `type` and `id` of a long message.
const LONG_HEAD: usize = 1 << 10;

impl Encoding {
    /// Encodes a client's message. Requests have an `id`; `pong` and `ack` need no `id`.
    ///
    /// # Errors
    /// Fails if a number is not finite.
    pub fn encode_client(self, id: Option<Id>, message: &ClientMessage) -> Result<Vec<u8>, EncodeError> {
        message.write(self, id, 256)
    }

    /// Encodes a server's message. In a reply, `re` is the `id` of its request; in an event, `re` is `None`.
    ///
    /// # Errors
    /// Fails if a number is not finite.
    pub fn encode_server(self, re: Option<Id>, message: &ServerMessage) -> Result<Vec<u8>, EncodeError> {
        message.write(self, re, message.size_hint())
    }

    /// Decodes a client's message and its `id`. Refuses incomplete messages: a request needs an `id`, an `act` needs
    /// exactly one move, and a `step` needs exactly one of `actions` and `moves`.
    ///
    /// `depth` limits the nesting of maps and lists, including the message itself (`limits.depth`; at most 127 in
    /// JSON).
    ///
    /// # Errors
    /// Fails with `bad_frame` if the frame is not exactly one value of the encoding. Fails with `bad_message` if the
    /// value is not a map, or if the `id` is missing or invalid. Other codes are `unknown_type` and `too_deep`, and
    /// `bad_field` and `bad_seed`, which have a `path`.
    pub fn decode_client(self, frame: &[u8], depth: u32) -> Result<(Option<Id>, ClientMessage), DecodeError> {
        self.client_message(self.head("id", frame, depth, VALUES)?)
    }

    /// Decodes like [`decode_client`](Self::decode_client), and refuses messages that exceed `limits`. If a message is
    /// longer than `limits.request_bytes`, its `type` and `id` must be within the first kilobyte.
    ///
    /// # Errors
    /// Fails with the codes of [`decode_client`](Self::decode_client) or with `too_large`.
    pub fn read_client(self, frame: &[u8], limits: &Limits) -> Result<(Option<Id>, ClientMessage), DecodeError> {
        let size = frame.len() as u64;
        if size > limits.request_bytes {
            let begin = frame.get(..LONG_HEAD).unwrap_or(frame);
            let (bulk, id) = match self.head("id", begin, limits.depth, VALUES) {
                Ok((kind, reader)) => (BULK.contains(&&*kind), reader.id),
                Err(rejected) => (false, rejected.id),
            };
            let most = if bulk { limits.message_bytes } else { limits.request_bytes.min(limits.message_bytes) };
            if size > most {
                let text = format!("expected a message of at most {most} bytes, got {size}");
                let error = Refusal::new(ErrorCode::TooLarge, text);
                return Err(DecodeError { id, error: Box::new(error.got(size).allowed(most)) });
            }
        }
        let (kind, mut reader) = self.head("id", frame, limits.depth, VALUES)?;
        reader.limits = Some((limits, BULK.contains(&&*kind)));
        self.client_message((kind, reader))
    }

    fn client_message(
        self,
        (kind, reader): (Cow<'_, str>, Reader<'_>),
    ) -> Result<(Option<Id>, ClientMessage), DecodeError> {
        let message = ClientMessage::read(&kind, &reader)?;
        if message.is_request() && reader.id.is_none() {
            let text = format!("expected an integer `id` in the message {kind:?}, got none");
            return Err(reader.reject(Refusal::new(ErrorCode::BadMessage, text).path("id")));
        }
        message.complete().map_err(|refusal| reader.reject(refusal))?;
        Ok((reader.id, message))
    }

    /// Decodes a server's message and its `re`.
    ///
    /// Clients should ignore messages rejected with `unknown_type`: newer servers may send more types.
    ///
    /// # Errors
    /// Fails with the codes of [`decode_client`](Self::decode_client).
    pub fn decode_server(self, frame: &[u8], depth: u32) -> Result<(Option<Id>, ServerMessage), DecodeError> {
        let (kind, reader) = self.head("re", frame, depth, usize::MAX)?;
        let message = ServerMessage::read(&kind, &reader)?;
        Ok((reader.id, message))
    }
}
