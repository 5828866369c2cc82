//! How a client connects.

use std::sync::Arc;
use std::time::Duration;

use ludex_protocol::Encoding;
use ludex_protocol::client::AgentId;

/// How a client connects. `Options::default()` is a client without a token and a name, speaking MessagePack.
#[derive(Clone, Debug)]
pub struct Options {
    /// The token; never put it into the URL.
    pub token: Option<String>,
    /// Who plays; needed for matches, not for environments.
    pub agent: Option<AgentId>,
    /// How messages are written.
    pub encoding: Encoding,
    /// The program, free text such as `mybot/0.1`.
    pub client: String,
    /// Take over the seats that the agent's name still holds, when connecting and when a session was lost. A live
    /// holder of the same name is put out, so leave it off for names that several processes share.
    pub reclaim: bool,
    /// How long a lost connection is tried again. Absent: as long as the server keeps the session.
    pub patience: Option<Duration>,
    /// How long one attempt to connect may take.
    pub timeout: Duration,
    /// How `wss` connections are secured. Absent: against the roots that browsers trust.
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
    /// Plays under this name.
    pub fn agent(mut self, name: impl Into<String>) -> Self {
        self.agent = Some(AgentId { name: name.into(), ..AgentId::default() });
        self
    }

    /// Shows this token.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Speaks this encoding.
    pub fn encoding(mut self, encoding: Encoding) -> Self {
        self.encoding = encoding;
        self
    }
}
