//! `ludex rate`.

mod metric;
pub(super) mod report;
mod site;

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::PathBuf;

use ludex_referee::GameResult;
use ludex_referee::rating::table::Interval;
use ludex_report::scale::{AgentRow, Scale, rate};
use serde_json::json;

use super::print::{self, number};
use super::records;

#[derive(clap::Args)]
#[command(mut_arg("files", |arg| arg.help("Read files of records, one JSON object per line; - is standard input; with --report, --site or \
    --metric also runs (names below DATA/runs, folders or bundles) [default: the store]")))]
pub(super) struct Args {
    #[command(flatten)]
    from: records::RecordSource,
    #[command(flatten)]
    rating: records::RatingArgs,
    /// Rate each agent separately per role, as NAME/ROLE, in games with named teams (undercover, fight_the_landlord)
    #[arg(long)]
    by_role: bool,
    /// Write a report instead of printing ratings: HTML, CSV, JSON and the transcripts of runs to a folder, or a Markdown page and
    /// CSV if the name ends in .md
    #[arg(long, value_name = "DIR|FILE.md", conflicts_with_all = ["by_role", "metric"], group = "pages")]
    report: Option<PathBuf>,
    /// Write runs of any number of suites as a static site instead: leaderboards, agents, transcripts, tables, cards and bundles.
    /// The runs of a site that is there already remain
    #[arg(long, value_name = "DIR", conflicts_with_all = ["by_role", "metric"], group = "pages")]
    site: Option<PathBuf>,
    /// Title of the report or the site
    #[arg(long, requires = "pages")]
    title: Option<String>,
    /// Omit the transcripts of runs from the report or the site
    #[arg(long, requires = "pages")]
    no_transcripts: bool,
    #[command(flatten)]
    metric: metric::MetricArgs,
    /// Print one JSON document: {ratings, records, refused}, with --metric {metric, args, where, values}, with --report or --site {files}
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    if args.metric.metric.is_some() {
        return metric::run(&args);
    }
    let options = args.rating.options()?;
    if let Some(folder) = &args.report {
        return report::run(&args, folder, options);
    }
    if let Some(folder) = &args.site {
        return site::run(&args, folder, &options);
    }
    let (mut good, refused) = args.rating.read(&args.from, &options, BTreeSet::new())?;
    if args.by_role {
        good.iter_mut().for_each(GameResult::by_role);
    }
    let scales = rate(&good, &options);
    if args.json {
        return Ok(print::json(&json!({ "ratings": scales, "records": good.len(), "refused": refused }))?);
    }
    let mut out = io::stdout().lock();
    for (k, scale) in scales.iter().enumerate() {
        if k > 0 {
            writeln!(out)?;
        }
        print_scale(&mut out, scale)?;
    }
    Ok(())
}

/// Prints the ratings of one scale as a table.
fn print_scale(out: &mut impl Write, scale: &Scale) -> io::Result<()> {
    let (games, blocks) = (scale.games, scale.blocks);
    writeln!(out, "{}", scale.name)?;
    let many = print::count(games, "episode", "episodes");
    writeln!(out, "{many} in {}", print::count(blocks, "block on one seed", "blocks, each on one seed"))?;
    let head = ["agent", "rating", "95 %", "for +-30", "elo", "trueskill", "wins", "draws", "losses", "score", "95 %"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(scale.agents.iter().map(row));
    print::table(out, &rows, |k| k > 0)?;
    if scale.agents.iter().any(|a| a.blocks_for_30.is_some()) {
        writeln!(out, "for +-30: number of blocks needed for a 95 % interval of +-30 points")?;
    }
    let has_relative = scale.agents.iter().any(|a| a.rating.is_some() && !a.anchored);
    if has_relative {
        writeln!(out, "* relative: not connected by games to an agent with a fixed rating (--anchor NAME=RATING)")?;
    }
    Ok(())
}

fn row(a: &AgentRow) -> Vec<String> {
    let bound = a.measured().and_then(|m| Some(format!("{} {}", m.bound()?.sign(), number(m.value, 0))));
    let rating = match a.rating {
        None => "-".to_owned(),
        Some(_) if bound.is_some() => bound.unwrap_or_default(),
        Some(r) if a.fixed => format!("{} (fixed)", number(r, 0)),
        Some(r) if a.anchored => number(r, 0),
        Some(r) => format!("{}*", number(r, 0)),
    };
    let range = |low: f64, high: f64, digits| format!("{} to {}", number(low, digits), number(high, digits));
    let dash = || "-".to_owned();
    let score = a.tally.score();
    vec![
        a.name.clone(),
        rating,
        a.low.zip(a.high).map_or_else(dash, |(low, high)| range(low, high, 0)),
        a.blocks_for_30.map_or_else(dash, |n| n.to_string()),
        a.elo.map_or_else(dash, |e| number(e, 0)),
        a.mu.zip(a.sigma).map_or_else(dash, |(mu, sigma)| format!("{} +- {}", number(mu, 1), number(sigma, 1))),
        a.tally.wins.to_string(),
        a.tally.draws.to_string(),
        a.tally.losses.to_string(),
        score.map_or_else(dash, |s| number(s.value, 3)),
        score.map_or_else(dash, |Interval { low, high, .. }| range(low, high, 3)),
    ]
}
