//! `ludex match`.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use ludex_agents::AgentClass;
use ludex_env::GameRef;
use ludex_protocol::record::{EndReason, Outcome, Record};
use ludex_referee::outcome::is_competitive;
use ludex_referee::rating::table::Tally;
use ludex_referee::schedule::{Seeds, blocks};
use ludex_report::power::{SequentialTest, Sprt, SprtDecision};
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
    /// Pairs of matches on one seed with seats swapped (with n seats, n matches each); the most that --sprt plays [default: 50, with --sprt 20000]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pairs: Option<u64>,
    /// Test after each pair whether the first agent is elo0 or elo1 points better, and stop when it is decided
    #[arg(long, value_name = "elo0=X elo1=Y")]
    sprt: Option<Sprt>,
    /// Seed of everything random; the same seed gives the same matches
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Write the episode records to this file, one JSON object per line; an existing file is replaced
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print one JSON document: {game, pairs, seats: [{agent, wins, draws, losses, score, mean_return}], sprt?}
    #[arg(long)]
    json: bool,
    /// Matches at a time [default: one for each core; 1024 with a language model that is asked in batches]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

/// Pairs that are played if nobody says how many, and the most that a test plays.
const PAIRS: [u64; 2] = [50, 20_000];

/// What one `--seat` did over all matches.
#[derive(Default)]
struct Sum {
    tally: Tally,
    returns: f64,
}

/// Everything that is counted while matches are played.
struct Sums {
    seats: Vec<Sum>,
    matches: usize,
    test: Option<Tested>,
}

/// A test, and the scores of the first agent in the block that is being played.
struct Tested {
    sprt: Sprt,
    test: SequentialTest,
    block: Vec<Option<f64>>,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let game = ludex_games::load(&args.game)?;
    let names = seats::all(&game, &args.seats)?;
    let players = seats::players(&game, &names)?;
    if let Some(person) = players.iter().find(|p| p.spec.class() == AgentClass::Person) {
        anyhow::bail!("{} cannot play in `ludex match`; use `ludex play {:?}`", person.spec, args.game);
    }
    let table: Vec<usize> = (0..players.len()).collect();
    let test = args.sprt.map(|sprt| Tested::new(sprt, &game)).transpose()?;
    let pairs = args.pairs.unwrap_or(PAIRS[usize::from(test.is_some())]);
    let series = Series { game, players, plan: blocks(&table, pairs, 0), seeds: Seeds::Open(args.seed) };
    let mut out = args.out.as_deref().map(create).transpose()?;
    let mut sums = Sums { seats: table.iter().map(|_| Sum::default()).collect(), matches: 0, test };
    let (mut failures, mut spoiled) = (Vec::new(), Vec::new());
    let bar = print::progress(series.plan.len() as u64, "playing");
    series.run(args.jobs.unwrap_or(0).into(), |k, played| {
        let record = &played.record;
        let course = sums.add(&series.plan[k].seats, record);
        if let Some((path, file)) = &mut out {
            let line = record.to_line()?;
            writeln!(file, "{line}").with_context(|| format!("{} cannot be written", path.display()))?;
        }
        if let Some(why) = played.failure {
            let counts = record.footer.reason.is_some_and(EndReason::counts);
            let list = if counts { &mut failures } else { &mut spoiled };
            list.push(format!("{}: {why}", record.header.episode));
        }
        bar.inc(1);
        Ok(course)
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
        return Ok(print::json(&document(&series, &names, &sums))?);
    }
    show(&args, &series, &names, &sums)
}

fn create(path: &Path) -> anyhow::Result<(&Path, BufWriter<File>)> {
    let file = File::create(path).with_context(|| format!("{} cannot be written", path.display()))?;
    Ok((path, BufWriter::new(file)))
}

impl Sums {
    /// Adds a match to the sums of its players; breaks where the test is decided.
    fn add(&mut self, seats: &[usize], record: &Record) -> ControlFlow<()> {
        self.matches += 1;
        for (seat, &player) in seats.iter().enumerate() {
            let sum = &mut self.seats[player];
            match record.footer.outcome.get(seat) {
                Some(Outcome::Win) => sum.tally.wins += 1,
                Some(Outcome::Draw) => sum.tally.draws += 1,
                Some(Outcome::Loss) => sum.tally.losses += 1,
                Some(Outcome::None) | None => {}
            }
            sum.returns += record.footer.returns.get(seat).copied().unwrap_or(0.0);
        }
        match &mut self.test {
            Some(tested) => tested.add(seats, record),
            None => ControlFlow::Continue(()),
        }
    }
}

impl Tested {
    fn new(sprt: Sprt, game: &GameRef) -> anyhow::Result<Self> {
        let spec = game.spec();
        anyhow::ensure!(
            spec.players == 2 && is_competitive(&**game),
            "--sprt tests which of two agents beats the other, and {} is not a game of two who fight",
            spec.string
        );
        Ok(Tested { sprt, test: SequentialTest::new(sprt, 2), block: Vec::new() })
    }

