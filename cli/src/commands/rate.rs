//! `ludex rate`.

mod metric;

use std::io::{self, Write};

use ludex_referee::GameResult;
use ludex_referee::rating::table::Interval;
use ludex_report::scale::{AgentRow, Scale, rate};
use serde_json::json;

use super::print::{self, number};
use super::records;

/// What `ludex rate` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    from: records::RecordSource,
    #[command(flatten)]
    rated: records::Rated,
    /// Rate each agent apart in each role, as NAME/ROLE, in games with named teams: undercover, fight_the_landlord
    #[arg(long)]
    by_role: bool,
    #[command(flatten)]
    measured: metric::Measure,
    /// Print one JSON document: {ratings, records, refused}, or with --metric {metric, args, values}
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    if args.measured.metric.is_some() {
        return metric::run(&args);
    }
    let options = args.rated.options()?;
    let (mut good, refused) = args.rated.read(&args.from, &options)?;
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
        show(&mut out, scale)?;
    }
    Ok(())
}

/// One scale as a table.
pub(super) fn show(out: &mut impl Write, scale: &Scale) -> io::Result<()> {
    let (games, blocks) = (scale.games, scale.blocks);
    writeln!(out, "{}", scale.name)?;
    let many = print::count(games, "episode", "episodes");
    writeln!(out, "{many} in {}", print::count(blocks, "block on one seed", "blocks, each on one seed"))?;
    let head = ["agent", "rating", "95 %", "for +-30", "elo", "trueskill", "wins", "draws", "losses", "score", "95 %"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(scale.agents.iter().map(row));
    print::table(out, &rows, |k| k > 0)?;
    if scale.agents.iter().any(|a| a.blocks_for_30.is_some()) {
        writeln!(out, "for +-30: blocks like these that would give an interval of 30 points to either side")?;
    }
    let free = scale.agents.iter().any(|a| a.rating.is_some() && !a.anchored);
    if free {
        writeln!(out, "* relative: no games lead to an agent whose rating is a constant (--anchor NAME=RATING)")?;
    }
    Ok(())
}

fn row(a: &AgentRow) -> Vec<String> {
    let rating = match a.rating {
        None => "-".to_owned(),
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
