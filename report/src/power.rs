//! Sample sizes: the number of blocks for an interval of a given width or for detecting a difference, and early
//! stopping of runs.
//!
//! A **block** is the matches on one seed, with seats swapped; blocks are independent of each other. The **deviation**
//! of a block is the standard deviation of a rating estimated from a single block, in Elo points. Therefore `n` blocks
//! give the standard error `deviation / sqrt(n)`.
//!
//! **A width.** The half width of a 95 % interval falls with the square root of the number of blocks. If `n` blocks
//! gave the half width `w`, the half width `w'` takes `n' = n (w / w')^2 = (1.96 deviation / w')^2` blocks. This is the
//! normal approximation (Wald's interval).
//!
//! **A difference.** To detect a difference of `D` points with the probability `power`, by a two-sided test at the
//! level `alpha`, takes `n = (z_(1 - alpha/2) + z_power)^2 (deviation of the difference / D)^2` blocks (J. M. Lachin,
//! "Introduction to sample size determination and power analysis for clinical trials", Controlled Clinical Trials 2,
//! 1981). The deviation of a difference of two agents with the deviations `a` and `b` is `sqrt(a^2 + b^2 - 2 r a b)`,
//! with the correlation `r` of their blocks: 0 if the agents play different seeds.
//!
//! **Before the first match.** Assume equal agents that draw a share `d` of their games; the game's ladder gives `d`. A
//! match then has the variance `(1 - d) / 4`. A block of `m` matches has the variance
//! `(1 - d) / 4 / m * (1 + (m - 1) r)` with the correlation `r` within the block (L. Kish, *Survey Sampling*, 1965, the
//! design effect). This module assumes `r = 0`. Swapped seats cancel seat luck and the advantage of the first move, so
//! `r` is usually below 0 and fewer blocks are enough: the estimate is conservative. Seeds that favor one agent on
//! every seat make the estimate too low. Between equals a score of 0.01 is worth 6.95 points, `1600 / ln 10 / 100`,
//! whatever `d` is (see [`ludex_referee::rating::anchored`]); between unequals it is worth more, and the interval is
//! wider.
//!
//! **Stopping by the width.** [`stopping_width`] returns the half width for stopping a run. Stopping when the plain
//! interval is narrow would favor runs whose first blocks have similar results by chance. The intervals of these runs
//! would cover the true value too rarely. The rule is that of Chow and Robbins (Annals of Mathematical Statistics 36,
//! 1965): Student's quantile (N. Starr, "The performance of a sequential procedure for the fixed-width interval
//! estimation of the mean", Annals of Mathematical Statistics 37, 1966), one more block in the variance, and a first
//! check after [`FIRST_LOOK`] blocks. The rule depends on the spread only, not on the leader. `report/tests/power.rs`
//! measures the coverage of the intervals.
//!
//! **Stopping by the result** is [`Sprt`].

mod sprt;

use ludex_env::{DynGame, anchor_ladder};
use ludex_referee::distribution::{quantile, round_up, student_95};
use ludex_referee::outcome::is_competitive;
use ludex_referee::rating::table::Z95;
use serde::Serialize;

pub use crate::scale::{REPORTED, blocks_like};
pub use sprt::{SequentialTest, Sprt, SprtDecision, expected_score};

/// Two-sided significance level of planned tests.
pub const ALPHA: f64 = 0.05;
/// Default power of planned tests.
pub const POWER: f64 = 0.8;
/// Minimum number of blocks of each agent before a run may stop because of a narrow interval.
pub const FIRST_LOOK: usize = 8;
/// Rating difference per unit of score between agents of nearly equal strength: `1600 / ln 10`.
pub const POINTS_OF_SCORE: f64 = 1600.0 / std::f64::consts::LN_10;

/// Returns the number of blocks needed for a 95 % interval with the half width `wanted`. `None` unless both arguments
/// are positive.
pub fn blocks_for_width(deviation: f64, wanted: f64) -> Option<u64> {
    round_up((Z95 * deviation / wanted).powi(2), [deviation, wanted])
}

