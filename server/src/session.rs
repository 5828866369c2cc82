//! Sessions: one client's connection, surviving a drop.

mod connection;
mod hello;
mod replies;
mod sessions;
mod wire;

use ludex_protocol::error::Close;
use ludex_protocol::record::AgentKind;
use ludex_protocol::{ClientMessage, Encoding, Id, ServerMessage};
use tokio_tungstenite::tungstenite::Message;

use crate::auth::Scopes;
use crate::gym::Gym;
use crate::matches::Player;

pub(crate) use connection::serve;
pub(crate) use sessions::{Control, Sessions};
pub(crate) use wire::{Io, Wire};

/// What a session's mailbox takes: everything that is sent to the client from outside of its task.
#[derive(Clone, Debug)]
pub enum Out {
    /// A message; a reply with the `id` of its request.
    Message(Option<Id>, ServerMessage),
    /// Ends the connection.
    Close(Close),
}

/// Who is connected.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The session.
    pub session: String,
    /// The agent's name; empty for a client without one.
    pub agent: String,
    /// The agent's version.
    pub version: Option<String>,
    /// What the agent is.
    pub kind: AgentKind,
    /// What is allowed.
    pub scopes: Scopes,
    /// The token's holder; absent for a guest on loopback.
    pub owner: Option<String>,
}

impl Identity {
    /// Whether the scope is granted; admin may do everything.
    pub fn may(&self, scope: Scopes) -> bool {
        self.scopes.has(scope) || self.scopes.has(Scopes::ADMIN)
    }
}

/// Everything that outlives a connection. Held by the connection's task, or parked in [`Sessions`] for the grace time.
pub(crate) struct Session {
    pub who: Identity,
    pub replies: replies::Replies,
    pub gym: Gym,
    pub player: Player,
}

/// The bytes of a frame of the right kind.
fn payload(message: &Message, encoding: Encoding) -> Option<&[u8]> {
    match (message, encoding) {
        (Message::Text(text), Encoding::Json) => Some(text.as_bytes()),
        (Message::Binary(bytes), Encoding::MsgPack) => Some(bytes),
        _ => None,
    }
}

/// The `type` of a message.
fn kind(message: &ClientMessage) -> &'static str {
    use ClientMessage as M;
    match message {
        M::Hello(_) => "hello",
        M::Ping(_) => "ping",
        M::Pong(_) => "pong",
        M::ListGames(_) => "list_games",
        M::Describe(_) => "describe",
        M::Open(_) => "open",
        M::Reset(_) => "reset",
        M::Step(_) => "step",
        M::View(_) => "view",
        M::Clone(_) => "clone",
        M::Snapshot(_) => "snapshot",
        M::Restore(_) => "restore",
        M::Close(_) => "close",
        M::Join(_) => "join",
        M::Leave(_) => "leave",
        M::Act(_) => "act",
        M::Resign(_) => "resign",
        M::ListMatches(_) => "list_matches",
        M::Spectate(_) => "spectate",
        M::Unspectate(_) => "unspectate",
        M::Ack(_) => "ack",
    }
}
