//! `ludex play`.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use ludex_agents::{AgentClass, human, wrap};
use ludex_env::{GameRef, ToMove};
use ludex_play::local::{self, HostOptions, Participant};
use ludex_play::machine::MatchMachine;
use ludex_play::machine::Watcher;
use ludex_protocol::message::{EventKind, MatchFrame};
use ludex_protocol::record::EndReason;

use super::print::{plain, points};
use super::seats;
use super::terminal::Terminal;
use parking_lot::Mutex;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Game string, e.g. tic_tac_toe or "chess(max_plies=300)"
    game: String,
    /// Put human or an agent, e.g. "mcts sims=500", on a seat; give one --seat per seat, or some seats as white=human
    /// [default: human on the first seat to move, the middle anchor on all other seats]
    #[arg(long = "seat", value_name = "AGENT|SEAT=AGENT")]
    seats: Vec<String>,
    /// Set the seed of chance and of the agents [default: random]
    #[arg(long)]
    seed: Option<u64>,
    /// Append the record to this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let game = ludex_games::load(&args.game)?;
    let mut players = players(&game, &args.seats)?;
    let seed = match args.seed {
        Some(seed) => seed,
        None => u64::from_be_bytes(ludex_server::auth::random_bytes()?),
    };
    let board = Arc::new(TerminalBoard { chance: Mutex::default(), width: human::width() });
    let persons: Vec<usize> = (0..players.len()).filter(|&k| players[k].spec.class() == AgentClass::Person).collect();
    let terminal = Terminal::open()?;
    // Several humans share one terminal and its input buffer, so they share one agent.
    if !persons.is_empty() {
        let board = board.clone();
        let person = human::HumanPlayer::new(terminal.lines, io::stdout()).with_width(board.width);
        let agent = Arc::new(wrap(Arc::new(person), move |person, request| {
            board.flush_chance();
            person.act(request)
        }));
        persons.iter().for_each(|&k| players[k].agent = agent.clone());
    }
    // A single human sees the view of the seat; otherwise the terminal shows the view of spectators.
    let viewer = if let [seat] = persons[..] { Watcher::Seat(seat) } else { Watcher::Public };
    // Open the file before the match, so that an error does not lose a played match.
    let file = args.out.as_ref().map(|path| {
        let open = File::options().append(true).create(true).open(path);
        open.with_context(|| format!("{} cannot be written", path.display()))
    });
    let file = file.transpose()?;
    let table: Vec<&Participant> = players.iter().collect();
    let block = local::block_key(&game, &table, seed);
    let setup = local::setup(&game, &table, seed, &block, 0, None);
    let spec = game.spec();
    let seating = table.iter().zip(&spec.seats).map(|(player, place)| format!("{place} {}", player.spec));
    board.print(&format!("{}: {}; seed {seed}", spec.title, seating.collect::<Vec<_>>().join(", ")));
    if !persons.is_empty() {
        board.print("? lists the legal moves, quit resigns");
    }
    let options = HostOptions { stop: Some(&terminal.stopped), ..HostOptions::default() };
    let played = local::play_observed(setup, &table, options, viewer, |machine, frame| {
        board.print_frame(machine, viewer, frame)
    });
    board.print(&ludex_report::display::result(spec, &played.record));
    if let Some(why) = played.failure {
        board.print(&why);
    }
    if let (Some(mut file), Some(path)) = (file, &args.out) {
        let line = played.record.to_line()?;
        writeln!(file, "{line}").with_context(|| format!("{} cannot be written", path.display()))?;
        let (path, id) = (path.display(), &played.record.header.episode);
        board.print(&format!("record: {id} in {path} (`ludex show {path}` prints it)"));
    }
    if played.record.footer.reason == Some(EndReason::Aborted) {
        let lost = if args.out.is_none() { "; --out FILE writes the record, even of a stopped match" } else { "" };
        anyhow::bail!("the match was stopped{lost}");
    }
    Ok(())
}

