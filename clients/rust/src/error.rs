//! What can go wrong on the client's side.

use ludex_protocol::{EncodeError, ErrorCode, Refusal, Rejected};

/// Why something did not work. Cheap to clone: one lost connection fails everything that waits for it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// No connection could be made.
    #[error("{url} cannot be reached: {why}")]
    Connect {
        /// The server.
        url: String,
        /// What the system or the server said.
        why: String,
    },
    /// The server answered a request with an error.
    #[error("{0}")]
    Refused(Box<Refusal>),
    /// The server closed the connection and the session cannot be resumed.
    #[error("the server closed the connection: {code} {reason}")]
    Closed {
        /// The WebSocket close code; `ludex_protocol::error::close` names them.
        code: u16,
        /// What came with it.
        reason: String,
    },
    /// The connection was lost and did not come back in time.
    #[error("the connection to {url} is lost ({why}) and did not come back within {seconds} s")]
    Lost {
        /// The server.
        url: String,
        /// What happened to the connection.
        why: String,
        /// How long was tried.
        seconds: u64,
    },
    /// The connection came back, but the server no longer knew the session: what was asked in it has no answer, and
    /// its environments are gone.
    #[error("the server no longer knows the session")]
    SessionLost,
    /// A message cannot be written: a number in it is not finite.
    #[error("the message cannot be sent: {0}")]
    Encode(#[from] EncodeError),
    /// The answer to a request is not understood.
    #[error("the server's answer is not understood: {0}")]
    Decode(Box<Rejected>),
    /// The answer to a request is another message than the protocol says.
    #[error("`{wanted}` was expected, the server answered `{got}`")]
    Unexpected {
        /// The message that the protocol promises.
        wanted: &'static str,
        /// What came.
        got: String,
    },
    /// The client was closed.
    #[error("the client is closed")]
    Shut,
    /// The handler of a player failed; its matches were resigned.
    #[error("the agent failed: {0}")]
    Agent(String),
}

impl Error {
    /// The protocol's code, when the server refused something.
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
