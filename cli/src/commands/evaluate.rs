//! `ludex evaluate`.

mod merge;
mod progress;
mod results;

use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use ludex_play::runs::driver::{RunBudget, StopReason};
use ludex_play::runs::estimate::{Cost, PartEstimate, Pilot, RunEstimate};
use ludex_play::runs::evaluation::{
    Candidates, Evaluation, EvaluationRequest, EvaluationResults, PlayedEvaluation, parse_roles, suite_text,
};
use ludex_play::runs::executor::LocalExecutor;
use ludex_play::runs::preflight;
use ludex_play::runs::report_files;
use ludex_referee::schedule::Deals;
use ludex_referee::suite::is_word;
use ludex_referee::suite::plan::Plan;
use ludex_referee::suite::shard::Shard;
use ludex_report::ReportAbout;
use ludex_report::figure::RenderedFigure;
use ludex_report::runs::archive::Archive;
use ludex_report::scale::RatingOptions;
use serde_json::json;

use super::print;
use super::rate::report;
use progress::RunProgress;
use results::short_results;
pub(super) use results::{costs, print_details, print_table};

#[derive(clap::Args)]
pub(super) struct Args {
    /// Evaluate this agent (a spec, or a name listed by `ludex agents`); may be repeated
    #[arg(long = "agent", value_name = "AGENT", required_unless_present = "merge")]
    agents: Vec<String>,
    /// Play this suite: a built-in suite, as listed by `ludex suites`, or a TOML file
    #[arg(long, value_name = "NAME|FILE", required_unless_present = "merge")]
    suite: Option<String>,
    /// Name the run with a-z, 0-9, _ and -; repeat the command to continue the run
    #[arg(long, value_name = "NAME", required_unless_present_any = ["estimate", "merge"])]
    run: Option<String>,
    /// Use the runs and the named agents in this folder
    #[arg(long, value_name = "DIR", default_value = "./ludex-data")]
    data: PathBuf,
    /// Estimate matches, calls, tokens, dollars, hours and the width of rating intervals, without playing
    #[arg(long)]
    estimate: bool,
    /// Stop between blocks when this budget is spent; may be repeated [default: no limit]
    #[arg(long, value_name = "usd=X|games=N|tokens=N|hours=H")]
    budget: Vec<String>,
    /// Stop a part once the half width of its 95 % rating interval is at most this many points, but not before 8 blocks
    #[arg(long, value_name = "POINTS")]
    stop_at_ci: Option<f64>,
    /// Play only this shard of the plan, e.g. 2/8; combine the shards with --merge
    #[arg(long, value_name = "K/N", conflicts_with_all = ["estimate", "stop_at_ci"])]
    shard: Option<Shard>,
    /// Play this share of the suite, e.g. 0.05, but at least one block of each pairing
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    scale: f64,
    /// Play only this part of the suite; may be repeated [default: all]
    #[arg(long = "part", value_name = "PART")]
    parts: Vec<String>,
    /// Fill a role of the suite with an agent; repeat for a role with several agents
    #[arg(long = "role", value_name = "ROLE=AGENT")]
    roles: Vec<String>,
    /// Derive the seeds from this secret in hex; the report publishes the secret [default: the suite's public seeds]
    #[arg(long, value_name = "HEX")]
    seed_secret: Option<String>,
    /// Share seeds: paired shares a seed within each block, once uses a new seed per match of games with chance or
    /// hidden information, for agents that remember earlier matches [default: as set by the suite]
    #[arg(long, value_name = "once|paired")]
    seed_sharing: Option<Deals>,
    /// Estimate with this agent of similar strength [default: mean of the agent random and the game's middle anchor]
    #[arg(long, value_name = "AGENT", requires = "estimate")]
    stand_in: Option<String>,
    /// Estimate from the usage measured in this earlier, small run of the same agent
    #[arg(long, value_name = "RUN", requires = "estimate")]
    pilot: Option<String>,
    /// Play this many matches in parallel [default: one per core; 8 with a language model, 1024 if batched]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Merge all shards of a run (names, folders or bundles) into one run
    #[arg(long, value_name = "SHARD", num_args = 1.., conflicts_with_all = ["agents", "suite", "run", "estimate", "shard", "budget", "stop_at_ci", "scale", "parts", "roles", "seed_secret", "seed_sharing", "jobs"])]
    merge: Vec<String>,
    /// Write the merged run to this folder [default: DATA/runs/NAME]
    #[arg(long, value_name = "DIR", requires = "merge")]
    into: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    if !args.merge.is_empty() {
        return merge::run(&args);
    }
    anyhow::ensure!(
        (1e-6..=100.0).contains(&args.scale),
        "--scale: expected a number above 0 and at most 100, got {}",
        args.scale
    );
    if let Some(text) = &args.seed_secret {
        let bytes = hex::decode(text).ok().filter(|bytes| !bytes.is_empty());
        bytes.context("--seed-secret: expected bytes in hex such as 00ff12, preferably 32 digits")?;
    }
    let budget = budget(&args.budget)?;
    let evaluation = Evaluation::new(EvaluationRequest {
        candidates: Candidates::resolve(&args.agents, &args.data)?,
        suite: suite_text(args.suite.as_deref().unwrap_or_default())?,
        data: args.data.clone(),
        scale: args.scale,
        only: args.parts.clone(),
        roles: parse_roles(&args.roles, &args.data)?,
        secret: args.seed_secret.clone(),
        deals: args.seed_sharing,
        shard: args.shard,
        variants: None,
        left_out: Default::default(),
        unrated: false,
        jobs: args.jobs.map(usize::from),
    })?;
    if args.estimate {
        let pilot = args.pilot.as_ref().map(|run| Pilot::of(&Archive::open(run, &args.data)?)).transpose()?;
        let estimate = evaluation.estimate(args.stand_in.as_deref(), &pilot.unwrap_or_default())?;
        return if args.json {
            Ok(print::json(&json!(estimate))?)
        } else {
            Ok(print_estimate(&estimate, &mut io::stdout().lock())?)
        };
    }
    let name = args.run.clone().unwrap_or_default();
    anyhow::ensure!(is_word(&name), "--run: expected only a-z, 0-9, _ and -, got {name:?}");
    let person = args.agents.iter().any(|agent| agent.split_whitespace().next() == Some("human"));
    if person && !io::stdin().is_terminal() {
        bail!(
            "--agent human: expected a terminal as standard input, got a file or a pipe; use `ludex join --agent human` for a server"
        );
    }
    let warnings =
        preflight::shortages(&evaluation.plan).into_iter().chain(preflight::candidates_in_roles(&evaluation.plan));
    warnings.for_each(|why| eprintln!("ludex: {why}"));
    let bar = print::progress(evaluation.plan.matches_at_most(), "playing");
    if person {
        // The terminal displays the board.
        bar.set_draw_target(indicatif::ProgressDrawTarget::hidden());
    }
    let mut progress = RunProgress::new(&evaluation.plan, &bar);
    let played = evaluation.play(&LocalExecutor, &name, budget, args.stop_at_ci, |news| progress.show(&news))?;
    bar.finish_and_clear();
    let findings = played.findings(&evaluation.plan)?;
    print_results(&args, &evaluation.plan, &played, &findings)?;
    match &played.end {
        StopReason::Done if !findings.games.is_empty() && findings.games.iter().all(|g| !g.reason().counts()) => {
            let log = played.folder.path().join("log.jsonl");
            bail!("expected matches that count, but the infrastructure failed in all matches; see {}", log.display())
        }
        StopReason::Done => Ok(()),
        StopReason::Budget(why) => {
            eprintln!("ludex: stopped: {why}; run the same command with a larger budget to continue");
            Ok(())
        }
        StopReason::Infrastructure(why) => bail!("{}{why}", print::STOPPED),
        StopReason::Waiting => bail!("the agents are unavailable; run the same command again to continue"),
    }
}

