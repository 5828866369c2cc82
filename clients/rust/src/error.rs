//! Errors of the client.

use std::path::PathBuf;

use ludex_protocol::{ArrayError, DecodeError, EncodeError, ErrorCode, Refusal};

/// The reason why a call failed. Cheap to clone, because one lost connection fails all pending requests.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The connection could not be established.
    #[error("cannot connect to {url}: {why}")]
    Connect {
        /// Address of the server.
        url: String,
        /// Error message of the operating system or the server.
        why: String,
    },
    /// A certificate file cannot be used.
    #[error("cannot use the certificates in {}: {why}", file.display())]
    Certificate {
        /// Path of the file.
        file: PathBuf,
        /// Reason why the file cannot be used.
        why: String,
    },
    /// The server replied to a request with an error.
    #[error("{0}")]
    Refused(Box<Refusal>),
    /// The server closed the connection and the session cannot be resumed.
    #[error("the server closed the connection: {code} {reason}")]
    Closed {
        /// The WebSocket close code, one of those in `ludex_protocol::error::close`.
        code: u16,
        /// The reason text that the server sent with the code.
        reason: String,
    },
    /// The connection was lost, and the client could not reconnect in time.
    #[error("the connection to {url} was lost ({why}); reconnecting failed for {seconds} s")]
    Lost {
        /// Address of the server.
        url: String,
        /// Reason why the connection was lost.
        why: String,
        /// Time spent on attempts to reconnect, in seconds.
        seconds: u64,
    },
    /// The client reconnected, but the server no longer had the session. Requests that were valid only in that session
    /// failed, and the environments of the session are closed.
    #[error("the session was lost: the server no longer has it")]
    SessionLost,
    /// A message cannot be encoded, because it contains a number that is not finite.
    #[error("cannot encode the message: {0}")]
    Encode(#[from] EncodeError),
    /// The reply to a request cannot be decoded.
    #[error("cannot decode the server's reply: {0}")]
    Decode(Box<DecodeError>),
    /// The reply to a request has a type other than the one that the protocol specifies.
    #[error("expected a reply of type `{expected}`, got `{got}`")]
    Unexpected {
        /// The expected type of the reply.
        expected: &'static str,
        /// The type of the reply that arrived.
        got: String,
    },
    /// A column or tensor of a message cannot be viewed as the requested array.
    #[error("{0}")]
    Array(#[from] ArrayError),
    /// The client was closed.
    #[error("the client is closed")]
    ClientClosed,
    /// The handler of a player failed, and the player resigned all its matches.
    #[error("the agent failed: {0}")]
    Agent(String),
}

impl Error {
    /// Returns the error code of the protocol, if the server refused a request.
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
