//! Benchmark of record verification, per game: parses and verifies records of random matches on all cores, as
//! `ludex verify` does.
//!
//! `cargo bench -p ludex-play --bench verify [-- GAME...]`. Each game takes about `LUDEX_BENCH_SECONDS` seconds
//! (default: 1).

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use ludex_games::{games, load};
use ludex_play::local::{Participant, Series};
use ludex_referee::Verifier;
use ludex_referee::read::{RawLine, Source};
use ludex_referee::schedule::{Seeds, blocks};

/// Maximum number of records per game.
const RECORDS: usize = 2_000;
const MADE: Duration = Duration::from_millis(500);

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let seconds = std::env::var("LUDEX_BENCH_SECONDS").ok().map_or(1.0, |text| text.parse().expect("seconds"));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("{cores} cores; a step is a move or a chance outcome");
    println!("{:<28}{:>14}{:>16}{:>14}{:>12}", "game", "steps/episode", "bytes/episode", "episodes/s", "steps/s");
    for entry in games().iter().filter(|entry| wanted.is_empty() || wanted.iter().any(|id| id == entry.info.id)) {
        let Records { lines, steps } = records(entry.info.id);
        let bytes: usize = lines.iter().map(|line| line.text.len()).sum();
        let verifier = Verifier::new(ludex_games::builtin());
        let (mut rounds, mut spent) = (0_u32, Duration::ZERO);
        while spent.as_secs_f64() < seconds {
            let again: Vec<_> = lines.iter().cloned().map(Ok).collect();
            let (mut good, from) = (0, Instant::now());
            verifier.verify_stream(again, |_, _| true, |judged| good += usize::from(judged.is_ok()));
            spent += from.elapsed();
            rounds += 1;
            assert_eq!(good, lines.len(), "{}: a record failed verification", entry.info.id);
        }
        let (each, all) = (lines.len() as f64, f64::from(rounds) / spent.as_secs_f64());
        let (length, size) = (steps as f64 / each, bytes as f64 / each);
        println!("{:<28}{length:>14.1}{size:>16.0}{:>14.0}{:>12.0}", entry.info.id, each * all, steps as f64 * all);
    }
}

struct Records {
    lines: Vec<RawLine>,
    steps: usize,
}

/// Plays random matches and returns their records.
fn records(id: &str) -> Records {
    let game = load(id).expect("a built-in game");
    let seat = || Participant::new("random", &game).expect("random plays every game");
    let players: Vec<Participant> = (0..game.spec().players).map(|_| seat()).collect();
    let table: Vec<usize> = (0..players.len()).collect();
    let series = Series { plan: blocks(&table, RECORDS as u64, 0), game, players, seeds: Seeds::Open(1) };
    let (mut out, from) = (Records { lines: Vec::new(), steps: 0 }, Instant::now());
    let kept = series.run(0, |_, played| {
        let source = Source { file: id.to_owned(), line: out.lines.len() + 1 };
        out.lines.push(RawLine { source, episode: None, text: played.record.to_line()? });
        out.steps += played.record.events.len();
        let enough = out.lines.len() >= RECORDS || from.elapsed() > MADE;
        Ok(if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    });
    kept.expect("records");
    out
}