    /// Takes a match; a block that is whole is tested. A block with a match that does not count is left out.
    fn add(&mut self, seats: &[usize], record: &Record) -> ControlFlow<()> {
        let own = seats.iter().position(|&player| player == 0).and_then(|seat| record.footer.outcome.get(seat));
        let score = match own {
            Some(Outcome::Win) => Some(1.0),
            Some(Outcome::Draw) => Some(0.5),
            Some(Outcome::Loss) => Some(0.0),
            Some(Outcome::None) | None => None,
        };
        self.block.push(score.filter(|_| record.footer.reason.is_some_and(EndReason::counts)));
        let [first, second] = self.block[..] else { return ControlFlow::Continue(()) };
        self.block.clear();
        if let Some((first, second)) = first.zip(second) {
            self.test.add(f64::midpoint(first, second));
        }
        if self.test.decision().is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn document(&self) -> Value {
        json!({
            "test": self.sprt, "bounds": self.sprt.bounds(), "llr": self.test.llr(), "pairs": self.test.blocks(),
            "accepted": self.test.decision(),
        })
    }

    /// The result in words.
    fn told(&self) -> String {
        let Sprt { elo0, elo1, .. } = self.sprt;
        let [low, high] = self.sprt.bounds().map(|bound| number(bound, 2));
        let what = match self.test.decision() {
            Some(SprtDecision::Elo1) => {
                format!("elo1 is accepted: the first agent is about {elo1} points better, or more")
            }
            Some(SprtDecision::Elo0) => {
                format!("elo0 is accepted: the first agent is about {elo0} points better, or less")
            }
            None => "not decided; more pairs are needed (--pairs)".to_owned(),
        };
        let pairs = print::count(self.test.blocks() as usize, "pair", "pairs");
        format!("sprt {}: {what}; LLR {} after {pairs}, bounds {low} and {high}", self.sprt, number(self.test.llr(), 2))
    }
}

fn document(series: &Series, names: &[String], sums: &Sums) -> Value {
    let matches = sums.matches as f64;
    let seat = |(agent, sum): (&String, &Sum)| {
        let Tally { wins, draws, losses } = sum.tally;
        json!({
            "agent": agent.trim(), "wins": wins, "draws": draws, "losses": losses,
            "score": sum.tally.score().map(|s| s.value), "mean_return": sum.returns / matches,
        })
    };
    let seats: Vec<Value> = names.iter().zip(&sums.seats).map(seat).collect();
    let pairs = sums.matches / names.len();
    let mut document = json!({ "game": series.game.spec().string, "pairs": pairs, "seats": seats });
    if let Some(tested) = &sums.test {
        document["sprt"] = tested.document();
    }
    document
}

fn show(args: &Args, series: &Series, names: &[String], sums: &Sums) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    let matches = sums.matches;
    let pairs = print::count(matches / names.len(), "pair", "pairs");
    writeln!(out, "{}: {pairs}, {matches} matches, seed {}", series.game.spec().string, args.seed)?;
    let head = ["agent", "wins", "draws", "losses", "score", "95 %", "mean return"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (agent, sum) in names.iter().zip(&sums.seats) {
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
    if let Some(tested) = &sums.test {
        writeln!(out, "{}", tested.told())?;
        writeln!(
            out,
            "a score at the end of such a test leans to the side that was accepted; its interval is not one of 95 %"
        )?;
    }
    if let Some(path) = &args.out {
        let path = path.display();
        writeln!(out, "records: {path} (`ludex rate --unrated {path}` rates them)")?;
    }
    Ok(())
}
