//! Labels of a run: the decisions that may have labels, and the labels as marks of verified matches.

use std::collections::HashMap;

use ludex_protocol::record::Record;
use ludex_referee::VerifiedRecord;
use ludex_referee::read::{RejectedRecord, Source};
use ludex_referee::rows::Rows;
use ludex_referee::suite::plan::Plan;
use ludex_report::labels::{LabelTargets, marks};
use ludex_report::runs::archive::Archive;
use ludex_report::runs::metric_rows::table;
use ludex_report::runs::plan_progress::PlanProgress;
use ludex_report::runs::run_files::{LABELS, LabelLine};

/// Labels of a run that apply, and those that cannot apply.
#[derive(Default)]
pub(super) struct AppliedLabels {
    pub(super) lines: Vec<LabelLine>,
    pub(super) faults: Vec<RejectedRecord>,
}

/// Returns the decisions that the rubrics of a run's suite select.
pub(super) fn targets(run: &Archive, plan: &Plan, walk: &PlanProgress, planned: &[VerifiedRecord]) -> LabelTargets {
    let rows = Rows::new(table(&run.about.run, plan, walk, planned));
    let records: HashMap<&str, &Record> =
        planned.iter().map(|game| (game.record().header.episode.as_str(), game.record())).collect();
    LabelTargets::new(run, &plan.suite, &rows, &records)
}

/// Adds the labels of a run to the marks of its matches.
pub(super) fn add(
    run: &Archive,
    plan: Option<&Plan>,
    walk: &PlanProgress,
    planned: &mut [VerifiedRecord],
) -> AppliedLabels {
    if run.labels.is_empty() {
        return AppliedLabels::default();
    }
    let Some(plan) = plan else {
        let why = "expected a run of a suite, since labels need a rubric";
        let faults = run.labels.iter().map(|line| fault(run, line, why.to_owned())).collect();
        return AppliedLabels { lines: Vec::new(), faults };
    };
    let (valid, wrong) = targets(run, plan, walk, planned).divide(&run.labels);
    let places: HashMap<String, usize> =
        planned.iter().enumerate().map(|(k, game)| (game.record().header.episode.clone(), k)).collect();
    for ((episode, seat, _), mark) in plan.suite.rubrics.iter().flat_map(|rubric| marks(rubric, &valid)) {
        if let Some(&place) = places.get(&episode) {
            planned[place].add_mark(seat, mark);
        }
    }
    AppliedLabels {
        lines: valid.into_iter().cloned().collect(),
        faults: wrong.into_iter().map(|(line, why)| fault(run, line, why)).collect(),
    }
}

fn fault(run: &Archive, line: &LabelLine, message: String) -> RejectedRecord {
    let file = run.place.join(LABELS).display().to_string();
    RejectedRecord { source: Source { file, line: line.line }, episode: Some(line.episode.clone()), message }
}
