//! Agreement of the labelers of a run.

use std::collections::{BTreeMap, BTreeSet};

use ludex_referee::agreement::{cohen_kappa, krippendorff_alpha};
use ludex_referee::suite::rubric::Rubric;
use serde::Serialize;

use crate::runs::run_files::{DecisionKey, LabelLine};

/// Agreement of all labelers of a rubric. If a decision may have several labels, each label is a separate question with
/// the answers yes and no.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RubricAgreement {
    pub rubric: String,
    pub labelers: Vec<LabelerCount>,
    pub pairs: Vec<PairAgreement>,
    pub alphas: Vec<ValueAgreement>,
}

/// Labeler with the number of its decisions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LabelerCount {
    pub by: String,
    pub decisions: usize,
}

/// Agreement of two labelers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairAgreement {
    pub a: String,
    pub b: String,
    /// Label that is a separate question; absent if a decision has exactly one label.
    pub label: Option<String>,
    /// Number of decisions that both labeled.
    pub decisions: usize,
    /// Cohen's kappa; absent without variation.
    pub kappa: Option<f64>,
}

/// Agreement of all labelers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ValueAgreement {
    /// Label that is a separate question; absent if a decision has exactly one label.
    pub label: Option<String>,
    /// Number of decisions with at least two labelers.
    pub decisions: usize,
    /// Krippendorff's alpha for nominal data; absent without variation.
    pub alpha: Option<f64>,
}

impl RubricAgreement {
    /// Compares the labelers of a rubric. Lines of other rubrics are ignored.
    pub fn of(rubric: &Rubric, lines: &[&LabelLine]) -> RubricAgreement {
        let mut labelers: BTreeMap<&str, BTreeMap<DecisionKey, &[String]>> = BTreeMap::new();
        for line in lines.iter().filter(|line| line.rubric == rubric.id) {
            labelers.entry(&line.by).or_default().insert(line.key(), &line.labels);
        }
        let questions: Vec<Option<&str>> =
            if rubric.several { rubric.labels().into_iter().map(Some).collect() } else { vec![None] };
        // The answer to a question: yes or no for a label of several, else the label.
        let answer = |labels: &[String], question: Option<&str>| match question {
            Some(label) => labels.iter().any(|own| own == label).to_string(),
            None => labels.first().cloned().unwrap_or_default(),
        };
        let names: Vec<&str> = labelers.keys().copied().collect();
        let mut pairs = Vec::new();
        for (k, a) in names.iter().enumerate() {
            for b in &names[k + 1..] {
                let (of_a, of_b) = (&labelers[a], &labelers[b]);
                let shared: Vec<(&[String], &[String])> =
                    of_a.iter().filter_map(|(key, own)| Some((*own, *of_b.get(key)?))).collect();
                pairs.extend(questions.iter().map(|&question| {
                    let answers: Vec<(String, String)> =
                        shared.iter().map(|(a, b)| (answer(a, question), answer(b, question))).collect();
                    PairAgreement {
                        a: (*a).to_owned(),
                        b: (*b).to_owned(),
                        label: question.map(str::to_owned),
                        decisions: answers.len(),
                        kappa: cohen_kappa(&answers),
                    }
                }));
            }
        }
        let keys: BTreeSet<&DecisionKey> = labelers.values().flat_map(BTreeMap::keys).collect();
        let alphas = questions.iter().map(|&question| {
            let unit = |key: &&DecisionKey| -> Vec<String> {
                labelers.values().filter_map(|own| own.get(*key)).map(|labels| answer(labels, question)).collect()
            };
            let units: Vec<Vec<String>> = keys.iter().map(unit).collect();
            ValueAgreement {
                label: question.map(str::to_owned),
                decisions: units.iter().filter(|unit| unit.len() > 1).count(),
                alpha: krippendorff_alpha(&units),
            }
        });
        RubricAgreement {
            rubric: rubric.id.clone(),
            alphas: alphas.collect(),
            pairs,
            labelers: labelers
                .iter()
                .map(|(by, own)| LabelerCount { by: (*by).to_owned(), decisions: own.len() })
                .collect(),
        }
    }
}
