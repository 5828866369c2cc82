//! Input tables of metrics.

use ludex_referee::metric::{MetricQuery, Takes};

use super::layouts::{LAYOUTS, TableLayout};

/// Metrics that each table supports, by name of the table. Some of them need an optional column.
const FEEDS: &[(&str, &[&str])] = &[
    (
        "results",
        &[
            "score_rate",
            "wdl",
            "crosstable",
            "nra",
            "level",
            "completion",
            "anchored",
            "alpha_rank",
            "nash_averaging",
            "plg",
            "degree",
            "loops",
        ],
    ),
    (
        "matches",
        &[
            "score_rate",
            "mean_return",
            "wdl",
            "wdl_cycles",
            "crosstable",
            "elo",
            "elo_cycles",
            "trueskill",
            "glicko2",
            "anchored",
            "alpha_rank",
            "nash_averaging",
            "nra",
            "plg",
            "degree",
            "loops",
            "first_seat",
            "mean",
            "share",
            "quantiles",
            "fma",
        ],
    ),
    ("scores", &["value"]),
    ("decisions", &["pss", "mean", "share", "distinct", "quantiles", "points", "labels"]),
    (
        "rounds",
        &[
            "wr",
            "init_win",
            "orr",
            "csr",
            "slope",
            "obr",
            "rvr",
            "cnstr",
            "fma",
            "mean",
            "share",
            "quantiles",
            "distinct",
            "points",
            "score_rate",
            "wdl",
        ],
    ),
];

impl TableLayout {
    /// Returns the ids of the supported metrics; some need an optional column.
    pub fn metrics(&self) -> &'static [&'static str] {
        FEEDS.iter().find(|(name, _)| *name == self.name).map_or(&[], |(_, metrics)| metrics)
    }
}

/// Returns the optional columns that a metric needs.
fn optional(asked: &MetricQuery) -> &'static [&'static str] {
    let args = &asked.args;
    match asked.metric.id {
        "level" => &["level"],
        "completion" => &["planned"],
        "mean_return" => &["return_a", "return_b"],
        "nra" if args.is("form", "reward") => &["return_a", "return_b"],
        "mean" | "share" | "quantiles" if args.is("of", "return") => &["return_a", "return_b"],
        "first_seat" => &["first"],
        _ => &[],
    }
}

/// Checks that a table with these columns supports a metric.
pub(super) fn check(layout: &TableLayout, columns: &[String], asked: &MetricQuery) -> Result<(), String> {
    // A derived metric needs the columns of its inputs.
    let inner = asked.metric.params.iter().filter(|param| param.takes == Takes::Metric);
    let inner: Vec<&str> = inner.filter_map(|param| asked.args.get(param.name)).collect();
    for text in &inner {
        check(layout, columns, &MetricQuery::parse(text)?)?;
    }
    let id = asked.metric.id;
    let feeding: Vec<&str> = FEEDS.iter().filter(|(_, metrics)| metrics.contains(&id)).map(|(name, _)| *name).collect();
    if feeding.is_empty() && !inner.is_empty() {
        return Ok(());
    }
    let lacks = |wanted: &[&'static str]| -> Vec<&'static str> {
        wanted.iter().copied().filter(|name| columns.iter().all(|known| known != name)).collect()
    };
    if feeding.contains(&layout.name) {
        let missing = lacks(optional(asked));
        let why = || format!("{id} needs columns that this table of {} lacks: {}", layout.name, missing.join(", "));
        return if missing.is_empty() { Ok(()) } else { Err(why()) };
    }
    let able: Vec<String> = LAYOUTS
        .iter()
        .filter(|other| feeding.contains(&other.name))
        .map(|other| {
            format!("{} for a table of {}", lacks(&[other.columns, optional(asked)].concat()).join(", "), other.name)
        })
        .collect();
    if able.is_empty() {
        return Err(format!("{id} needs match records; imported tables cannot supply it"));
    }
    Err(format!("{id} needs columns that this table of {} lacks: {}", layout.name, able.join("; or ")))
}

#[cfg(test)]
pub(super) fn all() -> impl Iterator<Item = &'static str> {
    FEEDS.iter().flat_map(|(_, metrics)| metrics.iter().copied())
}
