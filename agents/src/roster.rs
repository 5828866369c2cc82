//! Roster of available agents: built-in agents, and agents that a host adds.

use std::sync::{Arc, LazyLock};

use ludex_env::{AgentKey, GameRef, MoveRequest};
use ludex_protocol::Refusal;

use crate::agent::{Agent, wrap};
use crate::args::{ArgDef, ArgKind, ArgValue};
use crate::random::{Random, Speaker};
use crate::refusal::{bad_spec, unknown};
use crate::spec::{AgentClass, AgentEntry, AgentSpec, split};
use crate::{bots, engines, human, llm, net, remote, script, search, solve};

/// Agents by name. Cloning is cheap.
///
/// ```
/// use std::sync::Arc;
///
/// use ludex_agents::{AgentEntry, Roster};
///
/// let mine = AgentEntry::new("mine", "plays at random under another name", |_, _| Ok(Arc::new(ludex_agents::random::Random)));
/// let roster = Roster::builtin().with(mine);
/// let game = ludex_games::load("tic_tac_toe")?;
/// let agent = roster.build("mine seed=7", &game)?;
/// assert!(agent.reproducible());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Roster(Arc<[AgentEntry]>);

impl Roster {
    /// Returns the roster of all agents in this crate, in the order of the documentation.
    pub fn builtin() -> &'static Roster {
        static BUILTIN: LazyLock<Roster> =
            LazyLock::new(|| Roster(AGENTS.iter().chain(bots::BOTS.iter().copied().flatten()).copied().collect()));
        &BUILTIN
    }

    /// Returns a roster with an additional agent. An agent of the same name is replaced.
    #[must_use]
    pub fn with(&self, entry: AgentEntry) -> Roster {
        let others = self.iter().filter(|e| e.name != entry.name).copied();
        Roster(others.chain([entry]).collect())
    }

    /// Returns all agents, in order.
    pub fn iter(&self) -> impl Iterator<Item = &AgentEntry> {
        self.0.iter()
    }

    pub fn get(&self, name: &str) -> Option<&AgentEntry> {
        self.iter().find(|entry| entry.name == name)
    }

    /// Parses `name key=value key="quoted value"`. Inside quotes, `\"` and `\\` are escapes.
    ///
    /// # Errors
    /// Malformed text; an unknown name (the refusal suggests the nearest known name); an argument that is unknown,
    /// repeated or missing, or an invalid value.
    pub fn parse(&self, text: &str) -> Result<AgentSpec, Refusal> {
        let (name, args) = split(text)?;
        let Some(entry) = self.get(name) else {
            return Err(unknown("agent", name, self.iter().map(|e| e.name).collect()));
        };
        AgentSpec::of(*entry, args, text)
    }

    /// Builds the agent specified by `text` for `game`.
    ///
    /// # Errors
    /// Returns the errors of [`Roster::parse`] and [`Roster::build_spec`].
    pub fn build(&self, text: &str, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
        self.build_spec(&self.parse(text)?, game)
    }

    /// Builds the agent of a spec for `game`.
    ///
    /// # Errors
    /// A game that the agent does not support (the refusal names an alternative); an anchor that does not exist; a
    /// missing API key or program setting.
    pub fn build_spec(&self, spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
        let spec = self.resolve(spec, game)?;
        let agent = (spec.entry().build)(&spec, game)?;
        let Some(key) = spec.key() else { return Ok(agent) };
        Ok(Arc::new(wrap(agent, move |agent: &dyn Agent, ask: &MoveRequest<'_>| {
            agent.act(&ask.keyed(AgentKey::Own(&key)))
        })))
    }

    /// Resolves an anchor of `game` to the spec of its agent, with the anchor's `seed` if it has one. Other specs are
    /// returned unchanged.
    ///
    /// # Errors
    /// A level or bot that does not exist on the game's anchor ladder.
    pub fn resolve(&self, spec: &AgentSpec, game: &GameRef) -> Result<AgentSpec, Refusal> {
        if spec.class() != AgentClass::Anchor {
            return Ok(spec.clone());
        }
        let (level, bot) = (spec.int("level").unwrap_or(0), spec.int("bot").unwrap_or(1));
        let ladder = &game.spec().anchors;
        let rung = ladder.iter().find(|a| (u64::from(a.level), u64::from(a.bot)) == (level, bot));
        let Some(rung) = rung else {
            let rungs: Vec<String> = ladder.iter().map(|a| format!("level={} bot={}", a.level, a.bot)).collect();
            let message =
                format!("{} has no anchor level={level} bot={bot}; allowed: {}", game.spec().game, rungs.join(", "));
            return Err(bad_spec(message).path("level").got(spec.to_string()).allowed(rungs));
        };
        let found = self.parse(&rung.agent)?;
        if found.class() == AgentClass::Anchor {
            return Err(anchor_of_anchor(&rung.agent));
        }
        Ok(match spec.int("seed") {
            Some(seed) => found.with("seed", ArgValue::Int(seed)),
            None => found,
        })
    }
}

