//! Conformance checks of the protocol for third-party clients and servers.
//!
//! [`server::check`] is a client that checks a server against the protocol. [`client::check`] is a server that leads a
//! client through scripts. Each check is one line of the report: a section of `docs/protocol.md`, a sentence, and the
//! fault if there is one. [`llm_stub`] is a stub of a language-model endpoint.
//!
//! ```no_run
//! use std::time::Duration;
//! use ludex_conformance::server::{ServerCheckOptions, check};
//!
//! # async fn example() -> anyhow::Result<()> {
//! let plan = ServerCheckOptions {
//!     url: "ws://127.0.0.1:7878".to_owned(),
//!     token: None,
//!     agent: None,
//!     patience: Duration::from_secs(10),
//!     only: None,
//!     tls: None,
//! };
//! let checks = check(&plan, |check| println!("{check}")).await?;
//! assert!(checks.iter().all(|check| check.fault.is_none()));
//! # Ok(())
//! # }
//! ```
//!
//! # Invariants
//!
//! - The subject under test is known only from outside: the address of a server, the command line of a client. The
//!   crate never imports `ludex-server`, so it cannot share the server's mistakes.
//! - A fault names the violated section, the observed behavior, and the expected behavior.
//! - A check that is impossible here (without a scope, without a game) is skipped with its reason; it never passes.

#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "rows and fields have descriptive names; the crate is internal to the project")]

pub mod client;
pub mod llm_stub;
pub mod server;

use std::fmt;

use serde::Serialize;

/// Program name that the checks send, both as a client and as a server.
const PROGRAM: &str = concat!("ludex/", env!("CARGO_PKG_VERSION"));

/// Result of one check of a client or server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Section of `docs/protocol.md` that the check belongs to.
    pub section: u32,
    /// Name of the check: the predicate of a sentence about the client or server.
    pub check: String,
    /// Fault that the check found; `None` if it passed or was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<CheckFault>,
    /// Reason for skipping the check; `None` if it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
}

/// Deviation of a client or server from the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckFault {
    /// Section of `docs/protocol.md` that requires `expected`.
    pub section: u32,
    /// Behavior that the check observed.
    pub did: String,
    /// Behavior that the protocol requires.
    pub expected: String,
}

impl CheckFault {
    pub(crate) fn new(section: u32, did: impl Into<String>, expected: impl Into<String>) -> Self {
        CheckFault { section, did: did.into(), expected: expected.into() }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.fault, &self.skipped) {
            (None, None) => write!(f, "ok section {}: {}", self.section, self.check),
            (None, Some(why)) => write!(f, "skipped section {}: {}: {why}", self.section, self.check),
            (Some(CheckFault { section, did, expected }), _) => {
                write!(f, "FAULT section {section}: {}: {did}; expected {expected}", self.check)
            }
        }
    }
}
