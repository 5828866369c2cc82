//! Progress of a candidate on a ladder, from the completed matches.

use super::{PlannedPart, Results};
use crate::rating::progress::passes;
use crate::rating::table::Tally;
use crate::suite::Schedule;

/// Progress of a candidate on a ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Climb {
    /// Next level to play.
    Open(u32),
    /// First level that the candidate did not pass.
    Stopped(u32),
    Topped,
    /// Level whose matches were all discarded: the progress is unknown.
    Unknown(u32),
}

impl PlannedPart {
    /// Returns the levels of the ladder, ascending; empty without a ladder.
    pub fn levels(&self) -> Vec<u32> {
        let mut levels: Vec<u32> = self.cells.iter().filter_map(|c| c.level).collect();
        levels.sort_unstable();
        levels.dedup();
        levels
    }

    /// Returns the result of candidate `a` against a level, if all matches at the level are complete.
    pub fn against_level(&self, a: usize, level: u32, done: &Results) -> Option<Tally> {
        let mut tally = Tally::default();
        for cell in self.cells.iter().filter(|c| c.level == Some(level) && c.pairing[0] == a) {
            if self.blocks(0, cell, done).next().is_some() {
                return None;
            }
            let part = self.tally(&cell.pairing, done);
            tally.wins += part.wins;
            tally.draws += part.draws;
            tally.losses += part.losses;
        }
        Some(tally)
    }

    /// Returns true if a level is passed: at least half of the decided matches are won. Without decided matches, a
    /// level is passed only if a draw is the best possible result in the part.
    pub(super) fn passed(&self, tally: &Tally) -> bool {
        passes(tally, self.part.drawn)
    }

    /// Returns the progress of candidate `a` on the ladder.
    pub fn climb(&self, a: usize, done: &Results) -> Climb {
        let levels = self.levels();
        if self.part.schedule == Schedule::Climb {
            for &level in &levels {
                match self.against_level(a, level, done) {
                    None => return Climb::Open(level),
                    Some(tally) if tally.games() == 0 => return Climb::Unknown(level),
                    Some(tally) if !self.passed(&tally) => return Climb::Stopped(level),
                    Some(_) => {}
                }
            }
            return Climb::Topped;
        }
        // All levels below `low` are passed, and `high` is not.
        let (mut low, mut high) = (0, levels.len());
        while low < high {
            let middle = (low + high) / 2;
            match self.against_level(a, levels[middle], done) {
                None => return Climb::Open(levels[middle]),
                Some(tally) if tally.games() == 0 => return Climb::Unknown(levels[middle]),
                Some(tally) if self.passed(&tally) => low = middle + 1,
                Some(_) => high = middle,
            }
        }
        levels.get(high).map_or(Climb::Topped, |&level| Climb::Stopped(level))
    }
}
