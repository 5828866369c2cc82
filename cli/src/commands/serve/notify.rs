//! Messages to systemd about the state of the server (`Type=notify`). Without systemd, none is sent.

use ludex_server::ServerHandle;

#[cfg(target_os = "linux")]
pub(super) use self::linux::{ready, reloading, stopping, watch};

#[cfg(target_os = "linux")]
mod linux {
    use sd_notify::NotifyState;

    use super::ServerHandle;

    /// Reports that the server accepts connections, or has finished a reload.
    pub(in super::super) fn ready() {
        send(&[NotifyState::Ready]);
    }

    /// Reports that the server reloads its settings.
    pub(in super::super) fn reloading() {
        match NotifyState::monotonic_usec_now() {
            Ok(now) => send(&[NotifyState::Reloading, now]),
            Err(error) => tracing::warn!(%error, "reading the monotonic clock failed"),
        }
    }

    /// Reports that the server stops.
    pub(in super::super) fn stopping() {
        send(&[NotifyState::Stopping]);
    }

    /// Reports twice within the interval of systemd's watchdog that the server makes progress. While a worker is stuck,
    /// nothing is reported, so systemd restarts the server.
    pub(in super::super) async fn watch(server: ServerHandle) {
        let Some(limit) = sd_notify::watchdog_enabled().filter(|limit| !limit.is_zero()) else {
            return std::future::pending().await;
        };
        loop {
            if server.makes_progress() {
                send(&[NotifyState::Watchdog]);
            }
            tokio::time::sleep(limit / 2).await;
        }
    }

    fn send(states: &[NotifyState]) {
        if let Err(error) = sd_notify::notify(states) {
            tracing::warn!(%error, "notifying systemd failed");
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn ready() {}

#[cfg(not(target_os = "linux"))]
pub(super) fn reloading() {}

#[cfg(not(target_os = "linux"))]
pub(super) fn stopping() {}

#[cfg(not(target_os = "linux"))]
pub(super) async fn watch(_: ServerHandle) {
    std::future::pending().await
}
