//! Messages to frames and back, in both encodings.
//!
//! Writing goes straight through serde: a packed column of a MessagePack frame is copied once and not looked at.
//! Reading takes two passes over the frame: the first stops as soon as it has seen `type` and `id`, the second reads the
//! message straight into its struct. (A tagged enum would buffer every value of the message first.) Only a frame that
//! fails is looked at again, to say what is wrong with it.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeOwned, DeserializeSeed, IgnoredAny};

use crate::client::ClientMessage;
use crate::envelope::Envelope;
use crate::error::{ErrorCode, Refusal, shortened};
use crate::explain::{self, Node};
use crate::fields::MAX_INT;
use crate::head::{Head, Scalar};
use crate::server::{MatchFrame, ServerMessage};
use crate::{Id, SUBPROTOCOL_JSON, SUBPROTOCOL_MSGPACK};

/// serde_json's own bound on nesting, which cannot be raised.
const JSON_DEPTH: u32 = 127;

/// A longer frame that fails is not taken apart to name the field: that would cost up to forty times its size.
const EXPLAINED_BYTES: usize = 1 << 20;

const TRAILING: &str = "something follows the message";

/// How the messages of a connection are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// MessagePack maps with string keys, in binary frames.
    MsgPack,
    /// JSON in text frames.
    Json,
}

/// A message that cannot be written: it holds a number that is not finite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodeError(String);

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for EncodeError {}

/// A frame that is no message, with the answer that it gets.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejected {
    /// The `id` (or `re`) of the frame, if it could be read.
    pub id: Option<Id>,
    /// What is wrong.
    pub error: Box<Refusal>,
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for Rejected {}

