//! Variants of candidates: for ablations in one part, or for the whole suite.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Suite, SuiteError, is_word};

/// Variant of an `llm` candidate.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Name in results.
    pub name: String,
    /// Parts that the variant plays; empty: all. Only for a variant of the suite.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
    /// Arguments, which take precedence over arguments from the part, the suite and the agent's spec.
    #[serde(default)]
    pub llm: toml::Table,
}

/// Variant in another wording of its prompts. Its results say how far a number depends on the wording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paraphrase {
    /// Name of the variant without the wording; empty without variants.
    pub variant: String,
    /// Name of the wording.
    pub wording: String,
}

/// Link from a variant agent of a run to its candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantOf {
    /// Index of the candidate among the run's agents.
    pub candidate: usize,
    /// Name of the variant. If the part has its own variants, both names: `SUITE VARIANT, PART VARIANT`.
    pub name: String,
    /// Arguments of the variant, which take precedence over arguments from all other sources.
    pub llm: toml::Table,
    /// Wording of the prompts, in parts with paraphrases.
    pub paraphrase: Option<Paraphrase>,
}

/// Checks that the names of variants are valid and unique.
pub(super) fn check_names(variants: &[Variant]) -> Result<(), String> {
    let names: BTreeSet<&str> = variants.iter().map(|v| v.name.as_str()).collect();
    if names.len() < variants.len() || !names.iter().all(|name| is_word(name)) {
        return Err("expected unique names of lowercase letters, digits, _ and -".into());
    }
    Ok(())
}

impl Suite {
    pub(super) fn check_variants(&self) -> Result<(), String> {
        for (what, all) in [("variant", &self.variants), ("paraphrase", &self.paraphrases)] {
            check_names(all).map_err(|why| format!("{what}: {why}"))?;
            for Variant { name, parts, .. } in all {
                if let Some(other) = parts.iter().find(|id| self.parts.iter().all(|part| part.id != **id)) {
                    return Err(format!("{what} {name:?}: unknown part {other:?}"));
                }
            }
        }
        for part in &self.parts {
            let all = self.variants_in(&part.id);
            let names: BTreeSet<&str> = all.iter().map(|(variant, _)| variant.name.as_str()).collect();
            if names.len() < all.len() {
                return Err(format!("part {:?}: a variant and a paraphrase give one name twice", part.id));
            }
        }
        let within = |variant: &Variant| !variant.parts.is_empty();
        if let Some(part) = self.parts.iter().find(|part| part.variants.iter().any(within)) {
            return Err(format!(
                "part {:?}: expected variants without the field parts, since they play this part only",
                part.id
            ));
        }
        Ok(())
    }

    /// Prepares the suite for candidates that play as clients of a server. If there are `labels`, they replace the suite's
    /// variants in all parts; the variants of single parts stay.
    ///
    /// # Errors
    /// Returns an error for a label that is not a word, and for a repeated label.
    pub fn play_remotely(&mut self, labels: &[String]) -> Result<(), SuiteError> {
        let variant = |name: &String| Variant { name: name.clone(), parts: Vec::new(), llm: toml::Table::new() };
        let variants: Vec<Variant> = labels.iter().map(variant).collect();
        check_names(&variants).map_err(SuiteError)?;
        if !variants.is_empty() {
            self.variants = variants;
        }
        Ok(())
    }

    /// Returns the suite's variants that play a part: each in each wording, as `VARIANT-WORDING`, if the part has
    /// paraphrases.
    pub(super) fn variants_in(&self, part: &str) -> Vec<(Variant, Option<Paraphrase>)> {
        let plays = |v: &&Variant| v.parts.is_empty() || v.parts.iter().any(|id| id == part);
        let mut variants: Vec<Option<&Variant>> = self.variants.iter().filter(plays).map(Some).collect();
        let wordings: Vec<&Variant> = self.paraphrases.iter().filter(plays).collect();
        if wordings.is_empty() {
            return variants.into_iter().flatten().map(|variant| (variant.clone(), None)).collect();
        }
        if variants.is_empty() {
            variants.push(None);
        }
        let worded = |variant: Option<&Variant>, wording: &Variant| {
            let own = variant.map_or("", |variant| variant.name.as_str());
            let name = if own.is_empty() { wording.name.clone() } else { format!("{own}-{}", wording.name) };
            let mut llm = variant.map(|variant| variant.llm.clone()).unwrap_or_default();
            llm.extend(wording.llm.clone());
            let paraphrase = Paraphrase { variant: own.to_owned(), wording: wording.name.clone() };
            (Variant { name, parts: Vec::new(), llm }, Some(paraphrase))
        };
        variants.iter().flat_map(|&variant| wordings.iter().map(move |wording| worded(variant, wording))).collect()
    }
}
