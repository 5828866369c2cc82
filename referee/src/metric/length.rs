//! Length: how long the agent's games are.

use super::{Measure, Metric, NOT_NEGATIVE, Sample, mean};

/// The mean over games of the moves of all seats; a joint move is one, chance outcomes are not counted.
///
/// Unit: moves. Source: `length` of `docs/protocol.md`.
pub const LENGTH: Metric = Metric {
    id: "length",
    title: "Length",
    unit: "moves per game",
    digits: 1,
    formula: "moves of all seats / games; a joint move is one, chance is not counted; mean +- 1.96 s / sqrt(games)",
    source: "length, docs/protocol.md",
    of: length,
};

fn length(samples: &[Sample]) -> Option<Measure> {
    mean(&samples.iter().map(|s| f64::from(s.game.moves)).collect(), NOT_NEGATIVE)
}
