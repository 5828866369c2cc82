//! `ludex play`.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::Context as _;
use ludex_agents::Kind;
use ludex_protocol::client::MatchView;
use ludex_protocol::record::Record;
use ludex_protocol::server::{EventKind, MatchFrame};
use ludex_protocol::spec::Spec;

use super::print::points;
use ludex_play::local::{self, Asking, Seated};
use ludex_play::machine::Match;
use ludex_play::machine::Watcher;

/// What `ludex play` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The game, e.g. tic_tac_toe or "chess(max_plies=300)"
    game: String,
    /// human, or an agent such as "mcts sims=500"; one for each seat
    #[arg(long = "seat", value_name = "AGENT")]
    seats: Vec<String>,
    /// Seed of chance and of the agents [default: drawn]
    #[arg(long)]
    seed: Option<u64>,
    /// Add the episode record to this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let game = ludex_env::load(&args.game)?;
    let mut players = super::r#match::players(&game, &args.seats)?;
    let seed = match args.seed {
        Some(seed) => seed,
        None => u64::from_be_bytes(ludex_server::auth::random_bytes()?),
    };
    let persons: Vec<usize> = (0..players.len()).filter(|&k| players[k].spec.kind() == Kind::Person).collect();
    // Several people share the one terminal, and what it has read ahead.
    if let Some(&first) = persons.first() {
        let agent = players[first].agent.clone();
        persons.iter().for_each(|&k| players[k].agent = agent.clone());
    }
    // One person hears what the seat hears; several, or none, what everybody hears.
    let ears = if let [seat] = persons[..] { Watcher::Seat(seat) } else { Watcher::Public };
    // Opened before the game, so that none is played for nothing.
    let file = args.out.as_ref().map(|path| {
        let open = File::options().append(true).create(true).open(path);
        open.with_context(|| format!("{} cannot be written", path.display()))
    });
    let file = file.transpose()?;
    let seats: Vec<&Seated> = players.iter().collect();
    let block = local::block_key(&game, &seats, seed);
    let setup = local::setup(&game, &seats, seed, &block, 0, None);
    let table: Vec<String> =
        seats.iter().zip(&game.spec().seats).map(|(player, place)| format!("{place} {}", player.spec)).collect();
    writeln!(io::stdout().lock(), "{}: {}; seed {seed}", game.spec().string, table.join(", "))?;
    if !persons.is_empty() {
        writeln!(io::stdout().lock(), "? lists the legal moves, quit resigns")?;
    }
    let played = local::play_aloud(setup, &seats, Asking::default(), ears, |machine, frame| {
        // What cannot be printed is not worth ending the game.
        let _ = io::stdout().lock().write_all(heard(machine, ears, frame).as_bytes());
    });
    let mut out = io::stdout().lock();
    writeln!(out, "{}", result(game.spec(), &played.record))?;
    if let Some(why) = played.failure {
        writeln!(out, "{why}")?;
    }
    if let (Some(mut file), Some(path)) = (file, &args.out) {
        let line = played.record.to_line()?;
        writeln!(file, "{line}").with_context(|| format!("{} cannot be written", path.display()))?;
        let (path, id) = (path.display(), &played.record.header.episode);
        writeln!(out, "record: {id} in {path} (`ludex replay {path}` shows it)")?;
    }
    Ok(())
}

/// What `to` is told, in words; nothing for what it does itself.
fn heard(machine: &Match, to: Watcher, frame: &MatchFrame) -> String {
    let name = |seat: u32| {
        let spec = machine.setup().game.spec();
        let agent = machine.header().seats.get(seat as usize).map(|s| s.name.as_str()).unwrap_or_default();
        format!("{} ({agent})", spec.seats.get(seat as usize).map(String::as_str).unwrap_or_default())
    };
    let event = match frame {
        MatchFrame::Event(event) => &event.kind,
        MatchFrame::MatchEnd(_) => {
            let view = machine.spectator_view(to, &[MatchView::Text]).text.unwrap_or_default();
            return format!("\n{}\n\n", view.trim_end());
        }
        _ => return String::new(),
    };
    match event {
        EventKind::Move { seat, .. } if to == Watcher::Seat(*seat as usize) => String::new(),
        EventKind::Move { seat, text, .. } => format!("{}: {text}\n", name(*seat)),
        EventKind::Chance { text, .. } => format!("chance: {text}\n"),
        EventKind::Reveal { text, .. } => format!("shown: {text}\n"),
        EventKind::Say { seat, text } => format!("{} says: {text}\n", name(*seat)),
        EventKind::Phase { phase } => format!("phase: {phase}\n"),
        EventKind::Reward { rewards } => {
            let rewards: Vec<String> = rewards.iter().map(|&r| points(r)).collect();
            format!("rewards: {}\n", rewards.join(", "))
        }
        EventKind::Presence { .. } => String::new(),
    }
}

/// `finished: x (human) loses with -1, o (mcts sims=500) wins with 1`.
pub(super) fn result(spec: &Spec, record: &Record) -> String {
    let word = |v: serde_json::Value| v.as_str().map(|w| w.replace('_', " ")).unwrap_or_default();
    let footer = &record.footer;
    let seats = record.header.seats.iter().enumerate().map(|(k, seat)| {
        let place = spec.seats.get(k).map(String::as_str).unwrap_or_default();
        let points = footer.returns.get(k).map_or_else(|| "?".to_owned(), |&r| points(r));
        let outcome = footer.outcome.get(k).and_then(|o| serde_json::to_value(o).ok()).map(word).unwrap_or_default();
        let outcome = if outcome == "none" { String::new() } else { format!("{outcome}, ") };
        format!("{place} ({}) {outcome}{points}", seat.name)
    });
    let reason =
        footer.reason.and_then(|r| serde_json::to_value(r).ok()).map(word).unwrap_or_else(|| "not over".into());
    format!("{reason}: {}", seats.collect::<Vec<_>>().join("; "))
}
