//! The protocol kit: checks for clients and for servers that others wrote.
//!
//! [`client`] plays the server in scripts that a client must come through. Each check is one line.

pub mod client;

use std::fmt;

use serde::Serialize;

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
        match &self.fault {
            None => write!(f, "ok section {}: {}", self.section, self.check),
            Some(Fault { section, did, expected }) => {
                write!(f, "FAULT section {section}: {}: {did}; expected {expected}", self.check)
            }
        }
    }
}
