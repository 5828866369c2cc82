//! What can go wrong on the client's side.

use std::path::PathBuf;

use ludex_protocol::{ArrayError, DecodeError, EncodeError, ErrorCode, Refusal};

/// Why a call failed. Cheap to clone, because one lost connection fails all requests that wait for it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No connection could be made.
    #[error("{url} cannot be reached: {why}")]
    Connect {
        /// The server.
        url: String,
        /// The message of the system or the server.
        why: String,
    },
    /// A file of certificates cannot be used.
    #[error("the certificates in {} cannot be used: {why}", file.display())]
    Certificate {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The server answered a request with an error.
    #[error("{0}")]
    Refused(Box<Refusal>),
    /// The server closed the connection and the session cannot be resumed.
    #[error("the server closed the connection: {code} {reason}")]
    Closed {
        /// The WebSocket close code; `ludex_protocol::error::close` lists them.
        code: u16,
        /// The text that came with the code.
        reason: String,
    },
    /// The connection was lost and did not come back in time.
    #[error("the connection to {url} is lost ({why}) and did not come back within {seconds} s")]
    Lost {
        /// The server.
        url: String,
        /// How the connection was lost.
        why: String,
        /// How long the client tried to reconnect.
        seconds: u64,
    },
    /// The client reconnected, but the server no longer knew the session. Requests that only had a meaning in that
    /// session failed, and its environments are gone.
    #[error("the server no longer knows the session")]
    SessionLost,
    /// A message cannot be encoded, because a number in it is not finite.
    #[error("the message cannot be sent: {0}")]
    Encode(#[from] EncodeError),
    /// The answer to a request cannot be decoded.
    #[error("the server's answer cannot be read: {0}")]
    Decode(Box<DecodeError>),
    /// The answer to a request is not the message that the protocol prescribes.
    #[error("expected the answer `{wanted}`, but the server sent `{got}`")]
    Unexpected {
        /// The type of the message that the protocol prescribes.
        wanted: &'static str,
        /// The type of the answer.
        got: String,
    },
    /// The numbers of a message are not the requested array.
    #[error("{0}")]
    Array(#[from] ArrayError),
    /// The client was closed.
    #[error("the client is closed")]
    Shut,
    /// The handler of a player failed, and the player resigned its matches.
    #[error("the agent failed: {0}")]
    Agent(String),
}

impl Error {
    /// The protocol's error code, if the server refused a request.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Error::Refused(message) => Some(message.code),
            _ => None,
        }
    }
}

impl From<Refusal> for Error {
    fn from(message: Refusal) -> Self {
        Error::Refused(Box::new(message))
    }
}
