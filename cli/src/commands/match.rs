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

#[derive(clap::Args)]
pub(super) struct Args {
    /// Game string, e.g. connect_four or "kuhn_poker(players=3)"
    game: String,
    /// Put an agent, e.g. random or "mcts sims=100", on a seat; give one --seat per seat, in order or as white=random
    #[arg(long = "seat", value_name = "AGENT|SEAT=AGENT")]
    seats: Vec<String>,
    /// Play this many blocks: a match per seat rotation, all on the same seed [default: 50, or at most 20000 with --sprt]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    blocks: Option<u64>,
    /// Stop once a sequential test accepts that the first agent is elo0 or elo1 points better
    #[arg(long, value_name = "elo0=X elo1=Y")]
    sprt: Option<Sprt>,
    /// Set the seed for all random choices; equal seeds give equal matches
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Write the records to this file, one JSON object per line, replacing an existing file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print one JSON document: {game, pairs, seats: [{agent, wins, draws, losses, score, mean_return}], sprt?}
    #[arg(long)]
    json: bool,
    /// Play this many matches in parallel [default: one per core; 1024 with a batched language model]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

/// Default numbers of blocks: without and with a sequential test.
const BLOCKS: [u64; 2] = [50, 20_000];

/// Results of the agent of one `--seat` over all matches.
#[derive(Default)]
struct SeatSum {
    tally: Tally,
    returns: f64,
}

/// Results of all agents over all matches.
struct Sums {
    seats: Vec<SeatSum>,
    matches: usize,
    test: Option<MatchTest>,
}

/// Sequential test of the first agent, with the agent's scores in the current block.
struct MatchTest {
    sprt: Sprt,
    test: SequentialTest,
    block: Vec<Option<f64>>,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let game = ludex_games::load(&args.game)?;
    let names = seats::parse_all(&game, &args.seats)?;
    let players = seats::players(&game, &names)?;
    if let Some(person) = players.iter().find(|p| p.spec.class() == AgentClass::Person) {
        anyhow::bail!("--seat: expected an agent, got {}; use `ludex play {:?}`", person.spec, args.game);
    }
    let table: Vec<usize> = (0..players.len()).collect();
    let test = args.sprt.map(|sprt| MatchTest::new(sprt, &game)).transpose()?;
    let count = args.blocks.unwrap_or(BLOCKS[usize::from(test.is_some())]);
    let series = Series { game, players, plan: blocks(&table, count, 0), seeds: Seeds::Open(args.seed) };
    let mut out = args.out.as_deref().map(create_file).transpose()?;
    let mut sums = Sums { seats: table.iter().map(|_| SeatSum::default()).collect(), matches: 0, test };
    let (mut failures, mut discarded) = (Vec::new(), Vec::new());
    let bar = print::progress(series.plan.len() as u64, "playing");
    series.run(args.jobs.unwrap_or(0).into(), |k, played| {
        let record = &played.record;
        let flow = sums.add(&series.plan[k].seats, record);
        if let Some((path, file)) = &mut out {
            let line = record.to_line()?;
            writeln!(file, "{line}").with_context(|| format!("{} cannot be written", path.display()))?;
        }
        if let Some(why) = played.failure {
            let counts = record.footer.reason.is_some_and(EndReason::counts);
            let list = if counts { &mut failures } else { &mut discarded };
            list.push(format!("{}: {why}", record.header.episode));
        }
        bar.inc(1);
        Ok(flow)
    })?;
    bar.finish_and_clear();
    if let Some((path, mut file)) = out {
        file.flush().with_context(|| format!("{} cannot be written", path.display()))?;
    }
    if let Some(first) = failures.first() {
        let many = print::count(failures.len(), "match was", "matches were");
        eprintln!("ludex: {many} lost because an agent failed; the first: {first}");
    }
    if let Some(first) = discarded.first() {
        let many = print::count(discarded.len(), "match was", "matches were");
        eprintln!("ludex: {many} discarded because an agent's endpoint or program failed; the first: {first}");
    }
    if args.json {
        return Ok(print::json(&document(&series, &names, &sums))?);
    }
    show(&args, &series, &names, &sums)
}

fn create_file(path: &Path) -> anyhow::Result<(&Path, BufWriter<File>)> {
    let file = File::create(path).with_context(|| format!("{} cannot be written", path.display()))?;
    Ok((path, BufWriter::new(file)))
}

impl Sums {
    /// Adds a match. Returns `Break` once the test is decided.
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
            Some(test) => test.add(seats, record),
            None => ControlFlow::Continue(()),
        }
    }
}

impl MatchTest {
    fn new(sprt: Sprt, game: &GameRef) -> anyhow::Result<Self> {
        let spec = game.spec();
        anyhow::ensure!(
            spec.players == 2 && is_competitive(&**game),
            "--sprt: expected a competitive game with two seats, got {}",
            spec.string
        );
        Ok(MatchTest { sprt, test: SequentialTest::new(sprt, 2), block: Vec::new() })
    }

    /// Adds a match. Updates the test if the match completes its block. A block is skipped if one of its matches does
    /// not count.
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

    fn describe(&self) -> String {
        let Sprt { elo0, elo1, .. } = self.sprt;
        let [low, high] = self.sprt.bounds().map(|bound| number(bound, 2));
        let what = match self.test.decision() {
            Some(SprtDecision::Elo1) => {
                format!("elo1 is accepted: the first agent is about {elo1} points better, or more")
            }
            Some(SprtDecision::Elo0) => {
                format!("elo0 is accepted: the first agent is about {elo0} points better, or less")
            }
            None => "undecided; more blocks are needed (--blocks)".to_owned(),
        };
        let count = print::count(self.test.blocks() as usize, "block", "blocks");
        format!("sprt {}: {what}; LLR {} after {count}, bounds {low} and {high}", self.sprt, number(self.test.llr(), 2))
    }
}

fn document(series: &Series, names: &[String], sums: &Sums) -> Value {
    let matches = sums.matches as f64;
    let seat = |(agent, sum): (&String, &SeatSum)| {
        let Tally { wins, draws, losses } = sum.tally;
        json!({
            "agent": agent.trim(), "wins": wins, "draws": draws, "losses": losses,
            "score": sum.tally.score().map(|s| s.value), "mean_return": sum.returns / matches,
        })
    };
    let seats: Vec<Value> = names.iter().zip(&sums.seats).map(seat).collect();
    let pairs = sums.matches / names.len();
    let mut document = json!({ "game": series.game.spec().string, "pairs": pairs, "seats": seats });
    if let Some(test) = &sums.test {
        document["sprt"] = test.document();
    }
    document
}

fn show(args: &Args, series: &Series, names: &[String], sums: &Sums) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    let matches = sums.matches;
    let count = print::count(matches / names.len(), "block", "blocks");
    let played = print::count(matches, "match", "matches");
    writeln!(out, "{}: {count}, {played}, seed {}", series.game.spec().string, args.seed)?;
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
    if let Some(test) = &sums.test {
        writeln!(out, "{}", test.describe())?;
        writeln!(out, "after a sequential test, scores are biased to the accepted side and intervals are not at 95 %")?;
    }
    if let Some(path) = &args.out {
        let path = path.display();
        writeln!(out, "records: {path} (`ludex rate --unrated {path}` rates them)")?;
    }
    Ok(())
}
