//! Values from an imported table.

use super::{ANY, Args, Metric, MetricScope, Value, mean, number};
use crate::rows::Rows;

/// Mean of the agent's values in a table of scores.
///
/// Unit: the table's own. Source: the table.
pub const VALUE: Metric = Metric {
    id: "value",
    title: "Value",
    unit: "",
    digits: 3,
    formula: "the mean of the agent's values in a table of scores",
    source: "the table",
    scope: MetricScope::Agent,
    params: &[],
    marks: &[],
    of: value,
};

fn value(rows: &Rows, _: &Args) -> Option<Value> {
    let own = rows.values().filter(|value| Some(value.agent) == rows.agent()).map(|value| value.value);
    number(mean(&own.collect(), ANY))
}
