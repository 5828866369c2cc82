//! Display of episodes, board by board.

mod html;

use std::fs;
use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use html::{Heading, ReplayFrame};
use ludex_env::recording::Replay;
use ludex_env::{GameRef, Mark, Picture, Viewer};
use ludex_protocol::record::{Record, RecordParts};
use ludex_referee::Verifier;
use ludex_referee::read::{RecordLines, Source, SourcedRecord};
use ludex_report::display;
use ludex_report::runs::archive::Archive;
use serde_json::json;

use super::Args;
use crate::commands::print::{self, plain};
use crate::commands::records;

#[derive(clap::Args)]
pub(super) struct BoardArgs {
    /// Show only the position after this many moves [default: all]
    #[arg(long, value_name = "N", conflicts_with = "html")]
    ply: Option<u32>,
    /// Pause for this many seconds between positions [default: no pause; without a value: 1]
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "1", conflicts_with = "html")]
    delay: Option<f64>,
    /// Print the marks of each move, except moves preset by a suite, as JSON lines {"episode", "ply", "seat", "name",
    /// "value"}; the game's page explains the marks
    #[arg(long, conflicts_with_all = ["ply", "delay", "seat", "html"])]
    marks: bool,
}

impl BoardArgs {
    pub(super) fn is_set(&self) -> bool {
        self.ply.is_some() || self.delay.is_some() || self.marks
    }
}

/// Position, with the move that led to the position.
struct Board {
    /// Number of moves so far. A joint move counts as one move; chance outcomes do not count.
    ply: u32,
    by: String,
    text: String,
    picture: Picture,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let is_delay = |s: f64| (0.0..=3600.0).contains(&s);
    anyhow::ensure!(args.boards.delay.is_none_or(is_delay), "--delay: expected seconds from 0 to 3600");
    let lines = read(args)?;
    records::warn(&lines.refused);
    let count = lines.found.len();
    anyhow::ensure!(count > 0, "expected records in {}, found none", args.subject);
    anyhow::ensure!(args.html.is_none() || count == 1, "--html: expected one episode (FILE:LINE), got {count}");
    let verifier = Verifier::new(ludex_games::builtin());
    let mut refused = 0;
    for found in &lines.found {
        refused += usize::from(!show(args, &verifier, found)?);
    }
    anyhow::ensure!(refused == 0, "{refused} of {} failed verification", print::count(count, "episode", "episodes"));
    Ok(())
}

/// Reads the records selected by the arguments.
fn read(args: &Args) -> anyhow::Result<RecordLines> {
    let subject = &args.subject;
    if subject == "-" || Path::new(subject).exists() {
        return records::read(Path::new(subject));
    }
    if let Some((file, line)) = subject.rsplit_once(':')
        && let Ok(line) = line.parse::<usize>()
        && Path::new(file).exists()
    {
        let mut lines = records::read(Path::new(file))?;
        if let Some(refused) = lines.refused.iter().find(|r| r.source.line == line) {
            anyhow::bail!("{refused}");
        }
        lines.refused.clear();
        lines.found.retain(|f| f.source.line == line);
        anyhow::ensure!(!lines.found.is_empty(), "expected a record in line {line} of {file}, found none");
        return Ok(lines);
    }
    let row = records::with_store(&args.store, async |store| Ok(store.episode(subject).await?));
    let data = args.store.location();
    let runs = Archive::list(&args.store.data).join(", ");
    let expected = || format!("expected a file, a run or an episode of {data}, got {subject}; runs: {runs}");
    let row = row.with_context(expected)?.with_context(expected)?;
    let end = row.end.with_context(|| format!("expected a finished episode, got {subject}, which is still running"))?;
    anyhow::ensure!(row.released, "{subject} is not released: another match on the same seed is still running");
    let parts = RecordParts::parse(&end.record).with_context(|| format!("{subject} in {data}"))?;
    let source = Source { file: data.to_string(), line: 0 };
    Ok(RecordLines { found: vec![SourcedRecord { source, parts }], refused: Vec::new() })
}

