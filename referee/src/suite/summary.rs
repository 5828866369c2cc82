//! Means of a metric over the parts of a suite.

use std::collections::BTreeSet;

use serde::{Deserialize, Deserializer, Serialize};

use super::selection::MatchSelection;
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
    /// Metric to average: [`SCORE`], the id of a metric, or the id with arguments in the format of results. A suite may
    /// also use the syntax of a part's metrics.
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
    /// Conditions on the matches that the metric covers.
    #[serde(default, rename = "where", skip_serializing_if = "MatchSelection::is_empty")]
    pub select: MatchSelection,
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
    /// Percentages `100 * value / best`, where `best` is the greatest value of the part. Parts are excluded if `best`
    /// is zero or negative.
    PercentOfBest,
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

    /// Returns the metric of a part to average, in the format of results. Without an exact match, this is the first
    /// metric with the same id. `None` if the part has no metric with the id.
    pub fn metric_label(&self, part: &PartSpec) -> Option<String> {
        if self.metric == SCORE {
            return Some(SCORE.to_owned());
        }
        let written = part.metrics.iter().find(|ask| ask.to_string() == self.metric);
        written.or_else(|| part.metrics.iter().find(|ask| ask.id == self.metric)).map(ToString::to_string)
    }
}

impl Suite {
    pub(super) fn check_summaries(&self) -> Result<(), String> {
        let mut ids = BTreeSet::new();
        for summary in &self.summaries {
            let Summary { id, metric, except, groups, .. } = summary;
            if !is_word(id) || !ids.insert(id) {
                return Err(format!("summary {id:?}: expected a unique id of lowercase letters, digits, _ and -"));
            }
            if let Some(other) = except.iter().find(|id| self.parts.iter().all(|part| part.id != **id)) {
                return Err(format!("summary {id:?}: unknown part {other:?} in except"));
            }
            if let Some(other) = groups.iter().find(|group| self.parts.iter().all(|part| !part.groups.contains(group)))
            {
                return Err(format!("summary {id:?}: no part is in the group {other:?}"));
            }
            summary.select.check(self).map_err(|why| format!("summary {id:?}: {why}"))?;
            if metric == SCORE && !summary.select.is_empty() {
                return Err(format!("summary {id:?}: expected a metric with where, got {SCORE}; use score_rate"));
            }
            if !self.parts.iter().any(|part| summary.covers(part) && summary.metric_label(part).is_some()) {
                return Err(format!("summary {id:?}: none of its parts has the metric {metric:?}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(more: &str) -> Summary {
        toml::from_str(&format!("id = \"s\"\nmetric = \"score\"\n{more}")).unwrap()
    }

    #[test]
    fn summary_covers_parts_of_listed_groups_except_excluded_parts() {
        let part = |id: &str, groups: &str| -> PartSpec {
            let text =
                format!("id = \"{id}\"\ngame = \"nim\"\nschedule = \"self_play\"\nblocks = 1\ngroups = [{groups}]");
            toml::from_str(&text).unwrap()
        };
        let (board, cards) = (part("x", "\"board\""), part("y", "\"cards\""));
        let covers = |more: &str| [&board, &cards].map(|part| summary(more).covers(part));
        assert_eq!(covers(""), [true, true]);
        assert_eq!(covers("except = [\"x\"]"), [false, true]);
        assert_eq!(covers("groups = [\"board\"]"), [true, false]);
        assert_eq!(covers("groups = [\"board\"]\nexcept = [\"x\"]"), [false, false]);
    }

    #[test]
    fn summary_metric_may_be_text_or_table() {
        let metric = |text: &str| -> String {
            let summary: Summary = toml::from_str(&format!("id = \"s\"\nmetric = {text}\n")).unwrap();
            let again: Summary = toml::from_str(&toml::to_string(&summary).unwrap()).unwrap();
            assert_eq!(again, summary);
            summary.metric
        };
        assert_eq!(metric("\"mean of=missed_block\""), "mean of=missed_block");
        assert_eq!(metric("{ id = \"mean\", of = \"missed_block\" }"), "mean of=missed_block");
        assert_eq!(metric("\"score\""), SCORE);
    }
}
