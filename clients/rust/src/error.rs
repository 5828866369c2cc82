//! Errors on the client's side.

use std::path::PathBuf;

use ludex_protocol::{ArrayError, DecodeError, EncodeError, ErrorCode, Refusal};

/// The reason why a call failed. Cheap to clone, because one lost connection fails all pending requests.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The connection could not be established.
    #[error("{url} cannot be reached: {why}")]
    Connect {
        /// Address of the server.
        url: String,
        /// Message of the system or the server.
        why: String,
    },
    /// A file of certificates cannot be used.
    #[error("the certificates in {} cannot be used: {why}", file.display())]
    Certificate {
        /// Path of the file.
        file: PathBuf,
        /// Reason why the file cannot be used.
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
        /// Address of the server.
        url: String,
        /// Reason why the connection was lost.
        why: String,
        /// Time spent on attempts to reconnect, in seconds.
        seconds: u64,
    },
    /// The client reconnected, but the server no longer knew the session. Requests that only had a meaning in that
    /// session failed, and its environments are gone.
    #[error("the server no longer knows the session")]
    SessionLost,
    /// A message cannot be encoded, because a number in it is not finite.
    #[error("the message cannot be sent: {0}")]
    Encode(#[from] EncodeError),
    /// The reply to a request cannot be decoded.
    #[error("the server's answer cannot be read: {0}")]
    Decode(Box<DecodeError>),
    /// The reply to a request is not the message that the protocol prescribes.
    #[error("expected the reply `{expected}`, got `{got}`")]
    Unexpected {
        /// The type of the message that the protocol prescribes.
        expected: &'static str,
        /// The type of the reply.
        got: String,
    },
    /// The numbers of a message are not the requested array.
    #[error("{0}")]
    Array(#[from] ArrayError),
    /// The client was closed.
    #[error("the client is closed")]
    ClientClosed,
    /// The handler of a player failed, and the player resigned its matches.
    #[error("the agent failed: {0}")]
    Agent(String),
}

impl Error {
    /// Returns the protocol's error code, if the server refused a request.
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
