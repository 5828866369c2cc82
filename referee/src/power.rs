//! How much must be played: the blocks for an interval of a given width, the blocks that show a difference, and when a run
//! that is looked at while it is played may stop.
//!
//! A **block** is the matches on one seed, with seats swapped; blocks are independent of each other. The **deviation** of a
//! block is the standard deviation of a rating that is known from one block alone, in Elo points. So `n` blocks give the
//! standard error `deviation / sqrt(n)`, and everything here follows from that.
//!
//! **A width.** The half width of a 95 % interval falls with the root of the blocks: `n' = n (w / w')^2` for the half width `w`
//! that `n` blocks gave, or `n' = (1.96 deviation / w')^2`. This is the normal approximation (Wald's interval).
//!
//! **A difference.** To find a difference of `D` points with the probability `power`, by a two-sided test at the level
//! `alpha`, takes `n = (z_(1 - alpha/2) + z_power)^2 (deviation of the difference / D)^2` blocks (J. M. Lachin, "Introduction to
//! sample size determination and power analysis for clinical trials", Controlled Clinical Trials 2, 1981). The deviation of a
//! difference of two agents with the deviations `a` and `b` is `sqrt(a^2 + b^2 - 2 r a b)`, with the correlation `r` of their
//! blocks: 0 if they play other seeds.
//!
//! **Before anything was played.** Let the two be equals who draw a share `d` of their games; the game's ladder gives `d`. A
//! match then has the variance `(1 - d) / 4`. A block of `m` matches has the variance `(1 - d) / 4 / m * (1 + (m - 1) r)` with
//! the correlation `r` within the block (L. Kish, *Survey Sampling*, 1965, the design effect). We take `r = 0`. Where luck or
//! the first move decides, swapped seats cancel it, so `r` is below 0 and fewer blocks do: the figure is on the safe side. It is
//! not if an agent's luck is in the seed whatever its seat. Between equals a score of 0.01 is worth 6.95 points,
//! `1600 / ln 10 / 100`, whatever `d` is (see [`crate::rating::anchored`]); between unequals it is worth more, and the
//! interval is wider.
//!
//! **Stopping by the width.** [`stopping_width`] is the half width that a run may stop by. Stopping when the plain interval is
//! narrow would prefer the runs whose first blocks happen to be alike, and their intervals hold the truth too rarely. The rule
//! is the one of Chow and Robbins (Annals of Mathematical Statistics 36, 1965): Student's quantile (N. Starr, "The performance
//! of a sequential procedure for the fixed-width interval estimation of the mean", Annals of Mathematical Statistics 37, 1966),
//! a block more in the variance, and a first look after [`FIRST_LOOK`] blocks. It looks at the spread alone and never at who is
//! ahead. `referee/tests/power.rs` measures what the intervals hold.
//!
//! **Stopping by the result** is [`Sprt`].

mod sprt;

use ludex_env::{DynGame, anchor_ladder};
use serde::Serialize;

use crate::distribution::{quantile, student_95};
use crate::outcome::is_competitive;
use crate::rating::table::Z95;

pub use sprt::{SequentialTest, Sprt, SprtDecision, expected_score};

/// Reports say how many blocks give this half width, in points.
pub const REPORTED: f64 = 30.0;
/// The level of the tests that are planned, two-sided.
pub const ALPHA: f64 = 0.05;
/// The power that tests are planned with if nobody says otherwise.
pub const POWER: f64 = 0.8;
/// A run is not stopped by a width before each agent has played this many blocks.
pub const FIRST_LOOK: usize = 8;
/// Rating points for a score of 1, near equality: `1600 / ln 10`.
pub const POINTS_OF_SCORE: f64 = 1600.0 / std::f64::consts::LN_10;

/// Blocks that give the half width `wanted`, if `blocks` gave `half_width`. `None` unless all are positive.
pub fn blocks_like(half_width: f64, blocks: usize, wanted: f64) -> Option<u64> {
    whole(blocks as f64 * (half_width / wanted).powi(2), [half_width, blocks as f64, wanted])
}

