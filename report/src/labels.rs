//! Labels of decisions: the decisions that a rubric selects, the labels that apply to them, and the labelers' agreement.

pub mod agreement;
mod targets;

use std::collections::{BTreeMap, BTreeSet};

use ludex_referee::metric::{NO_LABEL, label_mark};
use ludex_referee::result::SeatMark;
use ludex_referee::suite::rubric::Rubric;

use crate::display::{count, number};
use crate::runs::run_files::{DecisionKey, LabelLine};

pub use self::targets::{LabelTargets, RubricDecision};
use agreement::RubricAgreement;

/// Returns the labels of each decision according to all of its labelers; an empty list if none applies.
///
/// A decision has a label that more than half of its labelers gave. If the rubric has exactly one label for a decision,
/// the decision has the label that most of them gave; without such a label, the decision is omitted.
pub fn consensus(rubric: &Rubric, lines: &[&LabelLine]) -> BTreeMap<DecisionKey, Vec<String>> {
    let mut decisions: BTreeMap<DecisionKey, Vec<&LabelLine>> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.rubric == rubric.id) {
        decisions.entry(line.key()).or_default().push(line);
    }
    let agreed = |of: &[&LabelLine]| -> Option<Vec<String>> {
        let votes = |label: &str| of.iter().filter(|line| line.labels.iter().any(|own| own == label)).count();
        let labels = rubric.labels().into_iter().map(|label| (label, votes(label)));
        if rubric.several {
            return Some(labels.filter(|(_, n)| 2 * n > of.len()).map(|(label, _)| label.to_owned()).collect());
        }
        let most = labels.clone().map(|(_, n)| n).max()?;
        let mut best = labels.filter(|(_, n)| *n == most).map(|(label, _)| label.to_owned());
        best.next().filter(|_| best.next().is_none()).map(|label| vec![label])
    };
    decisions.into_iter().filter_map(|(key, of)| Some((key, agreed(&of)?))).collect()
}

/// Returns the marks of the labels, with the decision of each.
pub fn marks(rubric: &Rubric, lines: &[&LabelLine]) -> Vec<(DecisionKey, SeatMark)> {
    let of_decision = |(key, mut labels): (DecisionKey, Vec<String>)| {
        if labels.is_empty() {
            labels.push(NO_LABEL.to_owned());
        }
        let turn = key.2;
        labels.into_iter().map(move |label| (key.clone(), label_mark(&rubric.id, &label, turn)))
    };
    consensus(rubric, lines).into_iter().flat_map(of_decision).collect()
}

/// Returns the sentences below a figure with labels: the labelers, their agreement and the rule for several labelers, or
/// the command that adds labels to `run`.
pub fn note(rubric: &Rubric, lines: &[&LabelLine], run: &str) -> String {
    let own: Vec<&LabelLine> = lines.iter().copied().filter(|line| line.rubric == rubric.id).collect();
    if own.is_empty() {
        return format!("No labels; `ludex label {run} --rubric {}` adds them.", rubric.id);
    }
    let RubricAgreement { labelers, alphas, .. } = RubricAgreement::of(rubric, &own);
    let decisions = own.iter().map(|line| line.key()).collect::<BTreeSet<_>>().len();
    let names: Vec<&str> = labelers.iter().map(|labeler| labeler.by.as_str()).collect();
    let mut out = format!("Labels of {} by {}.", count(decisions, "decision", "decisions"), names.join(", "));
    if labelers.len() < 2 {
        return out;
    }
    let alpha = |of: &agreement::ValueAgreement| {
        let alpha = of.alpha.map_or_else(|| "undefined".to_owned(), |alpha| number(alpha, 2));
        of.label.as_ref().map_or_else(|| alpha.clone(), |label| format!("{label} {alpha}"))
    };
    let shared = alphas.first().map_or(0, |of| of.decisions);
    let alphas: Vec<String> = alphas.iter().map(alpha).collect();
    out += &format!(
        " Krippendorff's alpha: {} ({}).",
        alphas.join(", "),
        count(shared, "shared decision", "shared decisions")
    );
    out += if rubric.several {
        " A decision has a label that more than half of its labelers gave."
    } else {
        " A decision has the label that most of its labelers gave; ties do not count."
    };
    out
}

#[cfg(test)]
mod tests;
