//! Agents as text: `mcts sims=500 c=1.4`, `gtp cmd="gnugo --mode gtp"`, `anchor level=2`.

use std::fmt;
use std::sync::Arc;

use ludex_env::draw::{Key, key};
use ludex_env::{AgentKey, Ask, GameRef};

use crate::agent::{Agent, wrap};
use crate::anchor;
use crate::error::{AgentError, ErrorKind};
use crate::roster::{Entry, Kind, SEED, list};

/// What values an argument takes.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    /// What is meant when it is absent, as it would be written.
    pub default: Option<&'static str>,
    /// Whether it must be given.
    pub required: bool,
    /// The default does not hold when this argument is given.
    pub unless: Option<&'static str>,
    /// One line for `--help`.
    pub doc: &'static str,
}

impl ArgDef {
    /// An argument that may be absent and then means nothing.
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

    /// To be given always.
    pub const fn required(self) -> Self {
        ArgDef { required: true, ..self }
    }

    /// The value that `text` means.
    fn read(&self, text: &str) -> Result<ArgValue, AgentError> {
        let wrong = |allowed: String| Err(AgentError::value(self.name, text, allowed));
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

impl fmt::Display for ArgValue {
    /// As it stands in a spec: text is quoted where it must be.
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

/// How much an agent may search per move; `None` = it has no such bound. Servers compare it with their limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Simulations.
    pub sims: Option<u64>,
    /// Depth in plies.
    pub depth: Option<u64>,
    /// Positions.
    pub nodes: Option<u64>,
    /// Milliseconds.
    pub ms: Option<u64>,
}

/// An agent as it was written: a name that exists with arguments that it takes. Whether it plays a game is asked by
/// [`AgentSpec::build`].
///
/// `Display` is the canonical form: the arguments that were given, in the order of their definition, without those that
/// equal their defaults. Equal canonical forms mean the same agent.
#[derive(Clone)]
pub struct AgentSpec {
    entry: &'static Entry,
    /// In canonical order.
    given: Vec<(String, ArgValue)>,
}

impl AgentSpec {
    /// Reads `name key=value key="quoted value"`. Inside quotes, `\"` and `\\` stand for the character itself.
    ///
    /// # Errors
    /// Text of another form; an unknown name with the nearest one; an unknown, repeated, wrong or missing argument.
    pub fn parse(text: &str) -> Result<Self, AgentError> {
        let (name, raw) = split(text)?;
        let Some(entry) = list().find(|e| e.name == name) else {
            let known = list().map(|e| e.name.to_owned()).collect();
            return Err(AgentError::unknown(ErrorKind::UnknownAgent, "agent", name, known));
        };
        let mut spec = AgentSpec { entry, given: Vec::new() };
        for (name, value) in raw {
            if spec.given.iter().any(|(n, _)| n == name) {
                return Err(AgentError {
                    name: Some(name.to_owned()),
                    got: text.into(),
                    ..AgentError::new(ErrorKind::UnknownArgument, format!("{name} is given twice"))
                });
            }
            let value = match spec.def(name) {
                Some(def) => def.read(&value)?,
                None if entry.free => ArgValue::Text(value),
                None => {
                    let known = entry.args.iter().chain([&SEED]).map(|d| d.name.to_owned()).collect();
                    let what = format!("argument of {}", entry.name);
                    return Err(AgentError::unknown(ErrorKind::UnknownArgument, &what, name, known));
                }
            };
            spec.given.push((name.to_owned(), value));
        }
        if let Some(def) = entry.args.iter().find(|d| d.required && spec.given(d.name).is_none()) {
            return Err(AgentError {
                name: Some(def.name.to_owned()),
                got: text.into(),
                ..AgentError::new(ErrorKind::Missing, format!("{} needs {}: {}", entry.name, def.name, def.doc))
            });
        }
        spec.sort();
        Ok(spec)
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.entry.name
    }

    /// What kind of player it is.
    pub fn kind(&self) -> Kind {
        self.entry.kind
    }

    /// Its line of the roster.
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// The value of an argument, its default if it was not given.
    pub fn get(&self, name: &str) -> Option<ArgValue> {
        self.given(name).cloned().or_else(|| {
            let def = self.def(name)?;
            let holds = def.unless.is_none_or(|other| self.given(other).is_none());
            def.default.filter(|_| holds).and_then(|text| def.read(text).ok())
        })
    }

    /// A whole-number argument.
    pub fn int(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            Some(ArgValue::Int(n)) => Some(n),
            _ => None,
        }
    }

    /// A number argument.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.get(name) {
            Some(ArgValue::Number(x)) => Some(x),
            _ => None,
        }
    }

    /// A flag; false where the agent has none.
    pub fn flag(&self, name: &str) -> bool {
        self.get(name) == Some(ArgValue::Flag(true))
    }

    /// A text argument.
    pub fn text(&self, name: &str) -> Option<String> {
        match self.get(name) {
            Some(ArgValue::Text(t)) => Some(t),
            _ => None,
        }
    }

    /// The arguments that only the agent's adapter knows.
    pub(crate) fn free(&self) -> impl Iterator<Item = (&str, String)> {
        let free = self.given.iter().filter(|(name, _)| self.def(name).is_none());
        free.map(|(name, value)| {
            (
                name.as_str(),
                match value {
                    ArgValue::Text(text) => text.clone(),
                    other => other.to_string(),
                },
            )
        })
    }

    /// Whether an argument was given.
    pub fn gives(&self, name: &str) -> bool {
        self.given(name).is_some()
    }

    /// The spec as if this argument had not been written.
    pub fn without(mut self, name: &str) -> AgentSpec {
        self.given.retain(|(n, _)| n != name);
        self
    }

    /// The spec with an argument set as if it were written so.
    ///
    /// # Errors
    /// An argument that the agent does not take, or a value that is none for it.
    pub fn set(&self, name: &str, value: &str) -> Result<AgentSpec, AgentError> {
        let rest = self.given.iter().filter(|(n, _)| n != name);
        let rest = rest.fold(self.name().to_owned(), |text, (n, v)| format!("{text} {n}={v}"));
        AgentSpec::parse(&format!("{rest} {name}={}", ArgValue::Text(value.to_owned())))
    }

    /// The spec with an argument set; the value is the caller's to choose well.
    pub(crate) fn with(mut self, name: &str, value: ArgValue) -> Self {
        self.given.retain(|(n, _)| n != name);
        self.given.push((name.to_owned(), value));
        self.sort();
        self
    }

    /// Every argument spelled out, defaults too: the text that records keep, so that they mean the same when a default
    /// changes.
    pub fn full(&self) -> String {
        let free = self.given.iter().filter(|(n, _)| self.def(n).is_none());
        let args = self.defs().filter_map(|d| Some((d.name, self.get(d.name)?)));
        let all = args.chain(free.map(|(n, v)| (n.as_str(), v.clone())));
        all.fold(self.name().to_owned(), |text, (n, v)| format!("{text} {n}={v}"))
    }

    /// How much it may search per move. Anchors have the budget of what they [resolve](AgentSpec::resolve) to.
    pub fn budget(&self) -> Budget {
        Budget { sims: self.int("sims"), depth: self.int("depth"), nodes: self.int("nodes"), ms: self.int("ms") }
    }

    /// Whether it looks at the true state: in-process and unrated episodes only.
    pub fn peeks(&self) -> bool {
        self.flag("peek")
    }

    /// Whether its moves depend on nothing but (spec, key, turn, view): no clock, no person, no program, no memory.
    pub fn reproducible(&self) -> bool {
        matches!(self.kind(), Kind::Builtin | Kind::Anchor) && self.budget().ms.is_none() && !self.flag("reuse")
    }

    /// The key that `seed=N` fixes: SHA-256 of `ludex.v1:agent-seed:N`.
    pub fn key(&self) -> Option<Key> {
        self.int("seed").map(|n| key(&format!("ludex.v1:agent-seed:{n}")))
    }

    /// What an anchor stands for in `game`; any other spec as it is.
    ///
    /// # Errors
    /// A level or bot that the game's ladder lacks.
    pub fn resolve(&self, game: &GameRef) -> Result<AgentSpec, AgentError> {
        if self.kind() == Kind::Anchor { anchor::resolve(self, game) } else { Ok(self.clone()) }
    }

    /// The agent for `game`.
    ///
    /// # Errors
    /// An agent that does not play this game, with what would; an anchor that does not exist; what an agent misses
    /// that is a program or an endpoint (its key, for one).
    pub fn build(&self, game: &GameRef) -> Result<Arc<dyn Agent>, AgentError> {
        let agent = (self.entry.build)(self, game)?;
        Ok(match self.key() {
            Some(key) => {
                let keyed = move |agent: &dyn Agent, ask: &Ask<'_>, deadline| {
                    agent.act(&ask.keyed(AgentKey::Own(&key)), deadline)
                };
                Arc::new(wrap(agent, keyed))
            }
            None => agent,
        })
    }

    fn given(&self, name: &str) -> Option<&ArgValue> {
        self.given.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    fn defs(&self) -> impl Iterator<Item = &'static ArgDef> + use<> {
        self.entry.args.iter().chain([&SEED])
    }

    fn def(&self, name: &str) -> Option<&'static ArgDef> {
        self.defs().find(|d| d.name == name)
    }

    /// Defined arguments in the order of their definition, then free ones by name.
    fn sort(&mut self) {
        let defs: Vec<&str> = self.defs().map(|d| d.name).collect();
        let rank = |n: &str| defs.iter().position(|d| *d == n).unwrap_or(defs.len());
        self.given.sort_by(|a, b| (rank(&a.0), &a.0).cmp(&(rank(&b.0), &b.0)));
    }

    fn is_default(&self, name: &str, value: &ArgValue) -> bool {
        let def = self.def(name).filter(|d| d.unless.is_none_or(|other| self.given(other).is_none()));
        def.and_then(|d| d.read(d.default?).ok()).as_ref() == Some(value)
    }
}

