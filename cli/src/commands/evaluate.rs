//! `ludex evaluate`.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use ludex_agents::{AgentClass, AgentSpec, llm};
use ludex_protocol::record::Record;
use ludex_referee::Report;
use ludex_referee::report::About;
use ludex_referee::scale::Options;
use ludex_referee::suite::Suite;
use ludex_referee::suite::plan::{Block, Plan};
use serde_json::json;

use super::print::{self, number};
use super::report;
use ludex_play::named;
use ludex_play::runs::estimate::{self, Cost, Estimate, Known};
use ludex_play::runs::folder::{Folder, Look};
use ludex_play::runs::play::{Budget, End, News, Play, results};
use ludex_play::runs::settings::{RunSeeds, Settings};
use ludex_play::runs::summary::{Group, Row, counting, groups, rows, verified, widths};
use ludex_play::runs::tables;

/// What `ludex evaluate` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Who is evaluated: an agent, or the name of one that `ludex agents add` knows; several for several
    #[arg(long = "agent", value_name = "AGENT", required = true)]
    agents: Vec<String>,
    /// A suite that comes along (quick, absolute, reference), or a file
    #[arg(long, value_name = "NAME|FILE")]
    suite: String,
    /// Name of the run: small letters, digits, _ and -; the same line again goes on
    #[arg(long, value_name = "NAME", required_unless_present = "estimate")]
    run: Option<String>,
    /// Where runs and named agents are
    #[arg(long, value_name = "DIR", default_value = "./ludex-data")]
    data: PathBuf,
    /// Play nothing; say how many matches, calls, tokens, dollars and hours it will take, and how wide the interval will be
    #[arg(long)]
    estimate: bool,
    /// Stop between pairs when this is used up; several times for several
    #[arg(long, value_name = "usd=X|games=N|tokens=N|hours=H")]
    budget: Vec<String>,
    /// Stop a part when the 95 % interval of the rating is as narrow as plus or minus this many points
    #[arg(long, value_name = "POINTS")]
    ci: Option<f64>,
    /// Play this share of the suite, at least a block of each pairing: 0.05 for a taste
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    scale: f64,
    /// Seeds under a secret that is published with the report, instead of those that everybody plays
    #[arg(long, value_name = "HEX")]
    secret: Option<String>,
    /// For --estimate: an agent that plays about as well [default: once random, once the middle of the ladder]
    #[arg(long, value_name = "AGENT", requires = "estimate")]
    like: Option<String>,
    /// Matches at a time [default: 8 with a language model, else one for each core]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Rounds of blocks that are played before the intervals are looked at again.
const ROUNDS: u64 = 4;

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    anyhow::ensure!((1e-6..=100.0).contains(&args.scale), "--scale is a number above 0 and at most 100, such as 0.05");
    let text = suite_text(&args.suite)?;
    let suite = Suite::parse(&text).with_context(|| format!("the suite {} cannot be used", args.suite))?;
    let (candidates, known) = candidates(&args.agents, &args.data)?;
    let plan = Plan::new(suite, &candidates, args.scale)?;
    let seeds = match &args.secret {
        Some(text) => {
            let bytes = hex::decode(text).ok().filter(|bytes| !bytes.is_empty());
            bytes.context("--secret takes bytes in hex, such as 00ff12; 32 digits are plenty")?;
            RunSeeds::Secret(text.clone())
        }
        None => RunSeeds::Open(plan.suite.seed),
    };
    let budget = budget(&args.budget)?;
    let tables = tables(&plan, seeds.secret().as_deref())?;
    let model = candidates.iter().any(|(_, spec)| is_model(spec));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = args.jobs.map_or(if model { 8 } else { cores }, usize::from);
    if args.estimate {
        let estimate = estimate::of(&plan, &tables, &known, args.like.as_deref(), jobs)?;
        return if args.json {
            Ok(print::json(&json!(estimate))?)
        } else {
            Ok(show_estimate(&estimate, &mut io::stdout().lock())?)
        };
    }
    let name = args.run.clone().unwrap_or_default();
    anyhow::ensure!(ludex_referee::suite::is_word(&name), "--run {name:?}: small letters, digits, _ and -");
    let settings = Settings::of_plan(&name, &plan, &text, seeds, args.scale)?;
    let (folder, past) = Folder::open(&args.data, &settings, &text)?;
    if model && budget.usd.is_some() && past.usage.unpriced == past.usage.calls && !priced(&candidates) {
        bail!("--budget usd= needs prices: give the agent price_in and price_out (dollars a million tokens)");
    }
    let (done, _) = results(&name, &plan, &past.records);
    if !plan.next(&done).is_empty() {
        hello(&plan, &folder).context("nothing was played")?;
    }
    let before = past.records.len();
    let wanted = |records: &[Record], due: Vec<Block>| wanted(&name, &plan, args.ci, records, due);
    let alive = || hello(&plan, &folder);
    let play = Play { folder: &folder, schedule: &plan, tables: &tables, jobs, budget, wanted: &wanted, alive: &alive };
    let bar = print::progress(plan.matches_at_most(), "playing");
    let (end, records) = play.run(past, |news| match news {
        News::Due(n) => bar.set_length(bar.position() + n as u64),
        News::Match(_) => bar.inc(1),
    })?;
    bar.finish_and_clear();
    let outcome = Outcome { plan: &plan, folder: &folder, records: &records, played: records.len() - before };
    outcome.tell(&args, &end)
}

