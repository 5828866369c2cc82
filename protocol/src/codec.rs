//! Messages to frames and back, in both encodings.
//!
//! Reading takes two passes over the frame. The first stops as soon as it has seen `type` and `id`; the second reads the
//! message.
//!
//! A few messages are read or written by servers all the time (`Message::READ_OFTEN`, `Message::WRITTEN_OFTEN`). They are
//! read straight into their structs, or written straight from them: a packed column of a MessagePack frame is copied once
//! and not looked at. Only when such a frame fails is it looked at again, to say what is wrong. Everything else goes
//! through a tree of values, so that its code is compiled once and not for each encoding.

use std::borrow::Cow;

use crate::Id;
use crate::envelope::Message as _;
use crate::error::{ErrorCode, Refusal};
use crate::frame::Reader;
pub use crate::frame::{DecodeError, EncodeError, Encoding};
use crate::limits::Limits;
use crate::message::{ClientMessage, CloneEnvs, Reset, Restore, ServerMessage, SnapshotEnvs, StepEnvs};

/// Values that the tree of a client's message may have: a tree takes up to forty times the bytes of its frame.
const VALUES: usize = 1 << 18;

/// Messages with lists that have an entry for each environment. They may have `message_bytes`, and the lists `batch`
/// entries.
const BULK: [&str; 5] = [Reset::TYPE, StepEnvs::TYPE, Restore::TYPE, CloneEnvs::TYPE, SnapshotEnvs::TYPE];

/// Bytes among which the head of a long message must be.
const LONG_HEAD: usize = 1 << 10;

impl Encoding {
    /// Writes a client's message. Requests have an `id`; `pong` and `ack` do not need one.
    ///
    /// # Errors
    /// When a number is not finite.
    pub fn encode_client(self, id: Option<Id>, message: &ClientMessage) -> Result<Vec<u8>, EncodeError> {
        message.write(self, id, 256)
    }

    /// Writes a server's message: a reply with the `id` of its request, an event without.
    ///
    /// # Errors
    /// When a number is not finite.
    pub fn encode_server(self, re: Option<Id>, message: &ServerMessage) -> Result<Vec<u8>, EncodeError> {
        message.write(self, re, message.size_hint())
    }

    /// Reads a client's message and its `id`. The message is complete: a request has an `id`, an `act` exactly one
    /// move, a `step` either `actions` or `moves`.
    ///
    /// `depth` bounds the nesting of maps and lists, the message itself counted (`limits.depth`; at most 127 in JSON).
    ///
    /// # Errors
    /// `bad_frame` when the bytes are not exactly one value of the encoding, `bad_message` when it is not a map or its
    /// `id` is wrong or missing, `unknown_type`, `too_deep`, `bad_field` or `bad_seed` with the `path`.
    pub fn decode_client(self, frame: &[u8], depth: u32) -> Result<(Option<Id>, ClientMessage), DecodeError> {
        self.client_message(self.head("id", frame, depth, VALUES)?)
    }

    /// As [`decode_client`](Self::decode_client), for a server: what is longer than `limits` allow is refused, at the
    /// latest when the list or text that is too long has been read. The cost of a refusal does not grow with the message:
    /// in one that is longer than `limits.request_bytes`, `type` and `id` must be among the first kilobyte.
    ///
    /// # Errors
    /// As [`decode_client`](Self::decode_client), and `too_large`.
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
                let error = Refusal::new(ErrorCode::TooLarge, format!("such a message has at most {most} bytes"));
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
            let text = format!("a {kind:?} needs an `id`, an integer of your choice that its reply carries as `re`");
            return Err(reader.reject(Refusal::new(ErrorCode::BadMessage, text).path("id")));
        }
        message.complete().map_err(|refusal| reader.reject(refusal))?;
        Ok((reader.id, message))
    }

    /// Reads a server's message and its `re`.
    ///
    /// A client should ignore a message that is rejected with `unknown_type`: a newer server may send more kinds.
    ///
    /// # Errors
    /// As [`decode_client`](Self::decode_client).
    pub fn decode_server(self, frame: &[u8], depth: u32) -> Result<(Option<Id>, ServerMessage), DecodeError> {
        let (kind, reader) = self.head("re", frame, depth, usize::MAX)?;
        let message = ServerMessage::read(&kind, &reader)?;
        Ok((reader.id, message))
    }
}
