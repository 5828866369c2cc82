//! Decisions of a run that the rubrics of its suite select.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use ludex_protocol::record::{Record, RecordEvent};
use ludex_referee::rows::Rows;
use ludex_referee::suite::Suite;
use ludex_referee::suite::rubric::{Rubric, RubricDecisions};

use crate::runs::archive::Archive;
use crate::runs::run_files::{DecisionKey, LabelLine};
use crate::tables::matches::{Seated, seats};

/// Decision that a rubric selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RubricDecision {
    pub key: DecisionKey,
    pub part: String,
    pub agent: String,
}

/// Rubrics of a run's suite with the decisions that they select.
pub struct LabelTargets {
    rubrics: Vec<RubricTargets>,
    /// Numbers of turns by seat, for each match that counts.
    turns: HashMap<String, Vec<u32>>,
}

struct RubricTargets {
    rubric: Rubric,
    /// Decisions in the order of the plan, the seats and the turns.
    decisions: Vec<RubricDecision>,
    keys: HashSet<DecisionKey>,
}

impl LabelTargets {
    /// Selects the decisions of a run whose matches are `rows`, with these records by episode.
    pub fn new(run: &Archive, suite: &Suite, rows: &Rows, records: &HashMap<&str, &Record>) -> LabelTargets {
        let valid = rows.everything().filter(|game| game.valid);
        let turns = valid.map(|game| (game.episode.to_owned(), game.seats.iter().map(|seat| seat.turns).collect()));
        let targets = |rubric: &Rubric| {
            let decisions = decisions(run, rubric, rows, records);
            let keys = decisions.iter().map(|decision| decision.key.clone()).collect();
            RubricTargets { rubric: rubric.clone(), decisions, keys }
        };
        LabelTargets { turns: turns.collect(), rubrics: suite.rubrics.iter().map(targets).collect() }
    }

    /// Returns the decisions that a rubric selects, in the order of the plan.
    pub fn decisions(&self, rubric: &str) -> &[RubricDecision] {
        self.rubrics.iter().find(|of| of.rubric.id == rubric).map_or(&[], |of| &of.decisions)
    }

    /// Checks that the labels of a line can apply to its decision.
    ///
    /// # Errors
    /// Returns an error for an unknown rubric, label, match, seat or turn, for a decision that the rubric does not select,
    /// and for a labeler in another form.
    pub fn check(&self, line: &LabelLine) -> Result<(), String> {
        let LabelLine { episode, seat, turn, rubric: id, by, .. } = line;
        let Some(RubricTargets { rubric, keys, .. }) = self.rubrics.iter().find(|of| of.rubric.id == *id) else {
            let ids: Vec<&str> = self.rubrics.iter().map(|of| of.rubric.id.as_str()).collect();
            return Err(format!("unknown rubric {id:?}; allowed: {}", ids.join(", ")));
        };
        rubric.check_labels(&line.labels)?;
        let name = ["judge:", "person:"].iter().find_map(|kind| by.strip_prefix(kind));
        if name.is_none_or(|name| name.trim().is_empty()) {
            return Err(format!("by: expected judge:NAME or person:NAME, got {by:?}"));
        }
        let turns = self.turns.get(episode);
        let turns = turns.ok_or_else(|| format!("expected a match that counts, got {episode:?}"))?;
        let of_seat = turns.get(*seat);
        let of_seat = of_seat.ok_or_else(|| format!("expected a seat below {}, got {seat}", turns.len()))?;
        if turn >= of_seat {
            return Err(format!("expected a turn below {of_seat}, got {turn}"));
        }
        if !keys.contains(&line.key()) {
            return Err(format!("the rubric {id} does not select turn {turn} of seat {seat} in {episode}"));
        }
        Ok(())
    }

    /// Separates the lines that can apply from the others, which are returned with the reason. A second line of a labeler
    /// for one decision cannot apply.
    pub fn divide<'l>(&self, lines: &'l [LabelLine]) -> (Vec<&'l LabelLine>, Vec<(&'l LabelLine, String)>) {
        let (mut valid, mut wrong) = (Vec::new(), Vec::new());
        let mut known: BTreeMap<(&str, &str), BTreeSet<DecisionKey>> = BTreeMap::new();
        for line in lines {
            let checked = self.check(line).and_then(|()| {
                let fresh = known.entry((&line.rubric, &line.by)).or_default().insert(line.key());
                if fresh { Ok(()) } else { Err(format!("{} labeled this decision before", line.by)) }
            });
            match checked {
                Ok(()) => valid.push(line),
                Err(why) => wrong.push((line, why)),
            }
        }
        (valid, wrong)
    }
}

/// Returns the decisions that a rubric selects: those of agents under evaluation in matches that count, without moves that
/// no agent chose.
fn decisions(run: &Archive, rubric: &Rubric, rows: &Rows, records: &HashMap<&str, &Record>) -> Vec<RubricDecision> {
    let rows = rubric.select.of(rows);
    let mut out = Vec::new();
    for Seated { game, seat, part, agent, candidate, counts, .. } in seats(&rows) {
        let Some(record) = records.get(game.episode).filter(|_| candidate && counts && rubric.has(part)) else {
            continue;
        };
        let calls = run.calls_of(game.episode).iter().filter(|line| line.seat == seat);
        let replied: HashSet<u32> = calls.map(|line| line.key.turn).collect();
        let moves = record.events.iter().skip(record.header.start as usize).filter_map(|event| match event {
            RecordEvent::Move(played) if played.seat as usize == seat => Some(played),
            _ => None,
        });
        let marked = |turn: u32| match &rubric.mark {
            None => true,
            Some(name) => game.seats[seat].marks.iter().any(|mark| mark.name == *name && mark.turn == turn),
        };
        let chosen = moves.filter(|played| match rubric.decisions {
            RubricDecisions::Replies => replied.contains(&played.turn),
            RubricDecisions::All => !played.forced || replied.contains(&played.turn),
        });
        out.extend(chosen.map(|played| played.turn).filter(|turn| marked(*turn)).map(|turn| RubricDecision {
            key: (game.episode.to_owned(), seat, turn),
            part: part.to_owned(),
            agent: agent.to_owned(),
        }));
    }
    out
}
