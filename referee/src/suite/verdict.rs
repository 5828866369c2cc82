//! Ladder results of a suite: the level that a candidate reached.

use serde::Serialize;

use super::plan::{Climb, PlannedPart, Results};
use crate::rating::progress::{decided, draw_progress};
use crate::rating::table::{Interval, Tally};

/// Candidate's position on a ladder.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Level {
    /// First level that the candidate did not pass. If the candidate passed the top level, one more than the top.
    pub level: u32,
    /// True if the candidate passed the top level.
    pub topped: bool,
    /// Progress at [`level`](Level::level) in percent: `100 * 2 * wins / (wins + losses)`, where a progress of at least
    /// 100 passes the level. At a top level where a draw is the best possible result, `100 * draws / matches`. Absent
    /// if the candidate passed the top level, or if no match was decided.
    pub progress: Option<Interval>,
    /// Wins, draws and losses at [`level`](Level::level).
    pub tally: Tally,
}

/// Returns the level of candidate `a` in a part; `None` until the level is known. The progress has Wilson's interval.
/// Source: BotzoneBench's rule (the first level not passed, and the progress at this level).
pub fn level(part: &PlannedPart, a: usize, done: &Results) -> Option<Level> {
    let top = part.levels().last().copied()?;
    match part.climb(a, done) {
        Climb::Open(_) | Climb::Unknown(_) => None,
        Climb::Topped => {
            let tally = part.against_level(a, top, done).unwrap_or_default();
            // If a draw is the best possible result at the top, a candidate that lost a match has not passed the top.
            let full = !part.part.drawn || tally.losses == 0;
            let progress = if full { None } else { draw_progress(&tally) };
            Some(Level { level: top + u32::from(full), topped: full, progress, tally })
        }
        Climb::Stopped(level) => {
            let tally = part.against_level(a, level, done).unwrap_or_default();
            let progress = if part.part.drawn && level == top { draw_progress(&tally) } else { decided(&tally) };
            Some(Level { level, topped: false, progress, tally })
        }
    }
}
