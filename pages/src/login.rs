//! The form for entering a token.

use serde::Serialize;

/// Page on which a visitor enters a token.
#[derive(Clone, Debug, Serialize)]
pub struct LoginPage {
    /// Address to open after the login.
    pub next: String,
    /// Reason why the visitor's token is rejected; empty without a token.
    pub why: String,
}
