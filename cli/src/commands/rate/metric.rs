//! `ludex rate --metric`: a metric of records, or of results in a table that another program wrote.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use ludex_play::runs::run_metrics;
use ludex_referee::metric::{MetricQuery, MetricResult, MetricSpec, Value, value};
use ludex_referee::suite::selection::MatchSelection;
use ludex_report::import::{Import, ImportFormat};
use ludex_report::scale;
use serde_json::json;

use super::Args;
use crate::commands::print::{self, number};
use crate::commands::records;

#[derive(clap::Args)]
pub(super) struct MetricArgs {
    /// Measure the results in this table (.csv or .json) instead of records
    #[arg(long, value_name = "FILE", requires = "metric", conflicts_with = "files")]
    from_table: Option<PathBuf>,
    /// Print this metric (see docs/metrics.md) instead of ratings
    #[arg(long, value_name = "ID")]
    pub(super) metric: Option<String>,
    /// Set an argument of the metric; may be repeated
    #[arg(long = "metric-arg", value_name = "NAME=VALUE", requires = "metric")]
    args: Vec<String>,
    /// Measure only matches with this property: opponent (an agent or @ROLE), variant, seat or level; may be repeated
    #[arg(long = "where", value_name = "FIELD=VALUE", requires = "metric", conflicts_with = "from_table")]
    conditions: Vec<String>,
    /// Treat A against B and B against A as different pairings
    #[arg(long, requires = "from_table")]
    directed: bool,
}

impl MetricArgs {
    fn query(&self) -> anyhow::Result<(MetricSpec, MetricQuery)> {
        let mut spec = MetricSpec::plain(self.metric.as_deref().unwrap_or_default());
        for arg in &self.args {
            let (name, value) =
                arg.split_once('=').with_context(|| format!("--metric-arg: expected NAME=VALUE, got {arg:?}"))?;
            let before = spec.args.insert(name.to_owned(), value.into());
            ensure!(before.is_none(), "--metric-arg: duplicate {name}");
        }
        let query = MetricQuery::new(&spec).map_err(anyhow::Error::msg)?;
        Ok((spec, query))
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let own = &args.metric;
    let (spec, query) = own.query()?;
    let found = match &own.from_table {
        Some(file) => measure_table(file, &query, own.directed)?,
        None => measure_records(args, &query)?,
    };
    if args.json {
        return Ok(print::json(
            &json!({ "metric": spec.id, "args": spec.args, "where": own.conditions, "values": found }),
        )?);
    }
    let mut out = io::stdout().lock();
    let unit = Some(query.metric.unit).filter(|unit| !unit.is_empty()).map(|unit| format!(", {unit}"));
    let only = own.conditions.join(", ");
    let only = if only.is_empty() { only } else { format!("; only matches with {only}") };
    writeln!(out, "{}{}{only}", query.metric.title, unit.unwrap_or_default())?;
    if found.is_empty() {
        return Ok(writeln!(out, "no results to measure")?);
    }
    let mut rows = vec![["part", "agent", "", "value", "95 %", "n"].map(str::to_owned).to_vec()];
    found.iter().for_each(|one| rows.extend(lines(one, query.metric.digits)));
    Ok(print::table(&mut out, &rows, |k| k > 2)?)
}

/// Measures runs by their plans, or records without a plan.
fn measure_records(args: &Args, query: &MetricQuery) -> anyhow::Result<Vec<MetricResult>> {
    let own = &args.metric;
    let select = MatchSelection::parse(&own.conditions).map_err(anyhow::Error::msg)?;
    ensure!(query.metric.id != "level" || select.level.is_empty(), "level: expected all levels, got --where level");
    if let Some(runs) = args.from.runs()? {
        ensure!(args.rating.is_default(), "--game, --unrated, --anchor: expected files of records, got a run");
        let (found, refused) = run_metrics::measure(&runs, query, &select)?;
        records::warn(&refused);
        return Ok(found);
    }
    let options = args.rating.options()?;
    let (good, _) = args.rating.read(&args.from, &options, query.marks())?;
    if let Some(run) = good.iter().find_map(|game| game.run.as_ref()) {
        bail!(
            "the records belong to the run {run:?}, whose plan decides what counts: expected its name, folder or bundle"
        );
    }
    ensure!(
        !query.metric.planned,
        "{} needs the cycles or levels of a plan, which records do not have: expected a run of a suite",
        query.metric.id
    );
    Ok(query.everywhere(&select.of(&scale::rows(&good, &options))))
}

fn measure_table(file: &Path, query: &MetricQuery, directed: bool) -> anyhow::Result<Vec<MetricResult>> {
    let name = file.display().to_string();
    let format = ImportFormat::of_name(&name).with_context(|| format!("{name}: expected a table in .csv or .json"))?;
    let text = fs::read_to_string(file).with_context(|| format!("{name} cannot be read"))?;
    let wrong = |why| anyhow::anyhow!("{name}: {why}");
    let import = Import::read(&text, format, directed).map_err(wrong)?;
    import.feeds(query).map_err(wrong)?;
    Ok(query.everywhere(&import.rows()))
}

/// Returns the table rows of a measurement.
fn lines(of: &MetricResult, digits: usize) -> Vec<Vec<String>> {
    let line = |name: String, measure: Option<&value::Measurement>, value: Option<f64>| {
        let bound = measure.and_then(value::Measurement::bound);
        let value = value.or(measure.map(|m| m.value)).map_or_else(|| "-".to_owned(), |v| number(v, digits));
        let value = bound.map_or_else(|| value.clone(), |bound| format!("{} {value}", bound.sign()));
        let range = measure.and_then(|m| m.low.zip(m.high));
        let range = range.map_or_else(String::new, |(l, h)| format!("{} to {}", number(l, digits), number(h, digits)));
        let n = measure.map_or_else(String::new, |m| m.n.to_string());
        let [part, agent] = [&of.part, &of.agent].map(|text| text.clone().unwrap_or_default());
        vec![part, agent, name, value, range, n]
    };
    let plain = |name: &str, value: f64| line(name.to_owned(), None, Some(value));
    match &of.value {
        Value::Number(measure) => vec![line(String::new(), Some(measure), None)],
        Value::Shares(shares) => shares.iter().map(|(name, m)| line(name.clone(), Some(m), None)).collect(),
        Value::Series(series) => series.iter().map(|(at, m)| line(number(*at, 0), Some(m), None)).collect(),
        Value::Quantiles(q) => {
            let all =
                [("min", q.min), ("q1", q.q1), ("median", q.median), ("q3", q.q3), ("max", q.max), ("mean", q.mean)];
            all.into_iter().map(|(name, value)| plain(name, value)).collect()
        }
        Value::Points(points) => points.iter().map(|p| plain(&format!("({}, {})", p.x, p.y), p.y)).collect(),
        Value::Matrix(matrix) => {
            let cells = matrix.rows.iter().zip(&matrix.cells);
            let cell = |a: &String, b: &String, m: &value::Measurement| line(format!("{a} - {b}"), Some(m), None);
            cells
                .flat_map(|(a, row)| {
                    matrix
                        .columns
                        .iter()
                        .zip(row)
                        .filter_map(move |(b, m)| Some(cell(a, b, m.as_ref()?)))
                        .collect::<Vec<_>>()
                })
                .collect()
        }
        Value::Graph(graph) => {
            let name = |k: usize| graph.nodes.get(k).map_or("", String::as_str);
            graph.edges.iter().map(|e| plain(&format!("{} > {}", name(e.from), name(e.to)), e.weight)).collect()
        }
        _ => Vec::new(),
    }
}
