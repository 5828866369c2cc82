//! `ludex power`.

use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::Context as _;
use ludex_env::GameRef;
use ludex_games::load;
use ludex_referee::read::RecordLines;
use ludex_report::compare::correlation;
use ludex_report::power::{self, Amount, Designs, Prior};
use ludex_report::runs::archive::Archive;
use ludex_report::scale::{RatingOptions, Scale, rate};
use serde::Serialize;
use serde_json::json;

use super::compare::sides_of;
use super::print::{self, number};
use super::records;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Compute the matches needed for this half width, in points, of a rating's 95 % interval
    #[arg(long, value_name = "POINTS", default_value_t = power::REPORTED)]
    half_width: f64,
    /// Game string, e.g. connect_four; if it has parameters, --from-run reads only matches with exactly these parameters
    #[arg(long)]
    game: String,
    /// Use the spread measured in this run (a name in DATA/runs, a folder or a bundle) [default: an assumed spread]
    #[arg(long, value_name = "RUN")]
    from_run: Option<String>,
    /// Also compute the matches needed to detect this difference, in points, between two agents
    #[arg(long, value_name = "POINTS")]
    difference: Option<f64>,
    /// Detect the difference with this probability
    #[arg(long, value_name = "P", default_value_t = power::POWER, requires = "difference")]
    power: f64,
    /// Read the runs in this folder
    #[arg(long, default_value = "./ludex-data")]
    data: PathBuf,
    /// Print one JSON document: {game, half_width, plans, correlation?, assumed}
    #[arg(long)]
    json: bool,
}

/// Required blocks and matches for one spread.
#[derive(Serialize)]
struct PowerRow {
    /// Part of the run in which the spread was measured, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// Spread measured in a run, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<MeasuredSpread>,
    /// Standard deviation of a block's result, in points.
    deviation: f64,
    /// Blocks and matches needed for the half width.
    width: Amount,
    /// Blocks and matches needed to detect the difference, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<Designs>,
}

/// Spread measured in a run.
#[derive(Serialize)]
struct MeasuredSpread {
    blocks: usize,
    half_width: f64,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let positive = |x: f64| x.is_finite() && x > 0.0;
    anyhow::ensure!(positive(args.half_width), "--half-width: expected points above 0, got {}", args.half_width);
    anyhow::ensure!(args.difference.is_none_or(positive), "--difference: expected points above 0");
    let is_power = args.power > power::ALPHA && args.power < 1.0;
    anyhow::ensure!(is_power, "--power: expected a number above {} and below 1, got {}", power::ALPHA, args.power);
    let game = load(&args.game)?;
    let prior = power::prior(&*game).with_context(|| {
        format!("expected a competitive game, got {}, which has no ratings; use mean returns", game.spec().game)
    })?;
    let (plans, correlation) = match &args.from_run {
        Some(run) => measured_rows(&args, run)?,
        None => (vec![args.row(None, prior.deviation, prior.matches.into(), 0.0)?], None),
    };
    let assumed = assumed(&args, &game, prior, correlation);
    if args.json {
        return Ok(print::json(&json!({
            "game": game.spec().string, "half_width": args.half_width, "plans": plans, "correlation": correlation,
            "assumed": assumed,
        }))?);
    }
    show(&args, &game, &plans, &assumed)
}

impl Args {
    /// Returns the row for blocks with this standard deviation and this number of matches. `correlation` is the
    /// correlation between two agents in the same blocks, or 0.
    fn row(
        &self,
        of: Option<(Option<String>, String, MeasuredSpread)>,
        deviation: f64,
        matches: f64,
        correlation: f64,
    ) -> anyhow::Result<PowerRow> {
        let why = "expected blocks with different results, got equal ones";
        let width = Amount::new(power::blocks_for_width(deviation, self.half_width).context(why)?, matches);
        let designs = |points| power::designs(deviation, matches, correlation, points, self.power).context(why);
        let difference = self.difference.map(designs).transpose()?;
        let (part, agent, measured) = match of {
            Some((part, agent, measured)) => (part, Some(agent), Some(measured)),
            None => (None, None, None),
        };
        Ok(PowerRow { part, agent, measured, deviation, width, difference })
    }
}

