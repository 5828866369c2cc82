//! Settings of a language model in the parts of a suite, for a model that plays as a client of a server.

use std::collections::HashMap;

use ludex_agents::AgentSpec;
use ludex_referee::suite::Suite;
use ludex_referee::suite::plan::{MatchKey, Plan};

use crate::runs::spec_in;

/// Specs of an agent by part and variant of a suite.
pub struct SuiteSpecs(HashMap<(String, Option<String>), AgentSpec>);

impl SuiteSpecs {
    /// Creates the specs of `agent` in the suite with the text `suite`, as in a run on this machine.
    ///
    /// # Errors
    /// Returns an error for a text that is not a suite, or if the agent does not accept an argument from the suite.
    pub fn new(suite: &str, agent: &AgentSpec) -> anyhow::Result<Self> {
        let games = ludex_games::builtin();
        let plan = Plan::new(Suite::parse(suite, &games)?, &[(String::new(), agent.to_string())], 1.0, &games)?;
        let mut specs = HashMap::new();
        for (at, planned) in plan.parts.iter().enumerate() {
            for (who, entrant) in plan.agents.iter().enumerate().filter(|(_, entrant)| entrant.candidate) {
                let variant = entrant.variant.as_ref().map(|of| of.name.clone());
                specs.insert((planned.part.id.clone(), variant), spec_in(&plan, at, who)?);
            }
        }
        Ok(SuiteSpecs(specs))
    }

    /// Returns the spec in a match of a run; `None` for a match of no part of the suite. A variant that the suite does
    /// not have gets the spec without a variant.
    pub fn of(&self, match_id: &str, variant: Option<&str>) -> Option<&AgentSpec> {
        let part = MatchKey::parse(match_id.split_once('.')?.1)?.part;
        let find = |variant: Option<&str>| self.0.get(&(part.clone(), variant.map(str::to_owned)));
        find(variant).or_else(|| find(None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_has_the_settings_of_part_and_variant() {
        let suite = "name = \"s\"\nversion = 1\ntitle = \"S\"\nllm = { temperature = 0.5 }\n\
            [[variant]]\nname = \"cot\"\nllm = { prompting = \"cot\" }\n\
            [[part]]\nid = \"a\"\ngame = \"nim\"\nschedule = \"against\"\nopponents = [\"random\"]\nblocks = 1\n\
            llm = { legal = false }\n\
            [[part]]\nid = \"b\"\ngame = \"nim\"\nschedule = \"against\"\nopponents = [\"random\"]\nblocks = 1\n";
        let specs = SuiteSpecs::new(suite, &AgentSpec::parse("llm model=m temperature=1").unwrap()).unwrap();
        let shown = |id: &str, variant| specs.of(id, variant).map(ToString::to_string);
        let own = "llm model=m temperature=1";
        assert_eq!(
            shown("r.a.0-1.0.0", Some("cot")).as_deref(),
            Some("llm model=m prompting=cot temperature=1 legal=false")
        );
        assert_eq!(shown("r.b.0-1.0.0", Some("cot")).as_deref(), Some("llm model=m prompting=cot temperature=1"));
        assert_eq!(shown("r.b.0-1.0.0", Some("mine")), Some(own.to_owned()));
        assert_eq!((shown("r.c.0-1.0.0", None), shown("m_1", None)), (None, None));
    }
}
