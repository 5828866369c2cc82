//! Metric specs: an id with arguments.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Metric with arguments, as written in a suite: `"score_rate"`, `"nra form=reward"` or
/// `{ id = "nra", form = "reward" }`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct MetricSpec {
    /// Id of the metric.
    pub id: String,
    pub args: BTreeMap<String, toml::Value>,
}

/// Forms of a metric in a suite file: a text or a table.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(untagged)]
enum Written {
    Text(String),
    Table {
        id: String,
        #[serde(flatten)]
        args: BTreeMap<String, toml::Value>,
    },
}

impl TryFrom<Written> for MetricSpec {
    type Error = String;

    fn try_from(written: Written) -> Result<MetricSpec, String> {
        match written {
            Written::Text(text) => MetricSpec::parse(&text),
            Written::Table { id, args } => Ok(MetricSpec { id, args }),
        }
    }
}

impl From<MetricSpec> for Written {
    fn from(MetricSpec { id, args }: MetricSpec) -> Written {
        if args.is_empty() { Written::Text(id) } else { Written::Table { id, args } }
    }
}

impl MetricSpec {
    /// Creates a spec without arguments.
    pub fn plain(id: &str) -> MetricSpec {
        MetricSpec { id: id.to_owned(), args: BTreeMap::new() }
    }

    /// Parses `id name=value name=value`.
    ///
    /// # Errors
    /// Returns an error for a word without `=`, or for a repeated argument.
    pub fn parse(text: &str) -> Result<MetricSpec, String> {
        let mut words = text.split_whitespace();
        let mut ask = MetricSpec::plain(words.next().ok_or("expected the id of a metric, e.g. \"score_rate\"")?);
        for word in words {
            let Some((name, value)) = word.split_once('=') else {
                return Err(format!("{text:?}: expected name=value, got {word:?}"));
            };
            if ask.args.insert(name.to_owned(), toml::Value::String(value.to_owned())).is_some() {
                return Err(format!("{text:?}: duplicate argument {name}"));
            }
        }
        Ok(ask)
    }
}

/// Formats the spec in the syntax of [`MetricSpec::parse`].
impl fmt::Display for MetricSpec {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.id)?;
        self.args.iter().try_for_each(|(name, value)| write!(f, " {name}={}", text(value)))
    }
}

/// Parameter of a metric.
#[derive(Clone, Copy, Debug)]
pub struct ParamDef {
    pub name: &'static str,
    /// Default value; [`NONE`] for no value. If empty, the argument is required.
    pub default: &'static str,
    /// Type of the argument.
    pub takes: Takes,
    pub doc: &'static str,
}

/// Text of an argument without a value.
pub const NONE: &str = "none";

impl ParamDef {
    pub(crate) const fn new(name: &'static str, default: &'static str, takes: Takes, doc: &'static str) -> ParamDef {
        ParamDef { name, default, takes, doc }
    }
}

/// Type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Takes {
    Number,
    Whole,
    /// One of the listed words.
    Words(&'static [&'static str]),
    /// Name of a mark, or one of [`COLUMNS`](crate::rows::COLUMNS).
    Mark,
    /// Metric with arguments, in the syntax of [`MetricSpec::parse`].
    Metric,
    Text,
}

impl Takes {
    /// Returns the reason that a value is invalid; `None` for a valid value. Metrics are not checked here.
    fn wrong(self, value: &str) -> Option<String> {
        match self {
            Takes::Number if value.parse::<f64>().is_ok_and(f64::is_finite) => None,
            Takes::Number => Some("expected a number".into()),
            Takes::Whole if value.parse::<u64>().is_ok() => None,
            Takes::Whole => Some("expected an integer of at least 0".into()),
            Takes::Words(words) if words.contains(&value) => None,
            Takes::Words(words) => Some(format!("expected one of {}", words.join(", "))),
            Takes::Mark | Takes::Metric if value.is_empty() => Some("expected a name".into()),
            Takes::Mark | Takes::Metric | Takes::Text => None,
        }
    }
}

/// Checked and complete arguments of a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Args(BTreeMap<&'static str, String>);

impl Args {
    /// Checks arguments and fills in the defaults of missing arguments.
    ///
    /// # Errors
    /// Returns an error, which names the argument, for an unknown or missing argument, or for a value of the wrong
    /// type.
    pub fn new(params: &'static [ParamDef], given: &BTreeMap<String, toml::Value>) -> Result<Args, String> {
        let names = || params.iter().map(|p| p.name).collect::<Vec<_>>().join(", ");
        if let Some(unknown) = given.keys().find(|name| params.iter().all(|p| p.name != **name)) {
            let known = if params.is_empty() { "none".into() } else { names() };
            return Err(format!("unknown argument {unknown:?}; allowed: {known}"));
        }
        let mut out = BTreeMap::new();
        for param in params {
            let value = given.get(param.name).map_or_else(|| param.default.to_owned(), text);
            if value.is_empty() && param.default.is_empty() {
                return Err(format!("missing argument {}: {}", param.name, param.doc));
            }
            let nothing = value == NONE && param.default == NONE;
            if let Some(why) = param.takes.wrong(&value).filter(|_| !nothing) {
                return Err(format!("{}: {why}, got {value:?}", param.name));
            }
            out.insert(param.name, value);
        }
        Ok(Args(out))
    }

    /// Returns an argument as text; empty for an unknown parameter.
    pub fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// Returns an argument as text, unless it is [`NONE`].
    pub fn get(&self, name: &str) -> Option<&str> {
        Some(self.text(name)).filter(|text| !text.is_empty() && *text != NONE)
    }

    /// Returns true if the argument `name` is `word`.
    pub fn is(&self, name: &str, word: &str) -> bool {
        self.text(name) == word
    }

    /// Returns an argument of type [`Number`](Takes::Number); 0 if it is absent.
    pub fn number(&self, name: &str) -> f64 {
        self.text(name).parse().unwrap_or(0.0)
    }

    /// Returns an argument of type [`Whole`](Takes::Whole); 0 if it is absent.
    pub fn whole(&self, name: &str) -> u64 {
        self.text(name).parse().unwrap_or(0)
    }
}

/// Formats all arguments in the order of their names, so that equal specs have equal text.
impl fmt::Display for Args {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.0.iter().try_for_each(|(name, value)| write!(f, "{name}={value} "))
    }
}

/// Converts a TOML value to plain text.
fn text(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
