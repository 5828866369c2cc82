//! Tidy table of the labels of a run's decisions.

use std::collections::HashMap;

use ludex_referee::rows::Rows;
use schemars::JsonSchema;
use serde::Serialize;

use super::TableRow;
use super::matches::seats;
use crate::runs::run_files::LabelLine;

/// Label that a labeler gave to a decision.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LabelRow {
    /// name of the run
    pub run: String,
    /// name of the match
    pub episode: String,
    /// part of the suite
    pub part: String,
    /// position of the match in the order of the plan
    pub order: usize,
    /// index of the seat, from 0
    pub seat: usize,
    /// agent on the seat
    pub agent: String,
    /// agents on the seats of other sides
    pub opponent: String,
    /// index of the seat's own turn, from 0
    pub turn: u32,
    /// rubric of the suite
    pub rubric: String,
    /// labeler: `judge:NAME` or `person:NAME`
    pub by: String,
    /// label; absent if the labeler found that none applies
    pub label: Option<String>,
    /// time of the label, UTC, RFC 3339
    pub at: String,
    /// the labeler's reason, if there is one
    pub reason: Option<String>,
}

impl TableRow for LabelRow {
    const WHAT: &str = "labels";
    const ABOUT: &str =
        "One row is one label that a labeler gave to a decision, or a decision to which the labeler gave no label.";
}

/// Returns one row for each label, in the order of the plan, of the seats and turns, of rubrics and labelers.
pub fn labels(run: &str, rows: &Rows, lines: &[LabelLine]) -> Vec<LabelRow> {
    let mut by_seat: HashMap<(&str, usize), Vec<&LabelLine>> = HashMap::new();
    for line in lines {
        by_seat.entry((&line.episode, line.seat)).or_default().push(line);
    }
    let mut out = Vec::new();
    for seated in seats(rows) {
        let mut own = by_seat.remove(&(seated.game.episode, seated.seat)).unwrap_or_default();
        own.sort_by_key(|line| (line.turn, &line.rubric, &line.by));
        for line in own {
            let row = |label: Option<String>| LabelRow {
                run: run.to_owned(),
                episode: line.episode.clone(),
                part: seated.part.to_owned(),
                order: seated.game.order,
                seat: line.seat,
                agent: seated.agent.to_owned(),
                opponent: seated.opponent.clone(),
                turn: line.turn,
                rubric: line.rubric.clone(),
                by: line.by.clone(),
                label,
                at: line.at.clone(),
                reason: line.reason.clone(),
            };
            match line.labels.as_slice() {
                [] => out.push(row(None)),
                labels => out.extend(labels.iter().map(|label| row(Some(label.clone())))),
            }
        }
    }
    out
}
