//! `ludex check client`: a server that leads a client through scripts.
//!
//! Each script starts a new client process. The client plays one match of tic_tac_toe, a match of free_style with
//! documents, several seats of a match of undercover, or a run of several matches, by the real rules. A `Disturbance` interferes with the match. In all scripts,
//! the `host` module checks that the client breaks no rule of the protocol.

mod host;
mod program;
mod script;
mod table;
mod trace;
mod wire;

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use futures_util::StreamExt as _;
use futures_util::future::LocalBoxFuture;
use tokio::net::TcpListener;

pub use script::Level;

use self::host::ScriptServer;
use self::program::Program;
use self::script::Script;
use self::trace::Trace;
use super::Check;

/// Number of scripts that run at the same time. Scripts spend most of their time starting clients.
const AT_ONCE: usize = 4;

/// Settings of a check of a client.
#[derive(Clone, Debug)]
pub struct ClientCheckOptions {
    /// Command line of the client; `{url}` is replaced by the server's address.
    pub command: Vec<String>,
    /// Level that the client claims to support.
    pub level: Level,
    /// Time limit for each action of the client: starting, reconnecting, replying.
    pub patience: Duration,
    /// Text that the names of the selected scripts must contain; `None` selects all scripts.
    pub only: Option<String>,
    /// File for the decoded frames of failed checks, one JSON object per line.
    pub trace: Option<PathBuf>,
}

/// Reason for skipping all scripts after the first.
const NEVER_MET: &str = "the client sent no `hello` in the first check";

/// Runs every script of the client's level and calls `tell` with each result, in the order of the scripts. The first
/// script runs alone; if the client does not send `hello` in it, the other scripts are skipped.
///
/// # Errors
/// Returns an error if the command cannot be started, loopback has no free port, no script name contains
/// [`ClientCheckOptions::only`], or the trace cannot be written.
pub async fn check(plan: &ClientCheckOptions, mut tell: impl FnMut(&Check)) -> anyhow::Result<Vec<Check>> {
    boxed(plan, &mut tell).await
}

/// Implements [`check`]. The future is boxed, so that the checks are compiled here and not in the caller's crate.
fn boxed<'a>(
    plan: &'a ClientCheckOptions,
    tell: &'a mut dyn FnMut(&Check),
) -> LocalBoxFuture<'a, anyhow::Result<Vec<Check>>> {
    Box::pin(check_all(plan, tell))
}

async fn check_all(plan: &ClientCheckOptions, tell: &mut dyn FnMut(&Check)) -> anyhow::Result<Vec<Check>> {
    let wanted = |script: &&Script| plan.only.as_ref().is_none_or(|only| script.name.contains(only));
    let scripts = script::SCRIPTS.iter().filter(|script| plan.level.includes(script.level)).filter(wanted);
    let scripts: Vec<&Script> = scripts.collect();
    anyhow::ensure!(
        !scripts.is_empty(),
        "no check of this level has a name that contains {:?}",
        plan.only.as_deref().unwrap_or("")
    );
    let open = |path: &PathBuf| File::create(path).with_context(|| format!("{} cannot be written", path.display()));
    let mut file = plan.trace.as_ref().map(open).transpose()?;
    let mut checks = Vec::new();
    let mut keep = |(check, trace): (Check, Trace)| -> anyhow::Result<()> {
        if let (Some(file), true) = (&mut file, check.fault.is_some()) {
            file.write_all(trace.text().as_bytes()).context("the trace cannot be written")?;
        }
        tell(&check);
        checks.push(check);
        Ok(())
    };
    let (first, rest) = (scripts[0], &scripts[1..]);
    let (check, trace, met) = run(plan, first).await?;
    let skipped = check.fault.is_some() && !met;
    keep((check, trace))?;
    if skipped {
        for script in rest {
            let why = Some(NEVER_MET.to_owned());
            let check = Check { section: script.section, check: script.name.to_owned(), fault: None, skipped: why };
            keep((check, Trace::new(script.name)))?;
        }
        return Ok(checks);
    }
    let mut results = futures_util::stream::iter(rest.iter().map(|script| run(plan, script))).buffered(AT_ONCE);
    while let Some(result) = results.next().await {
        let (check, trace, _) = result?;
        keep((check, trace))?;
    }
    drop(results);
    Ok(checks)
}

/// Runs one script. Returns its result, its frames, and whether the client sent `hello`.
async fn run(plan: &ClientCheckOptions, script: &Script) -> anyhow::Result<(Check, Trace, bool)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("ws://{}", listener.local_addr()?);
    let program = Program::start(&plan.command, &url, script.game, script.run)?;
    let trace = Trace::new(script.name);
    let mut host = ScriptServer::new(script, listener, program, plan.patience, trace.clone());
    let fault = host.run().await.err();
    let check = Check { section: script.section, check: script.name.to_owned(), fault, skipped: None };
    Ok((check, trace, host.has_greeted()))
}
