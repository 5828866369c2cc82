//! What is wrong with a document, with a code for programs that count.

use ludex_protocol::error::Issue;
use serde_json::Value;

/// One flaw of a document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Flaw {
    /// One word of the game's page.
    pub code: &'static str,
    /// Where, what was given, what is allowed.
    pub issue: Issue,
}

impl Flaw {
    pub(crate) fn new(
        code: &'static str,
        path: impl Into<String>,
        got: &Value,
        allowed: impl Into<Value>,
        message: impl Into<String>,
    ) -> Self {
        let (got, allowed) = (Some(got.clone()), Some(allowed.into()));
        Flaw { code, issue: Issue { path: path.into(), got, allowed, message: message.into() } }
    }
}

impl Flaw {
    /// The same flaw in a document that stands at `path` of another one.
    pub(crate) fn within(mut self, path: &str) -> Self {
        self.issue.path = format!("{path}{}", self.issue.path);
        self
    }
}
