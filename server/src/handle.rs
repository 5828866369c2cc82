//! Control of a running server by the program that started it.

use std::sync::{Arc, Weak};

use ludex_arena::live::Live;
use ludex_arena::runs::Runs;
use tokio_rustls::TlsAcceptor;

use crate::check::check;
use crate::config::Config;
use crate::http::STUCK;
use crate::server_state::ServerState;
use crate::tls;

/// State and certificates of the connections that open before the next reload.
pub(crate) struct Generation {
    pub state: Arc<ServerState>,
    pub tls: Option<TlsAcceptor>,
}

/// Handle of a running server. The handle does not keep the server running.
#[derive(Clone)]
pub struct ServerHandle {
    current: Weak<Live<Generation>>,
}

impl ServerHandle {
    pub(crate) fn new(current: &Arc<Live<Generation>>) -> Self {
        ServerHandle { current: Arc::downgrade(current) }
    }

    /// Returns the runs and their match plane; `None` if the server has stopped.
    pub fn runs(&self) -> Option<Arc<Runs>> {
        Some(self.current.upgrade()?.get().state.runs.clone())
    }

    /// Applies the certificates, limits, agents and seasons of a configuration; its other settings are ignored. Open
    /// connections keep their certificate and the limits that `welcome` announced. TLS cannot be turned on or off.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`check`](crate::check), or an error if the server has stopped. Nothing has changed then.
    pub fn reload(&self, config: &Config) -> anyhow::Result<()> {
        check(config)?;
        let acceptor = config.tls.as_ref().map(tls::acceptor).transpose()?;
        let current = self.current.upgrade().ok_or_else(|| anyhow::anyhow!("the server has stopped"))?;
        let now = current.get();
        let tls = now.tls.as_ref().map(|before| acceptor.unwrap_or_else(|| before.clone()));
        current.set(Generation { state: Arc::new(now.state.reloaded(config)), tls });
        Ok(())
    }

    /// Returns true if all threads that serve connections make progress, as `/healthz` reports.
    pub fn makes_progress(&self) -> bool {
        let silence = self.current.upgrade().map(|current| current.get().state.workers.longest_silence());
        silence.is_some_and(|silence| silence < STUCK)
    }
}
