//! `ludex compare`.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::path::PathBuf;

use ludex_play::runs::report_files;
use ludex_referee::VerifiedRecord;
use ludex_referee::read::RecordLines;
use ludex_report::compare::{ComparedMatch, Comparison, ComparisonRow, Difference, NoInterval, compare};
use ludex_report::runs::archive::Archive;
use serde_json::json;

use super::print::{self, number};
use super::records;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Names of one or two runs in DATA/runs, or their folders
    #[arg(required = true, num_args = 1..=2)]
    runs: Vec<String>,
    /// Compare these agents: two from one run, or one from each run [default: the first agent of each run]
    #[arg(long = "agent", value_name = "NAME")]
    agents: Vec<String>,
    /// Compare only this game; parameters, if given, must match exactly [default: all games]
    #[arg(long)]
    game: Option<String>,
    /// Read the runs in this folder
    #[arg(long, default_value = "./ludex-data")]
    data: PathBuf,
    /// Print one JSON document: {agents, games, all, unpaired, excluded, fallback}
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let filter = records::RecordFilter::parse(args.game.as_deref())?;
    let runs: Vec<Archive> =
        args.runs.iter().map(|run| Archive::open(run, &args.data)).collect::<anyhow::Result<_>>()?;
    if let [one, other] = &runs[..]
        && (one.about.suite != other.about.suite || one.about.games != other.about.games)
    {
        eprintln!("ludex: the runs differ in suite, version or rules, so pairs may not be comparable");
    }
    if let [one, other] = &runs[..] {
        let (a, b) = (&one.about, &other.about);
        anyhow::ensure!(
            a.deals == b.deals,
            "expected runs with equal seed sharing, got {} with {} and {} with {}; play the second run again with \
             `ludex evaluate --seed-sharing {}`",
            a.run,
            a.deals,
            b.run,
            b.deals,
            a.deals
        );
    }
    let names = names(&runs, &args.agents)?;
    let mut sides = Vec::new();
    for (k, name) in names.iter().enumerate() {
        let run = runs.get(k).unwrap_or(&runs[0]);
        let other = (runs.len() == 1).then(|| names[1 - k].as_str());
        sides.push(sides_of(run, name, other, filter.as_ref()));
    }
    let [first, second] = &sides[..] else { anyhow::bail!("expected two agents") };
    for (k, (name, side)) in names.iter().zip(&sides).enumerate() {
        if !side.is_empty() {
            continue;
        }
        let variants = variants(runs.get(k).unwrap_or(&runs[0]), name);
        anyhow::ensure!(
            variants.is_empty(),
            "expected an agent of the run, got {name}, which played as {}; select one per side with --agent",
            variants.join(", ")
        );
        anyhow::bail!("expected an agent with matches that count, got {name}; `ludex show` prints its matches");
    }
    let labels: Vec<String> = names.iter().enumerate().map(|(k, name)| label(&runs, name, k)).collect();
    let comparison = compare(first, second);
    if args.json {
        let mut document = serde_json::to_value(&comparison)?;
        document["agents"] = json!(labels);
        return Ok(print::json(&document)?);
    }
    show(&labels, &comparison)
}

/// Returns an agent's name, followed by the name of its run if there are two runs.
fn label(runs: &[Archive], name: &str, k: usize) -> String {
    match runs.get(k) {
        Some(run) if runs.len() == 2 => format!("{name} ({})", run.about.run),
        _ => name.to_owned(),
    }
}

