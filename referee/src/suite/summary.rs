//! Means of a metric over the parts of a suite.

use std::collections::BTreeSet;

use serde::{Deserialize, Deserializer, Serialize};

use super::{PartSpec, Suite, is_word};
use crate::metric::MetricSpec;

/// Metric of every competitive part: a candidate's share of the points.
pub const SCORE: &str = "score";

/// Mean of a metric over parts.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Name in results: lowercase letters, digits, `_` and `-`.
    pub id: String,
    /// Metric to average: [`SCORE`], or a metric of the parts in the format of results, or its id alone. A suite may
    /// use the syntax of parts.
    #[serde(deserialize_with = "as_named")]
    pub metric: String,
    /// Scope of the mean.
    #[serde(default)]
    pub over: SummaryScope,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
    /// Groups of parts to include; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// Transformation of the values before averaging.
    #[serde(default)]
    pub form: SummaryTransform,
}

/// Scope of a [`Summary`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SummaryScope {
    #[default]
    Part,
}

/// Transformation of the values of a part before averaging.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SummaryTransform {
    #[default]
    Mean,
    /// Percentages `100 * value / best`, where `best` is the greatest value of the part. A part whose greatest value is
    /// not above zero is excluded.
    PercentOfBest,
}

/// Mean of an agent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SummaryScore {
    /// Id of the [`Summary`].
    pub summary: String,
    pub agent: String,
    /// Number of parts in the mean.
    pub parts: usize,
    pub value: f64,
}

/// Parses a metric in text or table form into the format of results.
fn as_named<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(MetricSpec::deserialize(from)?.to_string())
}

impl Summary {
    /// Returns true if the summary includes a part.
    pub fn covers(&self, part: &PartSpec) -> bool {
        let grouped = self.groups.is_empty() || part.groups.iter().any(|group| self.groups.contains(group));
        grouped && !self.except.contains(&part.id)
    }

    /// Returns the id of the averaged metric.
    pub fn metric_id(&self) -> &str {
        self.metric.split(' ').next().unwrap_or_default()
    }

    /// Returns the metric of a part to average, in the format of results: the exact metric, else the first with this id
    /// and any arguments. `None` if the part has neither.
    pub fn metric_label(&self, part: &PartSpec) -> Option<String> {
        if self.metric == SCORE {
            return Some(SCORE.to_owned());
        }
        let written = part.metrics.iter().find(|ask| ask.to_string() == self.metric);
        written.or_else(|| part.metrics.iter().find(|ask| ask.id == self.metric)).map(ToString::to_string)
    }

    /// Computes the means of all agents, in the order of their first appearance. `values` holds those of each covered
    /// part, by agent; an agent without a value in a part has its mean over the others.
    pub fn means(&self, values: &[Vec<(String, f64)>]) -> Vec<SummaryScore> {
        let mut out: Vec<SummaryScore> = Vec::new();
        for part in values {
            let best = part.iter().map(|(_, value)| *value).fold(f64::NEG_INFINITY, f64::max);
            if self.form == SummaryTransform::PercentOfBest && best <= 0.0 {
                continue;
            }
            for (agent, value) in part {
                let value = if self.form == SummaryTransform::PercentOfBest { 100.0 * value / best } else { *value };
                match out.iter_mut().find(|score| score.agent == *agent) {
                    Some(score) => {
                        score.parts += 1;
                        score.value += (value - score.value) / score.parts as f64;
                    }
                    None => out.push(SummaryScore { summary: self.id.clone(), agent: agent.clone(), parts: 1, value }),
                }
            }
        }
        out
    }
}

impl Suite {
    pub(super) fn check_summaries(&self) -> Result<(), String> {
        let mut ids = BTreeSet::new();
        for summary in &self.summaries {
            let Summary { id, metric, except, groups, .. } = summary;
            if !is_word(id) || !ids.insert(id) {
                return Err(format!(
                    "summary {id:?}: a word of lowercase letters, digits, _ and -, used by one summary only"
                ));
            }
            if let Some(other) = except.iter().find(|id| self.parts.iter().all(|part| part.id != **id)) {
                return Err(format!("summary {id:?}: unknown part {other:?} in except"));
            }
            if let Some(other) = groups.iter().find(|group| self.parts.iter().all(|part| !part.groups.contains(group)))
            {
                return Err(format!("summary {id:?}: no part is in the group {other:?}"));
            }
            if !self.parts.iter().any(|part| summary.covers(part) && summary.metric_label(part).is_some()) {
                return Err(format!("summary {id:?}: none of its parts asks for the metric {metric:?}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
