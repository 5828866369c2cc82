//! Verifies and rates a file of records while it is read, and prints the throughput:
//! `cargo run --release -p ludex-report --example rate -- FILE [--whole]`.
//!
//! With `--whole`, the file is first read into memory as JSON values, which is slower and must give the same result.

use std::fs::File;
use std::io::BufReader;
use std::time::Instant;

use ludex_referee::read::{raw_lines, read_file};
use ludex_referee::{GameResult, Verifier};
use ludex_report::rate;
use ludex_report::scale::RatingOptions;

fn main() -> std::io::Result<()> {
    let mut args = std::env::args().skip(1);
    let file = args.next().unwrap_or_else(|| "episodes.jsonl".into());
    let (verifier, start) = (Verifier::new(ludex_games::builtin()), Instant::now());
    let (mut results, mut refused): (Vec<GameResult>, usize) = (Vec::new(), 0);
    if args.next().as_deref() == Some("--whole") {
        let lines = read_file(file.as_ref())?;
        let (good, untrue) = verifier.verify_all(&lines.found);
        refused = lines.refused.len() + untrue.len();
        results.extend(good.into_iter().map(|verified| verified.into_result()));
    } else {
        let lines = raw_lines(&file, BufReader::with_capacity(1 << 20, File::open(&file)?));
        verifier.verify_stream(
            lines,
            |_, _| true,
            |judged| match judged {
                Ok(result) => results.push(result),
                Err(_) => refused += 1,
            },
        );
    }
    let verified = start.elapsed().as_secs_f64();
    println!("{} verified, {refused} refused: {:.0} records/s", results.len(), results.len() as f64 / verified);
    let start = Instant::now();
    for scale in rate(&results, &RatingOptions { unrated: true, ..RatingOptions::default() }) {
        for agent in &scale.agents {
            println!("{} {:?} {:?} {:?}", agent.name, agent.rating, agent.low, agent.high);
        }
    }
    println!("rated in {:.3} s", start.elapsed().as_secs_f64());
    Ok(())
}
