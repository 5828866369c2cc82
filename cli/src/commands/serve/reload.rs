//! Reload of settings while the server runs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::IsTerminal as _;

use clap::FromArgMatches as _;
use ludex_server::ServerHandle;
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

use super::signals::ReloadSignal;
use super::{Args, command, config, layers, notify, with_layers};

/// Keys that apply without a restart.
const RELOADED: [&str; 5] = ["agent", "limit", "season", "tls_cert", "tls_key"];

/// Values of all options, by key.
type Values = BTreeMap<String, Vec<OsString>>;

/// Reloads the settings of the running server at each SIGHUP.
pub(super) struct Reloader {
    signal: ReloadSignal,
    /// Settings of the running server.
    current: Values,
    /// True if the server was started at a terminal.
    has_terminal: bool,
    hangup: oneshot::Sender<()>,
}

impl Reloader {
    /// Handles signals from now on. Also returns a future that resolves when the terminal of the server has closed, which
    /// SIGHUP reports too.
    pub(super) fn new() -> anyhow::Result<(Self, impl Future<Output = ()>)> {
        let (hangup, closed) = oneshot::channel();
        let has_terminal = std::io::stdin().is_terminal();
        let reloader = Reloader { signal: ReloadSignal::new()?, current: read()?.1, has_terminal, hangup };
        let closed = async {
            if closed.await.is_err() {
                std::future::pending().await
            }
        };
        Ok((reloader, closed))
    }

    /// Reloads the settings at each signal.
    pub(super) async fn run(mut self, server: ServerHandle) {
        loop {
            self.signal.next().await;
            if self.has_terminal && !std::io::stdin().is_terminal() {
                let _ = self.hangup.send(());
                return;
            }
            notify::reloading();
            // Reading certificates and networks may take long.
            let (server, current) = (server.clone(), self.current.clone());
            match spawn_blocking(move || reload(&server, &current)).await.map_err(anyhow::Error::from).flatten() {
                Ok(current) => {
                    self.current = current;
                    tracing::info!("settings reloaded");
                }
                Err(error) => {
                    tracing::error!(error = %format!("{error:#}"), "reload failed; the settings are unchanged")
                }
            }
            notify::ready();
        }
    }
}

/// Reads the settings and applies those that may change. Returns the settings of the running server.
fn reload(server: &ServerHandle, current: &Values) -> anyhow::Result<Values> {
    let (args, values) = read()?;
    server.reload(&config(&args)?)?;
    let ignored = ignored(current, &values);
    if !ignored.is_empty() {
        tracing::warn!(keys = ignored.join(", "), "changed settings are ignored until a restart");
    }
    let applied = |key: &String| values.get(key).filter(|_| !ignored.contains(&key.as_str()));
    let value = |(key, old): (&String, &Vec<OsString>)| (key.clone(), applied(key).unwrap_or(old).clone());
    Ok(current.iter().map(value).collect())
}

/// Reads the options of the command line, the environment and the file.
fn read() -> anyhow::Result<(Args, Values)> {
    let line = with_layers(std::env::args_os().collect())?;
    // The first argument is the program, the second one the command.
    let matches = command().try_get_matches_from(line.into_iter().skip(1))?;
    Ok((Args::from_arg_matches(&matches)?, layers::values(&command(), &matches)))
}

/// Returns the keys whose values have changed but apply only after a restart. TLS is turned on or off by a restart.
fn ignored<'v>(current: &Values, new: &'v Values) -> Vec<&'v str> {
    let has_tls = |values: &Values| values.get("tls_cert").is_some_and(|files| !files.is_empty());
    let applies = |key: &str| RELOADED.contains(&key) && (!key.starts_with("tls_") || has_tls(current) == has_tls(new));
    let changed = new.iter().filter(|(key, value)| current.get(*key) != Some(value) && !applies(key));
    changed.map(|(key, _)| key.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(pairs: &[(&str, &str)]) -> Values {
        let keys = ["listen", "tls_cert", "tls_key", "limit"].map(|key| (key.to_owned(), Vec::new()));
        let set = pairs.iter().map(|(key, value)| ((*key).to_owned(), vec![value.into()]));
        keys.into_iter().chain(set).collect()
    }

    #[test]
    fn changes_that_need_a_restart_are_named() {
        let tls = values(&[("listen", "a"), ("tls_cert", "a"), ("tls_key", "a"), ("limit", "a=1")]);
        let new = values(&[("listen", "b"), ("tls_cert", "b"), ("tls_key", "b"), ("limit", "a=2")]);
        assert_eq!(ignored(&tls, &new), ["listen"]);
        assert!(ignored(&tls, &tls).is_empty());
        assert_eq!(ignored(&tls, &values(&[("listen", "a")])), ["tls_cert", "tls_key"], "TLS is turned off");
    }
}
