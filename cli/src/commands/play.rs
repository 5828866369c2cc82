//! `ludex play`.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::Context as _;
use ludex_agents::AgentClass;
use ludex_protocol::message::{EventKind, MatchFrame, MatchView};

use super::print::points;
use ludex_play::local::{self, Asking, Seated};
use ludex_play::machine::Match;
use ludex_play::machine::Watcher;

/// What `ludex play` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The game, e.g. tic_tac_toe or "chess(max_plies=300)"
    game: String,
    /// human, or an agent such as "mcts sims=500"; one --seat for each seat
    #[arg(long = "seat", value_name = "AGENT")]
    seats: Vec<String>,
    /// Seed of chance and of the agents [default: a random one]
    #[arg(long)]
    seed: Option<u64>,
    /// Append the episode record to this file
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
    let persons: Vec<usize> = (0..players.len()).filter(|&k| players[k].spec.class() == AgentClass::Person).collect();
    // Several people share one terminal and its buffer, so they share one agent.
    if let Some(&first) = persons.first() {
        let agent = players[first].agent.clone();
        persons.iter().for_each(|&k| players[k].agent = agent.clone());
    }
    // One person is told what the seat is told; otherwise the terminal shows what spectators see.
    let ears = if let [seat] = persons[..] { Watcher::Seat(seat) } else { Watcher::Public };
    // Opened before the game, so that an error costs no game.
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
        // A failure to print is no reason to end the game.
        let _ = io::stdout().lock().write_all(heard(machine, ears, frame).as_bytes());
    });
    let mut out = io::stdout().lock();
    writeln!(out, "{}", ludex_play::words::result(game.spec(), &played.record))?;
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

/// What `to` is told, in words. It is not told its own moves.
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
