//! The registration of owners: the form, and the token of a new owner.

use serde::Serialize;

use super::first_bot::{FirstBot, first_bots};

/// Page on which a visitor registers an owner, or revokes a token.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RegisterPage {
    /// True if a registration requires an invitation.
    pub needs_invitation: bool,
    /// Maximum number of registrations per hour from one address; 0: no limit.
    pub per_hour: u32,
    /// Owner name as entered; empty in a new form.
    pub owner: String,
    /// Reason why the registration was refused; empty in a new form.
    pub problem: String,
    /// Result of the revocation of a token, if the visitor requested one.
    pub revocation: Option<Revocation>,
}

/// Result of the revocation of a token.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Revocation {
    /// The token is revoked.
    Done {
        /// Owner of the token.
        owner: String,
    },
    /// The token stays valid.
    Refused {
        /// Reason for the refusal.
        why: String,
    },
}

/// Page with the token of a new owner, and a first bot in several languages.
#[derive(Clone, Debug, Serialize)]
pub struct RegisteredPage {
    owner: String,
    token: String,
    names: Vec<String>,
    bots: Vec<FirstBot>,
}

impl RegisteredPage {
    /// Creates the page for an owner with its token and the agent names that the token allows. Bots connect to
    /// `address`, such as `ws://127.0.0.1:7878`.
    pub fn new(owner: String, token: String, names: Vec<String>, address: &str) -> Self {
        let bots = first_bots(address, &token, &owner);
        RegisteredPage { owner, token, names, bots }
    }
}
