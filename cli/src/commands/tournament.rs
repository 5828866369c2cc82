//! `ludex tournament`.

mod served;
mod tables;

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clap::ValueEnum;
use ludex_agents::AgentClass;
use ludex_games::load;
use ludex_play::agents_file::{self, AgentSource};
use ludex_play::runs::driver::StopReason;
use ludex_play::runs::executor::LocalExecutor;
use ludex_play::runs::folder::RunStatus;
use ludex_play::runs::tournament::schedule::{TournamentSchedule, TournamentTerms};
use ludex_play::runs::tournament::{Contest, TournamentEstimate, TournamentRequest};
use ludex_referee::schedule::Deals;
use ludex_referee::suite::is_word;
use ludex_referee::tournament::TournamentFormat;
use ludex_report::Report;
use ludex_report::ReportAbout;
use ludex_report::runs::results;
use ludex_report::scale::RatingOptions;
use serde_json::json;
use tables::Outcome;

use super::{print, report};

/// What `ludex tournament` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The entrants: a folder of bots, or a file such as agents.toml
    #[arg(long, value_name = "FILE|DIR")]
    agents: PathBuf,
    /// The game, e.g. connect_four or "kuhn_poker(players=3)"
    #[arg(long)]
    game: String,
    /// The format: who meets whom
    #[arg(long, value_enum)]
    format: Shape,
    /// Rounds of a Swiss tournament [default: ceil(log2 entrants) + 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    rounds: Option<u64>,
    /// Seeds for each meeting
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    blocks: u64,
    /// Disqualify an entrant after this many matches lost by its own failure (0 = never)
    #[arg(long, value_name = "N", default_value_t = 3)]
    strikes: u64,
    /// Seconds for a move; programs have limits of their own besides [default: 30, with a language model 300]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    move_seconds: Option<u64>,
    /// Name of the run: small letters, digits, _ and -; the same command again continues it [default: GAME-FORMAT]
    #[arg(long, value_name = "NAME")]
    run: Option<String>,
    /// Folder that holds the runs
    #[arg(long, value_name = "DIR", default_value = "./ludex-data")]
    data: PathBuf,
    /// Matches at a time; within a match, only one program computes at a time [default: one for each core; 1024 with a language model that is asked in batches]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Seed of the draws and of the games
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    seed: u64,
    /// Serve the tournament at this address; entrants whose spec is remote connect there
    #[arg(long, value_name = "ADDR", conflicts_with_all = ["estimate", "jobs"])]
    serve: Option<SocketAddr>,
    /// Have the tournament held by a server that runs; it needs a token with the scope admin
    #[arg(long, value_name = "URL", conflicts_with_all = ["estimate", "jobs", "serve"])]
    server: Option<String>,
    /// The token for --server [default: the environment variable LUDEX_TOKEN]
    #[arg(long, requires = "server")]
    token: Option<String>,
    /// Seconds that a tournament on a server waits for its entrants to come, and for one that is away
    #[arg(long, value_name = "S", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=604_800))]
    grace: u64,
    /// Try the entrants, estimate how long the tournament will take, and play nothing
    #[arg(long)]
    estimate: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// A format as it is typed.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Shape {
    /// Every two entrants meet in one match
    RoundRobin,
    /// Every two entrants meet twice: one seed, seats swapped
    DoubleRoundRobin,
    /// In each round, entrants with about the same points meet
    Swiss,
    /// Newcomers challenge their way up the table
    Ladder,
}

