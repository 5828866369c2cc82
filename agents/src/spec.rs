//! Text form of agents: `mcts sims=500 c=1.4`, `gtp cmd="gnugo --mode gtp"`, `anchor level=2`.

use std::fmt;
use std::sync::Arc;

use ludex_env::GameRef;
use ludex_env::draw::Key;
use ludex_protocol::Refusal;
use ludex_protocol::error::truncate_text;

use crate::agent::{Agent, seed_key};
pub(crate) use crate::args::{ArgDef, ArgKind, ArgValue};
use crate::refusal::{bad_spec, unknown};

/// Class of an agent by the resources that it needs. Hosts use the class to decide which agents to accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AgentClass {
    /// Code in this process that starts no program, uses no network and needs no person.
    Builtin,
    /// Anchor of the game's ladder. [`AgentSpec::resolve`] returns the spec of the underlying agent.
    Anchor,
    /// Person at this terminal.
    Person,
    /// Neural network in a file of the host. Servers refuse such agents unless the operator offers them.
    Network,
    /// Agent that starts a program or opens connections. Servers refuse such agents unless the operator offers them.
    External,
    /// Language model behind an endpoint. Servers treat it in the same way as [`AgentClass::External`].
    Model,
    /// Agent outside this process, which connects to a server as a client.
    Remote,
}

impl AgentClass {
    /// Returns the class as one word.
    pub const fn as_str(self) -> &'static str {
        match self {
            AgentClass::Builtin => "builtin",
            AgentClass::Anchor => "anchor",
            AgentClass::Person => "person",
            AgentClass::Network => "network",
            AgentClass::External => "external",
            AgentClass::Model => "model",
            AgentClass::Remote => "remote",
        }
    }
}

/// Function that builds an agent from its spec for a game.
pub type Builder = fn(&AgentSpec, &GameRef) -> Result<Arc<dyn Agent>, Refusal>;

/// Agent entry of a [`Roster`](crate::Roster).
#[derive(Clone, Copy)]
pub struct AgentEntry {
    /// Name of the agent, which is the first word of its specs.
    pub name: &'static str,
    /// Resources that the agent needs.
    pub class: AgentClass,
    /// One-line description for `--help`.
    pub doc: &'static str,
    /// Arguments in canonical order, except `seed`, which every agent accepts.
    pub args: &'static [ArgDef],
    /// True if the agent accepts text arguments in addition to `args`; the agent itself interprets them.
    pub any_args: bool,
    pub(crate) build: Builder,
}

impl AgentEntry {
    /// Creates the entry of an in-process agent without arguments.
    pub const fn new(name: &'static str, doc: &'static str, build: Builder) -> Self {
        AgentEntry { name, class: AgentClass::Builtin, doc, args: &[], any_args: false, build }
    }

    /// Sets the arguments, in canonical order.
    pub const fn args(self, args: &'static [ArgDef]) -> Self {
        AgentEntry { args, ..self }
    }

    pub const fn class(self, class: AgentClass) -> Self {
        AgentEntry { class, ..self }
    }

    /// Accepts text arguments in addition to the defined arguments.
    pub(crate) const fn any_args(self) -> Self {
        AgentEntry { any_args: true, ..self }
    }
}

/// Definition of the argument `seed`, which every agent accepts.
pub const SEED: ArgDef = ArgDef::new("seed", ArgKind::Int { min: 0, max: u64::MAX }, "fixes the agent's randomness");

/// Search effort per move, which servers compare with their limits; `None` means unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchBudget {
    pub sims: Option<u64>,
    /// Maximum search depth in plies.
    pub depth: Option<u64>,
    /// Maximum number of positions.
    pub nodes: Option<u64>,
    /// Maximum time in milliseconds.
    pub ms: Option<u64>,
}

/// Parsed agent spec: a known agent with valid arguments. [`AgentSpec::build`] checks that the agent supports a game.
///
/// `Display` writes the canonical form: the supplied arguments in the order of their definition, without arguments that
/// equal their defaults. Equal canonical forms denote the same agent.
#[derive(Clone)]
pub struct AgentSpec {
    entry: AgentEntry,
    /// Supplied arguments in canonical order.
    given: Vec<(String, ArgValue)>,
}

