//! `ludex tournament`.

mod tables;
mod trial;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::ValueEnum;
use ludex_agents::Kind;
use ludex_env::{GameRef, load};
use ludex_protocol::record::Record;
use ludex_protocol::spec::Utility;
use ludex_referee::Report;
use ludex_referee::report::About;
use ludex_referee::scale::Options;
use ludex_referee::suite::plan::{Block, seeds};
use ludex_referee::suite::{Policy, Suite, is_word};
use ludex_referee::tournament::Format;

use super::{print, report};
use ludex_play::local::Seated;
use ludex_play::named;
use ludex_play::runs::Table;
use ludex_play::runs::event::{Event, NAME, PART, Terms};
use ludex_play::runs::folder::{Folder, Look, path_of, read_settings};
use ludex_play::runs::play::{Budget, End, News, Play, results};
use ludex_play::runs::settings::{self, AgentId, RunSeeds, Settings, SuiteId};
use ludex_play::runs::summary::verified;
use tables::Outcome;
use trial::{Trial, try_all};

/// What `ludex tournament` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Who takes part: a folder of bots, or a file such as agents.toml
    #[arg(long, value_name = "FILE|DIR")]
    agents: PathBuf,
    /// The game, e.g. connect_four or "kuhn_poker(players=3)"
    #[arg(long)]
    game: String,
    /// How it is played
    #[arg(long, value_enum)]
    format: Shape,
    /// Rounds of a swiss [default: ceil(log2 entrants) + 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    rounds: Option<u64>,
    /// Seeds for each meeting
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    blocks: u64,
    /// So many matches that an entrant's own failures ended put it out; 0: none does
    #[arg(long, value_name = "N", default_value_t = 3)]
    strikes: u64,
    /// Seconds by the clock for a move, beside the limits of programs [default: 30, with a language model 300]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    move_seconds: Option<u64>,
    /// Name of the run: small letters, digits, _ and -; the same line again goes on [default: the game and the format]
    #[arg(long, value_name = "NAME")]
    run: Option<String>,
    /// Where runs are
    #[arg(long, value_name = "DIR", default_value = "./ludex-data")]
    data: PathBuf,
    /// Matches at a time; of two programs in a match one thinks at a time [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Seed of the draws and of the games
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    seed: u64,
    /// Try the entrants, say how long the tournament will take, and play nothing
    #[arg(long)]
    estimate: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// A format as it is typed.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Shape {
    /// Every pair in one match
    RoundRobin,
    /// Every pair on one seed with the seats swapped
    DoubleRoundRobin,
    /// Those with equally many points, round by round
    Swiss,
    /// Newcomers challenge their way up the table
    Ladder,
}

impl Shape {
    fn format(self, rounds: Option<u64>, entrants: usize) -> anyhow::Result<Format> {
        anyhow::ensure!(rounds.is_none() || self == Shape::Swiss, "--rounds is for --format swiss");
        Ok(match self {
            Shape::RoundRobin => Format::RoundRobin,
            Shape::DoubleRoundRobin => Format::DoubleRoundRobin,
            Shape::Swiss => rounds.map_or_else(|| Format::swiss(entrants), |rounds| Format::Swiss { rounds }),
            Shape::Ladder => Format::Ladder,
        })
    }
}

