//! Decoding errors: a value that does not fit the message.

use std::fmt::{self, Display};

use serde::de::{Error, Expected, Unexpected};
use serde_json::Value;

use super::Node;
use crate::error::{ErrorCode, Refusal, nearest, truncate_text};

/// One segment of the path to a field.
#[derive(Debug)]
pub(crate) enum PathSegment {
    Field(String),
    At(usize),
}

/// A decoding error with its path. Implements serde's error traits and collects the path from the inside out.
#[derive(Debug)]
pub(crate) struct FieldError(Box<FieldErrorBody>);

#[derive(Debug, Default)]
struct FieldErrorBody {
    message: String,
    way: Vec<PathSegment>,
    got: Option<Value>,
    word: Option<String>,
    allowed: Option<&'static [&'static str]>,
}

impl FieldError {
    /// Prepends one segment of the path.
    pub fn inside(mut self, step: PathSegment, node: &Node) -> Self {
        if self.0.way.is_empty() {
            self.0.got = node.short_value();
        }
        self.0.way.push(step);
        self
    }

    fn at_field(message: &str, field: &str) -> Self {
        let way = vec![PathSegment::Field(field.to_owned())];
        FieldError(Box::new(FieldErrorBody { message: message.to_owned(), way, ..FieldErrorBody::default() }))
    }

    /// Creates the error for a value that should be one of `words` but has the wrong type.
    pub fn expected_word(words: &'static [&'static str]) -> Self {
        let message = format!("expected one of {}", words.join(", "));
        FieldError(Box::new(FieldErrorBody { message, allowed: Some(words), ..FieldErrorBody::default() }))
    }

    /// Converts the error to a refusal with the path: `bad_seed` for a seed, else `bad_field`. If the path ends with a
    /// list entry, `index` is its position.
    pub fn into_refusal(self) -> Refusal {
        let found = *self.0;
        let mut way = found.way;
        way.reverse();
        let at = match way.last() {
            Some(&PathSegment::At(at)) if way.len() > 1 => Some(at),
            _ => None,
        };
        let mut path = String::new();
        for step in &way[..way.len() - usize::from(at.is_some())] {
            match step {
                PathSegment::Field(name) if path.is_empty() => path.push_str(name),
                PathSegment::Field(name) => path.extend([".", name.as_str()]),
                PathSegment::At(at) => path.push_str(&format!("[{at}]")),
            }
        }
        let is_seed = matches!(way.first(), Some(PathSegment::Field(name)) if name == "seed" || name == "seeds");
        let code = if is_seed { ErrorCode::BadSeed } else { ErrorCode::BadField };
        let place = at.map(|at| format!("[{at}]")).unwrap_or_default();
        let near = found.word.zip(found.allowed).and_then(|(word, allowed)| nearest(&word, allowed.iter().copied()));
        let hint = near.map(|word| format!("; did you mean {word:?}?")).unwrap_or_default();
        let text = match path.is_empty() {
            true => truncate_text(&found.message),
            false => format!("`{}{place}`: {}{hint}", truncate_text(&path), truncate_text(&found.message)),
        };
        let mut error = Refusal::new(code, text);
        if !path.is_empty() {
            error = error.path(truncate_text(&path));
        }
        if let Some(at) = at {
            error = error.index(at);
        }
        if let Some(got) = found.got {
            error = error.got(got);
        }
        if let Some(allowed) = found.allowed {
            error = error.allowed(allowed);
        }
        if let Some(near) = near {
            error = error.nearest(near);
        }
        error
    }
}

impl Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for FieldError {}

/// Describes the found value in terms of the protocol instead of Rust or serde.
fn described(unexpected: Unexpected) -> String {
    match unexpected {
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Unsigned(value) => value.to_string(),
        Unexpected::Signed(value) => value.to_string(),
        // Display would print 4.0 as `4`, which looks like a valid integer.
        Unexpected::Float(value) => format!("the float {value:?}"),
        Unexpected::Str(text) => format!("{:?}", truncate_text(text)),
        Unexpected::Bytes(_) => "bytes".to_owned(),
        Unexpected::Unit => "null".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a map".to_owned(),
        other => other.to_string(),
    }
}

/// Describes the expected value without the Rust type names that serde uses.
fn expected_text(expected: &dyn Expected) -> String {
    let text = expected.to_string();
    if text.starts_with("struct ") || text.starts_with("internally tagged enum") {
        return "a map".to_owned();
    }
    match text.as_str() {
        "u32" | "u64" => "a nonnegative integer".to_owned(),
        "i64" => "an integer".to_owned(),
        "a sequence" => "a list".to_owned(),
        _ => text,
    }
}

impl Error for FieldError {
    fn custom<T: Display>(message: T) -> Self {
        FieldError(Box::new(FieldErrorBody { message: message.to_string(), ..FieldErrorBody::default() }))
    }

    fn invalid_type(unexpected: Unexpected, expected: &dyn Expected) -> Self {
        FieldError::custom(format_args!("expected {}, got {}", expected_text(expected), described(unexpected)))
    }

    fn invalid_value(unexpected: Unexpected, expected: &dyn Expected) -> Self {
        FieldError::invalid_type(unexpected, expected)
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        FieldError(Box::new(FieldErrorBody {
            message: format!("{:?} is not one of {}", truncate_text(variant), expected.join(", ")),
            word: Some(variant.to_owned()),
            allowed: Some(expected),
            ..FieldErrorBody::default()
        }))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        FieldError(Box::new(FieldErrorBody {
            message: format!("unknown field {:?}; allowed: {}", truncate_text(field), expected.join(", ")),
            word: Some(field.to_owned()),
            allowed: Some(expected),
            ..FieldErrorBody::default()
        }))
    }

    fn missing_field(field: &'static str) -> Self {
        FieldError::at_field("missing", field)
    }

    fn duplicate_field(field: &'static str) -> Self {
        FieldError::at_field("duplicate field", field)
    }
}

impl serde::ser::Error for FieldError {
    fn custom<T: Display>(message: T) -> Self {
        <Self as Error>::custom(message)
    }
}
