//! Game parameters: game strings, presets, and validation with the nearest valid name.

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use ludex_protocol::error::{did_you_mean, nearest, truncate_text};
use ludex_protocol::spec::Params;
use ludex_protocol::{ErrorCode, Refusal};

/// The error for an invalid game or parameter. `message` is for people, all other fields are for programs.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ParamError {
    /// True if the game is unknown, false if a parameter is invalid.
    pub unknown_game: bool,
    /// Name of the invalid parameter, if the error is about a parameter.
    pub name: Option<String>,
    /// The invalid value or name.
    pub got: Value,
    /// Allowed values: a list, or a description of the range.
    pub allowed: Value,
    /// Valid name that is most similar to the invalid name.
    pub nearest: Option<String>,
    /// Error message: one sentence.
    pub message: String,
}

/// Converts the error to a refusal for a client, with quoted input truncated.
impl From<ParamError> for Refusal {
    fn from(e: ParamError) -> Refusal {
        let (code, path) = match e.name {
            _ if e.unknown_game => (ErrorCode::UnknownGame, "game".to_owned()),
            Some(name) => (ErrorCode::BadParams, format!("params.{}", truncate_text(&name))),
            None => (ErrorCode::BadParams, "params".to_owned()),
        };
        let got = match e.got {
            Value::String(text) => truncate_text(&text).into(),
            other if other.to_string().len() > 256 => Value::Null,
            other => other,
        };
        let mut error = Refusal::new(code, shortened_sentence(&e.message)).path(path);
        if !got.is_null() {
            error = error.got(got);
        }
        if !e.allowed.is_null() {
            error = error.allowed(e.allowed);
        }
        match e.nearest {
            Some(word) => error.nearest(word),
            None => error,
        }
    }
}

/// Truncates an error message that quotes long client input.
fn shortened_sentence(text: &str) -> String {
    match text.char_indices().nth(600) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

impl ParamError {
    /// Creates the error for a value that is out of range.
    pub fn value(name: &str, got: impl Into<Value>, allowed: impl Into<Value>) -> Self {
        let (got, allowed) = (got.into(), allowed.into());
        let message = format!("{name} = {got} is out of range; allowed: {}", plain(&allowed));
        ParamError { unknown_game: false, name: Some(name.into()), got, allowed, nearest: None, message }
    }

    /// Creates the error for a name that is not in `known`.
    pub(crate) fn unknown(what: &str, got: &str, known: Vec<String>) -> Self {
        ParamError {
            unknown_game: what == "game",
            name: (what != "game").then(|| got.to_owned()),
            got: got.into(),
            message: format!("there is no {what} {got:?}{}", did_you_mean(got, &known)),
            nearest: nearest(got, known.iter().map(String::as_str)).map(str::to_owned),
            allowed: known.into(),
        }
    }

    /// Creates the error for a text that is not a game string.
    pub(crate) fn syntax(text: &str, why: &str) -> Self {
        ParamError {
            unknown_game: false,
            name: None,
            got: text.into(),
            allowed: "name(key=value,...)".into(),
            nearest: None,
            message: format!("{text:?} is not a game string: {why}"),
        }
    }
}

fn plain(v: &Value) -> String {
    v.as_str().map_or_else(|| v.to_string(), str::to_owned)
}

/// Splits `name(key=value,...)` into the name and raw parameters.
///
/// Values are parsed as JSON if possible, else taken as text. Commas inside brackets, braces, parentheses and quotes
/// belong to the value.
///
/// # Errors
/// Fails on a text that does not have this form.
pub fn split(text: &str) -> Result<(String, Params), ParamError> {
    let text = text.trim();
    let Some(open) = text.find('(') else {
        return Ok((text.to_owned(), Params::new()));
    };
    let Some(inner) = text[open + 1..].strip_suffix(')') else {
        return Err(ParamError::syntax(text, "expected a closing parenthesis at the end"));
    };
    let mut params = Params::new();
    for part in pieces(inner) {
        let Some((key, value)) = part.split_once('=') else {
            return Err(ParamError::syntax(text, &format!("expected key=value, got {part:?}")));
        };
        params.insert(key.trim().to_owned(), read(value.trim()));
    }
    Ok((text[..open].trim().to_owned(), params))
}

/// Parses a value of a game string: JSON if possible, else text. Accepts `True` and `False`.
pub fn read(text: &str) -> Value {
    match text {
        "True" => Value::Bool(true),
        "False" => Value::Bool(false),
        _ => serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)),
    }
}

fn pieces(inner: &str) -> Vec<&str> {
    let (mut out, mut depth, mut quoted, mut from) = (Vec::new(), 0i32, false, 0);
    for (i, c) in inner.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '(' | '[' | '{' if !quoted => depth += 1,
            ')' | ']' | '}' if !quoted => depth -= 1,
            ',' if depth == 0 && !quoted => {
                out.push(&inner[from..i]);
                from = i + 1;
            }
            _ => {}
        }
    }
    out.push(&inner[from..]);
    out.into_iter().map(str::trim).filter(|p| !p.is_empty()).collect()
}

/// Returns the canonical game string: the id and every parameter, in the order of definition.
pub fn canonical(id: &str, params: &Params) -> String {
    let list: Vec<String> = params.iter().map(|(k, v)| format!("{k}={}", plain(v))).collect();
    if list.is_empty() { id.to_owned() } else { format!("{id}({})", list.join(",")) }
}