impl AgentSpec {
    /// Creates the spec of an entry from raw arguments. `text` is quoted in errors.
    ///
    /// # Errors
    /// An argument that is unknown, repeated or missing, or an invalid value.
    pub(crate) fn of(entry: AgentEntry, args: RawArgs<'_>, text: &str) -> Result<Self, Refusal> {
        let mut spec = AgentSpec { entry, given: Vec::new() };
        for (name, value) in args {
            if spec.given.iter().any(|(n, _)| n == name) {
                return Err(bad_spec(format!("{name}: expected one value, got two"))
                    .path(name)
                    .got(truncate_text(text)));
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
        if let Some(def) = entry.args.iter().find(|d| d.required && spec.explicit_arg(d.name).is_none()) {
            let message = format!("{} needs {}: {}", entry.name, def.name, def.doc);
            return Err(bad_spec(message).path(def.name).got(truncate_text(text)));
        }
        spec.sort();
        Ok(spec)
    }

    pub fn name(&self) -> &'static str {
        self.entry.name
    }

    /// Returns the resources that the agent needs.
    pub fn class(&self) -> AgentClass {
        self.entry.class
    }

    /// Returns the roster entry.
    pub fn entry(&self) -> &AgentEntry {
        &self.entry
    }

    /// Returns the value of an argument or, if the argument is absent, its default.
    pub fn get(&self, name: &str) -> Option<ArgValue> {
        self.explicit_arg(name).cloned().or_else(|| {
            let def = self.def(name)?;
            let holds = def.unless.is_none_or(|other| self.explicit_arg(other).is_none());
            def.default.filter(|_| holds).and_then(|text| def.read(text).ok())
        })
    }

    pub fn int(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            Some(ArgValue::Int(n)) => Some(n),
            _ => None,
        }
    }

    pub fn number(&self, name: &str) -> Option<f64> {
        match self.get(name) {
            Some(ArgValue::Number(x)) => Some(x),
            _ => None,
        }
    }

    /// Returns the value of a flag; false if the agent has no such flag.
    pub fn flag(&self, name: &str) -> bool {
        self.get(name) == Some(ArgValue::Flag(true))
    }

    pub fn text(&self, name: &str) -> Option<String> {
        match self.get(name) {
            Some(ArgValue::Text(t)) => Some(t),
            _ => None,
        }
    }

    /// Returns the arguments that the entry does not define, which the agent itself interprets.
    pub(crate) fn undefined(&self) -> impl Iterator<Item = (&str, String)> {
        let undefined = self.given.iter().filter(|(name, _)| self.def(name).is_none());
        undefined.map(|(name, value)| (name.as_str(), value.raw()))
    }

    /// Returns true if the spec text contains the argument.
    pub fn has_arg(&self, name: &str) -> bool {
        self.explicit_arg(name).is_some()
    }

    /// Returns the spec without an argument.
    pub fn without(mut self, name: &str) -> AgentSpec {
        self.given.retain(|(n, _)| n != name);
        self
    }

    /// Returns the spec with an argument set to the parsed `value`.
    ///
    /// # Errors
    /// An unknown argument or an invalid value.
    pub fn set(&self, name: &str, value: &str) -> Result<AgentSpec, Refusal> {
        let rest = self.given.iter().filter(|(n, _)| n != name);
        let rest = rest.map(|(n, v)| (n.as_str(), v.raw()));
        AgentSpec::of(self.entry, rest.chain([(name, value.to_owned())]).collect(), &self.to_string())
    }

    /// Returns the spec with an argument set to `value`, which is not checked.
    pub(crate) fn with(mut self, name: &str, value: ArgValue) -> Self {
        self.given.retain(|(n, _)| n != name);
        self.given.push((name.to_owned(), value));
        self.sort();
        self
    }

