//! Signals that stop the server or make it reload its settings.

/// Returns a future that resolves on SIGTERM or Ctrl-C. A second signal exits the program.
pub(in crate::commands) fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    let mut signals = StopSignals::new()?;
    Ok(async move {
        signals.next().await;
        tracing::info!("stopping; repeat the signal to stop immediately");
        tokio::spawn(async move {
            signals.next().await;
            std::process::exit(1);
        });
    })
}

/// Signals that stop the program.
struct StopSignals {
    #[cfg(unix)]
    term: tokio::signal::unix::Signal,
}

impl StopSignals {
    fn new() -> anyhow::Result<Self> {
        Ok(StopSignals {
            #[cfg(unix)]
            term: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        #[cfg(unix)]
        tokio::select! {
            _ = self.term.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
        #[cfg(not(unix))]
        let _ = tokio::signal::ctrl_c().await;
    }
}

/// Signal SIGHUP, on systems that have it.
pub(super) struct ReloadSignal {
    #[cfg(unix)]
    hangup: tokio::signal::unix::Signal,
}

impl ReloadSignal {
    pub(super) fn new() -> anyhow::Result<Self> {
        Ok(ReloadSignal {
            #[cfg(unix)]
            hangup: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup())?,
        })
    }

    /// Waits for the next signal.
    pub(super) async fn next(&mut self) {
        #[cfg(unix)]
        if self.hangup.recv().await.is_some() {
            return;
        }
        std::future::pending().await
    }
}