impl Encoding {
    /// The WebSocket sub-protocol that stands for it.
    pub const fn subprotocol(self) -> &'static str {
        match self {
            Encoding::MsgPack => SUBPROTOCOL_MSGPACK,
            Encoding::Json => SUBPROTOCOL_JSON,
        }
    }

    /// The encoding that a WebSocket sub-protocol stands for.
    pub fn from_subprotocol(name: &str) -> Option<Self> {
        [Encoding::MsgPack, Encoding::Json].into_iter().find(|encoding| encoding.subprotocol() == name)
    }

    /// Writes a client's message. Requests have an `id`; `pong` and `ack` need none.
    ///
    /// # Errors
    /// When a number is not finite.
    pub fn encode_client(self, id: Option<Id>, message: &ClientMessage) -> Result<Vec<u8>, EncodeError> {
        self.write(256, &Envelope { name: "id", id, message })
    }

    /// Writes a server's message: a reply with the `id` of its request, an event without.
    ///
    /// # Errors
    /// When a number is not finite, or an `event` is given a `re`.
    pub fn encode_server(self, re: Option<Id>, message: &ServerMessage) -> Result<Vec<u8>, EncodeError> {
        self.write(message.size_hint(), &Envelope { name: "re", id: re, message })
    }

    /// Writes a kept message of a match, as [`encode_server`](Self::encode_server) writes the same message.
    ///
    /// # Errors
    /// When a number is not finite.
    pub fn encode_frame(self, frame: &MatchFrame) -> Result<Vec<u8>, EncodeError> {
        self.write(256, frame)
    }

    fn write<T: serde::Serialize>(self, capacity: usize, message: &T) -> Result<Vec<u8>, EncodeError> {
        let mut frame = Vec::with_capacity(capacity);
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

    /// Reads a client's message and its `id`. What comes back is complete: a request has an `id`, an `act` exactly one
    /// move, a `step` either `actions` or `moves`.
    ///
    /// `depth` bounds the nesting of maps and lists, the message itself counted (`limits.depth`; at most 127 in JSON).
    ///
    /// # Errors
    /// `bad_frame` when the bytes are not exactly one value of the encoding, `bad_message` when it is no map or its
    /// `id` is wrong or missing, `unknown_type`, `too_deep`, `bad_field` or `bad_seed` with the `path`.
    pub fn decode_client(self, frame: &[u8], depth: u32) -> Result<(Option<Id>, ClientMessage), Rejected> {
        use ClientMessage as M;
        let (kind, reader) = self.head("id", frame, depth)?;
        let message = match &*kind {
            "hello" => M::Hello(reader.read()?),
            "ping" => M::Ping(reader.read()?),
            "pong" => M::Pong(reader.read()?),
            "list_games" => M::ListGames(reader.read()?),
            "describe" => M::Describe(reader.read()?),
            "open" => M::Open(reader.read()?),
            "reset" => M::Reset(reader.read()?),
            "step" => M::Step(reader.read()?),
            "view" => M::View(reader.read()?),
            "clone" => M::Clone(reader.read()?),
            "snapshot" => M::Snapshot(reader.read()?),
            "restore" => M::Restore(reader.read()?),
            "close" => M::Close(reader.read()?),
            "join" => M::Join(reader.read()?),
            "leave" => M::Leave(reader.read()?),
            "act" => M::Act(reader.read()?),
            "resign" => M::Resign(reader.read()?),
            "list_matches" => M::ListMatches(reader.read()?),
            "spectate" => M::Spectate(reader.read()?),
            "unspectate" => M::Unspectate(reader.read()?),
            "ack" => M::Ack(reader.read()?),
            unknown => return Err(reader.unknown_type(unknown, &ClientMessage::TYPES)),
        };
        if message.is_request() && reader.id.is_none() {
            let text = format!("a {kind:?} needs an `id`, an integer of your choice that its reply carries as `re`");
            return Err(reader.reject(Refusal::new(ErrorCode::BadMessage, text).path("id")));
        }
        match &message {
            M::Act(act) if !act.is_whole() => Err(reader.reject(
                Refusal::new(ErrorCode::BadField, "an act has exactly one of `action`, `text` and `proposal`")
                    .path("action"),
            )),
            M::Step(step) if !step.is_whole() => Err(reader
                .reject(Refusal::new(ErrorCode::BadField, "a step has either `actions` or `moves`").path("actions"))),
            _ => Ok((reader.id, message)),
        }
    }

    /// Reads a server's message and its `re`.
    ///
    /// A client should pass over what is rejected with `unknown_type`: a newer server may say more.
    ///
    /// # Errors
    /// As [`decode_client`](Self::decode_client).
    pub fn decode_server(self, frame: &[u8], depth: u32) -> Result<(Option<Id>, ServerMessage), Rejected> {
        use ServerMessage as M;
        let (kind, reader) = self.head("re", frame, depth)?;
        let message = match &*kind {
            "welcome" => M::Welcome(reader.read()?),
            "pong" => M::Pong(reader.read()?),
            "ping" => M::Ping(reader.read()?),
            "games" => M::Games(reader.read()?),
            "spec" => M::Spec(reader.read()?),
            "opened" => M::Opened(reader.read()?),
            "batch" => M::Batch(reader.read()?),
            "viewed" => M::Viewed(reader.read()?),
            "snapshots" => M::Snapshots(reader.read()?),
            "ok" => M::Ok(reader.read()?),
            "joined" => M::Joined(reader.read()?),
            "queued" => M::Queued(reader.read()?),
            "match_start" => M::MatchStart(reader.read()?),
            "turn" => M::Turn(reader.read()?),
            "accepted" => M::Accepted(reader.read()?),
            "refused" => M::Refused(reader.read()?),
            "event" => M::Event(reader.read()?),
            "match_end" => M::MatchEnd(reader.read()?),
            "resync" => M::Resync(reader.read()?),
            "matches" => M::Matches(reader.read()?),
            "draining" => M::Draining(reader.read()?),
            "error" => M::Error(reader.read()?),
            unknown => return Err(reader.unknown_type(unknown, &ServerMessage::TYPES)),
        };
        Ok((reader.id, message))
    }

    /// The first pass: which message, which `id`.
    fn head<'a>(self, id: &'static str, frame: &'a [u8], depth: u32) -> Result<(Cow<'a, str>, Reader<'a>), Rejected> {
        let mut reader = Reader { encoding: self, frame, depth, id: None };
        let mut head = Head::new(id);
        let read = match self {
            Encoding::MsgPack => head.deserialize(&mut reader.msgpack()).is_ok(),
            Encoding::Json => head.deserialize(&mut serde_json::Deserializer::from_slice(frame)).is_ok(),
        };
        reader.id = match head.id {
            Some(Scalar::Int(int)) if int.unsigned_abs() <= MAX_INT as u64 => Some(int),
            _ => None,
        };
        // A head that is complete stopped in the middle of the map, which the decoders report as an error.
        if !read && !head.is_complete() {
            let error = Refusal::new(ErrorCode::BadMessage, "a message is a map with a `type`");
            return Err(reader.explain::<IgnoredAny>(error));
        }
        if head.id.is_some() && reader.id.is_none() {
            let text = format!("`{id}` is an integer between -{MAX_INT} and {MAX_INT}");
            return Err(reader.reject(Refusal::new(ErrorCode::BadMessage, text).path(id)));
        }
        match head.kind {
            Some(Scalar::Text(kind)) => Ok((kind, reader)),
            _ => {
                let error = Refusal::new(ErrorCode::UnknownType, "a message needs a `type`, a string");
                Err(reader.reject(error.path("type")))
            }
        }
    }
}

