//! Connection of one client: handshake, request checks, frames in and out.

mod connection;
mod gate;
mod hello;
mod match_client;
mod metered;
mod wire;

pub(crate) use connection::serve;
pub(crate) use wire::{Io, ServerSocket, TimedIo, timed};
