//! Roles: named groups of opponents, filled with agents by a run or by the suite's default.

use std::collections::{BTreeMap, BTreeSet};

use ludex_protocol::error::did_you_mean;
use serde::{Deserialize, Serialize};

use super::{PartSpec, Suite, SuiteError, is_word};

/// Named group of opponents. In the opponents of a part, `@NAME` stands for the agents of the role.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// Name: lowercase letters, digits, `_` and `-`.
    pub name: String,
    /// Default agents of the role. If empty, a run must supply the agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<RoleAgent>,
    /// Required number of agents.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub count: usize,
    /// Agents supplied by a run.
    #[serde(skip)]
    given: Vec<RoleAgent>,
}

fn one() -> usize {
    1
}

fn is_one(count: &usize) -> bool {
    *count == 1
}

/// Agent in a role: a spec, or `{ name = "NAME", spec = "SPEC" }`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(from = "AgentText", into = "AgentText")]
pub struct RoleAgent {
    /// Name in records and figures.
    pub name: String,
    pub spec: String,
}

/// Text form of a [`RoleAgent`]. A spec without a name is its own name.
#[derive(Deserialize, Serialize)]
#[serde(untagged, deny_unknown_fields, expecting = "expected an agent's spec, or a table with name and spec")]
enum AgentText {
    Spec(String),
    Named { name: String, spec: String },
}

impl From<AgentText> for RoleAgent {
    fn from(text: AgentText) -> Self {
        match text {
            AgentText::Spec(spec) => RoleAgent { name: spec.clone(), spec },
            AgentText::Named { name, spec } => RoleAgent { name, spec },
        }
    }
}

impl From<RoleAgent> for AgentText {
    fn from(RoleAgent { name, spec }: RoleAgent) -> Self {
        if name == spec { AgentText::Spec(spec) } else { AgentText::Named { name, spec } }
    }
}

/// Agents that a run assigns to roles, by role name.
pub type RoleAssignment = BTreeMap<String, Vec<RoleAgent>>;

impl Suite {
    /// Replaces the default agents of roles with the agents of a run.
    ///
    /// # Errors
    /// Returns an error for a role that the suite does not have, or for a wrong number of agents.
    pub fn fill(&mut self, cast: &RoleAssignment) -> Result<(), SuiteError> {
        for (name, agents) in cast {
            let names: Vec<String> = self.roles.iter().map(|role| role.name.clone()).collect();
            let Some(role) = self.roles.iter_mut().find(|role| role.name == *name) else {
                let there = if names.is_empty() { "it has none".to_owned() } else { names.join(", ") };
                return Err(SuiteError(format!("{} has no role {name:?}; its roles: {there}", self.name)));
            };
            if agents.len() != role.count {
                let why = format!("role {name:?}: expected {}, got {}", agents_text(role.count), agents.len());
                return Err(SuiteError(why));
            }
            role.given.clone_from(agents);
        }
        Ok(())
    }

    pub(super) fn check_roles(&self) -> Result<(), String> {
        let mut names = BTreeSet::new();
        for Role { name, agents, count, .. } in &self.roles {
            if !is_word(name) || !names.insert(name) {
                return Err(format!(
                    "role {name:?}: expected lowercase letters, digits, _ and -, used by one role only"
                ));
            }
            if *count == 0 || (!agents.is_empty() && agents.len() != *count) {
                let listed = agents_text(agents.len());
                return Err(format!(
                    "role {name:?}: expected count to equal the number of agents, got count = {count} for {listed}"
                ));
            }
            if !self.parts.iter().any(|part| role_names(part).any(|used| used == name)) {
                return Err(format!("role {name:?}: no part has \"@{name}\" among its opponents"));
            }
        }
        Ok(())
    }

    /// Counts the opponents of a part.
    pub(super) fn count_opponents(&self, part: &PartSpec) -> Result<usize, String> {
        let count = |opponent: &String| match opponent.strip_prefix('@') {
            Some(name) => self.role(name).map(|role| role.count),
            None => Ok(1),
        };
        part.opponents.iter().map(count).sum()
    }

    /// Returns the opponents of a part, with roles replaced by their agents.
    ///
    /// # Errors
    /// Returns an error for a role without agents.
    pub fn opponents(&self, part: &PartSpec) -> Result<Vec<RoleAgent>, String> {
        let mut out = Vec::new();
        for opponent in &part.opponents {
            let Some(name) = opponent.strip_prefix('@') else {
                out.push(AgentText::Spec(opponent.clone()).into());
                continue;
            };
            let role = self.role(name)?;
            match (role.given.is_empty(), role.agents.is_empty()) {
                (false, _) => out.extend(role.given.iter().cloned()),
                (true, false) => out.extend(role.agents.iter().cloned()),
                (true, true) => {
                    return Err(format!(
                        "role {name:?} has no agents: expected {}; set them with --role {name}=AGENT",
                        agents_text(role.count)
                    ));
                }
            }
        }
        Ok(out)
    }

    /// Returns the agents of each role that has agents, from the run or by default.
    pub fn assigned_roles(&self) -> RoleAssignment {
        let agents = |role: &Role| if role.given.is_empty() { role.agents.clone() } else { role.given.clone() };
        let filled = self.roles.iter().map(|role| (role.name.clone(), agents(role)));
        filled.filter(|(_, agents)| !agents.is_empty()).collect()
    }

    fn role(&self, name: &str) -> Result<&Role, String> {
        let found = self.roles.iter().find(|role| role.name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.roles.iter().map(|role| role.name.as_str()).collect();
            format!("unknown role {name:?}{}", did_you_mean(name, &names))
        })
    }
}

/// Returns the roles named in a part.
fn role_names(part: &PartSpec) -> impl Iterator<Item = &str> {
    part.opponents.iter().filter_map(|opponent| opponent.strip_prefix('@'))
}

fn agents_text(n: usize) -> String {
    if n == 1 { "1 agent".to_owned() } else { format!("{n} agents") }
}