/// Returns the agents to compare: those given with `--agent`, or the first agent of each run.
fn names(runs: &[Archive], given: &[String]) -> anyhow::Result<[String; 2]> {
    let all = |run: &Archive| run.about.agents.iter().map(|a| a.name.clone()).collect::<Vec<_>>();
    let pick = |run: &Archive, wanted: Option<&String>| {
        let known = all(run);
        match wanted {
            Some(name) if known.contains(name) => Ok(name.clone()),
            Some(name) => {
                anyhow::bail!("--agent: expected one of {} in {}, got {name:?}", known.join(", "), run.about.run)
            }
            None => known.first().cloned().ok_or_else(|| anyhow::anyhow!("{} has no agents", run.about.run)),
        }
    };
    match (runs, given) {
        ([run], [first, second]) if first != second => Ok([pick(run, Some(first))?, pick(run, Some(second))?]),
        ([run], _) => anyhow::bail!(
            "expected two runs, or two agents of {} with --agent; allowed: {}",
            run.about.run,
            all(run).join(", ")
        ),
        ([a, b], given) if given.len() <= 2 => Ok([pick(a, given.first())?, pick(b, given.get(1).or(given.first()))?]),
        _ => anyhow::bail!("--agent: expected at most one agent per run"),
    }
}

/// Returns the names under which an agent played the variants of a suite.
fn variants(run: &Archive, name: &str) -> Vec<String> {
    let own = format!("{name} / ");
    let records = run.found.iter().filter_map(|found| found.parts.clone().record().ok());
    let names = records.flat_map(|record| record.header.seats).map(|seat| seat.name);
    let names: BTreeSet<String> = names.filter(|seat| seat.starts_with(&own)).collect();
    names.into_iter().collect()
}

/// Returns the matches of an agent that count. Excludes matches with the compared agent `other`, and matches in which
/// the agent plays all seats, since these matches have no counterpart.
pub(super) fn sides_of(
    run: &Archive,
    name: &str,
    other: Option<&str>,
    filter: Option<&records::RecordFilter>,
) -> Vec<ComparedMatch> {
    let lines = RecordLines { found: run.found.clone(), refused: run.refused.clone() };
    let (mut good, refused) = records::verify_records(lines, filter);
    records::warn(&refused);
    report_files::put_in_order(run, &mut good);
    let side_of = |game: &VerifiedRecord| {
        let record = game.record();
        let meets_other = record.header.seats.iter().any(|seat| Some(seat.name.as_str()) == other);
        if meets_other || !game.reason().counts() || game.result().replayed {
            return None;
        }
        let place = run.place_of(&record.header.episode);
        ComparedMatch::of(game, &place.map(|found| found.place.part).unwrap_or_default(), name)
    };
    good.iter().filter_map(side_of).collect()
}

/// Maximum width of the output in characters.
const WIDTH: usize = 120;

/// Meanings of the columns.
const LEGEND: [&str; 4] = [
    "first, second, difference: mean scores of the pairs (win 1, draw 1/2); difference of returns: first minus second",
    "95 %: Student's interval over seeds; only one: pairs that only the first agent won, and only the second",
    "p: McNemar's exact test of these pairs, or the t test of returns in games without winners; p (Holm): p corrected for \
     the number of games",
    "needed: number of seeds to detect a difference of 30 rating points with a power of 0.8",
];

