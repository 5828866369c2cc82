//! Progress of a run along its plan: the matches that the plan requires, their order, and the finished matches.
//!
//! A plan is a function from finished matches to due matches. The required matches of a run are found by evaluating
//! the plan repeatedly, each time with the results of the matches required so far.

use std::collections::HashMap;

use ludex_protocol::record::Record;
use ludex_referee::VerifiedRecord;
use ludex_referee::suite::plan::{Block, MatchScore, Results, key};

use super::RunSchedule;
use super::episode::key_of;

/// Match that the plan requires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedMatch {
    /// [Key](ludex_referee::suite::plan::key) of the match.
    pub key: String,
    /// Index of the part.
    pub part: usize,
    /// Number of the block.
    pub index: u64,
    /// Position of the match in its block.
    pub turn: usize,
    /// Agent of each seat, as an index into the run's agents.
    pub seats: Vec<usize>,
    /// True if an illegal move ended the match and a replacement match is planned.
    pub replayed: bool,
}

/// Comparison of a run with its plan.
#[derive(Clone, Debug, Default)]
pub struct PlanProgress {
    /// Finished matches in the order of the plan.
    pub done: Vec<PlannedMatch>,
    /// Blocks with due matches in the order of the plan.
    pub due: Vec<Block>,
    /// Keys of unfinished matches that precede a finished match in the plan, although both were due at the same time.
    pub gaps: Vec<String>,
    /// Keys of finished matches that the plan does not require.
    pub extra: Vec<String>,
    /// Positions of matches in [`done`](PlanProgress::done), by key.
    places: HashMap<String, usize>,
}

impl PlanProgress {
    /// Follows the plan of a run through its finished matches. `ids` are the ids of the plan's parts.
    pub fn new(schedule: &dyn RunSchedule, ids: &[&str], done: &Results, records: &[Record]) -> PlanProgress {
        let (mut walk, mut known) = (PlanProgress::default(), Results::new());
        loop {
            let asked = schedule.next(&known, records);
            let before = known.len();
            walk.due.clear();
            // Unfinished matches since the last finished match.
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
                    let (index, turn, seats) = (block.index, due.turn, due.seats.clone());
                    let replayed = *result == MatchScore::Invalid;
                    walk.done.push(PlannedMatch { key, part: block.part, index, turn, seats, replayed });
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

    /// Returns the position of a match in the order of the plan.
    pub fn place(&self, key: &str) -> Option<usize> {
        self.places.get(key).copied()
    }

    /// Returns the match of an episode of `run`, if the plan requires it.
    pub fn of_episode(&self, run: &str, episode: &str) -> Option<&PlannedMatch> {
        Some(&self.done[self.place(key_of(run, episode)?.0)?])
    }

    /// Returns the position of an episode of `run` in the order of the plan, from 1, and true if a replacement match is
    /// planned. `None` if the plan does not require the episode.
    pub fn order_of(&self, run: &str, episode: &str) -> Option<(usize, bool)> {
        let at = self.place(key_of(run, episode)?.0)?;
        Some((at + 1, self.done[at].replayed))
    }

    /// Sets each game's position in the plan, which sequential ratings follow. Games outside the plan come last.
    pub fn put_in_order(&self, run: &str, games: &mut [VerifiedRecord]) {
        for game in games {
            let place = self.order_of(run, &game.record().header.episode);
            let (order, replayed) = place.unwrap_or((usize::MAX, false));
            game.set_place(order, replayed);
        }
    }
}
