//! Arguments of agents: their definitions and their values.

use std::fmt;

use ludex_protocol::Refusal;

use crate::refusal::bad_value;

/// What values an argument takes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ArgKind {
    /// A whole number within inclusive bounds.
    Int {
        /// Least value.
        min: u64,
        /// Greatest value.
        max: u64,
    },
    /// A finite number within inclusive bounds; whole numbers pass for it.
    Number {
        /// Least value.
        min: f64,
        /// Greatest value.
        max: f64,
    },
    /// `true` or `false`.
    Flag,
    /// Any text.
    Text,
}

/// An argument's definition.
#[derive(Clone, Copy, Debug)]
pub struct ArgDef {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub kind: ArgKind,
    /// The value that an absent argument has, as it would be written.
    pub default: Option<&'static str>,
    /// Whether it must be given.
    pub required: bool,
    /// The default does not hold when this argument is given.
    pub unless: Option<&'static str>,
    /// One line for `--help`.
    pub doc: &'static str,
}

impl ArgDef {
    /// An argument that may be absent, without a default.
    pub const fn new(name: &'static str, kind: ArgKind, doc: &'static str) -> Self {
        ArgDef { name, kind, default: None, required: false, unless: None, doc }
    }

    /// With a default.
    pub const fn default(self, value: &'static str) -> Self {
        ArgDef { default: Some(value), ..self }
    }

    /// With a default that holds unless another argument is given.
    pub const fn default_unless(self, value: &'static str, other: &'static str) -> Self {
        ArgDef { default: Some(value), unless: Some(other), ..self }
    }

    /// It must be given.
    pub const fn required(self) -> Self {
        ArgDef { required: true, ..self }
    }

    /// The value that `text` means.
    pub(crate) fn read(&self, text: &str) -> Result<ArgValue, Refusal> {
        let wrong = |allowed: String| Err(bad_value(self.name, text, &allowed));
        match self.kind {
            ArgKind::Int { min, max } => match text.parse() {
                Ok(n) if (min..=max).contains(&n) => Ok(ArgValue::Int(n)),
                _ => wrong(format!("a whole number from {min} to {max}")),
            },
            ArgKind::Number { min, max } => match text.parse() {
                // `contains` also turns NaN away; the zero added makes -0 plain 0.
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

/// An argument's value.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgValue {
    /// A whole number.
    Int(u64),
    /// A number.
    Number(f64),
    /// Yes or no.
    Flag(bool),
    /// Text.
    Text(String),
}

impl ArgValue {
    /// As it was written, without quotes.
    pub(crate) fn raw(&self) -> String {
        match self {
            ArgValue::Text(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for ArgValue {
    /// As in a spec: text is quoted where it must be.
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