/// Returns the players: the agents of `--seat`, and the middle anchor on all other seats. Without a human in `--seat`,
/// a human takes the first seat to move or, if that is taken, the first free seat.
fn players(game: &GameRef, given: &[String]) -> anyhow::Result<Vec<Participant>> {
    let mut named = seats::parse(game, given)?;
    let spec = game.spec();
    let levels: Vec<u32> = spec.anchors.iter().map(|anchor| anchor.level).collect();
    let middle = levels.iter().max().map_or("random".to_owned(), |top| format!("anchor level={}", top.div_ceil(2)));
    let is_person = |text: &Option<String>| text.as_ref().is_some_and(|text| text.trim() == "human");
    let first = match game.start().turn() {
        ToMove::Seat(seat) => seat,
        _ => 0,
    };
    if !named.iter().any(is_person) {
        let free = Some(first).filter(|&seat| named[seat].is_none()).or(named.iter().position(Option::is_none));
        if let Some(seat) = free {
            named[seat] = Some("human".to_owned());
        }
    }
    let texts: Vec<String> = named.into_iter().map(|text| text.unwrap_or_else(|| middle.clone())).collect();
    seats::players(game, &texts)
}

/// Terminal to which a match is printed.
struct TerminalBoard {
    /// Chance outcomes that have not been printed yet.
    chance: Mutex<Vec<String>>,
    width: Option<usize>,
}

impl TerminalBoard {
    fn print(&self, text: &str) {
        self.flush_chance();
        self.write(text);
    }

    fn write(&self, text: &str) {
        // The game continues if printing fails.
        let _ = writeln!(io::stdout().lock(), "{}", human::wrap_lines(&plain(text), self.width));
    }

    /// Prints the pending chance outcomes in one line, each with its count.
    fn flush_chance(&self) {
        let outcomes = std::mem::take(&mut *self.chance.lock());
        let mut counts: Vec<(String, usize)> = Vec::new();
        for outcome in outcomes {
            match counts.iter_mut().find(|(known, _)| *known == outcome) {
                Some((_, count)) => *count += 1,
                None => counts.push((outcome, 1)),
            }
        }
        let word = |(outcome, count): (String, usize)| match count {
            1 => outcome,
            _ => format!("{outcome} ({count} times)"),
        };
        let words: Vec<String> = counts.into_iter().map(word).collect();
        if !words.is_empty() {
            self.write(&format!("chance: {}", words.join(", ")));
        }
    }

    /// Prints a frame for `viewer`, except moves by the viewer.
    fn print_frame(&self, machine: &MatchMachine, viewer: Watcher, frame: &MatchFrame) {
        let name = |seat: u32| {
            let spec = machine.setup().game.spec();
            let agent = machine.header().seats.get(seat as usize).map(|s| s.name.as_str()).unwrap_or_default();
            format!("{} ({agent})", spec.seats.get(seat as usize).map(String::as_str).unwrap_or_default())
        };
        let event = match frame {
            MatchFrame::Event(event) => &event.kind,
            MatchFrame::MatchEnd(_) => return self.print(&format!("\n{}\n", machine.drawing(viewer).trim_end())),
            _ => return,
        };
        match event {
            EventKind::Move { seat, .. } if viewer == Watcher::Seat(*seat as usize) => self.flush_chance(),
            EventKind::Move { seat, text, .. } => self.print(&format!("{}: {text}", name(*seat))),
            EventKind::Chance { text, .. } => {
                self.chance.lock().push(text.clone());
            }
            EventKind::Reveal { text, .. } => self.print(&format!("revealed: {text}")),
            EventKind::Say { seat, text } => self.print(&format!("{} says: {text}", name(*seat))),
            EventKind::Phase { phase } => self.print(&format!("phase: {phase}")),
            EventKind::Reward { rewards } => {
                let rewards: Vec<String> = rewards.iter().map(|&r| points(r)).collect();
                self.print(&format!("rewards: {}", rewards.join(", ")));
            }
            EventKind::Presence { .. } => {}
        }
    }
}
