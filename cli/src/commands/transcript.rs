//! `ludex transcript`.

mod html;
mod text;

use std::fs;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use ludex_env::Seat;
use ludex_protocol::record::{AgentKind, Outcome, Record};
use ludex_referee::Verifier;
use ludex_report::runs::archive::Archive;
use ludex_report::runs::episode::episode_of;
use ludex_report::runs::settings::RunKind;
use ludex_report::transcript::{Transcript, transcript};

use super::{print, records};

/// What `ludex transcript` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    /// A run: its name below DATA/runs, or its folder
    run: String,
    /// Only matches that the agent lost
    #[arg(long)]
    lost: bool,
    /// Only matches that the agent won
    #[arg(long)]
    won: bool,
    /// Only matches of this agent; --lost and --won mean its results [default: all matches; in an evaluation, results of the
    /// first candidate]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only this game; if parameters are given, only with these
    #[arg(long)]
    game: Option<String>,
    /// Only this episode
    #[arg(long, value_name = "ID")]
    episode: Option<String>,
    /// Show the decisions of this seat [default: the seats with a language model; if there are none, all]
    #[arg(long, value_name = "N")]
    seat: Option<Seat>,
    /// Write one HTML page [default file: RUN.html]
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    html: Option<Option<PathBuf>>,
    /// Folder that holds the runs
    #[arg(long, default_value = "./ludex-data")]
    data: PathBuf,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let run = Archive::open(&args.run, &args.data)?;
    records::warn(&run.refused);
    let matches = chosen(&run, &args)?;
    if let Some(file) = &args.html {
        let file = file.clone().unwrap_or_else(|| PathBuf::from(format!("{}.html", run.about.run)));
        return page(&run, &matches, &file);
    }
    let mut out = BufWriter::new(io::stdout().lock());
    for (k, told) in matches.iter().enumerate() {
        if k > 0 {
            writeln!(out, "\n")?;
        }
        let mut text = Vec::new();
        text::write(&mut text, told)?;
        write!(out, "{}", print::plain(&String::from_utf8_lossy(&text)))?;
    }
    Ok(out.flush()?)
}

/// The transcripts of all matches of a run as one page. The name of an episode is the anchor of its match.
///
/// # Errors
/// The run has no match.
pub(super) fn whole(run: &Archive) -> anyhow::Result<String> {
    let all = Args {
        run: String::new(),
        lost: false,
        won: false,
        agent: None,
        game: None,
        episode: None,
        seat: None,
        html: None,
        data: PathBuf::new(),
    };
    Ok(print::plain(&html::page(&run.about, &chosen(run, &all)?)).to_string())
}

fn page(run: &Archive, matches: &[Transcript], file: &Path) -> anyhow::Result<()> {
    fs::write(file, print::plain(&html::page(&run.about, matches)))
        .with_context(|| format!("{} cannot be written", file.display()))?;
    let many = print::count(matches.len(), "match", "matches");
    Ok(writeln!(io::stdout().lock(), "{}: {many}", file.display())?)
}

/// The transcripts of the matches that were asked for.
fn chosen(run: &Archive, args: &Args) -> anyhow::Result<Vec<Transcript>> {
    let which = records::Which::parse(args.game.as_deref())?;
    let judge = judge(run, args)?;
    let verifier = Verifier::new(ludex_games::builtin());
    let mut out = Vec::new();
    for found in &run.found {
        if args.episode.as_deref().is_some_and(|id| id != episode_of(&found.parts)) {
            continue;
        }
        if which.as_ref().is_some_and(|which| !which.is_of(&found.parts)) {
            continue;
        }
        let record = match found.parts.clone().record() {
            Ok(record) => record,
            Err(e) => {
                eprintln!("ludex: left out: {}: {e}", found.source);
                continue;
            }
        };
        if meant(&record, judge, args) {
            let shown = shown(&record, run, args)?;
            let mut told = transcript(&record, run, &shown).with_context(|| found.source.to_string())?;
            let fault = verifier.verify(&found.parts, found.source.clone()).err();
            told.broken = fault.map(|fault| fault.to_string()).or(told.broken);
            out.push(told);
        }
    }
    if out.is_empty() {
        let unfinished = run.unfinished();
        let hint = match &args.episode {
            Some(id) if unfinished.contains(id.as_str()) => format!("{id} has calls but no result yet"),
            _ if run.found.is_empty() => "no match is over yet".to_owned(),
            _ => format!(
                "it has {}; leave out --lost, --won, --agent, --game or --episode",
                print::count(run.found.len(), "match", "matches")
            ),
        };
        anyhow::bail!("no match of {} fits: {hint}", run.about.run);
    }
    Ok(out)
}

/// The agent that --lost and --won are about.
fn judge<'a>(run: &'a Archive, args: &'a Args) -> anyhow::Result<Option<&'a str>> {
    let names = || run.about.agents.iter().map(|a| a.name.as_str()).collect::<Vec<_>>();
    if let Some(name) = &args.agent {
        anyhow::ensure!(
            names().contains(&name.as_str()),
            "{name:?} is not an agent of this run; its agents are {}",
            names().join(", ")
        );
        return Ok(Some(name));
    }
    if !(args.lost || args.won) {
        return Ok(None);
    }
    let first = run.about.agents.first().filter(|_| run.about.kind != RunKind::Tournament);
    let first = first
        .with_context(|| format!("name the agent that won or lost with --agent NAME, one of {}", names().join(", ")))?;
    Ok(Some(&first.name))
}

fn meant(record: &Record, judge: Option<&str>, args: &Args) -> bool {
    let Some(name) = judge else { return true };
    let outcomes = |wanted: Outcome| {
        let mut own = record.header.seats.iter().zip(&record.footer.outcome).filter(|(seat, _)| seat.name == name);
        own.any(|(_, outcome)| *outcome == wanted)
    };
    let takes_part = record.header.seats.iter().any(|seat| seat.name == name);
    let any = !args.lost && !args.won;
    takes_part && (any || args.lost && outcomes(Outcome::Loss) || args.won && outcomes(Outcome::Win))
}

/// The seats whose decisions are shown.
fn shown(record: &Record, run: &Archive, args: &Args) -> anyhow::Result<Vec<Seat>> {
    let seats = record.header.seats.len();
    if let Some(seat) = args.seat {
        anyhow::ensure!(seat < seats, "{} has seats 0 to {}, not {seat}", record.header.game, seats.saturating_sub(1));
        return Ok(vec![seat]);
    }
    let calls = run.calls_of(&record.header.episode);
    let thinks =
        |seat: &Seat| record.header.seats[*seat].kind == AgentKind::Llm || calls.iter().any(|kept| kept.seat == *seat);
    let found: Vec<Seat> = (0..seats).filter(thinks).collect();
    Ok(if found.is_empty() { (0..seats).collect() } else { found })
}
