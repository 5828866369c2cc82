//! Agents of a plan: candidates, their variants and opponents.

use super::Plan;
use crate::suite::PartSpec;
use crate::suite::roles::RoleAgent;
use crate::suite::variants::VariantOf;

/// Agent of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Entrant {
    pub name: String,
    pub spec: String,
    /// Link to the candidate, for a variant.
    pub variant: Option<VariantOf>,
    /// True if the agent is under evaluation.
    pub candidate: bool,
}

impl Plan {
    /// Returns the candidates of a part, or the variants that replace them in the part.
    pub(super) fn varied(&mut self, part: &PartSpec, candidates: usize) -> Vec<usize> {
        let mut who: Vec<usize> = (0..candidates).collect();
        let axis = self.suite.variants_in(&part.id);
        if !axis.is_empty() {
            let mut varied = Vec::new();
            for ((variant, paraphrase), candidate) in
                axis.iter().flat_map(|variant| (0..candidates).map(move |c| (variant, c)))
            {
                let base = &self.agents[candidate];
                let name = format!("{} / {}", base.name, variant.name);
                let (llm, paraphrase) = (variant.llm.clone(), paraphrase.clone());
                let of = VariantOf { candidate, name: variant.name.clone(), llm, paraphrase };
                let entrant = Entrant { name, variant: Some(of), ..base.clone() };
                varied.push(self.entrant(entrant));
            }
            who = varied;
        }
        if !part.variants.is_empty() {
            let mut varied = Vec::new();
            for (variant, at) in part.variants.iter().flat_map(|variant| who.iter().map(move |&at| (variant, at))) {
                let base = &self.agents[at];
                let name = format!("{} ({}: {})", base.name, part.id, variant.name);
                let plain =
                    || VariantOf { candidate: at, name: String::new(), llm: toml::Table::new(), paraphrase: None };
                let mut of = base.variant.clone().unwrap_or_else(plain);
                let names = [of.name.as_str(), &variant.name];
                of.name = names.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join(", ");
                of.llm.extend(variant.llm.clone());
                let entrant = Entrant { name, variant: Some(of), ..base.clone() };
                varied.push(self.entrant(entrant));
            }
            who = varied;
        }
        who
    }

    /// Returns the index of an opponent in the plan, adding the opponent if it is not there yet.
    pub(super) fn opponent(&mut self, RoleAgent { name, spec }: &RoleAgent) -> usize {
        self.entrant(Entrant { name: name.clone(), spec: spec.clone(), variant: None, candidate: false })
    }

    /// Returns the index of an agent in the plan, adding the agent if it is not there yet.
    fn entrant(&mut self, entrant: Entrant) -> usize {
        let known = self.agents.iter().position(|e| *e == entrant);
        known.unwrap_or_else(|| {
            self.agents.push(entrant);
            self.agents.len() - 1
        })
    }
}
