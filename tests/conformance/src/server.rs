//! `ludex check server`: a client that checks from outside whether a server keeps protocol 1.
//!
//! It knows only the server's address: games, sizes and limits are what the server says. A `Law` is one line of the report.
//! Each theme has a list of laws beside the code that checks them.

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
    /// `ws://host:port` or `wss://host:port`, with a path if it is not `/ws`.
    pub url: String,
    /// The token to show.
    pub token: Option<String>,
    /// The name to play under; absent: the token's name, or `conformance` without a token.
    pub agent: Option<String>,
    /// Longest time of each reply.
    pub patience: Duration,
    /// Only laws whose names contain this.
    pub only: Option<String>,
    /// The TLS settings for `wss`. Absent: trust the certificates of the system and those that browsers trust.
    pub tls: Option<Arc<rustls::ClientConfig>>,
}

/// Why a law did not pass.
#[derive(Debug)]
enum LawFailure {
    /// The server breaks it.
    Fault(CheckFault),
    /// The law cannot be checked on this server.
    Skip(String),
}

type LawResult<T = ()> = Result<T, LawFailure>;

/// The server did this, and should have done that. The section is the law's.
fn wrong(did: impl Into<String>, expected: impl Into<String>) -> LawFailure {
    LawFailure::Fault(CheckFault::new(0, did, expected))
}

/// Returns `Err` unless `holds`.
fn law_holds(holds: bool, did: impl FnOnce() -> String, expected: &str) -> LawResult {
    if holds { Ok(()) } else { Err(wrong(did(), expected)) }
}

/// `Err` with both values unless they are equal.
fn same<T: PartialEq + std::fmt::Debug>(got: &T, expected: &T, what: impl FnOnce() -> String) -> LawResult {
    if got == expected { Ok(()) } else { Err(wrong(format!("{}: {}", what(), short(got)), short(expected))) }
}

/// A value in a few words.
fn short(value: &impl std::fmt::Debug) -> String {
    ludex_protocol::error::truncate_text(&format!("{value:?}"))
}

impl LawFailure {
    /// Adds the game in which it was found.
    fn of(self, game: &str) -> LawFailure {
        match self {
            LawFailure::Fault(fault) => {
                LawFailure::Fault(CheckFault { did: format!("{game}: {}", fault.did), ..fault })
            }
            skip => skip,
        }
    }
}

/// One line of the report.
struct Law {
    section: u32,
    name: &'static str,
    /// The scope that the token must grant.
    needs: Option<Scope>,
    tried: Trial,
}

type Trial = for<'a> fn(&'a LawContext) -> LocalBoxFuture<'a, LawResult>;

const fn law(section: u32, name: &'static str, needs: Option<Scope>, tried: Trial) -> Law {
    Law { section, name, needs, tried }
}

/// In the order of their lines.
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

/// Checks every law. `tell` is called with each result, in the order of the laws.
///
/// # Errors
/// An address without a WebSocket, or a name that no law contains.
pub async fn check(plan: &ServerCheckOptions, mut tell: impl FnMut(&Check)) -> anyhow::Result<Vec<Check>> {
    boxed(plan, &mut tell).await
}

/// The body of [`check`]. Boxed, so that the checks are compiled here and not in the caller's crate.
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
