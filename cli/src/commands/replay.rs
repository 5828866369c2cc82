//! `ludex replay`.

mod html;

use std::fs;
use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use html::{Frame, Heading};
use ludex_env::recording::Replay;
use ludex_env::{GameRef, Mark, Picture, Seat, Viewer};
use ludex_protocol::record::{Record, RecordParts};
use ludex_referee::Verifier;
use ludex_referee::read::{RecordLines, Source, SourcedRecord};
use ludex_report::display;
use serde_json::json;

use super::print::{self, plain};
use super::records;

/// What `ludex replay` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    /// A file of records, one line of it (FILE:LINE), or an episode of the store
    #[arg(value_name = "EPISODE|FILE")]
    what: String,
    /// Show only the position after this many moves
    #[arg(long, value_name = "N")]
    ply: Option<u32>,
    /// Pause between positions
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    watch: Option<f64>,
    /// Show positions as this seat sees them [default: as a spectator; moves are always shown in full]
    #[arg(long)]
    seat: Option<Seat>,
    /// Print what the rules count of each step instead (the marks that the game's page explains): one JSON document a line,
    /// {"episode", "ply", "seat", "name", "value"}. As in metrics, the start that a suite gave is left out: nobody played it
    #[arg(long, conflicts_with_all = ["ply", "watch", "seat"])]
    marks: bool,
    /// Write one HTML page that steps through the episode by keys and slider [default file: EPISODE.html]
    #[arg(long, value_name = "FILE", num_args = 0..=1, conflicts_with_all = ["ply", "watch", "marks"])]
    html: Option<Option<PathBuf>>,
    /// Folder of the store
    #[arg(long, default_value = "./ludex-data")]
    data: PathBuf,
}

/// A position, and what led to it.
struct Board {
    /// Moves so far. A joint move counts as one; chance does not count.
    ply: u32,
    by: String,
    text: String,
    picture: Picture,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    if args.watch.is_some_and(|s| !(0.0..=3600.0).contains(&s)) {
        anyhow::bail!("--watch takes seconds from 0 to 3600");
    }
    let lines = find(&args)?;
    records::warn(&lines.refused);
    if lines.found.is_empty() {
        anyhow::bail!("there is no record in {}", args.what);
    }
    if args.html.is_some() && lines.found.len() > 1 {
        anyhow::bail!("a page shows one episode, and {} has {}: name one as FILE:LINE", args.what, lines.found.len());
    }
    let verifier = Verifier::new(ludex_games::builtin());
    let mut refused = 0;
    for found in &lines.found {
        refused += usize::from(!show(&args, &verifier, found)?);
    }
    match refused {
        0 => Ok(()),
        _ => anyhow::bail!("{refused} of {} did not verify", print::count(lines.found.len(), "episode", "episodes")),
    }
}

/// The records that the arguments name.
fn find(args: &Args) -> anyhow::Result<RecordLines> {
    let what = &args.what;
    if what == "-" || Path::new(what).exists() {
        return records::read(Path::new(what));
    }
    if let Some((file, line)) = what.rsplit_once(':')
        && let Ok(line) = line.parse::<usize>()
        && Path::new(file).exists()
    {
        let mut lines = records::read(Path::new(file))?;
        if let Some(refused) = lines.refused.iter().find(|r| r.source.line == line) {
            anyhow::bail!("{refused}");
        }
        lines.refused.clear();
        lines.found.retain(|f| f.source.line == line);
        anyhow::ensure!(!lines.found.is_empty(), "{file} has no record in line {line}");
        return Ok(lines);
    }
    let kept = records::in_store(&args.data, async |store| Ok(store.episode(what).await?));
    let kept = kept.with_context(|| format!("{what} is not a file, and the store cannot be read"))?;
    let Some(kept) = kept else {
        anyhow::bail!("{what} is neither a file nor an episode of the store in {}", args.data.display());
    };
    let end = kept.end.with_context(|| format!("{what} is still running"))?;
    anyhow::ensure!(kept.released, "{what} is not released yet: another match on its seed is still running");
    let parts = RecordParts::parse(&end.record).with_context(|| format!("{what} in {}", args.data.display()))?;
    let source = Source { file: args.data.display().to_string(), line: 0 };
    Ok(RecordLines { found: vec![SourcedRecord { source, parts }], refused: Vec::new() })
}

/// Shows one record as far as it can be played, and returns whether it verifies.
fn show(args: &Args, verifier: &Verifier, found: &SourcedRecord) -> anyhow::Result<bool> {
    let mut out = io::stdout().lock();
    let checked = verifier.verify(&found.parts, found.source.clone());
    let fault = checked.as_ref().err();
    let Ok(record) = found.parts.clone().record() else {
        return told(&mut out, found, fault);
    };
    let Ok(game) = ludex_games::load_with(&record.header.game, &record.header.params) else {
        return told(&mut out, found, fault);
    };
    if args.marks {
        marks(&mut out, &game, &record)?;
        return Ok(fault.is_none());
    }
    let spec = game.spec();
    let viewer = match args.seat {
        None => Viewer::Public,
        Some(seat) if seat < spec.players as usize => Viewer::Seat(seat),
        Some(seat) => anyhow::bail!("{} has seats 0 to {}, not {seat}", spec.string, spec.players - 1),
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
        let frames: Vec<Frame> = boards.into_iter().map(|b| Frame::new(b.ply, &b.by, b.picture)).collect();
        let file = file.clone().unwrap_or_else(|| PathBuf::from(format!("{}.html", file_name(&record.header.episode))));
        fs::write(&file, html::page(&heading, &frames))
            .with_context(|| format!("{} cannot be written", file.display()))?;
        writeln!(out, "{}: {}", file.display(), print::count(frames.len(), "position", "positions"))?;
        return told(&mut out, found, fault);
    }
    writeln!(out, "{}: {}: {seats}", record.header.episode, spec.string)?;
    let shown: Vec<&Board> = match args.ply {
        None => boards.iter().collect(),
        // Chance that follows a move belongs to its position.
        Some(ply) => vec![boards.iter().rfind(|b| b.ply == ply).with_context(|| {
            format!("{} has {} moves, not {ply}", record.header.episode, boards.last().map_or(0, |b| b.ply))
        })?],
    };
    let pause = args.watch.map(Duration::from_secs_f64);
    for (k, board) in shown.into_iter().enumerate() {
        if let Some(pause) = pause.filter(|_| k > 0) {
            std::thread::sleep(pause);
            if io::stdout().is_terminal() {
                write!(out, "\x1b[2J\x1b[H")?;
            }
        }
        writeln!(out, "{}", plain(&format!("\n-- {} {}\n{}", board.ply, board.by, board.text.trim_end())))?;
        out.flush()?;
    }
    if args.ply.is_none() && fault.is_none_or(|f| f.event.is_none()) {
        writeln!(out, "\n{}", display::result(spec, &record))?;
    }
    told(&mut out, found, fault)
}

/// The name of an episode as a file's: what is neither a letter, a digit, `-` nor `_` becomes `_`.
fn file_name(episode: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    episode.chars().take(100).map(|c| if safe(c) { c } else { '_' }).collect()
}

/// Prints whether the record verifies.
fn told(
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

/// The marks of every step that somebody played, as metrics count them: a start that was given is left out.
fn marks(out: &mut impl Write, game: &GameRef, record: &Record) -> anyhow::Result<()> {
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

/// Every position up to the event at fault, played with checks.
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
