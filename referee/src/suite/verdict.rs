//! What the results of a suite say: how far a candidate got on a ladder.

use serde::Serialize;

use super::plan::{Climb, PlannedPart, Results};
use crate::rating::progress::{decided, draw_progress};
use crate::rating::table::{Interval, Tally};

/// A candidate's place on a ladder.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Level {
    /// The first level that it did not pass; one above the top if it passed that.
    pub level: u32,
    /// Whether it passed the top.
    pub topped: bool,
    /// Progress at that level, in per cent: `100 * 2 * wins / (wins + losses)`, where 100 is enough to pass; at a top
    /// level that can only be drawn, `100 * draws / matches`. Absent if it passed the top, or if no match was decided.
    pub progress: Option<Interval>,
    /// Its result there.
    pub tally: Tally,
}

/// The level of candidate `a` in a part, once it is found. Source: BotzoneBench's rule (first level not passed,
/// progress in it). The interval is Wilson's, of the share that the progress is made of.
pub fn level(part: &PlannedPart, a: usize, done: &Results) -> Option<Level> {
    let top = part.levels().last().copied()?;
    match part.climb(a, done) {
        Climb::Open(_) | Climb::Unknown(_) => None,
        Climb::Topped => {
            let tally = part.against_level(a, top, done).unwrap_or_default();
            // A candidate that loses to a top that cannot be beaten is not above it.
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
