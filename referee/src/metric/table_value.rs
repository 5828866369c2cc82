//! Values from an imported table.

use super::{ANY, Args, Metric, Value, mean, number};
use crate::rows::Rows;

/// Mean of the agent's values in a table of scores.
pub const VALUE: Metric = Metric {
    id: "value",
    title: "Value",
    formula: "mean of the agent's values in a table of scores",
    source: "the table",
    of: value,
    ..Metric::DEFAULT
};

fn value(rows: &Rows, _: &Args) -> Option<Value> {
    let own = rows.values().filter(|value| Some(value.agent) == rows.agent()).map(|value| value.value);
    number(mean(&own.collect(), ANY))
}
