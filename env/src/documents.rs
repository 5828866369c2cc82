//! Documents as moves: extraction from text, size limits, schema checks, and lists of issues.

use std::collections::BTreeMap;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use ludex_protocol::error::Issue;
use serde::Deserialize;
use serde_json::Value;
use serde_json::error::Category;

mod strict;

use strict::{Strict, TWICE};

/// Maximum nesting depth of objects and lists.
pub const DEPTH: usize = 16;
/// Maximum number of values in a document, including nested values.
pub const NODES: usize = 10_000;
/// Maximum number of issues in a refusal.
pub const ISSUES: usize = 64;
/// Longest value that an issue echoes, in bytes of JSON.
const MAX_VALUE_CHARS: usize = 400;

/// Returns the approximate memory of a document, in bytes.
pub(crate) fn bytes(document: &Value) -> usize {
    let more = match document {
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(bytes).sum(),
        Value::Object(map) => map.iter().map(|(key, value)| size_of::<String>() + key.len() + bytes(value)).sum(),
        _ => 0,
    };
    size_of::<Value>() + more
}

/// The compiled schemas of a game.
#[derive(Default)]
pub struct Schemas(BTreeMap<String, (Value, Validator)>);

impl Schemas {
    /// Compiles the schemas in [`Facts::document_schemas`](crate::game::Facts::document_schemas) under the same keys.
    ///
    /// # Errors
    /// Returns a message with the key of an invalid JSON Schema.
    pub fn new(document_schemas: Option<&BTreeMap<String, Value>>) -> Result<Self, String> {
        let one = |(key, schema): (&String, &Value)| match jsonschema::validator_for(schema) {
            Ok(validator) => Ok((key.clone(), (schema.clone(), validator))),
            Err(e) => Err(format!("invalid JSON Schema {key:?}: {e}")),
        };
        document_schemas.into_iter().flatten().map(one).collect::<Result<_, _>>().map(Schemas)
    }

    /// Checks a document against the size limits and the schema `key`. Returns all issues; empty if the document is
    /// valid.
    pub fn check(&self, key: &str, document: &Value) -> Vec<Issue> {
        if let Err(issue) = sized(document) {
            return vec![issue];
        }
        let Some((schema, validator)) = self.0.get(key) else { return Vec::new() };
        // A validity check is several times faster than collecting all errors.
        if validator.is_valid(document) {
            return Vec::new();
        }
        cap_issues(validator.iter_errors(document).flat_map(|e| issues_of(&e, schema)).collect())
    }
}

/// Converts one validation error to issues. Each missing or unexpected field gets an issue with the field's path.
fn issues_of(e: &ValidationError<'_>, schema: &Value) -> Vec<Issue> {
    let at = e.instance_path().to_string();
    let issue = |path: String, got: Option<Value>, message: String| Issue {
        path,
        got,
        allowed: schema.pointer(e.schema_path().as_str()).and_then(short_value),
        message,
        code: Some(e.kind().keyword().into()),
    };
    let field = |name: &str| format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
    match e.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let one = |name: &String| {
                issue(field(name), e.instance().get(name).and_then(short_value), format!("there is no field {name:?}"))
            };
            unexpected.iter().take(ISSUES + 1).map(one).collect()
        }
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            vec![issue(field(name), None, format!("the field {name:?} is missing"))]
        }
        _ => vec![issue(at, short_value(e.instance()), message(e))],
    }
}

/// Returns the message of a validation error. Lists all allowed values if the list is short.
pub fn message(e: &ValidationError<'_>) -> String {
    match e.kind() {
        ValidationErrorKind::Enum { options } if short_value(options).is_some() => {
            let all: Vec<String> = options.as_array().into_iter().flatten().map(Value::to_string).collect();
            format!("the value is not one of {}", all.join(", "))
        }
        _ => e.masked_with("the value").to_string(),
    }
}

/// Returns a copy of `value` for display in an issue; `None` if the value is too long.
fn short_value(value: &Value) -> Option<Value> {
    (value.to_string().len() <= MAX_VALUE_CHARS).then(|| value.clone())
}

/// Sorts issues by path and truncates the list to [`ISSUES`] entries. The last entry then states the number of omitted
/// issues.
pub(crate) fn cap_issues(mut issues: Vec<Issue>) -> Vec<Issue> {
    issues.sort_by(|a, b| a.path.cmp(&b.path));
    if issues.len() > ISSUES {
        let more = issues.len() - (ISSUES - 1);
        issues.truncate(ISSUES - 1);
        let message = format!("{more} more issues were omitted");
        issues.push(Issue { message, code: Some("more".into()), ..Issue::default() });
    }
    issues
}

/// Checks that a document is within the size limits.
fn sized(document: &Value) -> Result<(), Issue> {
    let mut left = NODES;
    if fits(document, DEPTH + 1, &mut left) {
        return Ok(());
    }
    let message = format!("expected a document of at most {DEPTH} levels and {NODES} values, got more");
    Err(Issue { message, code: Some("over_size".into()), ..Issue::default() })
}

/// Returns true if `value` has at most `levels` levels and `left` values. Subtracts the number of values visited from
/// `left`.
fn fits(value: &Value, levels: usize, left: &mut usize) -> bool {
    if levels == 0 || *left == 0 {
        return false;
    }
    *left -= 1;
    match value {
        Value::Array(list) => list.iter().all(|value| fits(value, levels - 1, left)),
        Value::Object(map) => map.values().all(|value| fits(value, levels - 1, left)),
        _ => true,
    }
}

/// Returns the last complete top-level JSON object in a text, inside or outside a code fence. Ignores an unfinished
/// object at the end of the text, including the objects nested in the unfinished object.
///
/// # Errors
/// Fails on a duplicate key in an object.
pub(crate) fn last_object(text: &str) -> Result<Option<Value>, Issue> {
    let (mut found, mut from) = (None, 0);
    while let Some(at) = text[from..].find('{').map(|at| from + at) {
        let mut reader = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Strict>();
        match reader.next() {
            Some(Ok(Strict(value))) => {
                from = at + reader.byte_offset();
                found = Some(value);
            }
            Some(Err(e)) if e.classify() == Category::Eof => break,
            Some(Err(e)) if e.to_string().starts_with(TWICE) => {
                return Err(Issue { message: e.to_string(), code: Some("twice".into()), ..Issue::default() });
            }
            _ => from = at + 1,
        }
    }
    Ok(found)
}

/// Parses a text that consists of one JSON document.
///
/// # Errors
/// Returns a message with the syntax error or the duplicate key.
pub fn document(text: &str) -> Result<Value, String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let Strict(value) = Strict::deserialize(&mut reader).map_err(|e| e.to_string())?;
    reader.end().map_err(|e| e.to_string())?;
    Ok(value)
}

#[cfg(test)]
mod tests;
