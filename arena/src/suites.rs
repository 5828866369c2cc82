//! Suites that a server offers.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use ludex_agents::{AgentClass, AgentSpec};
use ludex_protocol::message::{SuiteEntry, SuitePart};
use ludex_referee::suite::plan::{Plan, PlannedPart};
use ludex_referee::suite::roles::{Role, RoleAgent, RoleAssignment};
use ludex_referee::suite::{PartSpec, SUITES, Schedule, Suite};

/// Returns the parts of a suite that this server cannot play, each with the reason. The server can play the agents in
/// `cast`, which it has assigned to roles itself.
pub(crate) fn unplayable(suite: &Suite, cast: &RoleAssignment) -> BTreeMap<String, String> {
    let reason = |part: &PartSpec| {
        let opponents = match suite.opponents(part) {
            Ok(opponents) => opponents,
            Err(why) => return Some(why),
        };
        let own = |agent: &RoleAgent| {
            let class = AgentSpec::parse(&agent.spec).map(|spec| spec.class());
            class.is_ok_and(|class| !matches!(class, AgentClass::Model | AgentClass::Person | AgentClass::Remote))
        };
        let found =
            opponents.iter().find(|agent| !own(agent) && !cast.values().flatten().any(|other| other == *agent))?;
        Some(format!("expected opponents that the server can play, got {:?}", found.spec))
    };
    suite.parts.iter().filter_map(|part| Some((part.id.clone(), reason(part)?))).collect()
}

/// Suite that a server offers, with what a client may know about it.
pub struct OfferedSuite {
    /// Text of the suite.
    pub text: String,
    /// Entry of the suite in the protocol.
    pub entry: SuiteEntry,
    /// Parts that one agent can play alone.
    pub alone: Alone,
}

/// Parts of a suite that one agent can play without assigning other agents to roles.
pub struct Alone {
    /// True if the agent can play the suite without selecting parts.
    pub whole: bool,
    /// Parts of the suite that the agent can play alone.
    pub parts: Vec<SuitePart>,
}

/// Suites in which agents may enroll, by name.
#[derive(Clone, Default)]
pub struct Suites(BTreeMap<String, Arc<OfferedSuite>>);

/// Built-in suites. The suites are built only once, since building them loads every game of every suite.
static BUILTIN: LazyLock<Suites> = LazyLock::new(|| {
    let playable = SUITES.iter().filter(|(name, _)| *name != "reference");
    playable.fold(Suites::default(), |all, (_, text)| all.clone().with(text).unwrap_or(all))
});

impl Suites {
    /// Returns the built-in suites that a client can play: all except `reference`, which explains the format.
    pub fn builtin() -> Self {
        BUILTIN.clone()
    }

    /// Adds a suite, or replaces the suite of this name.
    ///
    /// # Errors
    ///
    /// Invalid text, or a suite of which this server cannot play any part.
    pub fn with(mut self, text: &str) -> anyhow::Result<Self> {
        let mut suite = Suite::parse(text, &ludex_games::builtin())?;
        let (name, version, title) = (suite.name.clone(), suite.version, suite.title.clone());
        let known = suite.assigned_roles();
        let closed = unplayable(&suite, &RoleAssignment::new());
        // Substitutes fill the open roles: the number of matches does not depend on the agents in these roles.
        let open: Vec<&Role> = suite.roles.iter().filter(|role| !known.contains_key(&role.name)).collect();
        let stand_in = |role: &&Role| {
            let agent = |k| RoleAgent { name: format!("{} {k}", role.name), spec: format!("random seed={k}") };
            (role.name.clone(), (0..role.count).map(agent).collect())
        };
        anyhow::ensure!(
            closed.len() < suite.parts.len() || !open.is_empty(),
            "suite {name}: expected a part that the server can play, got none: {}",
            closed.iter().map(|(part, why)| format!("{part}: {why}")).collect::<Vec<_>>().join("; ")
        );
        let stand_ins: RoleAssignment = open.iter().map(stand_in).collect();
        suite.fill(&stand_ins)?;
        // Two candidates, so that parts in which candidates meet have matches.
        let candidates: Vec<(String, String)> = ["a", "b"].map(|name| (name.to_owned(), "remote".to_owned())).to_vec();
        let plan = Plan::new(suite, &candidates, 1.0, &ludex_games::builtin())?;
        let part = |part: &PlannedPart| {
            let among_candidates = matches!(part.part.schedule, Schedule::RoundRobin | Schedule::Converge);
            SuitePart {
                part: part.part.id.clone(),
                game: part.game.spec().string.clone(),
                matches: part.matches_at_most() / if among_candidates { 1 } else { 2 },
                candidates: if among_candidates { 2 } else { 1 },
                metrics: part.part.metrics.iter().map(|ask| ask.to_string()).collect(),
            }
        };
        let parts: Vec<SuitePart> = plan.parts.iter().map(part).collect();
        let single = parts.iter().filter(|part| part.candidates == 1 && !closed.contains_key(&part.part));
        let alone: Vec<SuitePart> = single.cloned().collect();
        let alone = Alone { whole: closed.is_empty() && !alone.is_empty(), parts: alone };
        let matches = parts.iter().filter(|part| part.candidates == 1).map(|part| part.matches).sum();
        let entry = SuiteEntry {
            suite: name.clone(),
            version,
            digest: Suite::digest(text),
            title,
            matches,
            parts,
            season: None,
        };
        self.0.insert(name, Arc::new(OfferedSuite { text: text.to_owned(), entry, alone }));
        Ok(self)
    }

    pub fn get(&self, name: &str) -> Option<&Arc<OfferedSuite>> {
        self.0.get(name)
    }

    /// Returns the names of the suites that have a part with this name and game.
    pub fn with_part(&self, name: &str, game: &str) -> Vec<&str> {
        let has =
            |offer: &&Arc<OfferedSuite>| offer.entry.parts.iter().any(|part| part.part == name && part.game == game);
        self.0.values().filter(has).map(|offer| offer.entry.suite.as_str()).collect()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub fn entries(&self) -> Vec<SuiteEntry> {
        self.0.values().map(|offer| offer.entry.clone()).collect()
    }
}
