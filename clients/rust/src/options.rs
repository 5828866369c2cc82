//! Settings of a client's connection.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ludex_protocol::Encoding;
use ludex_protocol::message::AgentId;

use crate::error::Error;
use crate::tls;

/// Settings of a client's connection. `Options::default()` has no token and no name, and uses MessagePack.
#[derive(Clone, Debug)]
pub struct Options {
    /// The access token. Never put it into the URL.
    pub token: Option<String>,
    /// The agent's name; needed for matches, not for environments.
    pub agent: Option<AgentId>,
    /// The encoding of messages.
    pub encoding: Encoding,
    /// The name of the program, free text such as `mybot/0.1`.
    pub client: String,
    /// True to take over the seats that the agent's name still holds, on the first connection and after a session was
    /// lost. This disconnects a live process with the same name, so do not use it for names that several processes
    /// share.
    pub reclaim: bool,
    /// Longest time of attempts to reconnect after a loss. Absent: as long as the server keeps the session.
    pub patience: Option<Duration>,
    /// Longest time of one attempt to connect.
    pub timeout: Duration,
    /// The TLS settings of `wss` connections. Absent: trust the certificates of the system (or those in the file that the
    /// environment variable `SSL_CERT_FILE` names) and those that browsers trust.
    pub tls: Option<Arc<rustls::ClientConfig>>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            token: None,
            agent: None,
            encoding: Encoding::MsgPack,
            client: concat!("ludex-client/", env!("CARGO_PKG_VERSION")).to_owned(),
            reclaim: false,
            patience: None,
            timeout: Duration::from_secs(10),
            tls: None,
        }
    }
}

impl Options {
    /// Sets the agent's name.
    pub fn agent(mut self, name: impl Into<String>) -> Self {
        self.agent = Some(AgentId { name: name.into(), ..AgentId::default() });
        self
    }

    /// Sets the access token.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Trusts the certificates in a file (PEM), and no others: for a server with a certificate of its own.
    ///
    /// # Errors
    /// [`Error::Certificate`]: the file cannot be read, or holds no certificate.
    pub fn ca(mut self, file: impl AsRef<Path>) -> Result<Self, Error> {
        self.tls = Some(tls::config_trusting(file.as_ref())?);
        Ok(self)
    }

    /// Sets the encoding of messages.
    pub fn encoding(mut self, encoding: Encoding) -> Self {
        self.encoding = encoding;
        self
    }
}