fn anchor_of_anchor(text: &str) -> Refusal {
    bad_spec(format!("{text}: expected an agent, got an anchor"))
}

/// Methods that use the built-in [`Roster`].
impl AgentSpec {
    /// Parses a spec; see [`Roster::parse`].
    ///
    /// # Errors
    /// Returns the errors of [`Roster::parse`].
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        Roster::builtin().parse(text)
    }

    /// Resolves an anchor of `game` to the spec of its agent. Other specs are returned unchanged; see
    /// [`Roster::resolve`].
    ///
    /// # Errors
    /// Returns the errors of [`Roster::resolve`].
    pub fn resolve(&self, game: &GameRef) -> Result<AgentSpec, Refusal> {
        Roster::builtin().resolve(self, game)
    }

    /// Builds the agent for `game`; see [`Roster::build_spec`].
    ///
    /// # Errors
    /// Returns the errors of [`Roster::build_spec`].
    pub fn build(&self, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
        Roster::builtin().build_spec(self, game)
    }
}

/// Builds the built-in agent specified by `text` for `game`; see [`Roster::build`].
///
/// # Errors
/// Returns the errors of [`Roster::build`].
pub fn build(text: &str, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    Roster::builtin().build(text, game)
}

const LEVELS: ArgKind = ArgKind::Int { min: 0, max: u32::MAX as u64 };

/// Entry of anchors, which are resolved to other specs before they are built.
const ANCHOR: AgentEntry =
    AgentEntry::new("anchor", "an anchor of the game's ladder; level 0 plays at random", |spec, _| {
        Err(anchor_of_anchor(&spec.to_string()))
    })
    .class(AgentClass::Anchor)
    .args(&[
        ArgDef::new("level", LEVELS, "ladder level").required(),
        ArgDef::new("bot", LEVELS, "bot of the level, from 1").default("1"),
    ]);

const AGENTS: &[AgentEntry] = &[
    AgentEntry::new("random", "plays a uniformly random legal action", |spec, _| {
        Ok(match spec.number("documents").filter(|&share| share > 0.0) {
            Some(share) => Arc::new(Speaker { share }),
            None => Arc::new(Random),
        })
    })
    .args(&[ArgDef::new(
        "documents",
        ArgKind::Number { min: 0.0, max: 1.0 },
        "probability of submitting a document instead of an action",
    )]),
    search::alphabeta::ENTRY,
    search::expectiminimax::ENTRY,
    search::mcts::ENTRY,
    search::ismcts::ENTRY,
    solve::ENTRY,
    solve::cfr::ENTRY,
    solve::equilibrium::ENTRY,
    human::ENTRY,
    script::ENTRY,
    net::NET,
    net::PUCT,
    ANCHOR,
    engines::uci::ENTRY,
    engines::gtp::ENTRY,
    engines::botzone::ENTRY,
    llm::ENTRY,
    remote::ENTRY,
];
