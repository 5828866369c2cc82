//! The protocol kit: checks for clients and for servers that others wrote.
//!
//! [`client`] plays the server in scripts that a client must come through; [`server`] is a client that tries whether a
//! server keeps the protocol. Each check is one line.

#![forbid(unsafe_code)]

pub mod client;
pub mod server;

use std::fmt;

use serde::Serialize;

/// The kit as it names itself to those it checks.
const PROGRAM: &str = concat!("ludex/", env!("CARGO_PKG_VERSION"));

/// What one check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The section of `docs/protocol.md`.
    pub section: u32,
    /// What was checked.
    pub check: String,
    /// What is wrong; absent: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// Why nothing could be checked; absent: it was checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The section that says how it should be.
    pub section: u32,
    /// What was done.
    pub did: String,
    /// What should have been done.
    pub expected: String,
}

impl Fault {
    pub(crate) fn new(section: u32, did: impl Into<String>, expected: impl Into<String>) -> Self {
        Fault { section, did: did.into(), expected: expected.into() }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.fault, &self.skipped) {
            (None, None) => write!(f, "ok section {}: {}", self.section, self.check),
            (None, Some(why)) => write!(f, "skipped section {}: {}: {why}", self.section, self.check),
            (Some(Fault { section, did, expected }), _) => {
                write!(f, "FAULT section {section}: {}: {did}; expected {expected}", self.check)
            }
        }
    }
}
