//! Definitions and values of agent arguments.

use std::fmt;

use ludex_protocol::Refusal;

use crate::refusal::bad_value;

/// Type and range of an argument.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ArgKind {
    /// Integer within inclusive bounds.
    Int {
        min: u64,
        max: u64,
    },
    /// Finite number within inclusive bounds; integers are accepted.
    Number {
        min: f64,
        max: f64,
    },
    Flag,
    Text,
}

/// Definition of an argument.
#[derive(Clone, Copy, Debug)]
pub struct ArgDef {
    pub name: &'static str,
    /// Accepted type and range.
    pub kind: ArgKind,
    /// Default value in spec syntax.
    pub default: Option<&'static str>,
    /// True if the argument is mandatory.
    pub required: bool,
    /// Name of an argument whose presence disables the default.
    pub unless: Option<&'static str>,
    /// One-line description for `--help`.
    pub doc: &'static str,
}

impl ArgDef {
    /// Defines an optional argument without a default.
    pub const fn new(name: &'static str, kind: ArgKind, doc: &'static str) -> Self {
        ArgDef { name, kind, default: None, required: false, unless: None, doc }
    }

    pub const fn default(self, value: &'static str) -> Self {
        ArgDef { default: Some(value), ..self }
    }

    /// Sets a default that applies unless the argument `other` is present.
    pub const fn default_unless(self, value: &'static str, other: &'static str) -> Self {
        ArgDef { default: Some(value), unless: Some(other), ..self }
    }

    /// Makes the argument mandatory.
    pub const fn required(self) -> Self {
        ArgDef { required: true, ..self }
    }

    pub(crate) fn read(&self, text: &str) -> Result<ArgValue, Refusal> {
        let wrong = |allowed: String| Err(bad_value(self.name, text, &allowed));
        match self.kind {
            ArgKind::Int { min, max } => match text.parse() {
                Ok(n) if (min..=max).contains(&n) => Ok(ArgValue::Int(n)),
                _ => wrong(format!("a whole number from {min} to {max}")),
            },
            ArgKind::Number { min, max } => match text.parse() {
                // `contains` also rejects NaN; adding 0.0 turns -0 into 0.
                Ok(x) if (min..=max).contains(&x) => Ok(ArgValue::Number(x + 0.0)),
                _ => wrong(format!("a number from {min} to {max}")),
            },
            ArgKind::Flag => match text.to_ascii_lowercase().as_str() {
                "true" => Ok(ArgValue::Flag(true)),
                "false" => Ok(ArgValue::Flag(false)),
                _ => wrong("true or false".to_owned()),
            },
            ArgKind::Text => Ok(ArgValue::Text(text.to_owned())),
        }
    }
}

/// Value of an argument.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgValue {
    Int(u64),
    Number(f64),
    Flag(bool),
    Text(String),
}

impl ArgValue {
    /// Returns the value in spec syntax, without quotes.
    pub(crate) fn raw(&self) -> String {
        match self {
            ArgValue::Text(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for ArgValue {
    /// Writes the value in spec syntax, quoted if necessary.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArgValue::Int(n) => write!(f, "{n}"),
            ArgValue::Number(x) => write!(f, "{x}"),
            ArgValue::Flag(b) => write!(f, "{b}"),
            ArgValue::Text(t) if t.is_empty() || t.contains(|c: char| c.is_whitespace() || c == '"') => {
                write!(f, "\"{}\"", t.replace('\\', "\\\\").replace('"', "\\\""))
            }
            ArgValue::Text(t) => f.write_str(t),
        }
    }
}