/// Returns the number of blocks needed to detect a difference of `difference` points with the probability `power`, by a
/// two-sided test at the level [`ALPHA`]. `None` unless the deviation and the difference are positive, and the power is
/// above `ALPHA / 2` and below 1.
pub fn blocks_for_difference(deviation: f64, difference: f64, power: f64) -> Option<u64> {
    let reach = quantile(1.0 - ALPHA / 2.0)? + quantile(power)?;
    round_up((reach * deviation / difference).powi(2), [deviation, difference, reach])
}

/// Returns the standard deviation of a block, given the half width of a 95 % interval from `blocks` blocks.
pub fn deviation_of(half_width: f64, blocks: usize) -> f64 {
    half_width * (blocks as f64).sqrt() / Z95
}

/// Returns the standard deviation of the difference between two agents in a block.
pub fn deviation_of_difference(first: f64, second: f64, correlation: f64) -> f64 {
    (first * first + second * second - 2.0 * correlation * first * second).max(0.0).sqrt()
}

/// Number of blocks to play, and number of matches in these blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Amount {
    pub blocks: u64,
    /// Number of matches in these blocks.
    pub matches: u64,
}

impl Amount {
    /// Creates an amount of `blocks` blocks, each of `matches` matches on average.
    pub fn new(blocks: u64, matches: f64) -> Self {
        Amount { blocks, matches: (blocks as f64 * matches).ceil() as u64 }
    }
}

/// Amounts for three designs that compare two agents. Each agent plays the stated amount; in direct matches, both
/// agents play in each match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Designs {
    /// Direct matches between the agents.
    pub meeting: Amount,
    /// Matches against the same opponents on the same seeds.
    pub paired: Amount,
    /// Matches against the same opponents on separate seeds.
    pub unpaired: Amount,
}

/// Maximum correlation that a plan assumes. With a correlation of 1, the formula would give no blocks at all.
const MOST_ALIKE: f64 = 0.9;

/// Returns the amounts needed to detect a difference of `points` between two agents. `deviation` and `matches` describe
/// one block of an agent. `correlation` is the correlation of the agents' scores in common blocks. Returns `None` in
/// the same cases as [`blocks_for_difference`].
pub fn designs(deviation: f64, matches: f64, correlation: f64, points: f64, power: f64) -> Option<Designs> {
    let of = |deviation| Some(Amount::new(blocks_for_difference(deviation, points, power)?, matches));
    let both = |correlation| deviation_of_difference(deviation, deviation, correlation);
    Some(Designs { meeting: of(deviation)?, paired: of(both(correlation.min(MOST_ALIKE)))?, unpaired: of(both(0.0))? })
}

/// Assumptions about a game's blocks before the first match.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Prior {
    /// Number of matches in a block: one for each seat that an agent can have.
    pub matches: u32,
    /// Share of draws between agents of equal strength.
    pub draws: f64,
    /// Standard deviation of a block's score, in rating points.
    pub deviation: f64,
}

/// Returns the assumptions about a game's blocks; `None` for games without a rating ([`is_competitive`]).
pub fn prior(game: &dyn DynGame) -> Option<Prior> {
    let spec = game.spec();
    let draws = anchor_ladder::draws(game.info().page, &spec.string);
    let deviation = POINTS_OF_SCORE * ((1.0 - draws) / 4.0 / f64::from(spec.players)).sqrt();
    is_competitive(game).then_some(Prior { matches: spec.players, draws, deviation })
}

/// Returns the half width of the rating interval, in points, which decides if a run may stop. `error` is
/// [`Rating::error`](ludex_referee::rating::anchored::Rating::error). `None` before the first check.
pub fn stopping_width(error: f64, blocks: usize) -> Option<f64> {
    (blocks >= FIRST_LOOK).then(|| student_95(blocks as u32 - 1) * error)
}

#[cfg(test)]
mod tests;
