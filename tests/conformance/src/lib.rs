//! The protocol kit: checks for clients and for servers that others wrote.
//!
//! [`server::check`] is a client that checks whether a server keeps the protocol. [`client::check`] is a server that leads a
//! client through scripts. [`llm_stub`] stands in for the endpoint of a language model. Each check is one line of the report: a section of `docs/protocol.md`, a sentence, and the fault
//! if there is one.
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
//! - The kit knows its subject only from outside: the address of a server, the command line of a client. It never imports
//!   `ludex-server`, so it cannot share the server's mistakes.
//! - A fault names the section that is broken, what was done, and what should have been done.
//! - What cannot be checked here (a scope that is not granted, a game that is not there) is skipped and says why; it never
//!   passes.

#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "names of rows and fields say it; the crate is used inside the project alone")]

pub mod client;
pub mod llm_stub;
pub mod server;

use std::fmt;

use serde::Serialize;

/// The kit as it names itself to those it checks.
const PROGRAM: &str = concat!("ludex/", env!("CARGO_PKG_VERSION"));

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The section of `docs/protocol.md`.
    pub section: u32,
    /// Name of the check: a sentence.
    pub check: String,
    /// The fault; `None` if the check passed or was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<CheckFault>,
    /// Why it was skipped; `None` if it was checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
}

/// A difference between a client or server and the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckFault {
    /// The section that prescribes `expected`.
    pub section: u32,
    /// Behavior that the check observed.
    pub did: String,
    /// Behavior that the protocol prescribes.
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
