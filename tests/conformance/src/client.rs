//! `ludex check-client`: a server of its own that leads a client through scripts.
//!
//! Every script starts the client again and plays one match of tic_tac_toe with it, by the real rules. A `Trouble` disturbs
//! the match. In every script alike, the `host` watches that the client does nothing it may not do.

mod host;
mod program;
mod script;
mod table;
mod wire;

use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::net::TcpListener;

pub use script::Level;

use self::host::Host;
use self::program::Program;
use self::script::Script;
use super::Check;

/// Scripts that run at the same time: most of the time is spent starting clients.
const AT_ONCE: usize = 4;

/// What is checked and how.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The command line of the client; `{url}` in it is replaced.
    pub command: Vec<String>,
    /// The level that the client claims.
    pub level: Level,
    /// How long each action of the client may take: starting, reconnecting, answering.
    pub patience: Duration,
    /// Only scripts whose names contain this.
    pub only: Option<String>,
}

/// Leads the client through every script of its level. `tell` is called with each result, in the order of the scripts.
///
/// # Errors
/// A command that cannot be started, no free port on loopback, or a name that no script contains.
pub async fn check(plan: &Plan, mut tell: impl FnMut(&Check)) -> anyhow::Result<Vec<Check>> {
    let wanted = |script: &&Script| plan.only.as_ref().is_none_or(|only| script.name.contains(only));
    let scripts = script::SCRIPTS.iter().filter(|script| script.level <= plan.level).filter(wanted);
    let scripts: Vec<&Script> = scripts.collect();
    anyhow::ensure!(
        !scripts.is_empty(),
        "no check of this level has a name that contains {:?}",
        plan.only.as_deref().unwrap_or("")
    );
    let mut results = futures_util::stream::iter(scripts.into_iter().map(|script| async move {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("ws://{}", listener.local_addr()?);
        let program = Program::start(&plan.command, &url)?;
        let fault = Host::new(script, listener, program, plan.patience).run().await.err();
        anyhow::Ok(Check { section: script.section, check: script.name.to_owned(), fault, skipped: None })
    }))
    .buffered(AT_ONCE);
    let mut checks = Vec::new();
    while let Some(check) = results.next().await {
        let check = check?;
        tell(&check);
        checks.push(check);
    }
    Ok(checks)
}