/// Shows one record up to its first fault. Returns true if the record passes verification.
fn show(args: &Args, verifier: &Verifier, found: &SourcedRecord) -> anyhow::Result<bool> {
    let mut out = io::stdout().lock();
    let checked = verifier.verify(&found.parts, found.source.clone());
    let fault = checked.as_ref().err();
    let Ok(record) = found.parts.clone().record() else {
        return print_verdict(&mut out, found, fault);
    };
    let Ok(game) = ludex_games::load_with(&record.header.game, &record.header.params) else {
        return print_verdict(&mut out, found, fault);
    };
    if args.boards.marks {
        print_marks(&mut out, &game, &record)?;
        return Ok(fault.is_none());
    }
    let spec = game.spec();
    let viewer = match args.seat {
        None => Viewer::Public,
        Some(seat) if seat < spec.players as usize => Viewer::Seat(seat),
        Some(seat) => {
            anyhow::bail!("--seat: expected a seat from 0 to {} in {}, got {seat}", spec.players - 1, spec.string)
        }
    };
    let seats = record.header.seats.iter().enumerate();
    let seats = seats.map(|(k, s)| format!("{} {}", spec.seats.get(k).map(String::as_str).unwrap_or_default(), s.name));
    let seats = seats.collect::<Vec<_>>().join(", ");
    let boards = boards(&game, &record, viewer, fault.and_then(|f| f.event));
    if let Some(file) = &args.html {
        let heading = Heading {
            title: plain(&record.header.episode),
            game: plain(&spec.string),
            seats: plain(&seats),
            result: plain(&display::result(spec, &record)),
            fault: fault.map(|fault| plain(&fault.to_string())),
        };
        let frames: Vec<ReplayFrame> = boards.into_iter().map(|b| ReplayFrame::new(b.ply, &b.by, b.picture)).collect();
        let file = file.clone().unwrap_or_else(|| PathBuf::from(format!("{}.html", file_name(&record.header.episode))));
        fs::write(&file, html::page(&heading, &frames))
            .with_context(|| format!("{} cannot be written", file.display()))?;
        writeln!(out, "{}: {}", file.display(), print::count(frames.len(), "position", "positions"))?;
        return print_verdict(&mut out, found, fault);
    }
    writeln!(out, "{}: {}: {seats}", record.header.episode, spec.string)?;
    let selected: Vec<&Board> = match args.boards.ply {
        None => boards.iter().collect(),
        // Chance outcomes after a move belong to the position after that move.
        Some(ply) => vec![boards.iter().rfind(|b| b.ply == ply).with_context(|| {
            format!("--ply: expected at most {} moves, got {ply}", boards.last().map_or(0, |b| b.ply))
        })?],
    };
    let pause = args.boards.delay.map(Duration::from_secs_f64);
    for (k, board) in selected.into_iter().enumerate() {
        if let Some(pause) = pause.filter(|_| k > 0) {
            std::thread::sleep(pause);
            if io::stdout().is_terminal() {
                write!(out, "\x1b[2J\x1b[H")?;
            }
        }
        writeln!(out, "{}", plain(&format!("\n-- {} {}\n{}", board.ply, board.by, board.text.trim_end())))?;
        out.flush()?;
    }
    if args.boards.ply.is_none() && fault.is_none_or(|f| f.event.is_none()) {
        writeln!(out, "\n{}", display::result(spec, &record))?;
    }
    print_verdict(&mut out, found, fault)
}

/// Converts an episode's name to a file name of ASCII letters, digits, `-` and `_`.
fn file_name(episode: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    episode.chars().take(100).map(|c| if safe(c) { c } else { '_' }).collect()
}

/// Prints the verdict on a record. Returns true if the record passes verification.
fn print_verdict(
    out: &mut impl Write,
    found: &SourcedRecord,
    fault: Option<&ludex_referee::verify::RecordFault>,
) -> anyhow::Result<bool> {
    match fault {
        None => writeln!(out, "verified\n")?,
        Some(fault) => writeln!(out, "NOT VERIFIED: {}: {fault}\n", found.source)?,
    }
    Ok(fault.is_none())
}

/// Prints the marks of every step, except the steps of a preset start.
fn print_marks(out: &mut impl Write, game: &GameRef, record: &Record) -> anyhow::Result<()> {
    let mut steps = Replay::new(&**game, &record.events);
    let mut ply = 0;
    while let Some(Ok(step)) = steps.next() {
        ply += u32::from(step.moves().next().is_some());
        if step.at < record.header.start as usize {
            continue;
        }
        for mark in step.marks() {
            let (episode, Mark { seat, name, value }) = (&record.header.episode, mark);
            let line = json!({ "episode": episode, "ply": ply, "seat": seat, "name": name, "value": value });
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}

/// Returns all positions up to the invalid event `fault`, or all positions of the record.
fn boards(game: &GameRef, record: &Record, viewer: Viewer, fault: Option<usize>) -> Vec<Board> {
    let until = fault.unwrap_or(record.events.len()).min(record.events.len());
    let mut steps = Replay::new(&**game, &record.events[..until]);
    let mut ply = 0;
    let first = steps.position().view(viewer);
    let mut out = vec![Board { ply, by: "start".into(), text: first.text(), picture: first.picture(viewer) }];
    while let Some(Ok(step)) = steps.next() {
        let Some(by) = display::step(record, &step) else { break };
        ply += u32::from(step.moves().next().is_some());
        out.push(Board { ply, by, text: step.after.view(viewer).text(), picture: step.picture(viewer) });
    }
    out
}
