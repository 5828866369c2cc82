//! Runs: their files, and results computed from plans and records, such as finished matches, progress along the plan,
//! rows for metrics, and summaries.

pub mod archive;
pub mod bundle;
pub mod describe;
pub mod episode;
pub mod metric_rows;
pub mod plan_progress;
pub mod reported_calls;
pub mod run_files;
pub mod settings;
pub mod signature;
pub mod summary;
pub mod usage;

use std::collections::HashMap;

use ludex_protocol::record::Record;
use ludex_referee::suite::plan::{Block, MatchScore, Plan, Results};

use self::episode::key_of;

/// Rules of a run as functions of the finished matches: the blocks that are due, and the score of each match.
pub trait RunSchedule: Sync {
    /// Returns the blocks that are due, in playing order; empty when the run is done. `done` holds the score of each
    /// finished match.
    fn next(&self, done: &Results, records: &[Record]) -> Vec<Block>;
    /// Returns the score of a match played at position `turn` of a block of `part`.
    fn judge(&self, part: usize, turn: usize, record: &Record) -> MatchScore;
    /// Returns the part of a match and the match's position in its block, by [key](ludex_referee::suite::plan::key).
    fn find(&self, key: &str) -> Option<(usize, usize)>;
    /// Returns the maximum number of times that a match of a part is repeated after infrastructure failures.
    fn rematches(&self, part: usize) -> u32;
    /// Returns the player whose own failure ended a match, if the schedule counts failures.
    fn failed(&self, _record: &Record) -> Option<usize> {
        None
    }
    /// Returns the number of failures that disqualify a player; 0: players are not disqualified.
    fn strikes(&self) -> u64 {
        0
    }
}

impl RunSchedule for Plan {
    fn next(&self, done: &Results, _: &[Record]) -> Vec<Block> {
        Plan::next(self, done)
    }

    fn judge(&self, part: usize, turn: usize, record: &Record) -> MatchScore {
        self.score_match(part, turn, record)
    }

    fn find(&self, key: &str) -> Option<(usize, usize)> {
        Plan::find(self, key).map(|(part, _, _, turn)| (part, turn))
    }

    fn rematches(&self, part: usize) -> u32 {
        self.suite.policy(&self.parts[part].part).rematches
    }
}

/// Returns the scores of a run's finished matches, and the number of failures of each match that must be repeated.
pub fn results(run: &str, schedule: &dyn RunSchedule, records: &[Record]) -> (Results, HashMap<String, u32>) {
    let (mut done, mut failed) = (Results::new(), HashMap::new());
    for record in records {
        let Some((key, _)) = key_of(run, &record.header.episode) else { continue };
        let Some((part, turn)) = schedule.find(key) else { continue };
        match schedule.judge(part, turn, record) {
            MatchScore::Discarded => {
                let times = failed.entry(key.to_owned()).or_insert(0);
                *times += 1;
                if *times > schedule.rematches(part) {
                    done.insert(key.to_owned(), MatchScore::Discarded);
                }
            }
            counted => {
                done.insert(key.to_owned(), counted);
            }
        }
    }
    (done, failed)
}