impl Shape {
    fn format(self, rounds: Option<u64>, entrants: usize) -> anyhow::Result<TournamentFormat> {
        anyhow::ensure!(rounds.is_none() || self == Shape::Swiss, "--rounds is for --format swiss");
        Ok(match self {
            Shape::RoundRobin => TournamentFormat::RoundRobin,
            Shape::DoubleRoundRobin => TournamentFormat::DoubleRoundRobin,
            Shape::Swiss => {
                rounds.map_or_else(|| TournamentFormat::swiss(entrants), |rounds| TournamentFormat::Swiss { rounds })
            }
            Shape::Ladder => TournamentFormat::Ladder,
        })
    }
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let game = load(&args.game)?;
    let agents = agents_file::read(&args.agents)?;
    let run = args.run.clone().unwrap_or_else(|| format!("{}-{}", game.spec().game, name_of(args.format)));
    anyhow::ensure!(is_word(&run), "--run {run:?}: only small letters, digits, _ and - are allowed");
    if let Some(address) = args.serve {
        return served::serve(&args, address, &run, &agents);
    }
    if let Some(url) = &args.server {
        return served::ask(&args, url, &run, &agents);
    }
    for entry in &agents.entries {
        if let AgentSource::Spec(spec) = &entry.source
            && spec.class() == AgentClass::Remote
        {
            bail!("{} is remote: hold the tournament on a server, with --serve or --server", entry.name);
        }
    }
    let entrants = agents.entries.len();
    let contest = Contest::new(TournamentRequest {
        data: args.data.clone(),
        run: run.clone(),
        game: args.game.clone(),
        agents,
        format: args.format.format(args.rounds, entrants)?,
        blocks: args.blocks,
        seed: args.seed,
        strikes: args.strikes,
        move_seconds: args.move_seconds,
        jobs: args.jobs.map(usize::from),
        secret: None,
        deals: Deals::Paired,
        left_out: BTreeMap::new(),
    })?;
    let temporary = tempfile::tempdir().context("no folder to compile in can be created")?;
    let bar = print::progress(entrants as u64, "trying");
    let ready = contest.ready(args.estimate.then(|| temporary.path()), || bar.inc(1))?;
    bar.finish_and_clear();
    for (name, why) in &ready.left_out {
        eprintln!("ludex: {name} is left out: {}", why.replace('\n', "\n    "));
    }
    if let Some(estimate) = &ready.estimate {
        if args.estimate {
            return show_estimate(&args, estimate, &ready.left_out);
        }
        eprintln!("ludex: {estimate}");
    }
    let bar = print::progress(ready.matches_at_most(), "playing");
    let played = ready.play(&LocalExecutor, |done, _| bar.set_position(done as u64))?;
    bar.finish_and_clear();
    let (path, terms) = (&ready.contest.path, &ready.contest.terms);
    let about = ReportAbout {
        title: format!("{}: {} of {entrants}", game.spec().title, name_of(args.format)),
        command: format!("ludex report {}", path.join("episodes.jsonl").display()),
        ..ReportAbout::default()
    };
    let report = Report::build(&ready.games(&played.records)?, Vec::new(), RatingOptions::default(), about);
    let files = report::write(&report, path)?;
    let look = RunStatus::at(path)?;
    let outcome = Outcome::of(&look, &ready.schedule, terms);
    if args.json {
        print::json(&outcome.document(&files, played.played))?;
    } else {
        outcome.show(&mut io::stdout().lock())?;
    }
    match played.end {
        StopReason::Infrastructure(why) => bail!("{}{why}", print::STOPPED),
        StopReason::Done | StopReason::Budget(_) | StopReason::Waiting => Ok(()),
    }
}

fn show_estimate(args: &Args, estimate: &TournamentEstimate, left_out: &[(String, String)]) -> anyhow::Result<()> {
    if args.json {
        let mut document = serde_json::to_value(estimate)?;
        document["left_out"] = left_out.iter().map(|(name, why)| json!({ "name": name, "why": why })).collect();
        return Ok(print::json(&document)?);
    }
    Ok(writeln!(io::stdout().lock(), "{estimate}")?)
}

/// `ludex status` of a tournament: its table as it stands.
pub(super) fn status(look: &RunStatus, as_json: bool) -> anyhow::Result<()> {
    let terms = TournamentTerms::parse(&look.suite)?;
    let names: Vec<String> = look.settings.agents.iter().map(|agent| agent.name.clone()).collect();
    let seats = load(&terms.game)?.spec().players as usize;
    let schedule = TournamentSchedule::new(&look.settings.run, &terms, &names, seats)?;
    let outcome = Outcome::of(look, &schedule, &terms);
    if as_json {
        return Ok(print::json(&outcome.document(&[], 0))?);
    }
    Ok(outcome.show(&mut io::stdout().lock())?)
}

fn name_of(shape: Shape) -> String {
    shape.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}
