//! Mean return: what the game paid.

use super::{Measure, Metric, Sample, mean};

/// The mean over games of the seat's return, as the record has it (after a forfeit, what the forfeit gives).
///
/// Unit: the game's own (chips, points, years). Source: the returns of OpenSpiel and Gymnasium, undiscounted.
pub const MEAN_RETURN: Metric = Metric {
    id: "mean_return",
    title: "Mean return",
    unit: "the game's points",
    digits: 3,
    formula: "sum of the seat's returns / games, forfeits included; mean +- 1.96 s / sqrt(games)",
    source: "undiscounted return, as in OpenSpiel and Gymnasium",
    of: mean_return,
};

fn mean_return(samples: &[Sample]) -> Option<Measure> {
    let spec = samples.first()?.game.spec();
    mean(&samples.iter().filter_map(|s| s.own().payoff).collect(), [spec.min_return, spec.max_return])
}
