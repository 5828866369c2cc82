//! `ludex check server`: a client that checks from outside whether a server complies with protocol 1.
//!
//! Only the server's address is known in advance; games, sizes and limits are taken from the server's messages. A `Law`
//! is a rule for servers and one line of the report. Each module has a list of laws and the code that checks them.

mod bench;
mod catalogue;
mod documents;
mod envelope;
mod golden;
mod gym;
mod handshake;
mod hostile;
mod incoming;
mod link;
mod matches;
mod runs;
mod strict;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use ludex_protocol::message::Scope;

use self::bench::LawContext;
use super::{Check, CheckFault};

/// Settings of a check of a server.
#[derive(Clone, Debug)]
pub struct ServerCheckOptions {
    /// Address `ws://host:port` or `wss://host:port`, with a path if the server does not use `/ws`.
    pub url: String,
    /// Token sent in `hello`.
    pub token: Option<String>,
    /// Agent name to play under. If absent, the token's name is used, or `conformance` without a token.
    pub agent: Option<String>,
    /// Time limit for each reply.
    pub patience: Duration,
    /// Text that the names of the selected laws must contain; `None` selects all laws.
    pub only: Option<String>,
    /// TLS settings for `wss`. If absent, the certificates of the operating system and those that browsers trust are
    /// trusted.
    pub tls: Option<Arc<rustls::ClientConfig>>,
}

/// Reason why a law did not pass.
#[derive(Debug)]
enum LawFailure {
    /// The server violates the law.
    Fault(CheckFault),
    /// The law cannot be checked on this server.
    Skip(String),
}

type LawResult<T = ()> = Result<T, LawFailure>;

/// Creates a fault from the observed and the expected behavior, under the section of the law.
fn wrong(did: impl Into<String>, expected: impl Into<String>) -> LawFailure {
    LawFailure::Fault(CheckFault::new(0, did, expected))
}

/// Fails with a fault unless `holds` is true.
fn law_holds(holds: bool, did: impl FnOnce() -> String, expected: &str) -> LawResult {
    if holds { Ok(()) } else { Err(wrong(did(), expected)) }
}

/// Fails with a fault that shows the two values unless they are equal.
fn same<T: PartialEq + std::fmt::Debug>(got: &T, expected: &T, what: impl FnOnce() -> String) -> LawResult {
    if got == expected { Ok(()) } else { Err(wrong(format!("{}: {}", what(), short(got)), short(expected))) }
}

/// Formats a value, truncated to a few words.
fn short(value: &impl std::fmt::Debug) -> String {
    ludex_protocol::error::truncate_text(&format!("{value:?}"))
}

impl LawFailure {
    /// Adds the name of the game in which the fault was found.
    fn of(self, game: &str) -> LawFailure {
        match self {
            LawFailure::Fault(fault) => {
                LawFailure::Fault(CheckFault { did: format!("{game}: {}", fault.did), ..fault })
            }
            skip => skip,
        }
    }
}

/// Rule for servers. The report has one line per law.
struct Law {
    section: u32,
    name: &'static str,
    /// Scope that the token must grant for this law.
    needs: Option<Scope>,
    tried: Trial,
}

type Trial = for<'a> fn(&'a LawContext) -> LocalBoxFuture<'a, LawResult>;

const fn law(section: u32, name: &'static str, needs: Option<Scope>, tried: Trial) -> Law {
    Law { section, name, needs, tried }
}

/// All laws, in the order of the report.
const THEMES: &[&[Law]] = &[
    handshake::LAWS,
    envelope::LAWS,
    hostile::LAWS,
    golden::LAWS,
    catalogue::LAWS,
    gym::LAWS,
    matches::LAWS,
    documents::LAWS,
    runs::LAWS,
];

/// Checks every law and calls `tell` with each result, in the order of the laws.
///
/// # Errors
/// Returns an error if the address serves no WebSocket, or if no law name contains [`ServerCheckOptions::only`].
pub async fn check(plan: &ServerCheckOptions, mut tell: impl FnMut(&Check)) -> anyhow::Result<Vec<Check>> {
    boxed(plan, &mut tell).await
}

/// Implements [`check`]. The future is boxed, so that the checks are compiled here and not in the caller's crate.
fn boxed<'a>(
    plan: &'a ServerCheckOptions,
    tell: &'a mut dyn FnMut(&Check),
) -> LocalBoxFuture<'a, anyhow::Result<Vec<Check>>> {
    Box::pin(check_all(plan, tell))
}

async fn check_all(plan: &ServerCheckOptions, tell: &mut dyn FnMut(&Check)) -> anyhow::Result<Vec<Check>> {
    let wanted = |law: &&Law| plan.only.as_ref().is_none_or(|only| law.name.contains(only));
    let laws: Vec<&Law> = THEMES.iter().copied().flatten().filter(wanted).collect();
    anyhow::ensure!(
        !laws.is_empty(),
        "no check has a name that contains {:?}",
        plan.only.as_deref().unwrap_or_default()
    );
    let bench = LawContext::new(plan).await?;
    let mut checks = Vec::new();
    for law in laws {
        let tried = match bench.grants(law.needs) {
            true => (law.tried)(&bench).await,
            false => Err(LawFailure::Skip(format!("the scope {:?} is not granted", law.needs))),
        };
        let (fault, skipped) = match tried {
            Ok(()) => (None, None),
            Err(LawFailure::Skip(why)) => (None, Some(why)),
            Err(LawFailure::Fault(fault)) => {
                let section = if fault.section == 0 { law.section } else { fault.section };
                (Some(CheckFault { section, ..fault }), None)
            }
        };
        let check = Check { section: law.section, check: law.name.to_owned(), fault, skipped };
        tell(&check);
        checks.push(check);
    }
    Ok(checks)
}
