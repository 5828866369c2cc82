//! Documents as moves: where one is in a text, its size, its schema, and the list of what is wrong with it.

use std::collections::BTreeMap;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use ludex_protocol::error::Issue;
use serde::Deserialize;
use serde_json::Value;
use serde_json::error::Category;

mod strict;

use strict::{Strict, TWICE};

/// The most objects and lists inside each other.
pub const DEPTH: usize = 16;
/// The most values of a document, with those inside of others.
pub const NODES: usize = 10_000;
/// The most issues of a refusal.
pub const ISSUES: usize = 64;
/// Longer values are not given back in issues.
const SHOWN: usize = 400;

/// How many bytes of memory a document takes, about.
pub(crate) fn bytes(said: &Value) -> usize {
    let more = match said {
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(bytes).sum(),
        Value::Object(map) => map.iter().map(|(key, value)| size_of::<String>() + key.len() + bytes(value)).sum(),
        _ => 0,
    };
    size_of::<Value>() + more
}

/// The schemas of a game, ready to check documents.
#[derive(Default)]
pub(crate) struct Schemas(BTreeMap<String, (Value, Validator)>);

impl Schemas {
    /// The schemas by key, as [`Facts::proposals`](crate::game::Facts::proposals) has them.
    ///
    /// # Errors
    /// What is no JSON Schema.
    pub(crate) fn new(proposals: Option<&BTreeMap<String, Value>>) -> Result<Self, String> {
        let one = |(key, schema): (&String, &Value)| match jsonschema::validator_for(schema) {
            Ok(validator) => Ok((key.clone(), (schema.clone(), validator))),
            Err(e) => Err(format!("the schema {key}: {e}")),
        };
        proposals.into_iter().flatten().map(one).collect::<Result<_, _>>().map(Schemas)
    }

    /// What is wrong with the size and the structure of a document that should fit the schema `key`; nothing if it fits.
    pub(crate) fn check(&self, key: &str, said: &Value) -> Vec<Issue> {
        if let Err(issue) = sized(said) {
            return vec![issue];
        }
        let Some((schema, validator)) = self.0.get(key) else { return Vec::new() };
        // To say whether it fits is several times as fast as to look for all that is wrong with it.
        if validator.is_valid(said) {
            return Vec::new();
        }
        capped(validator.iter_errors(said).flat_map(|e| issues_of(&e, schema)).collect())
    }
}

/// What the checker found at one place. Fields that are missing or too many are named each by its own path.
fn issues_of(e: &ValidationError<'_>, schema: &Value) -> Vec<Issue> {
    let at = e.instance_path().to_string();
    let issue = |path: String, got: Option<Value>, message: String| Issue {
        path,
        got,
        allowed: schema.pointer(e.schema_path().as_str()).and_then(shown),
        message,
        code: Some(e.kind().keyword().into()),
    };
    let field = |name: &str| format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
    match e.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let one = |name: &String| {
                issue(field(name), e.instance().get(name).and_then(shown), format!("there is no field {name:?}"))
            };
            unexpected.iter().take(ISSUES + 1).map(one).collect()
        }
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            vec![issue(field(name), None, format!("the field {name:?} is missing"))]
        }
        _ => vec![issue(at, shown(e.instance()), message(e))],
    }
}

/// What is wrong, in words. All that is possible is named, as long as that is short.
pub(crate) fn message(e: &ValidationError<'_>) -> String {
    match e.kind() {
        ValidationErrorKind::Enum { options } if shown(options).is_some() => {
            let all: Vec<String> = options.as_array().into_iter().flatten().map(Value::to_string).collect();
            format!("the value is not one of {}", all.join(", "))
        }
        _ => e.masked_with("the value").to_string(),
    }
}

/// A value as an issue gives it back.
fn shown(value: &Value) -> Option<Value> {
    (value.to_string().len() <= SHOWN).then(|| value.clone())
}

/// Issues in the order of their paths, and at most [`ISSUES`]: the last one tells how many more there are.
pub(crate) fn capped(mut issues: Vec<Issue>) -> Vec<Issue> {
    issues.sort_by(|a, b| a.path.cmp(&b.path));
    if issues.len() > ISSUES {
        let more = issues.len() - (ISSUES - 1);
        issues.truncate(ISSUES - 1);
        issues.push(Issue { message: format!("and {more} more"), code: Some("more".into()), ..Issue::default() });
    }
    issues
}

/// Whether a document is small enough to be looked at.
fn sized(said: &Value) -> Result<(), Issue> {
    let mut left = NODES;
    if fits(said, DEPTH + 1, &mut left) {
        return Ok(());
    }
    let message = format!("the document is too large: at most {DEPTH} levels and {NODES} values");
    Err(Issue { message, code: Some("over_size".into()), ..Issue::default() })
}

/// Whether a value has at most this many levels and takes no more than what is left of the values.
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

/// The last whole JSON object of a text that is not part of another one, inside a fence or not.
/// A text that ends inside of an object holds none after it.
///
/// # Errors
/// A key that stands twice in one object.
pub(crate) fn object_in(text: &str) -> Result<Option<Value>, Issue> {
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

/// A JSON document from a text that holds nothing else.
///
/// # Errors
/// What is wrong with it, in words; a key that stands twice in one object too.
pub fn document(text: &str) -> Result<Value, String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let Strict(value) = Strict::deserialize(&mut reader).map_err(|e| e.to_string())?;
    reader.end().map_err(|e| e.to_string())?;
    Ok(value)
}

#[cfg(test)]
mod tests;
