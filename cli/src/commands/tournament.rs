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
use tables::TournamentTable;

use super::print;
use super::rate::report;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Enter the bots in this folder, or the agents in this file, e.g. agents.toml
    #[arg(long, value_name = "FILE|DIR")]
    agents: PathBuf,
    /// Play this game, e.g. connect_four or "kuhn_poker(players=3)"
    #[arg(long)]
    game: String,
    /// Pair entrants by this format
    #[arg(long, value_enum)]
    format: FormatArg,
    /// Play this many rounds, in a Swiss tournament [default: ceil(log2(entrants)) + 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    rounds: Option<u64>,
    /// Play this many blocks per pairing
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    blocks: u64,
    /// Disqualify an entrant after this many failures that it caused; 0: never
    #[arg(long, value_name = "N", default_value_t = 3)]
    max_failures: u64,
    /// Limit each move to this many seconds [default: 30, or 300 with a language model]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    move_seconds: Option<u64>,
    /// Name the run with a-z, 0-9, _ and -; repeat the command to continue the run [default: GAME-FORMAT]
    #[arg(long, value_name = "NAME")]
    run: Option<String>,
    /// Store the run in this folder
    #[arg(long, value_name = "DIR", default_value = "./ludex-data")]
    data: PathBuf,
    /// Play this many matches in parallel [default: one per core; 1024 with a batched language model]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Set the seed for pairings and games
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    seed: u64,
    /// Listen at this address for remote entrants (spec remote)
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["estimate", "jobs"])]
    listen: Option<SocketAddr>,
    /// Wait this many seconds for absent entrants, with --listen
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=604_800))]
    absence_timeout: u64,
    /// Check the entrants and estimate the duration, without playing
    #[arg(long)]
    estimate: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Format of a tournament.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum FormatArg {
    /// One match per pair of entrants
    RoundRobin,
    /// Two matches per pair, with the same seed and swapped seats
    DoubleRoundRobin,
    /// Rounds in which entrants with about equal points play each other
    Swiss,
    /// Challenges of higher-ranked entrants
    Ladder,
}

impl FormatArg {
    fn format(self, rounds: Option<u64>, entrants: usize) -> anyhow::Result<TournamentFormat> {
        anyhow::ensure!(rounds.is_none() || self == FormatArg::Swiss, "--rounds: allowed only with --format swiss");
        Ok(match self {
            FormatArg::RoundRobin => TournamentFormat::RoundRobin,
            FormatArg::DoubleRoundRobin => TournamentFormat::DoubleRoundRobin,
            FormatArg::Swiss => {
                rounds.map_or_else(|| TournamentFormat::swiss(entrants), |rounds| TournamentFormat::Swiss { rounds })
            }
            FormatArg::Ladder => TournamentFormat::Ladder,
        })
    }
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let game = load(&args.game)?;
    let agents = agents_file::read(&args.agents)?;
    let run = args.run.clone().unwrap_or_else(|| format!("{}-{}", game.spec().game, name_of(args.format)));
    anyhow::ensure!(is_word(&run), "--run: expected only a-z, 0-9, _ and -, got {run:?}");
    if let Some(address) = args.listen {
        return served::serve(&args, address, &run, &agents);
    }
    for entry in &agents.entries {
        if let AgentSource::Spec(spec) = &entry.source
            && spec.class() == AgentClass::Remote
        {
            bail!("expected --listen for the remote entrant {}", entry.name);
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
        strikes: args.max_failures,
        move_seconds: args.move_seconds,
        jobs: args.jobs.map(usize::from),
        secret: None,
        deals: Deals::Paired,
        left_out: BTreeMap::new(),
    })?;
    let temporary = tempfile::tempdir().context("cannot create a temporary folder")?;
    let bar = print::progress(entrants as u64, "checking");
    let ready = contest.ready(args.estimate.then(|| temporary.path()), || bar.inc(1))?;
    bar.finish_and_clear();
    for (name, why) in &ready.left_out {
        eprintln!("ludex: {name} is excluded: {}", why.replace('\n', "\n    "));
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
        command: format!("ludex rate {}", path.join("episodes.jsonl").display()),
        ..ReportAbout::default()
    };
    let report = Report::build(&ready.games(&played.records)?, Vec::new(), RatingOptions::default(), about);
    let files = report::write(&report, path)?;
    let status = RunStatus::at(path)?;
    let table = TournamentTable::of(&status, &ready.schedule, terms);
    if args.json {
        print::json(&table.document(&files, played.played))?;
    } else {
        table.show(&mut io::stdout().lock())?;
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

/// Prints the current table of a tournament.
pub(super) fn print_status(status: &RunStatus, as_json: bool) -> anyhow::Result<()> {
    let terms = TournamentTerms::parse(&status.suite)?;
    let names: Vec<String> = status.settings.agents.iter().map(|agent| agent.name.clone()).collect();
    let seats = load(&terms.game)?.spec().players as usize;
    let schedule = TournamentSchedule::new(&status.settings.run, &terms, &names, seats)?;
    let table = TournamentTable::of(status, &schedule, &terms);
    if as_json {
        return Ok(print::json(&table.document(&[], 0))?);
    }
    Ok(table.show(&mut io::stdout().lock())?)
}

fn name_of(format: FormatArg) -> String {
    format.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}