    /// Returns the spec with all defaults written out. Records store this form, so that their meaning does not depend
    /// on the defaults of a version.
    pub fn to_expanded_string(&self) -> String {
        let free = self.given.iter().filter(|(n, _)| self.def(n).is_none());
        let args = self.defs().filter_map(|d| Some((d.name, self.get(d.name)?)));
        let all = args.chain(free.map(|(n, v)| (n.as_str(), v.clone())));
        all.fold(self.name().to_owned(), |text, (n, v)| format!("{text} {n}={v}"))
    }

    /// Returns the search effort per move. For anchors, returns the effort of the spec that they
    /// [resolve](AgentSpec::resolve) to.
    pub fn budget(&self) -> SearchBudget {
        SearchBudget { sims: self.int("sims"), depth: self.int("depth"), nodes: self.int("nodes"), ms: self.int("ms") }
    }

    /// Returns true if the agent reads the full state, which is possible only in-process and in unrated episodes.
    pub fn peeks(&self) -> bool {
        self.flag("peek")
    }

    /// Returns true if moves depend only on the spec, the key, the turn and the view, not on a clock, person, program
    /// or earlier request.
    pub fn reproducible(&self) -> bool {
        matches!(self.class(), AgentClass::Builtin | AgentClass::Anchor)
            && self.budget().ms.is_none()
            && !self.flag("reuse")
    }

    /// Returns the agent key for `seed=N`, if given: SHA-256 of `ludex.v1:agent-seed:N`.
    pub fn key(&self) -> Option<Key> {
        self.int("seed").map(seed_key)
    }

    fn explicit_arg(&self, name: &str) -> Option<&ArgValue> {
        self.given.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    fn defs(&self) -> impl Iterator<Item = &'static ArgDef> + use<> {
        self.entry.args.iter().chain([&SEED])
    }

    fn def(&self, name: &str) -> Option<&'static ArgDef> {
        self.defs().find(|d| d.name == name)
    }

    /// Sorts the arguments: defined arguments in the order of their definition, then all others by name.
    fn sort(&mut self) {
        let defs: Vec<&str> = self.defs().map(|d| d.name).collect();
        let rank = |n: &str| defs.iter().position(|d| *d == n).unwrap_or(defs.len());
        self.given.sort_by(|a, b| (rank(&a.0), &a.0).cmp(&(rank(&b.0), &b.0)));
    }

    fn is_default(&self, name: &str, value: &ArgValue) -> bool {
        let def = self.def(name).filter(|d| d.unless.is_none_or(|other| self.explicit_arg(other).is_none()));
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

/// Pairs of an argument's name and its raw value.
pub(crate) type RawArgs<'a> = Vec<(&'a str, String)>;

/// Splits a spec into its name and raw arguments.
pub(crate) fn split(text: &str) -> Result<(&str, RawArgs<'_>), Refusal> {
    let wrong = |why: String| {
        let refusal = bad_spec(format!("{text:?} is not an agent spec: {why}"));
        refusal.got(truncate_text(text)).allowed(vec!["name key=value key=\"quoted value\""])
    };
    let (name, mut rest) = word(text.trim());
    if name.is_empty() {
        return Err(wrong("expected an agent name".into()));
    }
    let mut args = RawArgs::new();
    while !rest.is_empty() {
        let (first, after) = word(rest);
        let Some((key, value)) = first.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            return Err(wrong(format!("expected key=value, got {first:?}")));
        };
        if value.starts_with('"') {
            let open = key.len() + 2;
            let (value, end) =
                quoted(&rest[open..]).ok_or_else(|| wrong("expected a closing quotation mark".into()))?;
            let after = &rest[open + end..];
            if !after.is_empty() && !after.starts_with(char::is_whitespace) {
                return Err(wrong(format!("expected a space after the quoted value of {key}")));
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

/// Splits off the first word of a text.
fn word(text: &str) -> (&str, &str) {
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// Parses a quoted value after its opening quotation mark. Returns the value, and the offset after the closing
/// quotation mark.
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
