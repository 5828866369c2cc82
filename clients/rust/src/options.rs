//! Settings of a client's connection.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ludex_protocol::Encoding;
use ludex_protocol::message::AgentId;

use crate::error::Error;
use crate::tls;
use crate::transport::LocalConnector;

/// Settings of a client's connection. `Options::default()` has no token and no name, and uses MessagePack.
#[derive(Clone, Debug)]
pub struct Options {
    /// Access token. Do not put the token into the URL.
    pub token: Option<String>,
    /// Name of the agent, required for matches but not for environments.
    pub agent: Option<AgentId>,
    /// Encoding of all messages in both directions, fixed for the connection.
    pub encoding: Encoding,
    /// Name of the client program as free text, such as `mybot/0.1`.
    pub client: String,
    /// True to take over the seats that the agent's name still holds, both on the first connection and after a lost
    /// session. Another process that is connected with the same name is disconnected. Do not use this option if several
    /// processes share a name.
    pub reclaim: bool,
    /// Maximum time for reconnecting after a lost connection. If absent, the client tries until the session ends.
    pub patience: Option<Duration>,
    /// Maximum time of one attempt to connect.
    pub timeout: Duration,
    /// TLS settings of `wss` connections. If absent, the client trusts the certificates that browsers trust and those
    /// of the operating system. The environment variable `SSL_CERT_FILE` can name a file that replaces those of the
    /// operating system.
    pub tls: Option<Arc<rustls::ClientConfig>>,
    /// Connector to a server in the same process, which replaces TCP; the URL then serves only error messages. Requires
    /// MessagePack.
    pub local: Option<LocalConnector>,
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
            local: None,
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

    /// Trusts only the certificates in a PEM file, for example for a server with a self-signed certificate.
    ///
    /// # Errors
    /// Returns [`Error::Certificate`] if the file cannot be read or has no certificate.
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
