//! What the results of a suite say: wins, draws and losses, and how far a candidate came on a ladder.

use serde::Serialize;

use super::plan::{PlannedPart, Results};
use crate::rating::table::{Interval, Tally, wilson};

/// How far a candidate came on a ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Climb {
    /// This level is to be played.
    Open(u32),
    /// This is the first level that it did not pass.
    Stopped(u32),
    /// It passed the top.
    Topped,
    /// Nothing of this level counts, since every match of it was spoiled: how far it came cannot be told.
    Unknown(u32),
}

/// Whether a level is passed: at least half of the decided matches are won. Draws do not count; who only draws passes.
pub fn passed(tally: &Tally) -> bool {
    tally.wins >= tally.losses
}

/// A candidate's place on a ladder.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Level {
    /// The first level that it did not pass; one above the top if it passed that.
    pub level: u32,
    /// Whether it passed the top.
    pub topped: bool,
    /// How far it came at that level, per cent: `100 * 2 * wins / (wins + losses)`, 100 being enough to pass; with a top that can
    /// only be drawn `100 * draws / matches`. Absent where it topped, or nothing was decided.
    pub progress: Option<Interval>,
    /// What it did there.
    pub tally: Tally,
}

/// The level of candidate `a` in a part, if it is found. Source: BotzoneBench's rule (first level not passed, progress in it);
/// the interval is Wilson's of the share it is made of.
pub fn level(part: &PlannedPart, a: usize, done: &Results) -> Option<Level> {
    let top = part.levels().last().copied()?;
    match part.climb(a, done) {
        Climb::Open(_) | Climb::Unknown(_) => None,
        Climb::Topped => {
            let tally = part.against_level(a, top, done).unwrap_or_default();
            // Who draws only some of its matches with a top that cannot be beaten is not above it.
            let full = !part.part.drawn || tally.losses == 0;
            let progress = if full { None } else { drawn(&tally) };
            Some(Level { level: top + u32::from(full), topped: full, progress, tally })
        }
        Climb::Stopped(level) => {
            let tally = part.against_level(a, level, done).unwrap_or_default();
            let progress = if part.part.drawn && level == top { drawn(&tally) } else { decided(&tally) };
            Some(Level { level, topped: false, progress, tally })
        }
    }
}

fn decided(tally: &Tally) -> Option<Interval> {
    scaled(wilson(tally.wins as f64, (tally.wins + tally.losses) as f64), 200.0)
}

fn drawn(tally: &Tally) -> Option<Interval> {
    scaled(wilson(tally.draws as f64, tally.games() as f64), 100.0)
}

fn scaled(share: Option<Interval>, by: f64) -> Option<Interval> {
    share.map(|i| Interval { value: by * i.value, low: by * i.low, high: by * i.high })
}