/// Converts raw parameters to the type `P`. Refuses unknown names and wrong types.
///
/// # Errors
/// Returns the first parameter that is unknown or has the wrong type.
pub fn typed<P: Default + Serialize + DeserializeOwned>(raw: &Params, schema: &Value) -> Result<P, ParamError> {
    let known: Vec<String> = schema["properties"].as_object().map(|o| o.keys().cloned().collect()).unwrap_or_default();
    if let Some(name) = raw.keys().find(|k| !known.contains(k)) {
        return Err(ParamError::unknown("parameter", name, known));
    }
    // Replaces the defaults one at a time, so that the error names the invalid parameter.
    for (name, value) in raw {
        let one = Params::from_iter([(name.clone(), value.clone())]);
        if let Err(e) = serde_json::from_value::<P>(Value::Object(one)) {
            let allowed = schema["properties"][name].clone();
            return Err(ParamError {
                unknown_game: false,
                name: Some(name.clone()),
                got: value.clone(),
                message: format!("{name} = {value} is invalid: {e}"),
                allowed,
                nearest: None,
            });
        }
    }
    serde_json::from_value(Value::Object(raw.clone())).map_err(|e| ParamError {
        unknown_game: false,
        name: None,
        got: Value::Object(raw.clone()),
        allowed: schema.clone(),
        nearest: None,
        message: e.to_string(),
    })
}

/// Checks parameters against the ranges in their schema (`#[schemars(range(...))]`). Constructors then check only the
/// remaining constraints.
///
/// # Errors
/// Returns the first parameter that is out of range, in the order of definition.
pub fn in_range<P: Serialize + JsonSchema>(params: &P) -> Result<(), ParamError> {
    let schema = schemars::schema_for!(P).to_value();
    let Ok(Value::Object(params)) = serde_json::to_value(params) else { return Ok(()) };
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let Some((got, value)) = params.get(name).and_then(|got| Some((got, got.as_f64()?))) else { continue };
        let [low, high] = ["minimum", "maximum"].map(|bound| property[bound].as_f64());
        let range = match (low, high) {
            (Some(low), Some(high)) => format!("{low} to {high}"),
            (Some(low), None) => format!("at least {low}"),
            (_, Some(high)) => format!("at most {high}"),
            (None, None) => continue,
        };
        if low.is_some_and(|low| value < low) || high.is_some_and(|high| value > high) {
            return Err(ParamError::value(name, got.clone(), range));
        }
    }
    Ok(())
}

/// Deserializes a list of numbers from a JSON list or from text in OpenSpiel's format (`1;3;5;7` or `100 50`).
///
/// For `#[serde(deserialize_with = "...")]` on list parameters.
///
/// # Errors
/// Fails on a value in any other format.
pub fn list<'de, D, T>(d: D) -> Result<Vec<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: DeserializeOwned,
{
    use serde::{Deserialize, de::Error};
    let value = match Value::deserialize(d)? {
        Value::String(text) => Value::Array(text.split([';', ' ', ',']).filter(|p| !p.is_empty()).map(read).collect()),
        number @ Value::Number(_) => Value::Array(vec![number]),
        other => other,
    };
    serde_json::from_value(value).map_err(D::Error::custom)
}

/// Parses rows of numbers in OpenSpiel's format: `2 3 4;7 1 7`. Returns `None` if the text does not have this format.
pub fn rows(text: &str) -> Option<Vec<Vec<u8>>> {
    text.split(';').map(|row| row.split_whitespace().map(|n| n.parse().ok()).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn game_string_is_split_into_name_and_parameters() {
        let (name, p) = split("x(a=1,b=1;3;5,c=[1,2],d=matrix_pd(),e=\"a,b\", f = True)").unwrap();
        assert_eq!(name, "x");
        assert_eq!(
            Value::Object(p),
            serde_json::json!({"a":1,"b":"1;3;5","c":[1,2],"d":"matrix_pd()","e":"a,b","f":true})
        );
        assert!(split("x(a=1").is_err());
        assert!(split("x(a)").is_err());
        assert_eq!(split("x()").unwrap().1.len(), 0);
    }

    #[test]
    fn value_outside_schema_range_is_refused() {
        #[derive(Serialize, JsonSchema)]
        struct Sizes {
            #[schemars(range(min = 0, max = 16))]
            rows: u32,
            #[schemars(range(min = -0.5, max = 400))]
            komi: f64,
            #[schemars(range(min = 2))]
            length: Option<u32>,
        }
        let error = |rows, komi, length| in_range(&Sizes { rows, komi, length }).unwrap_err();
        assert_eq!(in_range(&Sizes { rows: 16, komi: -0.5, length: None }), Ok(()));
        assert_eq!(error(17, 401.0, Some(0)), ParamError::value("rows", 17, "0 to 16"));
        assert_eq!(error(17, 0.0, None).message, "rows = 17 is out of range; allowed: 0 to 16");
        assert_eq!(error(0, 400.5, Some(0)), ParamError::value("komi", 400.5, "-0.5 to 400"));
        assert_eq!(error(0, 0.0, Some(1)), ParamError::value("length", 1, "at least 2"));
    }
}
