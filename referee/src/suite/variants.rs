//! Variants of candidates: for ablations in one part, or as an axis of the whole suite.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Suite, is_word};

/// A variant of an `llm` candidate.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Its name in results.
    pub name: String,
    /// The parts that it plays; empty: all. Only for a variant of the suite.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
    /// Its arguments, before those of the part and the suite and even those of the agent.
    #[serde(default)]
    pub llm: toml::Table,
}

/// Which variant of a candidate an agent of a run is.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantOf {
    /// The candidate, as an index of the run's agents.
    pub candidate: usize,
    /// The name of the variant; where a part has variants of its own, `VARIANT, VARIANT OF THE PART`.
    pub name: String,
    /// Its arguments, before all others.
    pub llm: toml::Table,
}

/// Checks a list of variants.
pub(super) fn check_names(variants: &[Variant]) -> Result<(), String> {
    let names: BTreeSet<&str> = variants.iter().map(|v| v.name.as_str()).collect();
    if names.len() < variants.len() || !names.iter().all(|name| is_word(name)) {
        return Err("variants have names, words of small letters, digits, _ and -, each its own".into());
    }
    Ok(())
}

impl Suite {
    pub(super) fn check_variants(&self) -> Result<(), String> {
        check_names(&self.variants)?;
        for Variant { name, parts, .. } in &self.variants {
            if let Some(other) = parts.iter().find(|id| self.parts.iter().all(|part| part.id != **id)) {
                return Err(format!("variant {name:?}: there is no part {other:?}"));
            }
        }
        let within = |variant: &Variant| !variant.parts.is_empty();
        if let Some(part) = self.parts.iter().find(|part| part.variants.iter().any(within)) {
            return Err(format!("part {:?}: its variants play this part alone and name no parts", part.id));
        }
        Ok(())
    }

    /// The variants of the suite that play a part.
    pub(super) fn variants_in(&self, part: &str) -> Vec<Variant> {
        let plays = |v: &&Variant| v.parts.is_empty() || v.parts.iter().any(|id| id == part);
        self.variants.iter().filter(plays).cloned().collect()
    }
}
