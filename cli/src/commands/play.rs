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

/// What `ludex play` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The game, e.g. tic_tac_toe or "chess(max_plies=300)"
    game: String,
    /// human, or an agent such as "mcts sims=500": one --seat for each seat, in order, or SEAT=AGENT for some, e.g.
    /// --seat white=human [default: you on the seat that begins; on the others the middle of the game's anchors]
    #[arg(long = "seat", value_name = "AGENT|SEAT=AGENT")]
    seats: Vec<String>,
    /// Seed of chance and of the agents [default: a random one]
    #[arg(long)]
    seed: Option<u64>,
    /// Append the episode record to this file
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
    let talk = Arc::new(Talk { chance: Mutex::default(), width: human::width() });
    let persons: Vec<usize> = (0..players.len()).filter(|&k| players[k].spec.class() == AgentClass::Person).collect();
    let terminal = Terminal::open()?;
    // Several people share one terminal and its buffer, so they share one agent.
    if !persons.is_empty() {
        let talk = talk.clone();
        let person = human::HumanPlayer::new(terminal.lines, io::stdout()).with_width(talk.width);
        let agent = Arc::new(wrap(Arc::new(person), move |person, ask, deadline| {
            talk.tell_chance();
            person.act(ask, deadline)
        }));
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
    let table: Vec<&Participant> = players.iter().collect();
    let block = local::block_key(&game, &table, seed);
    let setup = local::setup(&game, &table, seed, &block, 0, None);
    let spec = game.spec();
    let sits = table.iter().zip(&spec.seats).map(|(player, place)| format!("{place} {}", player.spec));
    talk.tell(&format!("{}: {}; seed {seed}", spec.title, sits.collect::<Vec<_>>().join(", ")));
    if !persons.is_empty() {
        talk.tell("? lists the legal moves, quit resigns");
    }
    let asking = HostOptions { stop: Some(&terminal.stopped), ..HostOptions::default() };
    let played = local::play_observed(setup, &table, asking, ears, |machine, frame| talk.hear(machine, ears, frame));
    talk.tell(&ludex_report::display::result(spec, &played.record));
    if let Some(why) = played.failure {
        talk.tell(&why);
    }
    if let (Some(mut file), Some(path)) = (file, &args.out) {
        let line = played.record.to_line()?;
        writeln!(file, "{line}").with_context(|| format!("{} cannot be written", path.display()))?;
        let (path, id) = (path.display(), &played.record.header.episode);
        talk.tell(&format!("record: {id} in {path} (`ludex replay {path}` shows it)"));
    }
    if played.record.footer.reason == Some(EndReason::Aborted) {
        let lost = if args.out.is_none() {
            "; --out FILE keeps the record of a match, also of one that is stopped"
        } else {
            ""
        };
        anyhow::bail!("the match was stopped before its end{lost}");
    }
    Ok(())
}

/// Who plays: as named, else a person on the seat that begins, or on the first free one, against the middle of the ladder.
fn players(game: &GameRef, given: &[String]) -> anyhow::Result<Vec<Participant>> {
    let mut named = seats::read(game, given)?;
    let spec = game.spec();
    let levels: Vec<u32> = spec.anchors.iter().map(|anchor| anchor.level).collect();
    let middle = levels.iter().max().map_or("random".to_owned(), |top| format!("anchor level={}", top.div_ceil(2)));
    let is_person = |text: &Option<String>| text.as_ref().is_some_and(|text| text.trim() == "human");
    let begins = match game.start().turn() {
        ToMove::Seat(seat) => seat,
        _ => 0,
    };
    if !named.iter().any(is_person) {
        let free = Some(begins).filter(|&seat| named[seat].is_none()).or(named.iter().position(Option::is_none));
        if let Some(seat) = free {
            named[seat] = Some("human".to_owned());
        }
    }
    let texts: Vec<String> = named.into_iter().map(|text| text.unwrap_or_else(|| middle.clone())).collect();
    seats::players(game, &texts)
}

/// The terminal.
struct Talk {
    /// What chance did since the last line.
    chance: Mutex<Vec<String>>,
    width: Option<usize>,
}

impl Talk {
    fn tell(&self, text: &str) {
        self.tell_chance();
        self.say(text);
    }

    fn say(&self, text: &str) {
        // A failure to print is no reason to end the game.
        let _ = writeln!(io::stdout().lock(), "{}", human::wrap_lines(&plain(text), self.width));
    }

    /// All that chance did, in one line: each outcome once, with how often it came.
    fn tell_chance(&self) {
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
            self.say(&format!("chance: {}", words.join(", ")));
        }
    }

    /// What `to` is told, in words. It is not told its own moves.
    fn hear(&self, machine: &MatchMachine, to: Watcher, frame: &MatchFrame) {
        let name = |seat: u32| {
            let spec = machine.setup().game.spec();
            let agent = machine.header().seats.get(seat as usize).map(|s| s.name.as_str()).unwrap_or_default();
            format!("{} ({agent})", spec.seats.get(seat as usize).map(String::as_str).unwrap_or_default())
        };
        let event = match frame {
            MatchFrame::Event(event) => &event.kind,
            MatchFrame::MatchEnd(_) => return self.tell(&format!("\n{}\n", machine.drawing(to).trim_end())),
            _ => return,
        };
        match event {
            EventKind::Move { seat, .. } if to == Watcher::Seat(*seat as usize) => self.tell_chance(),
            EventKind::Move { seat, text, .. } => self.tell(&format!("{}: {text}", name(*seat))),
            EventKind::Chance { text, .. } => {
                self.chance.lock().push(text.clone());
            }
            EventKind::Reveal { text, .. } => self.tell(&format!("shown: {text}")),
            EventKind::Say { seat, text } => self.tell(&format!("{} says: {text}", name(*seat))),
            EventKind::Phase { phase } => self.tell(&format!("phase: {phase}")),
            EventKind::Reward { rewards } => {
                let rewards: Vec<String> = rewards.iter().map(|&r| points(r)).collect();
                self.tell(&format!("rewards: {}", rewards.join(", ")));
            }
            EventKind::Presence { .. } => {}
        }
    }
}
