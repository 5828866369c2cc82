//! Model card: the description of an agent and its results, in the form of the Hugging Face hub.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use ludex_referee::metric::Measurement;
use serde_json::{Map, Value, json};

use super::agents::{Entry, EntryRun, SiteAgent};
use crate::PROGRAM;
use crate::report::about::HeadResult;
use crate::runs::describe::{LICENSE, line};
use crate::text::{clean, measured, number};
use crate::yaml::front_matter;

/// Returns the card of an agent, as Markdown with the results in the front matter. The last section is the license,
/// which the owner of the agent fills in.
pub(super) fn card(agent: &SiteAgent) -> String {
    let results: Vec<Value> = agent.entries.iter().flat_map(|entry| results(agent, entry)).collect();
    let head = json!({
        "license": "other",
        "license_name": "not-stated",
        "tags": ["ludex", "games"],
        "model-index": [{ "name": agent.name, "results": results }],
    });
    let mut out = front_matter(&head);
    let _ = write!(
        out,
        "# {}\n\nResults of an agent in suites of games. Every match was replayed from its record. The front matter has the same \
         numbers as the tables, unrounded.\n\n| property | value |\n|---|---|\n| agent | `{}` |\n",
        line(&clean(&agent.name)),
        line(&clean(&agent.spec)),
    );
    let first = agent.entries.iter().flat_map(|entry| &entry.runs).next();
    for (name, value) in first.map(|run| run.agent.model.as_slice()).unwrap_or_default() {
        let _ = writeln!(out, "| {} | {} |", name.to_lowercase(), line(&clean(value)));
    }
    agent.entries.iter().for_each(|entry| out += &section(agent, entry));
    let _ = write!(
        out,
        "\n## Verification\n\nWritten by {PROGRAM}. `ludex verify BUNDLE` replays the matches of a run:\n\n"
    );
    let mut seen = BTreeSet::new();
    // Variants of an agent share their runs.
    for run in agent.entries.iter().flat_map(|entry| &entry.runs).filter(|run| seen.insert(&run.folder)) {
        let _ = writeln!(out, "- `{}.tar.gz`, started {} by {}", run.folder, run.begun, line(&clean(&run.program)));
    }
    out + LICENSE
}

/// Returns the results of an agent in a suite: the headline, and each part of each run.
fn results(agent: &SiteAgent, entry: &Entry) -> Vec<Value> {
    let variant = variant(agent, entry);
    let dataset = |config: &str| {
        let mut args = json!({ "version": entry.version, "digest": entry.digest });
        if let Some(variant) = variant {
            args["variant"] = variant.into();
        }
        json!({
            "type": entry.suite,
            "name": format!("{} ({}, version {})", entry.title, entry.suite, entry.version),
            "config": config,
            "args": args,
        })
    };
    let task = json!({ "type": "reinforcement-learning", "name": "Games" });
    let of = |config: &str, metrics: Vec<Value>| {
        (!metrics.is_empty()).then(|| json!({ "task": task, "dataset": dataset(config), "metrics": metrics }))
    };
    let headline = entry.numbers.iter().filter_map(|(column, m)| {
        Some(metric(&id_of(&column.full()), &format!("{}: {}", entry.headline, column.full()), &(*m)?, None))
    });
    let mut out = Vec::from_iter(of("headline", headline.collect()));
    for run in &entry.runs {
        let parts = run.agent.results.iter();
        out.extend(parts.filter_map(|result| of(&result.part, part_metrics(entry, run, result))));
    }
    out
}

/// Returns the name of the variant of the agent that the results are of; `None` for the agent itself.
fn variant<'a>(agent: &SiteAgent, entry: &'a Entry) -> Option<&'a str> {
    let own = [&agent.own_name, &agent.name].contains(&&entry.label);
    (!own).then_some(entry.label.as_str())
}

/// Returns the metrics of an agent in a part of a run.
fn part_metrics(entry: &Entry, run: &EntryRun, result: &HeadResult) -> Vec<Value> {
    let args = Some(run.run.as_str());
    let score = result.score.map(|score| Measurement {
        value: score.value,
        low: Some(score.low),
        high: Some(score.high),
        n: result.tally.games(),
    });
    let rating = entry.ratings.get(&result.part).filter(|_| entry.runs.len() == 1);
    let level = result.level.map(|level| Measurement::plain(level.into(), result.tally.games()));
    let score = score.map(|m| metric("score_rate", "Share of the points", &m, args));
    let rating = rating.map(|m| metric("rating", "Rating, Elo points", m, args));
    let level = level.map(|m| metric("level", "Last passed level", &m, args));
    [score, rating, level].into_iter().flatten().collect()
}

fn metric(id: &str, name: &str, m: &Measurement, run: Option<&str>) -> Value {
    let mut args = Map::new();
    args.extend(run.map(|run| ("run".to_owned(), run.into())));
    args.extend(m.low.map(|low| ("low".to_owned(), low.into())));
    args.extend(m.high.map(|high| ("high".to_owned(), high.into())));
    args.insert("n".to_owned(), m.n.into());
    json!({ "type": id, "name": name, "value": m.value, "args": args })
}

/// Returns the heading of a column as an identifier.
fn id_of(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_").to_ascii_lowercase()
}

/// Returns the results of an agent in a suite as Markdown.
fn section(agent: &SiteAgent, entry: &Entry) -> String {
    let variant = variant(agent, entry).map(|name| format!(": {}", line(&clean(name))));
    let mut out = format!(
        "\n## {}{}\n\nSuite `{}`, version {}, digest `{}`.",
        line(&clean(&entry.title)),
        variant.unwrap_or_default(),
        entry.suite,
        entry.version,
        entry.digest
    );
    if let Some((rank, of)) = entry.rank {
        let _ = write!(out, " Rank {rank} of {of} by {}.", line(&clean(&entry.headline)));
    }
    if !entry.numbers.is_empty() {
        out += "\n\n| headline | value | 95 % interval | n |\n|---|--:|--:|--:|\n";
        for (column, m) in &entry.numbers {
            let Some(m) = m else { continue };
            let digits = column.axis.digits;
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} |",
                line(&clean(&column.full())),
                measured(m, digits),
                interval(m, digits),
                m.n
            );
        }
    }
    for run in &entry.runs {
        let _ = write!(
            out,
            "\n### Run {}\n\n| part | wins | draws | losses | score | 95 % interval | level |\n|---|--:|--:|--:|--:|--:|--:|\n",
            line(&clean(&run.run))
        );
        for result in &run.agent.results {
            let score = number(result.score.map(|score| score.value), 3);
            let ends = result.score.map(|s| Measurement { value: s.value, low: Some(s.low), high: Some(s.high), n: 0 });
            let ends = ends.map_or_else(|| number(None, 0), |m| interval(&m, 3));
            let level = number(result.level.map(f64::from), 0);
            let tally = &result.tally;
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {score} | {ends} | {level} |",
                line(&clean(&result.part)),
                tally.wins,
                tally.draws,
                tally.losses
            );
        }
    }
    out
}

fn interval(m: &Measurement, digits: usize) -> String {
    let ends = m.low.zip(m.high);
    ends.map_or_else(
        || number(None, 0),
        |(low, high)| format!("{} to {}", number(Some(low), digits), number(Some(high), digits)),
    )
}
