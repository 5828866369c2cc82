//! `ludex match`.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use ludex_agents::AgentClass;
use ludex_protocol::record::{Outcome, Reason, Record};
use ludex_referee::rating::table::Tally;
use ludex_referee::schedule::{Seeds, blocks};
use serde_json::{Value, json};

use super::print::{self, number};
use super::seats;
use ludex_play::local::Series;

/// What `ludex match` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The game, e.g. connect_four or "kuhn_poker(players=3)"
    game: String,
    /// An agent, e.g. random or "mcts sims=100"; one --seat for each seat, in order or as SEAT=AGENT, e.g. white=random
    #[arg(long = "seat", value_name = "AGENT|SEAT=AGENT")]
    seats: Vec<String>,
    /// Pairs of matches on one seed with seats swapped (with n seats, n matches each)
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pairs: u64,
    /// Seed of everything random; the same seed gives the same matches
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Write the episode records to this file, one JSON object per line; an existing file is replaced
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print one JSON document: {game, pairs, seats: [{agent, wins, draws, losses, score, mean_return}]}
    #[arg(long)]
    json: bool,
    /// Matches at a time [default: one for each core]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

/// What one `--seat` did over all matches.
#[derive(Default)]
struct Sum {
    tally: Tally,
    returns: f64,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let game = ludex_env::load(&args.game)?;
    let names = seats::all(&game, &args.seats)?;
    let players = seats::players(&game, &names)?;
    if let Some(person) = players.iter().find(|p| p.spec.class() == AgentClass::Person) {
        anyhow::bail!("{} cannot play in `ludex match`; use `ludex play {:?}`", person.spec, args.game);
    }
    let table: Vec<usize> = (0..players.len()).collect();
    let series = Series { game, players, plan: blocks(&table, args.pairs, 0), seeds: Seeds::Open(args.seed) };
    let mut out = args.out.as_deref().map(create).transpose()?;
    let mut sums: Vec<Sum> = table.iter().map(|_| Sum::default()).collect();
    let (mut failures, mut spoiled) = (Vec::new(), Vec::new());
    let bar = print::progress(series.plan.len() as u64, "playing");
    series.run(args.jobs.unwrap_or(0).into(), |k, played| {
        let record = &played.record;
        add(&mut sums, &series.plan[k].seats, record);
        if let Some((path, file)) = &mut out {
            let line = record.to_line()?;
            writeln!(file, "{line}").with_context(|| format!("{} cannot be written", path.display()))?;
        }
        if let Some(why) = played.failure {
            let counts = record.footer.reason.is_some_and(Reason::counts);
            let list = if counts { &mut failures } else { &mut spoiled };
            list.push(format!("{}: {why}", record.header.episode));
        }
        bar.inc(1);
        Ok(())
    })?;
    bar.finish_and_clear();
    if let Some((path, mut file)) = out {
        file.flush().with_context(|| format!("{} cannot be written", path.display()))?;
    }
    if let Some(first) = failures.first() {
        let many = print::count(failures.len(), "match was", "matches were");
        eprintln!("ludex: {many} lost because an agent failed; the first: {first}");
    }
    if let Some(first) = spoiled.first() {
        let many = print::count(spoiled.len(), "match was", "matches were");
        eprintln!("ludex: {many} not counted because an agent's endpoint or program failed; the first: {first}");
    }
    if args.json {
        return Ok(print::json(&document(&args, &series, &names, &sums))?);
    }
    show(&args, &series, &names, &sums)
}

fn create(path: &Path) -> anyhow::Result<(&Path, BufWriter<File>)> {
    let file = File::create(path).with_context(|| format!("{} cannot be written", path.display()))?;
    Ok((path, BufWriter::new(file)))
}

/// Adds a match to the sums of its players.
fn add(sums: &mut [Sum], seats: &[usize], record: &Record) {
    for (seat, &player) in seats.iter().enumerate() {
        let sum = &mut sums[player];
        match record.footer.outcome.get(seat) {
            Some(Outcome::Win) => sum.tally.wins += 1,
            Some(Outcome::Draw) => sum.tally.draws += 1,
            Some(Outcome::Loss) => sum.tally.losses += 1,
            Some(Outcome::None) | None => {}
        }
        sum.returns += record.footer.returns.get(seat).copied().unwrap_or(0.0);
    }
}

fn document(args: &Args, series: &Series, names: &[String], sums: &[Sum]) -> Value {
    let matches = series.plan.len() as f64;
    let seat = |(agent, sum): (&String, &Sum)| {
        let Tally { wins, draws, losses } = sum.tally;
        json!({
            "agent": agent.trim(), "wins": wins, "draws": draws, "losses": losses,
            "score": sum.tally.score().map(|s| s.value), "mean_return": sum.returns / matches,
        })
    };
    let seats: Vec<Value> = names.iter().zip(sums).map(seat).collect();
    json!({ "game": series.game.spec().string, "pairs": args.pairs, "seats": seats })
}

fn show(args: &Args, series: &Series, names: &[String], sums: &[Sum]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    let matches = series.plan.len();
    let pairs = print::count(args.pairs as usize, "pair", "pairs");
    writeln!(out, "{}: {pairs}, {matches} matches, seed {}", series.game.spec().string, args.seed)?;
    let head = ["agent", "wins", "draws", "losses", "score", "95 %", "mean return"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (agent, sum) in names.iter().zip(sums) {
        let score = sum.tally.score();
        rows.push(vec![
            agent.trim().to_owned(),
            sum.tally.wins.to_string(),
            sum.tally.draws.to_string(),
            sum.tally.losses.to_string(),
            score.map_or_else(|| "-".into(), |s| number(s.value, 3)),
            score.map_or_else(|| "-".into(), |s| format!("{} to {}", number(s.low, 3), number(s.high, 3))),
            number(sum.returns / matches as f64, 3),
        ]);
    }
    print::table(&mut out, &rows, |k| k > 0)?;
    if let Some(path) = &args.out {
        let path = path.display();
        writeln!(out, "records: {path} (`ludex rate --unrated {path}` rates them)")?;
    }
    Ok(())
}