fn budget(given: &[String]) -> anyhow::Result<RunBudget> {
    let mut out = RunBudget::default();
    for text in given.iter().flat_map(|text| text.split(',')) {
        let wrong = || format!("--budget: expected e.g. usd=50, games=200, tokens=1000000 or hours=2, got {text:?}");
        let (unit, amount) = text.split_once('=').with_context(wrong)?;
        let amount: f64 = amount.parse().ok().filter(|x: &f64| x.is_finite() && *x >= 0.0).with_context(wrong)?;
        match unit.trim() {
            "usd" => out.usd = Some(amount),
            "games" => out.games = Some(amount as u64),
            "tokens" => out.tokens = Some(amount as u64),
            "hours" => out.hours = Some(amount),
            _ => bail!(wrong()),
        }
    }
    Ok(out)
}

/// Prints the results and writes the report.
fn print_results(
    args: &Args,
    plan: &Plan,
    played: &PlayedEvaluation,
    findings: &EvaluationResults,
) -> anyhow::Result<()> {
    let EvaluationResults { rows, groups, summaries, .. } = findings;
    let folder = played.folder.path();
    let title = format!("{}: {}", plan.suite.title, args.agents.join(", "));
    let (files, headline) = write_report(folder, title);
    let usage = played.folder.usage();
    if args.json {
        let (ended, why) = match &played.end {
            StopReason::Done => ("done", None),
            StopReason::Budget(why) => ("budget", Some(why)),
            StopReason::Infrastructure(why) => ("infrastructure", Some(why)),
            StopReason::Waiting => ("waiting", None),
        };
        print::json(&json!({
            "run": played.folder.run(), "shard": plan.shard, "end": ended, "why": why, "matches": played.records.len(),
            "played": played.played, "parts": rows, "groups": groups, "summaries": summaries, "usage": usage, "folder": folder,
            "files": files,
        }))?;
    } else {
        let mut out = io::stdout().lock();
        out.write_all(short_results(played.folder.run(), headline, findings)?.as_bytes())?;
        let all = print::count(played.records.len(), "match", "matches");
        writeln!(out, "{all}, {} of them now; {}", played.played, costs(&usage))?;
        writeln!(out, "{}", folder.join("report.html").display())?;
    }
    let discarded: u64 = rows.iter().map(|row| row.discarded).sum();
    if discarded > 0 {
        eprintln!("ludex: {discarded} discarded; the last: {}", played.last_failure());
    }
    Ok(())
}

