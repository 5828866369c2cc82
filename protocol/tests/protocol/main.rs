//! The codec, the golden frames and the schema of the protocol.

mod codec;
mod frames;
mod schema;