/// A frame whose head was read.
struct Reader<'a> {
    encoding: Encoding,
    frame: &'a [u8],
    depth: u32,
    id: Option<Id>,
}

impl<'a> Reader<'a> {
    fn msgpack(&self) -> rmp_serde::Deserializer<rmp_serde::decode::ReadRefReader<'a, [u8]>> {
        let mut decoder = rmp_serde::Deserializer::from_read_ref(self.frame);
        // The decoder refuses when its counter reaches zero: one more than the levels that are allowed.
        decoder.set_max_depth(self.depth.max(1) as usize + 1);
        decoder
    }

    /// The second pass: the message itself, and nothing after it.
    fn read<T: DeserializeOwned>(&self) -> Result<T, Rejected> {
        self.value().map_err(|reason| self.explain::<T>(Refusal::new(ErrorCode::BadField, shortened(&reason))))
    }

    /// The whole frame as a `T`, or why not.
    fn value<T: Deserialize<'a>>(&self) -> Result<T, String> {
        match self.encoding {
            Encoding::MsgPack => {
                let mut decoder = self.msgpack();
                let value = T::deserialize(&mut decoder).map_err(|e| e.to_string())?;
                // Reading a flag looks at one marker: only the end of the frame fails there.
                match bool::deserialize(&mut decoder) {
                    Err(rmp_serde::decode::Error::InvalidMarkerRead(_)) => Ok(value),
                    _ => Err(TRAILING.to_owned()),
                }
            }
            Encoding::Json => {
                if nested_json(self.frame) > self.depth.clamp(1, JSON_DEPTH) {
                    return Err(format!("nested deeper than {}", self.depth));
                }
                serde_json::from_slice(self.frame).map_err(|e| e.to_string())
            }
        }
    }

    /// Says why a frame is no `T`, in the order of importance: too deep, no value of the encoding, a field; `otherwise`
    /// if none of them is found.
    #[cold]
    fn explain<T: DeserializeOwned>(&self, otherwise: Refusal) -> Rejected {
        if self.is_too_deep() {
            let text = format!("maps and lists are nested deeper than {}", self.depth);
            return self.reject(Refusal::new(ErrorCode::TooDeep, text).allowed(self.depth));
        }
        let short = self.frame.len() <= EXPLAINED_BYTES;
        let problem = if short {
            self.value::<Node>().map(|node| explain::problem::<T>(&node))
        } else {
            self.value::<IgnoredAny>().map(|_| None)
        };
        match problem {
            Err(reason) => {
                let name = match self.encoding {
                    Encoding::MsgPack => "MessagePack",
                    Encoding::Json => "JSON",
                };
                let text = format!("the frame is not one whole {name} value: {reason}");
                self.reject(Refusal::new(ErrorCode::BadFrame, text))
            }
            Ok(Some(problem)) => self.reject(problem.into_error()),
            Ok(None) => self.reject(otherwise),
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

    fn unknown_type(&self, kind: &str, types: &[&'static str]) -> Rejected {
        let error = Refusal::unknown(ErrorCode::UnknownType, "message", kind, types.iter().copied());
        self.reject(error.path("type"))
    }

    fn reject(&self, error: Refusal) -> Rejected {
        Rejected { id: self.id, error: Box::new(error) }
    }
}

/// How deep the lists and maps of a JSON text are nested; of a text that is no JSON, an upper bound up to its fault.
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