/// The text of a suite that comes along, or of a file.
fn suite_text(name: &str) -> anyhow::Result<String> {
    let path = Path::new(name);
    if path.extension().is_some() || path.exists() {
        return fs::read_to_string(path).with_context(|| format!("the suite {name} cannot be read"));
    }
    Ok(Suite::named(name)?.to_owned())
}

/// Names and specs of those who are evaluated, and what is known of their calls.
fn candidates(agents: &[String], data: &Path) -> anyhow::Result<(Vec<(String, String)>, Known)> {
    let named = named::of_data(data)?;
    let mut out: Vec<(String, String)> = Vec::new();
    let mut known = Known::new();
    for text in agents {
        let (name, spec) = named.resolve(text, &data.join("programs"))?;
        // A model without a name is the same one however it is called.
        let name = if name == spec.to_string() { llm::essence(&spec).to_string() } else { name };
        anyhow::ensure!(out.iter().all(|(other, _)| *other != name), "{name} is named twice");
        if let Some(measured) = named.find(&name).and_then(|entry| entry.measured.clone()) {
            known.insert(out.len(), measured);
        }
        out.push((name, spec.to_string()));
    }
    Ok((out, known))
}

/// Asks every endpoint for a word before anything is played, so that a wrong URL, key or model costs no match.
fn hello(plan: &Plan, folder: &Folder) -> anyhow::Result<()> {
    for entrant in plan.agents.iter().filter(|e| e.variant.is_none() && is_model(&e.spec)) {
        let told = llm::hello(&AgentSpec::parse(&entrant.spec)?);
        let told = told.with_context(|| format!("{} does not answer", entrant.name))?;
        let tokens = told.tokens;
        let words =
            format!("{} answers: {} tokens in, {} out, {:.1} s", entrant.name, tokens.input, tokens.out, told.seconds);
        folder.log("hello", None, Some(&words))?;
    }
    Ok(())
}

fn is_model(spec: &str) -> bool {
    AgentSpec::parse(spec).is_ok_and(|spec| spec.class() == AgentClass::Model)
}

fn priced(candidates: &[(String, String)]) -> bool {
    let spec = |text: &str| AgentSpec::parse(text);
    candidates.iter().all(|(_, text)| spec(text).is_ok_and(|s| s.gives("price_in") && s.gives("price_out")))
}

/// The budget as it was typed.
fn budget(given: &[String]) -> anyhow::Result<Budget> {
    let mut out = Budget::default();
    for text in given.iter().flat_map(|text| text.split(',')) {
        let wrong = || format!("--budget {text:?} is none of usd=50, games=200, tokens=1000000, hours=2");
        let (what, much) = text.split_once('=').with_context(wrong)?;
        let much: f64 = much.parse().ok().filter(|x: &f64| x.is_finite() && *x >= 0.0).with_context(wrong)?;
        match what.trim() {
            "usd" => out.usd = Some(much),
            "games" => out.games = Some(much as u64),
            "tokens" => out.tokens = Some(much as u64),
            "hours" => out.hours = Some(much),
            _ => bail!(wrong()),
        }
    }
    Ok(out)
}

