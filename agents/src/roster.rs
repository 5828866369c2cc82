//! Every agent that can be named: its arguments, what it does, and how it is built.

use std::sync::Arc;

use ludex_env::GameRef;

use crate::agent::Agent;
use crate::error::AgentError;
use crate::random::Random;
use crate::spec::{AgentSpec, ArgDef, ArgKind};
use crate::{anchor, bots, engines, external, human, search, solve};

/// What kind of player, as far as a host must care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Code of this crate: answers in-process and alone.
    Builtin,
    /// A rung of the game's ladder; [`AgentSpec::resolve`] says which builtin agent it is.
    Anchor,
    /// A person at this terminal.
    Person,
    /// Starts a program or calls out: servers refuse it unless the operator offered it.
    External,
    /// A language model behind an endpoint: what holds for `External` holds for it.
    Model,
}

/// How an entry turns a spec into an agent for a game.
pub type Builder = fn(&AgentSpec, &GameRef) -> Result<Arc<dyn Agent>, AgentError>;

/// One agent as the roster knows it.
pub struct Entry {
    /// The name that specs begin with.
    pub name: &'static str,
    /// What kind of player.
    pub kind: Kind,
    /// One line for `--help`.
    pub doc: &'static str,
    /// Its arguments, in canonical order, without `seed`, which every agent takes.
    pub args: &'static [ArgDef],
    /// Whether it takes arguments beyond `args`, as text: its adapter knows them.
    pub free: bool,
    pub(crate) build: Builder,
}

/// The argument that every agent takes.
pub const SEED: ArgDef = ArgDef::new("seed", ArgKind::Int { min: 0, max: u64::MAX }, "fixes the agent's randomness");

/// All agents, in documented order.
pub fn list() -> impl Iterator<Item = &'static Entry> {
    AGENTS.iter().chain(bots::BOTS.iter().copied().flatten())
}

const LEVELS: ArgKind = ArgKind::Int { min: 0, max: u32::MAX as u64 };

const AGENTS: &[Entry] = &[
    Entry {
        name: "random",
        kind: Kind::Builtin,
        doc: "plays a uniformly random legal action",
        args: &[],
        free: false,
        build: |_, _| Ok(Arc::new(Random)),
    },
    search::alphabeta::ENTRY,
    search::expectiminimax::ENTRY,
    search::mcts::ENTRY,
    search::ismcts::ENTRY,
    solve::ENTRY,
    solve::cfr::ENTRY,
    solve::equilibrium::ENTRY,
    human::ENTRY,
    Entry {
        name: "anchor",
        kind: Kind::Anchor,
        doc: "a rung of the game's ladder; level 0 is random",
        args: &[
            ArgDef::new("level", LEVELS, "the level").required(),
            ArgDef::new("bot", LEVELS, "which bot of the level, from 1").default("1"),
        ],
        free: false,
        build: anchor::build,
    },
    engines::uci::ENTRY,
    engines::gtp::ENTRY,
    engines::botzone::ENTRY,
    Entry {
        name: "llm",
        kind: Kind::Model,
        doc: "a chat-completions endpoint",
        args: &[
            ArgDef::new("model", ArgKind::Text, "the model's name").required(),
            ArgDef::new("base_url", ArgKind::Text, "where the endpoint is"),
            ArgDef::new("prompting", ArgKind::Text, "the prompting strategy"),
        ],
        free: true,
        build: external::build,
    },
];
