//! Control of a running server by the program that started it.

use std::sync::{Arc, Weak};

use ludex_arena::live::Live;
use ludex_arena::runs::Runs;
use tokio_rustls::TlsAcceptor;

use crate::cells::OwnedCells;
use crate::check::check;
use crate::config::Config;
use crate::http::STUCK;
use crate::server_state::ServerState;
use crate::tls;

/// Cells and certificates for new connections.
pub(crate) struct Listening {
    pub cells: Arc<OwnedCells<ServerState>>,
    pub tls: Live<Option<TlsAcceptor>>,
}

/// Handle of a running server. The handle does not keep the server running.
#[derive(Clone)]
pub struct ServerHandle {
    listening: Weak<Listening>,
}

impl ServerHandle {
    pub(crate) fn new(listening: &Arc<Listening>) -> Self {
        ServerHandle { listening: Arc::downgrade(listening) }
    }

    /// Returns the runs and the match plane of the server's first cell; `None` if the server has stopped.
    pub fn runs(&self) -> Option<Arc<Runs>> {
        Some(self.listening.upgrade()?.cells.first()?.runs.clone())
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
        let listening = self.listening.upgrade().ok_or_else(|| anyhow::anyhow!("the server has stopped"))?;
        if let (Some(acceptor), Some(_)) = (acceptor, &*listening.tls.get()) {
            listening.tls.set(Some(acceptor));
        }
        listening.cells.replace(|state| state.reloaded(config));
        Ok(())
    }

    /// Returns true if all threads that serve connections make progress, as `/healthz` reports.
    pub fn makes_progress(&self) -> bool {
        let first = self.listening.upgrade().and_then(|listening| listening.cells.first());
        let silence = first.map(|state| state.workers.longest_silence());
        silence.is_some_and(|silence| silence < STUCK)
    }
}