/// Blocks that give the half width `wanted` of a 95 % interval. `None` unless both are positive.
pub fn blocks_for_width(deviation: f64, wanted: f64) -> Option<u64> {
    whole((Z95 * deviation / wanted).powi(2), [deviation, wanted])
}

/// Blocks that show a difference of `difference` points with the probability `power`, by a two-sided test at the level
/// [`ALPHA`]. `None` unless the deviation and the difference are positive and the power is above `ALPHA / 2` and below 1.
pub fn blocks_for_difference(deviation: f64, difference: f64, power: f64) -> Option<u64> {
    let reach = quantile(1.0 - ALPHA / 2.0)? + quantile(power)?;
    whole((reach * deviation / difference).powi(2), [deviation, difference, reach])
}

/// `blocks` rounded up, at least 2: one block has no spread. `None` unless every part of the formula is positive.
fn whole<const N: usize>(blocks: f64, parts: [f64; N]) -> Option<u64> {
    let positive = parts.iter().all(|part| part.is_finite() && *part > 0.0);
    // A rounding error is not worth a block.
    positive.then(|| (blocks - 1e-9 * blocks).ceil().max(2.0) as u64)
}

/// The deviation of a block if `blocks` gave a 95 % interval of this half width.
pub fn deviation_of(half_width: f64, blocks: usize) -> f64 {
    half_width * (blocks as f64).sqrt() / Z95
}

/// The deviation of the difference of two agents, block by block.
pub fn deviation_of_difference(first: f64, second: f64, correlation: f64) -> f64 {
    (first * first + second * second - 2.0 * correlation * first * second).max(0.0).sqrt()
}

/// What must be played: blocks, with their matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Amount {
    /// Blocks.
    pub blocks: u64,
    /// Matches of these blocks.
    pub matches: u64,
}

impl Amount {
    /// Blocks with this many matches each, on average.
    pub fn new(blocks: u64, matches: f64) -> Self {
        Amount { blocks, matches: (blocks as f64 * matches).ceil() as u64 }
    }
}

/// What the three ways to compare two agents take. Each of the two agents plays the amount; where they meet, both play the same
/// matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Designs {
    /// They meet each other.
    pub meeting: Amount,
    /// Each meets the same opponents on the same seeds.
    pub paired: Amount,
    /// Each meets the same opponents on seeds of its own.
    pub unpaired: Amount,
}

/// The greatest correlation that a plan relies on: agents that always fare alike would need no block at all.
const MOST_ALIKE: f64 = 0.9;

/// What shows a difference of `points` between two agents whose blocks have this deviation and this many matches.
/// `correlation` is that of the two agents' scores in the same blocks. `None` as for [`blocks_for_difference`].
pub fn designs(deviation: f64, matches: f64, correlation: f64, points: f64, power: f64) -> Option<Designs> {
    let of = |deviation| Some(Amount::new(blocks_for_difference(deviation, points, power)?, matches));
    let both = |correlation| deviation_of_difference(deviation, deviation, correlation);
    Some(Designs { meeting: of(deviation)?, paired: of(both(correlation.min(MOST_ALIKE)))?, unpaired: of(both(0.0))? })
}

/// What is assumed of a game's blocks before any is played.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Prior {
    /// Matches of a block: one for each seat that an agent can have.
    pub matches: u32,
    /// Share of draws between equals.
    pub draws: f64,
    /// The deviation of a block, in points.
    pub deviation: f64,
}

/// What is assumed of a game's blocks; `None` for games without a rating ([`is_fight`]).
pub fn prior(game: &dyn DynGame) -> Option<Prior> {
    let spec = game.spec();
    let draws = anchor_ladder::draws(game.page(), &spec.string);
    let deviation = POINTS_OF_SCORE * ((1.0 - draws) / 4.0 / f64::from(spec.players)).sqrt();
    is_competitive(game).then_some(Prior { matches: spec.players, draws, deviation })
}

/// The half width, in points, by which a run may stop: `error` is [`Rating::error`](crate::rating::anchored::Rating::error).
/// `None` before the first look.
pub fn stopping_width(error: f64, blocks: usize) -> Option<f64> {
    (blocks >= FIRST_LOOK).then(|| student_95(blocks as u32 - 1) * error)
}

#[cfg(test)]
mod tests;
