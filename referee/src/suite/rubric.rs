//! Rubrics of a suite: questions about single decisions, which people or a judge model answer by labels.

use std::collections::BTreeSet;

use ludex_protocol::error::did_you_mean;
use serde::{Deserialize, Serialize};

use super::figure::KnownPart;
use super::selection::MatchSelection;
use super::{Suite, is_word};
use crate::metric::{ANY_LABEL, MetricSpec, NO_LABEL};

/// Question about decisions, with the labels that answer it: `[[rubric]]`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Rubric {
    /// Id in results and options: lowercase letters, digits, `_` and `-`.
    pub id: String,
    pub title: String,
    /// Text for the labeler, before the values.
    pub question: String,
    /// Part with the decisions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Parts with the decisions; default: all, if `part` is absent too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
    /// Conditions on the matches with the decisions.
    #[serde(default, rename = "where", skip_serializing_if = "MatchSelection::is_empty")]
    pub select: MatchSelection,
    #[serde(default)]
    pub decisions: RubricDecisions,
    /// Mark that a decision must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
    /// True if any number of labels may apply to a decision, including none. If false, exactly one label applies.
    #[serde(default)]
    pub several: bool,
    /// Labels, in the order in which labelers see them.
    #[serde(rename = "value")]
    pub values: Vec<RubricValue>,
}

/// Decisions of a [`Rubric`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RubricDecisions {
    /// Decisions with a reply of a language model.
    #[default]
    Replies,
    /// All decisions that an agent made.
    All,
}

/// Label of a [`Rubric`].
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RubricValue {
    /// Label in files and results: lowercase letters, digits, `_` and `-`.
    pub id: String,
    /// Meaning of the label, as a sentence for the labeler.
    pub about: String,
}

impl Rubric {
    /// Returns true if the rubric includes a part.
    pub fn has(&self, part: &str) -> bool {
        match &self.part {
            Some(own) => own == part,
            None => self.parts.is_empty() || self.parts.iter().any(|own| own == part),
        }
    }

    /// Returns the labels, in order.
    pub fn labels(&self) -> Vec<&str> {
        self.values.iter().map(|value| value.id.as_str()).collect()
    }

    /// Checks the labels of one decision.
    ///
    /// # Errors
    /// Returns an error for a label that the rubric does not have, for a repeated label, and for none or several labels
    /// in a rubric with exactly one.
    pub fn check_labels(&self, labels: &[String]) -> Result<(), String> {
        let known = self.labels();
        if let Some(other) = labels.iter().find(|label| !known.contains(&label.as_str())) {
            return Err(format!("unknown label {other:?}; allowed: {}", known.join(", ")));
        }
        if labels.iter().collect::<BTreeSet<_>>().len() < labels.len() {
            return Err(format!("labels: expected each label once, got {}", labels.join(", ")));
        }
        if !self.several && labels.len() != 1 {
            return Err(format!("labels: expected exactly one, got {}; allowed: {}", labels.len(), known.join(", ")));
        }
        Ok(())
    }

    fn check(&self, suite: &Suite, parts: &[KnownPart]) -> Result<(), String> {
        if [&self.title, &self.question].into_iter().any(|text| text.trim().is_empty()) {
            return Err("expected a title and a question, got an empty text".into());
        }
        if self.part.is_some() && !self.parts.is_empty() {
            return Err("part and parts exclude each other".into());
        }
        if let Some(id) = self.parts.iter().chain(&self.part).find(|id| parts.iter().all(|part| part.id != **id)) {
            let ids: Vec<&str> = parts.iter().map(|part| part.id).collect();
            return Err(format!("unknown part {id:?}{}", did_you_mean(id, &ids)));
        }
        self.select.check(suite)?;
        let own = || parts.iter().filter(|part| self.has(part.id)).flat_map(|part| part.marks.iter().copied());
        if let Some(mark) = self.mark.as_deref().filter(|mark| own().all(|known| known != *mark)) {
            let known: Vec<&str> = own().collect::<BTreeSet<_>>().into_iter().collect();
            return Err(format!(
                "the games of the rubric's parts have no mark {mark:?}; allowed: {}",
                known.join(", ")
            ));
        }
        if self.values.len() < 2 - usize::from(self.several) {
            return Err(format!("value: expected at least two, or one with several, got {}", self.values.len()));
        }
        let mut ids = BTreeSet::new();
        for RubricValue { id, about } in &self.values {
            if !is_word(id) || !ids.insert(id) || [ANY_LABEL, NO_LABEL].contains(&id.as_str()) {
                return Err(format!(
                    "value {id:?}: expected a unique id of lowercase letters, digits, _ and -, and not {ANY_LABEL} or {NO_LABEL}"
                ));
            }
            if about.trim().is_empty() {
                return Err(format!("value {id:?}: expected a description in about, got none"));
            }
        }
        Ok(())
    }
}

impl Suite {
    /// Returns the rubric with this id, or the suite's only rubric.
    ///
    /// # Errors
    /// Returns an error for an unknown id, for a suite without rubrics, and for several rubrics without an id.
    pub fn rubric(&self, id: Option<&str>) -> Result<&Rubric, String> {
        let ids: Vec<&str> = self.rubrics.iter().map(|rubric| rubric.id.as_str()).collect();
        if ids.is_empty() {
            return Err(format!("expected a suite with a [[rubric]], got {}", self.name));
        }
        match (id, self.rubrics.as_slice()) {
            (None, [only]) => Ok(only),
            (None, _) => Err(format!("expected a rubric, got none; allowed: {}", ids.join(", "))),
            (Some(id), all) => {
                let found = all.iter().find(|rubric| rubric.id == id);
                found.ok_or_else(|| format!("unknown rubric {id:?}; allowed: {}", ids.join(", ")))
            }
        }
    }