/// With `--ci`, a few rounds of the parts whose intervals are not narrow enough yet.
fn wanted(run: &str, plan: &Plan, ci: Option<f64>, records: &[Record], due: Vec<Block>) -> anyhow::Result<Vec<Block>> {
    let Some(ci) = ci else { return Ok(due) };
    let widths = widths(run, plan, records)?;
    let open = |b: &Block| {
        b.pairing.iter().any(|&a| plan.agents[a].candidate && widths.get(&(b.part, a)).is_none_or(|&w| w > ci))
    };
    let due: Vec<Block> = due.into_iter().filter(open).collect();
    let first = |b: &Block| due.iter().filter(|o| o.part == b.part).map(|o| o.index).min().unwrap_or(0);
    let near: Vec<Block> = due.iter().filter(|b| b.index < first(b) + ROUNDS).cloned().collect();
    Ok(near)
}

/// A run that ended, for now.
struct Outcome<'a> {
    plan: &'a Plan,
    folder: &'a Folder,
    records: &'a [Record],
    played: usize,
}

impl Outcome<'_> {
    /// What the log says of the last match that was spoiled.
    fn last_failure(&self) -> String {
        let log = Look::at(self.folder.path()).map(|look| look.log).unwrap_or_default();
        let spoiled = log.iter().rev().filter(|line| matches!(line["what"].as_str(), Some("discarded" | "failed")));
        spoiled.filter_map(|line| line["why"].as_str()).next().unwrap_or("log.jsonl says why").to_owned()
    }

    fn tell(&self, args: &Args, end: &End) -> anyhow::Result<()> {
        let run = self.folder.run();
        let (done, _) = results(run, self.plan, self.records);
        let games = verified(self.records)?;
        let rows = rows(run, self.plan, &done, &verified(counting(run, &done, self.records))?);
        let groups = groups(self.plan, &rows);
        let about = About {
            title: format!("{}: {}", self.plan.suite.title, args.agents.join(", ")),
            command: format!("ludex report {}", self.folder.path().join("episodes.jsonl").display()),
            secret: args.secret.clone(),
        };
        let report = Report::build(&games, Vec::new(), Options::default(), about);
        let files = report::write(&report, self.folder.path()).unwrap_or_else(|e| {
            eprintln!("ludex: {e:#}");
            Vec::new()
        });
        let usage = self.folder.usage();
        let (ended, why) = match end {
            End::Done => ("done", None),
            End::Budget(why) => ("budget", Some(why)),
            End::Infrastructure(why) => ("infrastructure", Some(why)),
        };
        if args.json {
            print::json(&json!({
                "run": self.folder.run(), "end": ended, "why": why, "matches": self.records.len(), "played": self.played,
                "parts": rows, "groups": groups, "usage": usage, "folder": self.folder.path(), "files": files,
            }))?;
        } else {
            let mut out = io::stdout().lock();
            show(&mut out, &rows)?;
            show_more(&mut out, &rows, &groups)?;
            let all = print::count(self.records.len(), "match", "matches");
            writeln!(out, "{all}, {} of them now; {}", self.played, costs(&usage))?;
            writeln!(out, "{}", self.folder.path().join("report.html").display())?;
        }
        let discarded: u64 = rows.iter().map(|row| row.discarded).sum();
        if discarded > 0 {
            eprintln!("ludex: {discarded} discarded; the last: {}", self.last_failure());
        }
        match end {
            End::Done if !games.is_empty() && games.iter().all(|g| !g.reason().counts()) => {
                bail!(
                    "nothing counts: every match was spoiled; {} says why",
                    self.folder.path().join("log.jsonl").display()
                )
            }
            End::Done => Ok(()),
            End::Budget(why) => {
                eprintln!("ludex: stopped: {why}; the same line with a larger budget goes on");
                Ok(())
            }
            End::Infrastructure(why) => {
                bail!(
                    "stopped, since one match after the other failed; nothing of them counts, and the same line goes on: {why}"
                )
            }
        }
    }
}