/// Returns a row for each rated agent of a run, and the correlation between the first two agents in the same blocks.
fn measured_rows(args: &Args, run: &str) -> anyhow::Result<(Vec<PowerRow>, Option<f64>)> {
    let run = Archive::open(run, &args.data)?;
    let filter = records::RecordFilter::parse(Some(&args.game))?;
    let lines = RecordLines { found: run.found.clone(), refused: run.refused.clone() };
    let (good, refused) = records::verify_records(lines, filter.as_ref());
    records::warn(&refused);
    let played = || run.about.games.keys().cloned().collect::<Vec<_>>().join(", ");
    anyhow::ensure!(!good.is_empty(), "no verified match of {} in {}; games: {}", args.game, run.about.run, played());
    let scales: Vec<Scale> = rate(&good, &RatingOptions::default());
    let mut rated: Vec<&str> =
        scales.iter().flat_map(|s| &s.agents).filter(|a| a.anchored && !a.fixed).map(|a| &*a.name).collect();
    rated.sort_unstable();
    rated.dedup();
    let alike = match rated[..] {
        [first, second, ..] => {
            let [a, b] = [(first, second), (second, first)]
                .map(|(name, other)| sides_of(&run, name, Some(other), filter.as_ref()));
            correlation(&a, &b)
        }
        _ => None,
    };
    let mut plans = Vec::new();
    for scale in &scales {
        for agent in scale.agents.iter().filter(|a| a.anchored && !a.fixed && a.blocks > 0) {
            let Some((low, high)) = agent.low.zip(agent.high) else { continue };
            let half_width = (high - low) / 2.0;
            let of = (scale.part.clone(), agent.name.clone(), MeasuredSpread { blocks: agent.blocks, half_width });
            let matches = agent.games as f64 / agent.blocks as f64;
            let deviation = power::deviation_of(half_width, agent.blocks);
            plans.push(args.row(Some(of), deviation, matches, alike.unwrap_or(0.0))?);
        }
    }
    anyhow::ensure!(!plans.is_empty(), "no agent of {} has a rated opponent, so the run has no ratings", run.about.run);
    Ok((plans, alike))
}

fn assumed(args: &Args, game: &GameRef, prior: Prior, alike: Option<f64>) -> Vec<String> {
    let mut out = vec!["a normal distribution; figures below about 20 blocks are unreliable".to_owned()];
    match &args.from_run {
        None => out.push(format!(
            "two equal agents that draw {} of their matches, and {} independent matches per block; swapped seats need fewer \
             blocks where luck or the first move decides, and unequal agents more (--from-run measures it)",
            number(prior.draws, 3),
            game.spec().players
        )),
        Some(run) => out.push(format!("agents, opponents and blocks similar to those of {run}")),
    }
    if args.difference.is_some() {
        out.push(match alike {
            Some(r) => format!("a correlation of {} between two agents in the same blocks, as measured", number(r, 2)),
            None => {
                "no correlation between two agents in the same blocks; use --from-run with a run of two agents to measure the correlation"
                    .to_owned()
            }
        });
    }
    out
}

fn show(args: &Args, game: &GameRef, plans: &[PowerRow], assumed: &[String]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    let Args { half_width, difference, power, .. } = args;
    writeln!(out, "{}: a block is one seed with seats swapped", game.spec().string)?;
    writeln!(out, "for a half width of {half_width} points of the 95 % interval:")?;
    let mut rows = vec![["part", "agent", "measured", "blocks", "matches"].map(str::to_owned).to_vec()];
    let dash = || "-".to_owned();
    rows.extend(plans.iter().map(|plan| {
        let measured = plan.measured.as_ref();
        vec![
            plan.part.clone().unwrap_or_else(dash),
            plan.agent.clone().unwrap_or_else(dash),
            measured.map_or_else(dash, |m| format!("+-{} with {}", number(m.half_width, 0), m.blocks)),
            plan.width.blocks.to_string(),
            plan.width.matches.to_string(),
        ]
    }));
    print::table(&mut out, &rows, |k| k > 1)?;
    if let Some(points) = difference {
        writeln!(out, "\nto detect a difference of {points} points with a power of {power} (two-sided, 5 %):")?;
        let head = ["part", "agent", "how", "blocks", "matches"].map(str::to_owned).to_vec();
        let mut rows = vec![head];
        for plan in plans {
            let Some(Designs { meeting, paired, unpaired }) = &plan.difference else { continue };
            for (how, amount) in [
                ("against each other", meeting),
                ("same opponents, same seeds", paired),
                ("same opponents, different seeds", unpaired),
            ] {
                rows.push(vec![
                    plan.part.clone().unwrap_or_else(dash),
                    plan.agent.clone().unwrap_or_else(dash),
                    how.to_owned(),
                    amount.blocks.to_string(),
                    amount.matches.to_string(),
                ]);
            }
        }
        print::table(&mut out, &rows, |k| k > 2)?;
        writeln!(out, "blocks and matches per agent; \"against each other\": of both agents together")?;
    }
    assumed.iter().try_for_each(|what| writeln!(out, "assumed: {what}"))?;
    Ok(())
}