fn show(names: &[String], c: &Comparison) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "first:  {}\nsecond: {}\n", names[0], names[1])?;
    if c.games.is_empty() {
        writeln!(out, "no pairs: the agents never played the same part, game, opponents, seats and seed")?;
    } else {
        let head =
            ["game", "pairs", "seeds", "first", "second", "difference", "95 %", "only one", "p", "p (Holm)", "needed"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        let all = Some(&c.all).filter(|all| c.games.len() > 1 && all.pairs > 0);
        let short = |row: &ComparisonRow| short(row, &c.games);
        rows.extend(c.games.iter().chain(all).map(|row| cells(&short(row), row)));
        print::table(&mut out, &rows, |k| k > 0)?;
        let mut returns = vec![["game", "difference of returns", "95 %"].map(str::to_owned).to_vec()];
        let paid = c.games.iter().filter(|row| row.payoff.is_some());
        returns.extend(paid.map(|row| [vec![short(row)], difference(row.payoff).to_vec()].concat()));
        if returns.len() > 1 {
            writeln!(out)?;
            print::table(&mut out, &returns, |k| k > 0)?;
        }
        writeln!(out)?;
        for row in c.games.iter().filter(|row| short(row) != row.game) {
            out.write_all(print::wrapped(&format!("{}: {}", short(row), row.game), WIDTH).as_bytes())?;
        }
        for row in c.games.iter().chain(all) {
            let notes = notes(row).into_iter().map(|note| print::wrapped(&format!("{}: {note}", short(row)), WIDTH));
            notes.into_iter().try_for_each(|note| out.write_all(note.as_bytes()))?;
        }
        LEGEND.iter().try_for_each(|line| out.write_all(print::wrapped(line, WIDTH).as_bytes()))?;
    }
    if c.unpaired != [0, 0] {
        writeln!(out, "\nunpaired, excluded: {} matches of the first, {} of the second", c.unpaired[0], c.unpaired[1])?;
        let lines = c.excluded.iter().map(|(what, [a, b])| print::wrapped(&format!("  {a} and {b}: {what}"), WIDTH));
        lines.into_iter().try_for_each(|line| out.write_all(line.as_bytes()))?;
    }
    if !c.fallback.is_empty() {
        writeln!(out, "\nUNPAIRED: difference of mean scores, which includes the luck of seeds, seats and opponents")?;
        let head = ["game", "matches", "first", "second", "difference", "95 %"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        rows.extend(c.fallback.iter().map(|u| {
            let [value, range] = difference(Some(u.score));
            let matches = format!("{}, {}", u.matches[0], u.matches[1]);
            vec![u.game.clone(), matches, number(u.scores[0], 3), number(u.scores[1], 3), value, range]
        }));
        print::table(&mut out, &rows, |k| k > 0)?;
    }
    Ok(())
}

/// Returns the name of a row: the game's id if it is unique, otherwise the part of the suite.
fn short(row: &ComparisonRow, all: &[ComparisonRow]) -> String {
    let id = |row: &ComparisonRow| row.game.split('(').next().unwrap_or_default().to_owned();
    let alone = all.iter().filter(|other| id(other) == id(row)).count() < 2;
    match &row.parts[..] {
        _ if alone => id(row),
        [part] => part.clone(),
        _ => row.game.clone(),
    }
}

/// Returns the reasons why intervals of a row are missing.
fn notes(row: &ComparisonRow) -> Vec<String> {
    let why = |what: &str, d: Option<Difference>| {
        let because = match d?.why? {
            NoInterval::OneBlock => "expected at least two seeds, got one".to_owned(),
            _ => format!("all {} seeds gave the same difference, so the spread is unknown", row.blocks),
        };
        Some(format!("{what} has no interval: {because}"))
    };
    let more = row.needed.map_or_else(String::new, |n| format!("; about {n} seeds are needed to detect 30 points"));
    let score = why("the difference", row.score).map(|text| text + &more);
    score.into_iter().chain(why("the return", row.payoff).filter(|_| row.score.is_none())).collect()
}

fn cells(name: &str, row: &ComparisonRow) -> Vec<String> {
    let dash = || "-".to_owned();
    let mut out = vec![name.to_owned(), row.pairs.to_string(), row.blocks.to_string()];
    out.extend([0, 1].map(|k| row.scores.map_or_else(dash, |s| number(s[k], 3))));
    out.extend(difference(row.score));
    out.push(row.mcnemar.map_or_else(dash, |m| format!("{}, {}", m.first, m.second)));
    out.extend([row.p, row.holm].map(|p| p.map_or_else(dash, |p| number(p, 4))));
    out.push(row.needed.map_or_else(dash, |n| n.to_string()));
    out
}

fn difference(d: Option<Difference>) -> [String; 2] {
    let Some(d) = d else { return ["-".to_owned(), "-".to_owned()] };
    let range = d.low.zip(d.high).map(|(low, high)| format!("{} to {}", number(low, 3), number(high, 3)));
    [number(d.value, 3), range.unwrap_or_else(|| "-".to_owned())]
}
