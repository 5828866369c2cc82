//! Means of a metric over the parts of a suite.

use std::collections::BTreeSet;

use serde::{Deserialize, Deserializer, Serialize};

use super::{PartSpec, Suite, is_word};
use crate::metric::MetricSpec;

/// The measure that every part has in which candidates win and lose: a candidate's share of the points.
pub const SCORE: &str = "score";

/// A mean of a metric over parts.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Its name in results: a word of small letters, digits, `_` and `-`.
    pub id: String,
    /// What is averaged: [`SCORE`] or a metric that parts ask for, as results name it, or its id alone. A suite may write it as a part
    /// does.
    #[serde(deserialize_with = "as_named")]
    pub metric: String,
    /// Over what.
    #[serde(default)]
    pub over: SummaryScope,
    /// Parts that are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
    /// Only parts of these groups; empty: of all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// What is done with the values first.
    #[serde(default)]
    pub form: SummaryTransform,
}

/// What a [`Summary`] averages over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SummaryScope {
    /// Parts.
    #[default]
    Part,
}

/// What a [`Summary`] does with the values of a part before it averages them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SummaryTransform {
    /// Nothing.
    #[default]
    Mean,
    /// Each value as `100 * value / best`, where `best` is the greatest value of the part. A part whose greatest value is not
    /// above zero is left out.
    PercentOfBest,
}

/// A mean of an agent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SummaryScore {
    /// The [`Summary`].
    pub summary: String,
    /// The agent.
    pub agent: String,
    /// Over how many parts.
    pub parts: usize,
    /// The mean.
    pub value: f64,
}

/// A metric as results name it, from a text or a table.
fn as_named<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(MetricSpec::deserialize(from)?.to_string())
}

impl Summary {
    /// Whether it averages over a part.
    pub fn covers(&self, part: &PartSpec) -> bool {
        let grouped = self.groups.is_empty() || part.groups.iter().any(|group| self.groups.contains(group));
        grouped && !self.except.contains(&part.id)
    }

    /// The id of the metric that it averages.
    pub fn metric_id(&self) -> &str {
        self.metric.split(' ').next().unwrap_or_default()
    }

    /// What it averages of a part, as results name it: the metric as it is written, else the first with this id, whatever its
    /// arguments. `None` if the part asks for neither.
    pub fn metric_label(&self, part: &PartSpec) -> Option<String> {
        if self.metric == SCORE {
            return Some(SCORE.to_owned());
        }
        let written = part.metrics.iter().find(|ask| ask.to_string() == self.metric);
        written.or_else(|| part.metrics.iter().find(|ask| ask.id == self.metric)).map(ToString::to_string)
    }

    /// The means of all agents, in the order in which they first appear. `values` are those of each part that it covers, by agent; an agent
    /// without a value in a part has its mean over the others.
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
                    "summary {id:?}: a word of small letters, digits, _ and -, used by one summary only"
                ));
            }
            if let Some(other) = except.iter().find(|id| self.parts.iter().all(|part| part.id != **id)) {
                return Err(format!("summary {id:?}: there is no part {other:?} to leave out"));
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