impl fmt::Display for AgentSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        self.given.iter().filter(|(n, v)| !self.is_default(n, v)).try_for_each(|(n, v)| write!(f, " {n}={v}"))
    }
}

impl fmt::Debug for AgentSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AgentSpec({self})")
    }
}

impl PartialEq for AgentSpec {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

/// The agent that `text` names, for `game`.
///
/// # Errors
/// As [`AgentSpec::parse`] and [`AgentSpec::build`].
pub fn build(text: &str, game: &GameRef) -> Result<Arc<dyn Agent>, AgentError> {
    AgentSpec::parse(text)?.build(game)
}

/// Names and values as they were written.
type RawArgs<'a> = Vec<(&'a str, String)>;

/// The name and the raw arguments.
fn split(text: &str) -> Result<(&str, RawArgs<'_>), AgentError> {
    let wrong = |why: String| AgentError {
        got: text.into(),
        allowed: ["name key=value key=\"quoted value\"".to_owned()].into(),
        ..AgentError::new(ErrorKind::Syntax, format!("{text:?} is no agent spec: {why}"))
    };
    let (name, mut rest) = word(text.trim());
    if name.is_empty() {
        return Err(wrong("it is empty".into()));
    }
    let mut args = RawArgs::new();
    while !rest.is_empty() {
        let (first, after) = word(rest);
        let Some((key, value)) = first.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            return Err(wrong(format!("{first:?} is not key=value")));
        };
        if value.starts_with('"') {
            let open = key.len() + 2;
            let (value, end) = quoted(&rest[open..]).ok_or_else(|| wrong("a quote is not closed".into()))?;
            let after = &rest[open + end..];
            if !after.is_empty() && !after.starts_with(char::is_whitespace) {
                return Err(wrong(format!("something follows the quoted value of {key}")));
            }
            args.push((key, value));
            rest = after.trim_start();
        } else {
            args.push((key, value.to_owned()));
            rest = after;
        }
    }
    Ok((name, args))
}

/// The text up to the next blank, and what follows the blanks.
fn word(text: &str) -> (&str, &str) {
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// A quoted value from behind its opening quote, and where the text goes on behind the closing one.
fn quoted(text: &str) -> Option<(String, usize)> {
    let mut out = String::new();
    let mut chars = text.char_indices().peekable();
    while let Some((i, c)) = chars.next() {
        match c {
            '"' => return Some((out, i + 1)),
            '\\' => match chars.next_if(|(_, c)| matches!(c, '"' | '\\')) {
                Some((_, escaped)) => out.push(escaped),
                None => out.push('\\'),
            },
            c => out.push(c),
        }
    }
    None
}
