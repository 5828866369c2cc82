//! Labeling of a run's decisions by a judge model, by a person, or by a file.

pub mod judge;
pub mod person;
mod question;
pub mod store;

use std::collections::{BTreeSet, HashSet};

use anyhow::{Context as _, ensure};
use jiff::Timestamp;
use ludex_protocol::record::Record;
use ludex_referee::suite::rubric::Rubric;
use ludex_report::labels::agreement::RubricAgreement;
use ludex_report::labels::{LabelTargets, RubricDecision};
use ludex_report::runs::archive::Archive;
use ludex_report::runs::run_files::{DecisionKey, LABELS, LabelLine};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use self::store::LabelStore;
use super::report_files::Read;
use super::run_labels;
use crate::time::now_text;

/// Run whose decisions are labeled under one rubric.
pub struct Labeling<'r> {
    run: &'r Archive,
    read: Read<'r>,
    targets: LabelTargets,
    pub rubric: Rubric,
}

/// Selection of decisions, which is equal for all labelers.
#[derive(Clone, Debug, Default)]
pub struct DecisionSample {
    /// Number of decisions; `None`: all. A larger sample contains each smaller one.
    pub size: Option<usize>,
    pub seed: u64,
    /// Agent that made the decisions, with or without its variant; `None`: all.
    pub agent: Option<String>,
}

/// Decisions of a sample.
pub struct Selection {
    /// Number of decisions that the rubric selects, of the sample's agent.
    pub selected: usize,
    /// Number of decisions in the sample.
    pub sampled: usize,
    /// Decisions of the sample that the labeler has not labeled, in drawn order.
    pub due: Vec<RubricDecision>,
}

impl<'r> Labeling<'r> {
    /// Verifies the run, and selects the decisions of the rubric, or of the suite's only rubric.
    ///
    /// # Errors
    /// Returns an error for a run without a plan, an unknown rubric, or a damaged line of the run's labels.
    pub fn new(run: &'r Archive, rubric: Option<&str>) -> anyhow::Result<Labeling<'r>> {
        let read = Read::of(run, BTreeSet::new());
        let name = &run.about.run;
        ensure!(read.unplanned.is_none(), "{}", read.unplanned.clone().unwrap_or_default());
        let plan =
            read.plan.as_ref().with_context(|| format!("expected a run of a suite, got the tournament {name}"))?;
        let rubric = plan.suite.rubric(rubric).map_err(|why| anyhow::anyhow!("--rubric: {why}"))?.clone();
        let file = run.place.join(LABELS).display().to_string();
        let unread = run.refused.iter().find(|refused| refused.source.file == file);
        if let Some(fault) = unread.or(read.labels.faults.first()) {
            anyhow::bail!("{fault}; correct or remove this line");
        }
        let targets = run_labels::targets(run, plan, &read.walk, &read.planned);
        Ok(Labeling { run, read, targets, rubric })
    }

    /// Returns the agreement of all labelers of the rubric.
    pub fn agreement(&self) -> RubricAgreement {
        RubricAgreement::of(&self.rubric, &self.run.labels.iter().collect::<Vec<_>>())
    }

    /// Draws a sample of the rubric's decisions. The draw depends on the seed, the rubric and the decisions alone.
    ///
    /// # Errors
    /// Returns an error for an unknown agent, and if there are no decisions.
    pub fn select(&self, by: &str, sample: &DecisionSample) -> anyhow::Result<Selection> {
        let all = self.targets.decisions(&self.rubric.id);
        let (id, run) = (&self.rubric.id, &self.run.about.run);
        ensure!(!all.is_empty(), "the rubric {id} selects no decision in {run}");
        let base = |agent: &'_ str| agent.split(" / ").next().unwrap_or_default().to_owned();
        let own = |decision: &&RubricDecision| {
            sample.agent.as_ref().is_none_or(|name| *name == decision.agent || *name == base(&decision.agent))
        };
        let mut drawn: Vec<(Vec<u8>, &RubricDecision)> =
            all.iter().filter(own).map(|decision| (draw(sample.seed, id, &decision.key), decision)).collect();
        if drawn.is_empty() {
            let agents: BTreeSet<&str> = all.iter().map(|decision| decision.agent.as_str()).collect();
            let agents = agents.into_iter().collect::<Vec<_>>().join(", ");
            anyhow::bail!(
                "--agent: unknown agent {:?}; allowed: {agents}",
                sample.agent.as_deref().unwrap_or_default()
            );
        }
        drawn.sort_by(|a, b| a.0.cmp(&b.0));
        let selected = drawn.len();
        drawn.truncate(sample.size.unwrap_or(usize::MAX));
        let labeled = self.run.labels.iter().filter(|line| line.by == by && line.rubric == *id);
        let labeled: HashSet<DecisionKey> = labeled.map(LabelLine::key).collect();
        let due = drawn.iter().map(|(_, decision)| (*decision).clone());
        let due = due.filter(|decision| !labeled.contains(&decision.key)).collect();
        Ok(Selection { selected, sampled: drawn.len(), due })
    }

    /// Adds labels in JSON Lines, in the form of the run's file. A line without a rubric is of this labeling's rubric, and a
    /// line without a time is of now. Returns the number of lines.
    ///
    /// # Errors
    /// Returns an error with the line number for the first line that cannot apply; no line is then added.
    pub fn import(&self, text: &str, store: &LabelStore) -> anyhow::Result<usize> {
        let mut lines = Vec::new();
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
            let parsed = self.parse_line(line).with_context(|| format!("line {number}"))?;
            lines.push(LabelLine { line: number, ..parsed });
        }
        let all = [self.run.labels.clone(), lines.clone()].concat();
        if let Some((line, why)) = self.targets.divide(&all).1.first() {
            anyhow::bail!("line {}: {why}", line.line);
        }
        lines.iter().try_for_each(|line| store.append(line))?;
        Ok(lines.len())
    }

    fn parse_line(&self, line: &str) -> anyhow::Result<LabelLine> {
        let mut fields: Map<String, Value> = serde_json::from_str(line)?;
        fields.entry("rubric").or_insert_with(|| self.rubric.id.as_str().into());
        fields.entry("at").or_insert_with(|| now_text().into());
        let line: LabelLine = serde_json::from_value(fields.into())?;
        let time = line.at.parse::<Timestamp>();
        time.map_err(|_| anyhow::anyhow!("at: expected a time in RFC 3339, got {:?}", line.at))?;
        Ok(line)
    }

    fn record(&self, episode: &str) -> Option<&Record> {
        self.read.planned.iter().map(|game| game.record()).find(|record| record.header.episode == episode)
    }

    fn line(&self, decision: &RubricDecision, by: &str, labels: Vec<String>, reason: Option<String>) -> LabelLine {
        let (episode, seat, turn) = decision.key.clone();
        let rubric = self.rubric.id.clone();
        LabelLine { line: 0, episode, seat, turn, rubric, labels, by: by.to_owned(), at: now_text(), reason }
    }
}

/// Returns the place of a decision in the order of a sample.
fn draw(seed: u64, rubric: &str, (episode, seat, turn): &DecisionKey) -> Vec<u8> {
    Sha256::digest(format!("ludex.v1:label:{seed}:{rubric}:{episode}:{seat}:{turn}")).to_vec()
}
