//! Crosstable: the score of each agent against each opponent.

use super::{Args, Matrix, Measurement, Metric, MetricScope, Value};
use crate::rating::table::crosstable as table_of;
use crate::rows::Rows;

/// Score rate of each ordered pair of agents that met, with Wilson's interval.
pub const CROSSTABLE: Metric = Metric {
    id: "crosstable",
    title: "Crosstable",
    unit: "share of points",
    formula: "cell (a, b): (wins of a + draws / 2) / comparisons of a with b; Wilson interval",
    source: "E. B. Wilson, JASA 22 (1927)",
    scope: MetricScope::Pool,
    of: crosstable,
    ..Metric::DEFAULT
};

fn crosstable(rows: &Rows, _: &Args) -> Option<Value> {
    let (here, table) = (rows.agents_here(), table_of(rows.agents().len(), rows.games()));
    let cell = |a: usize, b: usize| {
        let (tally, score) = (&table[a][b], table[a][b].score()?);
        Some(Measurement { value: score.value, low: Some(score.low), high: Some(score.high), n: tally.games() })
    };
    let cells: Vec<Vec<_>> = here.iter().map(|&a| here.iter().map(|&b| cell(a, b)).collect()).collect();
    let names: Vec<String> = here.iter().map(|&agent| rows.agents()[agent].name.clone()).collect();
    let met = cells.iter().flatten().any(Option::is_some);
    met.then(|| Value::Matrix(Matrix { rows: names.clone(), columns: names, cells }))
}