/// Writes the report of a run to the run's folder, and returns the files and the headline of the suite. An error is only
/// printed, since the run itself is complete.
pub(super) fn write_report(folder: &Path, title: String) -> (Vec<PathBuf>, Option<RenderedFigure>) {
    let files = || {
        let name = folder.to_str().context("expected a folder name in Unicode, got other bytes")?;
        let run = Archive::open(name, folder)?;
        let words = ["ludex", "rate", name, "--report", name].map(str::to_owned);
        let about = ReportAbout {
            title,
            command: report::shell_line(&words),
            secret: report_files::secret(&run),
            ..ReportAbout::default()
        };
        let (made, _) = report_files::report(&[&run], RatingOptions::default(), about, |_| None);
        let headline = made.figures.iter().find(|figure| figure.headline).cloned();
        Ok((report::write(&made, folder)?, headline))
    };
    files().unwrap_or_else(|e: anyhow::Error| {
        eprintln!("ludex: {e:#}");
        (Vec::new(), None)
    })
}

fn print_estimate(estimate: &RunEstimate, out: &mut impl Write) -> io::Result<()> {
    let head = ["part", "matches", "moves", "calls", "tokens in", "out", "rating +-"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let cells = |id: &str, cost: &Cost, width: String| {
        let Cost { matches, moves, calls, tokens_in, tokens_out, .. } = *cost;
        let numbers = [matches, moves, calls, tokens_in, tokens_out].map(|x| print::number(x, 0));
        [vec![id.to_owned()], numbers.to_vec(), vec![width]].concat()
    };
    for PartEstimate { part, cost, points, .. } in &estimate.parts {
        rows.push(cells(part, cost, points.map_or_else(|| "-".to_owned(), |points| print::number(points, 0))));
    }
    rows.push(cells("all", &estimate.total, String::new()));
    print::table(out, &rows, |k| k > 0)?;
    let notes = estimate.parts.iter().filter_map(|part| Some((&part.part, part.note.as_ref()?)));
    notes.into_iter().try_for_each(|(part, note)| writeln!(out, "{part}: {note}"))?;
    let range = estimate.usd_range.map_or_else(String::new, |[low, high]| format!(" ({low:.2} to {high:.2})"));
    let pairs = estimate.piloted && estimate.usd_range.is_none() && estimate.usd.is_some();
    let usd = estimate.usd.map_or_else(|| "no price known".to_owned(), |usd| format!("{usd:.2} dollars{range}"));
    writeln!(out, "about {usd}, {} hours", print::number(estimate.hours, 2))?;
    if pairs {
        writeln!(out, "no interval: the pilot has fewer than two blocks of a pairing; play it at a larger --scale")?;
    }
    estimate.guesses.iter().try_for_each(|guess| writeln!(out, "guessed: {guess}"))
}
