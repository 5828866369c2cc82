//! `ludex plan`.

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

/// What `ludex plan` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Points to either side that a rating shall be known to (95 %)
    #[arg(long, value_name = "POINTS", default_value_t = power::REPORTED)]
    games_for: f64,
    /// The game, e.g. connect_four or "kuhn_poker(players=3)"; if parameters are given, --like reads only these
    #[arg(long)]
    game: String,
    /// A run (a name below DATA/runs, a folder or a bundle) whose spread is taken; without it, the spread is assumed
    #[arg(long, value_name = "RUN")]
    like: Option<String>,
    /// Also tell how much shows that one of two agents is this many points better
    #[arg(long, value_name = "POINTS")]
    difference: Option<f64>,
    /// The probability that the difference is found if it is there
    #[arg(long, default_value_t = power::POWER, requires = "difference")]
    power: f64,
    /// Folder that holds the runs
    #[arg(long, default_value = "./ludex-data")]
    data: PathBuf,
    /// Print one JSON document: {game, half_width, plans, correlation?, assumed}
    #[arg(long)]
    json: bool,
}

/// How much must be played if blocks vary as some do.
#[derive(Serialize)]
struct Plan {
    /// Part of the run, if it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<String>,
    /// The agent, if it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// What was measured, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<Measured>,
    /// Deviation of a block, in points.
    deviation: f64,
    /// For the half width.
    width: Amount,
    /// For the difference, if one is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<Designs>,
}

/// What a run measured.
#[derive(Serialize)]
struct Measured {
    blocks: usize,
    half_width: f64,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let positive = |x: f64| x.is_finite() && x > 0.0;
    anyhow::ensure!(positive(args.games_for), "--games-for is a number of points above 0, such as 30");
    anyhow::ensure!(args.difference.is_none_or(positive), "--difference is a number of points above 0, such as 30");
    let most = |x: f64| x > power::ALPHA && x < 1.0;
    anyhow::ensure!(most(args.power), "--power is a probability above {} and below 1, such as 0.8", power::ALPHA);
    let game = load(&args.game)?;
    let prior = power::prior(&*game).with_context(|| {
        format!("{} has no rating: its agents do not fight each other, so quote their mean returns", game.spec().game)
    })?;
    let (plans, correlation) = match &args.like {
        Some(run) => measured(&args, run)?,
        None => (vec![args.plan(None, prior.deviation, prior.matches.into(), 0.0)?], None),
    };
    let assumed = assumed(&args, &game, prior, correlation);
    if args.json {
        return Ok(print::json(&json!({
            "game": game.spec().string, "half_width": args.games_for, "plans": plans, "correlation": correlation,
            "assumed": assumed,
        }))?);
    }
    show(&args, &game, &plans, &assumed)
}

impl Args {
    /// The plan for blocks of this deviation and this many matches, whose correlation between two agents is known or 0.
    fn plan(
        &self,
        of: Option<(Option<String>, String, Measured)>,
        deviation: f64,
        matches: f64,
        correlation: f64,
    ) -> anyhow::Result<Plan> {
        let why = "a plan needs blocks that vary";
        let width = Amount::new(power::blocks_for_width(deviation, self.games_for).context(why)?, matches);
        let designs = |points| power::designs(deviation, matches, correlation, points, self.power).context(why);
        let difference = self.difference.map(designs).transpose()?;
        let (part, agent, measured) = match of {
            Some((part, agent, measured)) => (part, Some(agent), Some(measured)),
            None => (None, None, None),
        };
        Ok(Plan { part, agent, measured, deviation, width, difference })
    }
}

/// A plan for each agent of a run that has a rating in the game, and how alike the first two fare in the same blocks.
fn measured(args: &Args, run: &str) -> anyhow::Result<(Vec<Plan>, Option<f64>)> {
    let run = Archive::open(run, &args.data)?;
    let which = records::Which::parse(Some(&args.game))?;
    let lines = RecordLines { found: run.found.clone(), refused: run.refused.clone() };
    let (good, refused) = records::verified(lines, which.as_ref());
    records::warn(&refused);
    let played = || run.about.games.keys().cloned().collect::<Vec<_>>().join(", ");
    anyhow::ensure!(
        !good.is_empty(),
        "{} has no verified match of {}; it plays {}",
        run.about.run,
        args.game,
        played()
    );
    let scales: Vec<Scale> = rate(&good, &RatingOptions::default());
    let mut rated: Vec<&str> =
        scales.iter().flat_map(|s| &s.agents).filter(|a| a.anchored && !a.fixed).map(|a| &*a.name).collect();
    rated.sort_unstable();
    rated.dedup();
    let alike = match rated[..] {
        [first, second, ..] => {
            let [a, b] = [(first, second), (second, first)]
                .map(|(name, other)| sides_of(&run, name, Some(other), which.as_ref()));
            correlation(&a, &b)
        }
        _ => None,
    };
    let mut plans = Vec::new();
    for scale in &scales {
        for agent in scale.agents.iter().filter(|a| a.anchored && !a.fixed && a.blocks > 0) {
            let Some((low, high)) = agent.low.zip(agent.high) else { continue };
            let half_width = (high - low) / 2.0;
            let of = (scale.part.clone(), agent.name.clone(), Measured { blocks: agent.blocks, half_width });
            let matches = agent.games as f64 / agent.blocks as f64;
            let deviation = power::deviation_of(half_width, agent.blocks);
            plans.push(args.plan(Some(of), deviation, matches, alike.unwrap_or(0.0))?);
        }
    }
    anyhow::ensure!(!plans.is_empty(), "{} has no rating to go by: nobody met an agent with a rating", run.about.run);
    Ok((plans, alike))
}

/// What a plan takes for granted, in words.
fn assumed(args: &Args, game: &GameRef, prior: Prior, alike: Option<f64>) -> Vec<String> {
    let mut out = vec!["a normal distribution; the figures say little below about 20 blocks".to_owned()];
    match &args.like {
        None => out.push(format!(
            "two equals who draw {} of their matches, and {} matches of a block that do not depend on each other; where luck \
             or the first move decides, swapped seats need fewer blocks; between unequals more are needed (--like RUN \
             measures it)",
            number(prior.draws, 3),
            game.spec().players
        )),
        Some(run) => out.push(format!("agents, opponents and blocks like those of {run}")),
    }
    if args.difference.is_some() {
        out.push(match alike {
            Some(r) => format!("a correlation of {} between two agents in the same blocks, as measured", number(r, 2)),
            None => {
                "no correlation between two agents in the same blocks; a run of two agents would measure it (--like)"
                    .to_owned()
            }
        });
    }
    out
}

fn show(args: &Args, game: &GameRef, plans: &[Plan], assumed: &[String]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    let Args { games_for, difference, power, .. } = args;
    writeln!(out, "{}: blocks, each on one seed with seats swapped", game.spec().string)?;
    writeln!(out, "a rating known to {games_for} points to either side (95 %):")?;
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
        writeln!(out, "\na difference of {points} points, found with a power of {power} (two-sided, 5 %):")?;
        let head = ["part", "agent", "how", "blocks", "matches"].map(str::to_owned).to_vec();
        let mut rows = vec![head];
        for plan in plans {
            let Some(Designs { meeting, paired, unpaired }) = &plan.difference else { continue };
            for (how, amount) in [
                ("they meet each other", meeting),
                ("same opponents, same seeds", paired),
                ("same opponents, other seeds", unpaired),
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
        writeln!(out, "blocks and matches are those of each agent; where they meet, those of both")?;
    }
    assumed.iter().try_for_each(|what| writeln!(out, "assumed: {what}"))?;
    Ok(())
}
