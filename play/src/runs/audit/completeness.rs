//! Comparison of the matches of a run with its plan.

use ludex_protocol::record::Record;
use ludex_referee::suite::plan::{Block, MatchScore, Results, block_key, key};
use ludex_report::display::count;
use ludex_report::runs::archive::Archive;
use ludex_report::runs::episode::name_of;
use ludex_report::runs::plan_progress::PlanProgress;
use serde::Serialize;

use crate::runs::driver::CI;
use crate::runs::evaluation::choose_blocks;
use crate::runs::rebuilt_plan::RebuiltPlan;

/// State of a run according to its log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// All planned matches have been played.
    Done,
    /// Stopped by a budget limit or a failed endpoint.
    Stopped,
    /// In progress, or interrupted because the process was killed.
    #[default]
    Open,
}

/// Result of the comparison of a run's matches with the plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Completeness {
    /// True if every planned match has a record that counts, and the run has no faults.
    pub complete: bool,
    pub state: RunState,
    /// Number of planned matches, given the results so far.
    pub planned: usize,
    /// Episode names of planned matches without a record.
    pub missing: Vec<String>,
    /// Episode names of matches that were discarded because the infrastructure failed.
    pub discarded: Vec<String>,
    /// Reasons why the run is incomplete.
    pub why: Vec<String>,
}

/// Compares a run with its plan. Also returns the faults of the run's log, each with its episode.
pub(super) fn check_completeness(
    run: &Archive,
    ground: &RebuiltPlan,
    walk: &PlanProgress,
    done: &Results,
    records: &[Record],
) -> (Completeness, Vec<(String, String)>) {
    let name = &run.about.run;
    let last = run.log.iter().rev().find(|line| matches!(line.what.as_str(), "done" | "stopped" | "begun" | "resumed"));
    let state = match last.map(|line| line.what.as_str()) {
        Some("done") => RunState::Done,
        Some("stopped") => RunState::Stopped,
        _ => RunState::Open,
    };
    let episodes = |block: &Block| {
        let id = ground.parts[block.part].id.clone();
        let own = block.matches.iter().map(|due| key(&id, &block.pairing, block.index, due.turn)).collect::<Vec<_>>();
        own.into_iter().map(|key| name_of(name, &key, false))
    };
    let missing: Vec<String> = walk.due.iter().flat_map(episodes).collect();
    let mut discarded: Vec<String> = done
        .iter()
        .filter(|(key, done)| **done == MatchScore::Discarded && walk.place(key).is_some())
        .map(|(key, _)| name_of(name, key, false))
        .collect();
    discarded.sort_unstable();

    let (mut why, mut wrong) = (Vec::new(), Vec::new());
    // A part may end early once its intervals are narrow enough.
    let ci =
        run.log.iter().rev().find(|line| line.what == CI).and_then(|line| line.why.as_deref()?.parse::<f64>().ok());
    let open = match (&ground.plan, ci) {
        (Some(plan), Some(points)) => {
            choose_blocks(name, plan, Some(points), records, walk.due.clone()).unwrap_or_else(|_| walk.due.clone())
        }
        _ => walk.due.clone(),
    };
    match state {
        RunState::Done => wrong.extend(open.iter().map(|block| {
            let block_name = block_key(&ground.parts[block.part].id, &block.pairing, block.index);
            let n = block.matches.len();
            (
                format!("{name}.{block_name}"),
                format!("missing matches: {n}, although the log says that the run is done"),
            )
        })),
        RunState::Stopped if ci.is_none() => {
            // A run stops between blocks, so a match that is missing before a played match must have failed.
            let spoiled =
                |episode: &str| run.log.iter().any(|l| l.what == "failed" && l.episode.as_deref() == Some(episode));
            let gaps = walk.gaps.iter().map(|key| name_of(name, key, false)).filter(|episode| !spoiled(episode));
            wrong.extend(gaps.map(|episode| (episode, "missing although later matches were played".to_owned())));
        }
        _ => {}
    }
    if run.about.calls_bound {
        let extra = walk.extra.iter().map(|key| (name_of(name, key, false), "the match is not in the plan".to_owned()));
        wrong.extend(extra);
    }
    if !missing.is_empty() {
        let how = match (state, last.and_then(|line| line.why.as_deref())) {
            (RunState::Done, _) => {
                ci.map_or_else(String::new, |points| format!(": stopped early by --stop-at-ci {points}"))
            }
            (RunState::Stopped, Some(why)) => format!(": stopped, {why}"),
            (RunState::Stopped, None) => ": stopped".to_owned(),
            (RunState::Open, _) => ": the log does not say that the run has ended".to_owned(),
        };
        why.push(format!("{} of {} matches are missing{how}", missing.len(), missing.len() + walk.done.len()));
    } else if state != RunState::Done {
        why.push("the log does not say that the run is done".to_owned());
    }
    if !discarded.is_empty() {
        let many = count(discarded.len(), "match was", "matches were");
        why.push(format!("{many} discarded because the infrastructure failed"));
    }
    let planned = walk.done.len() + missing.len();
    (Completeness { complete: why.is_empty(), state, planned, missing, discarded, why }, wrong)
}