/// What calls cost, in words.
pub(super) fn costs(usage: &ludex_play::runs::usage::Usage) -> String {
    if usage.calls == 0 {
        return "no calls".to_owned();
    }
    let money = if usage.unpriced == usage.calls {
        "no price known".to_owned()
    } else {
        let part = if usage.unpriced > 0 {
            format!(" without {} calls of unknown price", usage.unpriced)
        } else {
            String::new()
        };
        format!("{:.2} dollars{part}", usage.usd)
    };
    format!("{} calls, {} tokens in, {} out, {money}", usage.calls, usage.tokens_in, usage.tokens_out)
}

/// What stands below the table: metrics that parts ask for, and means over groups.
pub(super) fn show_more(out: &mut impl Write, rows: &[Row], groups: &[Group]) -> io::Result<()> {
    for row in rows {
        for (metric, measure) in &row.metrics {
            let range = measure
                .low
                .zip(measure.high)
                .map_or_else(String::new, |(low, high)| format!(" ({} to {})", number(low, 3), number(high, 3)));
            writeln!(out, "{}: {} of {} {}{range}", row.part, metric, row.agent, number(measure.value, 3))?;
        }
    }
    for Group { group, agent, parts, score } in groups {
        writeln!(
            out,
            "{group}: mean score of {agent} {} over {}",
            number(*score, 3),
            print::count(*parts, "part", "parts")
        )?;
    }
    Ok(())
}

/// The table of a run.
pub(super) fn show(out: &mut impl Write, rows: &[Row]) -> io::Result<()> {
    let several = rows.iter().any(|r| r.agent != rows[0].agent);
    let mut head = vec!["part", "level", "progress", "score", "95 %", "w-d-l", "rating", "95 %", "lost"];
    if several {
        head.insert(1, "agent");
    }
    let mut table = vec![head.iter().map(|h| (*h).to_owned()).collect::<Vec<_>>()];
    let dash = || "-".to_owned();
    for row in rows {
        let range = |low: f64, high: f64, digits| format!("{} to {}", number(low, digits), number(high, digits));
        let level = row.level.as_ref();
        let progress = level.map_or_else(dash, |l| match &l.progress {
            _ if l.topped => "topped".into(),
            Some(p) => format!("{} %", number(p.value, 1)),
            None => dash(),
        });
        let lost = match (row.discarded, row.invalid) {
            (0, 0) => dash(),
            (discarded, 0) => format!("{discarded} discarded"),
            (discarded, invalid) => format!("{discarded} discarded, {invalid} invalid"),
        };
        let mut cells = vec![
            row.part.clone(),
            level.map_or_else(dash, |l| l.level.to_string()),
            progress,
            row.score.map_or_else(dash, |s| number(s.value, 3)),
            row.score.map_or_else(dash, |s| range(s.low, s.high, 3)),
            format!("{}-{}-{}", row.tally.wins, row.tally.draws, row.tally.losses),
            row.rating.map_or_else(dash, |r| number(r.value, 0)),
            row.rating.map_or_else(dash, |r| range(r.low, r.high, 0)),
            lost,
        ];
        if several {
            cells.insert(1, row.agent.clone());
        }
        table.push(cells);
    }
    print::table(out, &table, |k| k > usize::from(several))
}

/// Prints an estimate.
fn show_estimate(estimate: &Estimate, out: &mut impl Write) -> io::Result<()> {
    let head = ["part", "matches", "moves", "calls", "tokens in", "out", "rating +-"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let cells = |id: &str, cost: &Cost, width: String| {
        let Cost { matches, moves, calls, tokens_in, tokens_out, .. } = *cost;
        let numbers = [matches, moves, calls, tokens_in, tokens_out].map(|x| print::number(x, 0));
        [vec![id.to_owned()], numbers.to_vec(), vec![width]].concat()
    };
    for ((id, cost), (_, width)) in estimate.parts.iter().zip(&estimate.points) {
        rows.push(cells(id, cost, print::number(*width, 0)));
    }
    rows.push(cells("all", &estimate.total, String::new()));
    print::table(out, &rows, |k| k > 0)?;
    let usd = estimate.usd.map_or_else(|| "no price known".to_owned(), |usd| format!("{usd:.2} dollars"));
    writeln!(out, "about {usd}, {} hours", print::number(estimate.hours, 2))?;
    estimate.guesses.iter().try_for_each(|guess| writeln!(out, "guessed: {guess}"))
}