/// Blocks that each thread plays before the tournament looks who is out; it waits for the last of them.
const WAVE: usize = 16;

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let game = load(&args.game)?;
    let spec = game.spec();
    if spec.utility == Utility::Identical {
        bail!("in {} all seats win or lose together: there is nobody to beat", spec.string);
    }
    let agents = named::read(&args.agents)?;
    let run = args.run.clone().unwrap_or_else(|| format!("{}-{}", spec.game, name_of(args.format)));
    anyhow::ensure!(is_word(&run), "--run {run:?}: small letters, digits, _ and -");
    let jobs = args.jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    let limit = args.move_seconds.unwrap_or(if agents.entries.iter().any(is_model) { 300 } else { 30 });
    let path = std::path::absolute(path_of(&args.data, &run))?;
    let begun = path.join("run.json").exists() && !args.estimate;
    // Terms that make no tournament are refused before anybody is tried.
    let mut terms = Terms {
        game: spec.string.clone(),
        blocks: args.blocks,
        seed: args.seed,
        strikes: args.strikes,
        format: args.format.format(args.rounds, agents.entries.len())?,
        policy: Policy { skip_forced: false, limit_s: limit, ..Policy::default() },
        left_out: BTreeMap::new(),
    };
    let names: Vec<String> = agents.entries.iter().map(|entry| entry.name.clone()).collect();
    let seats = spec.players as usize;
    Event::new(&run, &terms, &names, seats)?;

    // Programs are compiled beside the run, so that records name what played.
    let temporary = tempfile::tempdir().context("no folder to compile in can be made")?;
    let bots = if args.estimate { temporary.path().to_owned() } else { path.join("bots") };
    let mut specs: BTreeMap<String, String> = BTreeMap::new();
    let trials = if begun {
        terms.left_out = Terms::parse(&fs::read_to_string(path.join("suite.toml"))?)?.left_out;
        let was = read_settings(&path)?.agents.into_iter();
        specs.extend(was.filter(|a| terms.left_out.contains_key(&a.name)).map(|a| (a.name, a.spec)));
        let made = |entry| trial::make(entry, &game, &bots);
        let entries = agents.entries.iter().filter(|entry| !terms.left_out.contains_key(&entry.name));
        entries
            .map(|entry| Ok(Trial::untried(entry, made(entry).map_err(anyhow::Error::msg)?)))
            .collect::<anyhow::Result<_>>()?
    } else {
        try_all(&agents, &game, &bots, jobs, Duration::from_secs(limit))?
    };
    let (players, failed): (Vec<Trial>, Vec<Trial>) = trials.into_iter().partition(|trial| trial.player.is_ok());
    for Trial { name, player, .. } in &failed {
        let Err(why) = player else { continue };
        eprintln!("ludex: {name} is left out: {}", why.replace('\n', "\n    "));
        terms.left_out.insert(name.clone(), why.clone());
    }
    let event = Event::new(&run, &terms, &names, seats)?;
    if !begun {
        let estimate = trial::Estimate::of(&terms, &event, &players, seats, jobs)?;
        if args.estimate {
            return estimate.tell(&args, &failed);
        }
        eprintln!("ludex: {estimate}");
    }
    let playing: BTreeMap<usize, Seated> = players
        .into_iter()
        .filter_map(|trial| Some((names.iter().position(|name| *name == trial.name)?, trial.player.ok()?)))
        .collect();
    let id = |(who, name): (usize, &String)| AgentId {
        name: name.clone(),
        spec: playing.get(&who).map(|p| p.spec.to_string()).or_else(|| specs.remove(name)).unwrap_or_default(),
        program: playing.get(&who).map(|p| settings::program(&p.spec)).unwrap_or_default(),
        candidate: true,
        variant: false,
    };
    let ids = names.iter().enumerate().map(id).collect();
    let text = terms.text()?;
    let settings = settings(&run, &game, &text, ids, args.seed);
    let (folder, past) = Folder::open(&args.data, &settings, &text)?;
    let table = Table {
        id: PART.into(),
        game: game.clone(),
        policy: terms.policy.clone(),
        seeds: seeds(NAME, args.seed, PART, None),
        players: playing,
    };
    let before = past.records.len();
    let wave = |_: &[Record], mut due: Vec<Block>| {
        due.truncate(jobs * WAVE);
        Ok(due)
    };
    let tables = [table];
    let budget = Budget::default();
    let alive = || Ok(());
    let play = Play { folder: &folder, schedule: &event, tables: &tables, jobs, budget, wanted: &wave, alive: &alive };
    let most = event.tournament.blocks_at_most().saturating_mul(event.tournament.matches_of_block());
    let bar = print::progress(most, "playing");
    bar.set_position(before as u64);
    let (end, records) = play.run(past, |news| {
        if let News::Match(_) = news {
            bar.inc(1);
        }
    })?;
    bar.finish_and_clear();
    // Nobody is playing any more.
    drop(folder);
    let about = About {
        title: format!("{}: {} of {}", spec.title, name_of(args.format), names.len()),
        command: format!("ludex report {}", path.join("episodes.jsonl").display()),
        secret: None,
    };
    let report = Report::build(&verified(&records)?, Vec::new(), Options::default(), about);
    let files = report::write(&report, &path)?;
    let look = Look::at(&path)?;
    let outcome = Outcome::of(&look, &event, &terms);
    if args.json {
        print::json(&outcome.document(&files, records.len() - before))?;
    } else {
        outcome.show(&mut io::stdout().lock())?;
    }
    match end {
        End::Infrastructure(why) => bail!(
            "stopped, since one match after the other failed; nothing of them counts, and the same line goes on: {why}"
        ),
        End::Done | End::Budget(_) => Ok(()),
    }
}

/// `ludex status` of a tournament: its table as it stands.
pub(super) fn status(look: &Look, as_json: bool) -> anyhow::Result<()> {
    let terms = Terms::parse(&look.suite)?;
    let names: Vec<String> = look.settings.agents.iter().map(|agent| agent.name.clone()).collect();
    let seats = load(&terms.game)?.spec().players as usize;
    let event = Event::new(&look.settings.run, &terms, &names, seats)?;
    let outcome = Outcome::of(look, &event, &terms);
    if as_json {
        return Ok(print::json(&outcome.document(&[], 0))?);
    }
    Ok(outcome.show(&mut io::stdout().lock())?)
}

fn name_of(shape: Shape) -> String {
    shape.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

fn is_model(entry: &named::Entry) -> bool {
    matches!(&entry.source, named::Source::Spec(spec) if spec.kind() == Kind::Model)
}

fn settings(run: &str, game: &GameRef, text: &str, agents: Vec<AgentId>, seed: u64) -> Settings {
    let spec = game.spec();
    Settings {
        ludex: ludex_play::PROGRAM.into(),
        run: run.to_owned(),
        kind: settings::Kind::Tournament,
        suite: SuiteId { name: NAME.into(), version: 1, digest: Suite::digest(text) },
        agents,
        seeds: RunSeeds::Open(seed),
        scale: 1.0,
        games: BTreeMap::from([(spec.string.clone(), spec.hash.clone())]),
        prompts: BTreeMap::new(),
        begun: ludex_play::time::now_text(),
    }
}
