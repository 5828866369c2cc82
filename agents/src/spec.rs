//! Agents as text: `mcts sims=500 c=1.4`, `gtp cmd="gnugo --mode gtp"`, `anchor level=2`.

use std::fmt;
use std::sync::Arc;

use ludex_env::GameRef;
use ludex_env::draw::Key;
use ludex_protocol::Refusal;
use ludex_protocol::error::truncate_text;

use crate::agent::{Agent, seed_key};
pub(crate) use crate::args::{ArgDef, ArgKind, ArgValue};
use crate::refusal::{bad_spec, unknown};

/// What a host must know about an agent before it seats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AgentClass {
    /// Code in this process, which needs no program, network or person.
    Builtin,
    /// A rung of the game's ladder; [`AgentSpec::resolve`] says which agent it is.
    Anchor,
    /// A person at this terminal.
    Person,
    /// Starts a program or calls out: servers refuse it unless the operator offered it.
    External,
    /// A language model behind an endpoint: what holds for `External` holds for it.
    Model,
    /// Lives elsewhere, and plays as a client of a server.
    Remote,
}

impl AgentClass {
    /// The class in one word.
    pub const fn as_str(self) -> &'static str {
        match self {
            AgentClass::Builtin => "builtin",
            AgentClass::Anchor => "anchor",
            AgentClass::Person => "person",
            AgentClass::External => "external",
            AgentClass::Model => "model",
            AgentClass::Remote => "remote",
        }
    }
}

/// How an entry turns a spec into an agent for a game.
pub type Builder = fn(&AgentSpec, &GameRef) -> Result<Arc<dyn Agent>, Refusal>;

/// One agent as a [`Roster`](crate::Roster) knows it.
#[derive(Clone, Copy)]
pub struct AgentEntry {
    /// The name that specs begin with.
    pub name: &'static str,
    /// What a host must know about it.
    pub class: AgentClass,
    /// One line for `--help`.
    pub doc: &'static str,
    /// Its arguments, in canonical order, without `seed`, which every agent takes.
    pub args: &'static [ArgDef],
    /// Whether it takes arguments beyond `args`, as text: its adapter knows them.
    pub any_args: bool,
    pub(crate) build: Builder,
}

impl AgentEntry {
    /// An agent of this process without arguments.
    pub const fn new(name: &'static str, doc: &'static str, build: Builder) -> Self {
        AgentEntry { name, class: AgentClass::Builtin, doc, args: &[], any_args: false, build }
    }

    /// With arguments, in canonical order.
    pub const fn args(self, args: &'static [ArgDef]) -> Self {
        AgentEntry { args, ..self }
    }

    /// Of another class.
    pub const fn class(self, class: AgentClass) -> Self {
        AgentEntry { class, ..self }
    }

    /// Taking arguments beyond those that are defined, as text.
    pub(crate) const fn any_args(self) -> Self {
        AgentEntry { any_args: true, ..self }
    }
}

/// The argument that every agent takes.
pub const SEED: ArgDef = ArgDef::new("seed", ArgKind::Int { min: 0, max: u64::MAX }, "fixes the agent's randomness");

/// How much an agent may search per move; `None` = it has no such bound. Servers compare it with their limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchBudget {
    /// Simulations.
    pub sims: Option<u64>,
    /// Depth in plies.
    pub depth: Option<u64>,
    /// Positions.
    pub nodes: Option<u64>,
    /// Milliseconds.
    pub ms: Option<u64>,
}

/// An agent as it was written: a name that exists with arguments that it takes. [`AgentSpec::build`]
/// says whether it plays a game.
///
/// `Display` is the canonical form: the arguments that were given, in the order of their definition, without those that
/// equal their defaults. Equal canonical forms mean the same agent.
#[derive(Clone)]
pub struct AgentSpec {
    entry: AgentEntry,
    /// In canonical order.
    given: Vec<(String, ArgValue)>,
}

impl AgentSpec {
    /// The spec of an entry with arguments as they were written; errors quote `text`.
    ///
    /// # Errors
    /// An argument that is unknown, repeated or missing, or whose value it does not accept.
    pub(crate) fn of(entry: AgentEntry, args: RawArgs<'_>, text: &str) -> Result<Self, Refusal> {
        let mut spec = AgentSpec { entry, given: Vec::new() };
        for (name, value) in args {
            if spec.given.iter().any(|(n, _)| n == name) {
                return Err(bad_spec(format!("{name} is given twice")).path(name).got(truncate_text(text)));
            }
            let value = match spec.def(name) {
                Some(def) => def.read(&value)?,
                None if entry.any_args => ArgValue::Text(value),
                None => {
                    let known = spec.defs().map(|d| d.name).collect();
                    return Err(unknown(&format!("argument of {}", entry.name), name, known).path(name));
                }
            };
            spec.given.push((name.to_owned(), value));
        }
        if let Some(def) = entry.args.iter().find(|d| d.required && spec.given(d.name).is_none()) {
            let message = format!("{} needs {}: {}", entry.name, def.name, def.doc);
            return Err(bad_spec(message).path(def.name).got(truncate_text(text)));
        }
        spec.sort();
        Ok(spec)
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.entry.name
    }

    /// What a host must know about it.
    pub fn class(&self) -> AgentClass {
        self.entry.class
    }

    /// Its entry in the roster.
    pub fn entry(&self) -> &AgentEntry {
        &self.entry
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
    pub(crate) fn undefined(&self) -> impl Iterator<Item = (&str, String)> {
        let undefined = self.given.iter().filter(|(name, _)| self.def(name).is_none());
        undefined.map(|(name, value)| (name.as_str(), value.raw()))
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
    /// Unknown argument, or a value that the argument does not accept.
    pub fn set(&self, name: &str, value: &str) -> Result<AgentSpec, Refusal> {
        let rest = self.given.iter().filter(|(n, _)| n != name);
        let rest = rest.map(|(n, v)| (n.as_str(), v.raw()));
        AgentSpec::of(self.entry, rest.chain([(name, value.to_owned())]).collect(), &self.to_string())
    }

    /// The spec with an argument set, without checking the value.
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
    pub fn budget(&self) -> SearchBudget {
        SearchBudget { sims: self.int("sims"), depth: self.int("depth"), nodes: self.int("nodes"), ms: self.int("ms") }
    }

    /// Whether it looks at the true state: in-process and unrated episodes only.
    pub fn peeks(&self) -> bool {
        self.flag("peek")
    }

    /// Whether its moves depend on nothing but (spec, key, turn, view): no clock, no person, no program, no memory.
    pub fn reproducible(&self) -> bool {
        matches!(self.class(), AgentClass::Builtin | AgentClass::Anchor)
            && self.budget().ms.is_none()
            && !self.flag("reuse")
    }

    /// The key that `seed=N` stands for: SHA-256 of `ludex.v1:agent-seed:N`.
    pub fn key(&self) -> Option<Key> {
        self.int("seed").map(seed_key)
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

/// Names and values as they were written.
pub(crate) type RawArgs<'a> = Vec<(&'a str, String)>;

/// The name and the raw arguments.
pub(crate) fn split(text: &str) -> Result<(&str, RawArgs<'_>), Refusal> {
    let wrong = |why: String| {
        let refusal = bad_spec(format!("{text:?} is not an agent spec: {why}"));
        refusal.got(truncate_text(text)).allowed(vec!["name key=value key=\"quoted value\""])
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

/// A quoted value from behind its opening quote, and where the text continues behind the closing one.
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
