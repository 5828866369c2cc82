//! Transcripts of a run's matches, move by move.

mod folder;
mod html;
mod text;

use std::collections::HashSet;
use std::fs;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use ludex_env::Seat;
use ludex_protocol::call::ChatRole;
use ludex_protocol::record::{AgentKind, Outcome, Record};
use ludex_referee::Verifier;
use ludex_report::runs::archive::Archive;
use ludex_report::runs::episode::episode_of;
use ludex_report::runs::settings::RunKind;
use ludex_report::transcript::{Transcript, transcript};

use super::Args;
use crate::commands::print;
use crate::commands::records::{self, RecordFilter};

#[derive(clap::Args, Default)]
pub(super) struct MatchFilterArgs {
    /// Show only matches that the agent lost
    #[arg(long)]
    lost: bool,
    /// Show only matches that the agent won
    #[arg(long)]
    won: bool,
    /// Show only matches of this agent, to which --lost and --won refer [default: all agents; for --lost and --won, the
    /// first candidate]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Show only this game; parameters, if given, must match exactly [default: all games]
    #[arg(long)]
    game: Option<String>,
    /// Show only this episode [default: all]
    #[arg(long, value_name = "ID")]
    episode: Option<String>,
}

impl MatchFilterArgs {
    pub(super) fn is_set(&self) -> bool {
        self.lost || self.won || self.agent.is_some() || self.game.is_some() || self.episode.is_some()
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let run = Archive::open(&args.subject, &args.store.data)?;
    records::warn(&run.refused);
    let mut matches = select(&run, &args.matches, args.seat)?;
    fold_system_prompts(&mut matches);
    if let Some(file) = &args.html {
        let file = file.clone().unwrap_or_else(|| PathBuf::from(format!("{}.html", run.about.run)));
        return write_page(&run, matches, &file);
    }
    let mut out = BufWriter::new(io::stdout().lock());
    for (k, transcript) in matches.iter().enumerate() {
        if k > 0 {
            writeln!(out, "\n")?;
        }
        let mut text = Vec::new();
        text::write(&mut text, transcript)?;
        write!(out, "{}", print::plain(&String::from_utf8_lossy(&text)))?;
    }
    Ok(out.flush()?)
}

/// Removes the system prompts that an earlier match displays.
fn fold_system_prompts(matches: &mut [Transcript]) {
    let mut known = HashSet::new();
    let decisions = matches.iter_mut().flat_map(|transcript| &mut transcript.decisions);
    for call in decisions.flat_map(|decision| &mut decision.attempts).flat_map(|attempt| &mut attempt.calls) {
        let before = call.messages.len();
        call.messages.retain(|message| message.role != ChatRole::System || known.insert(message.content.clone()));
        call.system_again |= call.messages.len() < before;
    }
}

/// Writes the transcripts of all matches of a run to a folder: a page for each match, and an index with search and
/// filters. Returns the paths of the files. `home` is the path of the first page of a site around the folder.
///
/// # Errors
/// Returns an error if the run has no match, or if a file cannot be written.
pub(in crate::commands) fn write_folder(
    run: &Archive,
    folder: &Path,
    home: Option<&str>,
) -> anyhow::Result<Vec<PathBuf>> {
    let mut pages = folder::Pages::new(run, folder)?;
    each_match(run, &MatchFilterArgs::default(), None, |transcript, record| pages.add(transcript, record))?;
    pages.finish(home)
}

fn write_page(run: &Archive, matches: Vec<Transcript>, file: &Path) -> anyhow::Result<()> {
    let many = print::count(matches.len(), "match", "matches");
    fs::write(file, print::plain(&html::page(&run.about, matches)))
        .with_context(|| format!("{} cannot be written", file.display()))?;
    Ok(writeln!(io::stdout().lock(), "{}: {many}", file.display())?)
}

/// Returns the transcripts of the matches that pass the filter.
fn select(run: &Archive, filter: &MatchFilterArgs, seat: Option<Seat>) -> anyhow::Result<Vec<Transcript>> {
    let mut out = Vec::new();
    each_match(run, filter, seat, |transcript, _| {
        out.push(transcript);
        Ok(())
    })?;
    Ok(out)
}

/// Passes the transcripts of the matches that pass the filter to `each`, one by one.
///
/// # Errors
/// Returns an error if no match passes the filter, and the errors of `each`.
fn each_match(
    run: &Archive,
    filter: &MatchFilterArgs,
    seat: Option<Seat>,
    mut each: impl FnMut(Transcript, &Record) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let game = RecordFilter::parse(filter.game.as_deref())?;
    let judge = judged_agent(run, filter)?;
    let verifier = Verifier::new(ludex_games::builtin());
    let mut any = false;
    for found in &run.found {
        if filter.episode.as_deref().is_some_and(|id| id != episode_of(&found.parts)) {
            continue;
        }
        if game.as_ref().is_some_and(|game| !game.fits_record(&found.parts)) {
            continue;
        }
        let record = match found.parts.clone().record() {
            Ok(record) => record,
            Err(e) => {
                eprintln!("ludex: skipped: {}: {e}", found.source);
                continue;
            }
        };
        if fits(&record, judge, filter) {
            let seats = displayed_seats(&record, run, seat)?;
            let mut transcript = transcript(&record, run, &seats).with_context(|| found.source.to_string())?;
            let fault = verifier.verify(&found.parts, found.source.clone()).err();
            transcript.broken = fault.map(|fault| fault.to_string()).or(transcript.broken);
            each(transcript, &record)?;
            any = true;
        }
    }
    if !any {
        let unfinished = run.unfinished();
        let hint = match &filter.episode {
            Some(id) if unfinished.contains(id.as_str()) => format!("{id} has calls but no result yet"),
            _ if run.found.is_empty() => "no match has ended yet".to_owned(),
            _ => format!(
                "the run has {}; omit --lost, --won, --agent, --game or --episode",
                print::count(run.found.len(), "match", "matches")
            ),
        };
        anyhow::bail!("no match of {} passes the filter: {hint}", run.about.run);
    }
    Ok(())
}

/// Returns the agent that `--lost` and `--won` refer to.
fn judged_agent<'a>(run: &'a Archive, filter: &'a MatchFilterArgs) -> anyhow::Result<Option<&'a str>> {
    let names = || run.about.agents.iter().map(|a| a.name.as_str()).collect::<Vec<_>>();
    if let Some(name) = &filter.agent {
        anyhow::ensure!(
            names().contains(&name.as_str()),
            "--agent: expected one of {}, got {name:?}",
            names().join(", ")
        );
        return Ok(Some(name));
    }
    if !(filter.lost || filter.won) {
        return Ok(None);
    }
    let first = run.about.agents.first().filter(|_| run.about.kind != RunKind::Tournament);
    let first =
        first.with_context(|| format!("expected --agent with --lost or --won; agents: {}", names().join(", ")))?;
    Ok(Some(&first.name))
}

fn fits(record: &Record, judge: Option<&str>, filter: &MatchFilterArgs) -> bool {
    let Some(name) = judge else { return true };
    let outcomes = |wanted: Outcome| {
        let mut own = record.header.seats.iter().zip(&record.footer.outcome).filter(|(seat, _)| seat.name == name);
        own.any(|(_, outcome)| *outcome == wanted)
    };
    let takes_part = record.header.seats.iter().any(|seat| seat.name == name);
    let any = !filter.lost && !filter.won;
    takes_part && (any || filter.lost && outcomes(Outcome::Loss) || filter.won && outcomes(Outcome::Win))
}

/// Returns the seats whose decisions are displayed.
fn displayed_seats(record: &Record, run: &Archive, seat: Option<Seat>) -> anyhow::Result<Vec<Seat>> {
    let seats = record.header.seats.len();
    if let Some(seat) = seat {
        anyhow::ensure!(
            seat < seats,
            "--seat: expected a seat from 0 to {} in {}, got {seat}",
            seats.saturating_sub(1),
            record.header.game
        );
        return Ok(vec![seat]);
    }
    let calls = run.calls_of(&record.header.episode);
    let is_model =
        |seat: &Seat| record.header.seats[*seat].kind == AgentKind::Llm || calls.iter().any(|call| call.seat == *seat);
    let found: Vec<Seat> = (0..seats).filter(is_model).collect();
    Ok(if found.is_empty() { (0..seats).collect() } else { found })
}
