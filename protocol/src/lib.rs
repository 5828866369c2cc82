//! The Ludex protocol: messages of the gym and match planes, game specs, episode records, error codes.
//!
//! A connection carries [`ClientMessage`]s and [`ServerMessage`]s, which [`Encoding`] encodes as MessagePack or JSON. A
//! message is a plain struct with the field names of `docs/protocol.md`; `id` and `re` belong to the envelope and are
//! passed separately. [`record::Record`] is the record of an episode.
#![forbid(unsafe_code)]

#[cfg(feature = "ndarray")]
mod arrays;
pub mod bytes;
pub mod call;
pub mod codec;
pub mod column;
mod envelope;
pub mod error;
mod frame;
mod head;
mod legal;
pub mod limits;
pub mod message;
mod moves;
mod names;
mod plain;
pub mod record;
#[cfg(feature = "schema")]
pub mod schema;
mod seed;
mod serde_helpers;
pub mod spec;
pub mod tensor;
mod tree;

#[cfg(feature = "ndarray")]
pub use arrays::ArrayError;
pub use bytes::Bytes;
pub use codec::{DecodeError, EncodeError, Encoding};
pub use column::Column;
pub use error::{ErrorCode, Fault, Issue, Refusal};
pub use legal::Legal;
pub use limits::Limits;
pub use message::{Batch, ClientMessage, ServerMessage};
pub use moves::Move;
pub use names::is_agent_name;
pub use plain::{is_unprintable, plain_text};
pub use record::Record;
pub use seed::Seed;
pub use serde_helpers::MAX_INT;
pub use spec::Spec;
pub use tensor::{Tensor, Tensors};

/// The `id` of a request, which its reply repeats as `re`: an integer between -[`MAX_INT`] and [`MAX_INT`].
pub type Id = i64;

/// Version of the protocol.
pub const VERSION: u32 = 1;

/// WebSocket sub-protocol for MessagePack in binary frames.
pub const SUBPROTOCOL_MSGPACK: &str = "ludex.v1.msgpack";

/// WebSocket sub-protocol for JSON in text frames.
pub const SUBPROTOCOL_JSON: &str = "ludex.v1.json";
