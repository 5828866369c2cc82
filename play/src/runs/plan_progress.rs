//! A run beside its plan: which matches the plan asks for, in which order, and which of them are there.
//!
//! A plan is a function from what is done to what is due. So the matches that a finished run should hold are found by asking
//! the plan again and again, each time with the results of the matches that it asked for.

use std::collections::HashMap;

use ludex_protocol::record::Record;
use ludex_referee::VerifiedRecord;
use ludex_referee::suite::plan::{Block, MatchScore, Results, key};

use super::RunSchedule;
use super::episode::key_of;

/// A match that the plan asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedMatch {
    /// Its [key].
    pub key: String,
    /// The part.
    pub part: usize,
    /// Its place in its block.
    pub turn: usize,
    /// The agent on each seat, as an index of the run's agents.
    pub seats: Vec<usize>,
    /// Whether another match is played in its place, because an illegal move ended it.
    pub replayed: bool,
}

/// What the plan of a run asks for.
#[derive(Clone, Debug, Default)]
pub struct PlanProgress {
    /// The matches that are done, in the order of the plan.
    pub done: Vec<PlannedMatch>,
    /// The blocks with the matches that are due, in the order of the plan.
    pub due: Vec<Block>,
    /// The keys of matches that are missing although later ones, which were due at the same time, are done.
    pub gaps: Vec<String>,
    /// The keys of matches that are done and that the plan does not ask for.
    pub extra: Vec<String>,
    /// Places in `done`, by key.
    places: HashMap<String, usize>,
}

impl PlanProgress {
    /// Walks through the plan of a run by what is done; `ids` are the ids of its parts.
    pub fn new(schedule: &dyn RunSchedule, ids: &[&str], done: &Results, records: &[Record]) -> PlanProgress {
        let (mut walk, mut known) = (PlanProgress::default(), Results::new());
        loop {
            let asked = schedule.next(&known, records);
            let before = known.len();
            walk.due.clear();
            // Missing matches that no done one has followed so far.
            let mut open = Vec::new();
            for mut block in asked {
                block.matches.retain(|due| {
                    let key = key(ids[block.part], &block.pairing, block.index, due.turn);
                    let Some(result) = done.get(&key) else {
                        open.push(key);
                        return true;
                    };
                    walk.gaps.append(&mut open);
                    known.insert(key.clone(), *result);
                    walk.places.insert(key.clone(), walk.done.len());
                    let (turn, seats, replayed) = (due.turn, due.seats.clone(), *result == MatchScore::Invalid);
                    walk.done.push(PlannedMatch { key, part: block.part, turn, seats, replayed });
                    false
                });
                if !block.matches.is_empty() {
                    walk.due.push(block);
                }
            }
            if known.len() == before {
                break;
            }
        }
        walk.extra = done.keys().filter(|key| !known.contains_key(*key)).cloned().collect();
        walk.extra.sort_unstable();
        walk
    }

    /// The place of a match in the order of the plan.
    pub fn place(&self, key: &str) -> Option<usize> {
        self.places.get(key).copied()
    }

    /// The match of an episode of `run`, if the plan asks for it.
    pub fn of_episode(&self, run: &str, episode: &str) -> Option<&PlannedMatch> {
        Some(&self.done[self.place(key_of(run, episode)?.0)?])
    }

    /// The place of an episode of `run` in the order of the plan, from 1, and whether another match is played in its place. `None`
    /// if the plan does not ask for it.
    pub fn order_of(&self, run: &str, episode: &str) -> Option<(usize, bool)> {
        let at = self.place(key_of(run, episode)?.0)?;
        Some((at + 1, self.done[at].replayed))
    }

    /// Gives each of a run's games its place in the plan, which ratings by order follow. What the plan does not ask for comes last.
    pub fn put_in_order(&self, run: &str, games: &mut [VerifiedRecord]) {
        for game in games {
            let place = self.order_of(run, &game.record().header.episode);
            let (order, replayed) = place.unwrap_or((usize::MAX, false));
            game.set_place(order, replayed);
        }
    }
}