    /// Checks the rubrics, and the metrics that name one.
    pub(super) fn check_rubrics(&self, parts: &[KnownPart]) -> Result<(), String> {
        let mut ids = BTreeSet::new();
        for rubric in &self.rubrics {
            if !is_word(&rubric.id) || !ids.insert(&rubric.id) {
                return Err(format!(
                    "rubric {:?}: expected a unique id of lowercase letters, digits, _ and -",
                    rubric.id
                ));
            }
            rubric.check(self, parts).map_err(|why| format!("rubric {:?}: {why}", rubric.id))?;
        }
        let of_figures = self.figures.iter().flat_map(|figure| figure.wishes().map(|wish| &wish.ask));
        let of_parts = self.parts.iter().flat_map(|part| &part.metrics);
        of_figures.chain(of_parts).filter(|ask| ask.id == "labels").try_for_each(|ask| self.check_labels_metric(ask))
    }

    /// Checks that a metric of labels names a rubric of the suite and a label of this rubric.
    fn check_labels_metric(&self, ask: &MetricSpec) -> Result<(), String> {
        let text = |name: &str| ask.args.get(name).and_then(toml::Value::as_str);
        let Some(id) = text("rubric") else { return Ok(()) };
        let wrong = |why| format!("metric labels: {why}");
        let rubric = self.rubric(Some(id)).map_err(wrong)?;
        match text("is").filter(|label| *label != ANY_LABEL && !rubric.labels().contains(label)) {
            Some(label) => Err(wrong(format!("unknown label {label:?}; allowed: {}", rubric.labels().join(", ")))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "name = \"t\"\nversion = 1\ntitle = \"T\"\n[[part]]\nid = \"p\"\ngame = \"nim\"\nschedule = \"self_play\"\n\
        blocks = 1\n";
    const RUBRIC: &str = "[[rubric]]\nid = \"errors\"\ntitle = \"Errors\"\nquestion = \"Which?\"\npart = \"p\"\nseveral = true\n\
        [[rubric.value]]\nid = \"sum\"\nabout = \"A wrong sum.\"\n[[rubric.value]]\nid = \"rule\"\nabout = \"A wrong rule.\"\n";
    const FIGURE: &str = "[[figure]]\nid = \"f\"\ntitle = \"F\"\nkind = \"table\"\ncell = { metric = \"labels\", rubric = \"errors\", \
        is = \"sum\" }\n";

    fn suite(text: &str) -> Result<Suite, String> {
        Suite::parse(&[HEAD, text].concat(), &ludex_games::builtin()).map_err(|e| e.to_string())
    }

    #[test]
    fn rubric_is_checked_with_the_suite() {
        let text = [RUBRIC, FIGURE].concat();
        let suite_of = suite(&text).unwrap();
        assert_eq!(suite_of.rubric(None).unwrap().labels(), ["sum", "rule"]);
        assert!(suite("").unwrap().rubric(None).unwrap_err().contains("expected a suite with a [[rubric]], got t"));
        for (old, new, why) in [
            ("part = \"p\"", "part = \"q\"", "unknown part \"q\""),
            ("id = \"sum\"\nabout", "id = \"none\"\nabout", "value \"none\": expected a unique id"),
            ("id = \"rule\"", "id = \"sum\"", "value \"sum\": expected a unique id"),
            ("A wrong sum.", " ", "expected a description in about"),
            ("Which?", "", "expected a title and a question"),
            ("several = true", "mark = \"x\"", "no mark \"x\"; allowed: "),
            ("several = true", "where = { opponent = \"@a\" }", "unknown role \"a\""),
            ("rubric = \"errors\"", "rubric = \"error\"", "metric labels: unknown rubric \"error\"; allowed: errors"),
            ("is = \"sum\"", "is = \"sun\"", "metric labels: unknown label \"sun\"; allowed: sum, rule"),
        ] {
            assert!(text.contains(old), "{old}");
            let said = suite(&text.replacen(old, new, 1)).unwrap_err();
            assert!(said.contains(why), "{said}");
        }
        let second = [RUBRIC, &RUBRIC.replace("\"errors\"", "\"other\"")].concat();
        let several = suite(&second).unwrap();
        assert_eq!(several.rubric(None).unwrap_err(), "expected a rubric, got none; allowed: errors, other");
        assert_eq!(several.rubric(Some("x")).unwrap_err(), "unknown rubric \"x\"; allowed: errors, other");
    }

    #[test]
    fn labels_of_a_decision_fit_the_rubric() {
        let several = suite(RUBRIC).unwrap().rubrics.remove(0);
        let single = Rubric { several: false, ..several.clone() };
        let check = |rubric: &Rubric, labels: &[&str]| {
            rubric.check_labels(&labels.iter().map(|label| (*label).to_owned()).collect::<Vec<_>>())
        };
        assert!([&[][..], &["sum"], &["rule", "sum"]].iter().all(|labels| check(&several, labels).is_ok()));
        assert_eq!(check(&several, &["x"]).unwrap_err(), "unknown label \"x\"; allowed: sum, rule");
        assert_eq!(check(&several, &["sum", "sum"]).unwrap_err(), "labels: expected each label once, got sum, sum");
        assert!(check(&single, &["sum"]).is_ok());
        assert_eq!(check(&single, &[]).unwrap_err(), "labels: expected exactly one, got 0; allowed: sum, rule");
    }
}
