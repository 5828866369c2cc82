//! Results of an evaluation as text.

use std::collections::BTreeSet;
use std::io::{self, Write};

use ludex_play::runs::evaluation::EvaluationResults;
use ludex_referee::answer_counts::Answers;
use ludex_referee::metric::Measurement;
use ludex_report::figure::RenderedFigure;
use ludex_report::figure::data::{Data, GridColumn};
use ludex_report::figure::resolve::FigurePage;
use ludex_report::runs::summary::{GroupScore, PartResult, SummaryScore};
use ludex_report::runs::usage::Usage;

use crate::commands::print::{self, number};

/// Maximum number of lines that a finished evaluation prints.
const LINES: usize = 40;

/// Maximum width of the headline in characters.
const WIDTH: usize = 120;

/// Part of the results, in lines.
struct Section {
    title: &'static str,
    text: String,
    /// Rank for the choice of sections that fit, from 0.
    rank: usize,
}

/// Renders results of a run in at most [`LINES`] lines, with the lines that follow: the most important sections that fit,
/// and a line that names the others.
pub(super) fn short_results(
    run: &str,
    headline: Option<RenderedFigure>,
    found: &EvaluationResults,
) -> anyhow::Result<String> {
    let EvaluationResults { rows, groups, summaries, .. } = found;
    let mut table = Vec::new();
    print_table(&mut table, rows)?;
    let table = Section { title: "the table of results", text: String::from_utf8(table)?, rank: 4 };
    let mut sections = vec![
        Section {
            title: "the headline",
            text: headline.map_or(Ok(String::new()), |figure| headline_text(&figure))?,
            rank: 0,
        },
        table,
    ];
    sections.extend(details(rows, groups, summaries)?);
    let mut chosen = vec![false; sections.len()];
    // Three lines are reserved: the omitted sections, the number of matches with the costs, and the path of the report.
    let mut left = LINES - 3;
    let mut by_rank: Vec<usize> = (0..sections.len()).collect();
    by_rank.sort_by_key(|&k| sections[k].rank);
    for k in by_rank {
        let lines = sections[k].text.lines().count();
        chosen[k] = lines <= left;
        left -= if chosen[k] { lines } else { 0 };
    }
    let text = sections.iter().zip(&chosen).filter(|(_, chosen)| **chosen).map(|(section, _)| section.text.as_str());
    let mut text: String = text.collect();
    let missing: Vec<&str> =
        sections.iter().zip(&chosen).filter(|(_, chosen)| !**chosen).map(|(section, _)| section.title).collect();
    if !missing.is_empty() {
        text += &format!("not printed: {}; see the report, or `ludex status {run}`\n", missing.join(", "));
    }
    Ok(text)
}

/// Renders the headline of a suite as a table, or a reference to the report if the table is wider than [`WIDTH`]; empty for a
/// drawing.
fn headline_text(figure: &RenderedFigure) -> anyhow::Result<String> {
    let [FigurePage { data: Data::Grid(grid), .. }] = figure.pages.as_slice() else { return Ok(String::new()) };
    let names = grid.columns.iter().map(|column| column.full());
    let mut rows = vec![std::iter::once(figure.title.clone()).chain(names).collect::<Vec<_>>()];
    for (name, cells) in grid.rows.iter().zip(&grid.cells) {
        let cell = |(cell, column): (&Option<Measurement>, &GridColumn)| {
            cell.map_or_else(|| "-".to_owned(), |m| number(m.value, column.axis.digits))
        };
        rows.push(std::iter::once(name.clone()).chain(cells.iter().zip(&grid.columns).map(cell)).collect());
    }
    let mut out = Vec::new();
    print::table(&mut out, &rows, |k| k > 0)?;
    let text = String::from_utf8(out)?;
    let wide = text.lines().any(|line| line.chars().count() > WIDTH);
    Ok(if wide { format!("{}: too wide for the terminal; see the report\n\n", figure.title) } else { text + "\n" })
}

/// Formats calls, tokens and dollars as text.
pub(in crate::commands) fn costs(usage: &Usage) -> String {
    if usage.calls == 0 {
        return "no calls".to_owned();
    }
    let money = if usage.unpriced == usage.calls {
        "no price known".to_owned()
    } else {
        let part = if usage.unpriced > 0 {
            format!(" without {} of unknown price", print::count(usage.unpriced as usize, "call", "calls"))
        } else {
            String::new()
        };
        format!("{:.2} dollars{part}", usage.usd)
    };
    let part = |tokens: u64, what: &str| if tokens > 0 { format!(" ({tokens} {what})") } else { String::new() };
    let (cached, thoughts) = (part(usage.cached_tokens, "cached"), part(usage.reasoning_tokens, "thoughts"));
    let (read, written) = (usage.tokens_in, usage.tokens_out);
    let calls = print::count(usage.calls as usize, "call", "calls");
    format!("{calls}, {read} tokens in{cached}, {written} out{thoughts}, {money}")
}

/// Maximum number of metrics to print, so that the table stays visible.
const MAX_METRICS: usize = 30;

/// Prints details below the table: parts that could not be played, metrics per part, and means over groups and parts.
pub(in crate::commands) fn print_details(
    out: &mut impl Write,
    rows: &[PartResult],
    groups: &[GroupScore],
    summaries: &[SummaryScore],
) -> anyhow::Result<()> {
    Ok(details(rows, groups, summaries)?.iter().try_for_each(|section| out.write_all(section.text.as_bytes()))?)
}

/// Returns the details below the table of results, by kind.
fn details(rows: &[PartResult], groups: &[GroupScore], summaries: &[SummaryScore]) -> anyhow::Result<Vec<Section>> {
    let notes: BTreeSet<String> =
        rows.iter().filter_map(|row| Some(format!("{}: {}\n", row.part, row.note.as_ref()?))).collect();
    let measured: usize = rows.iter().map(|row| row.metrics.len()).sum();
    let mut metrics = String::new();
    if measured > MAX_METRICS {
        metrics = format!("{measured} measurements of parts; see the report or --json\n");
    }
    for row in rows.iter().filter(|_| measured <= MAX_METRICS) {
        for (metric, measure) in &row.metrics {
            let range = measure
                .low
                .zip(measure.high)
                .map_or_else(String::new, |(low, high)| format!(" ({} to {})", number(low, 3), number(high, 3)));
            metrics += &format!("{}: {} of {} {}{range}\n", row.part, metric, row.agent, number(measure.value, 3));
        }
    }
    let mut answers = Vec::new();
    print_answers(&mut answers, rows)?;
    // The table has the mean over one part.
    let of_group = |GroupScore { group, agent, parts, score }: &GroupScore| {
        let over = print::count(*parts, "part", "parts");
        format!("{group}: mean score of {agent} {} over {over}\n", number(*score, 3))
    };
    let of_summary = |SummaryScore { summary, agent, parts, value }: &SummaryScore| {
        format!("{summary}: {agent} {} over {}\n", number(*value, 3), print::count(*parts, "part", "parts"))
    };
    let section = |title, text, rank| Section { title, text, rank };
    Ok(vec![
        section("notes on parts", notes.into_iter().collect(), 1),
        section("metrics of parts", metrics, 6),
        section("answers of models", String::from_utf8(answers)?, 2),
        section("means over groups", groups.iter().filter(|group| group.parts > 1).map(of_group).collect(), 5),
        section("means over parts", summaries.iter().map(of_summary).collect(), 3),
    ])
}

/// Prints how many answers of each kind each language model gave, and a warning for each part with many bad answers.
fn print_answers(out: &mut impl Write, rows: &[PartResult]) -> io::Result<()> {
    let agents: BTreeSet<&str> =
        rows.iter().filter(|row| row.answers.is_some()).map(|row| row.agent.as_str()).collect();
    for agent in agents {
        let own = || rows.iter().filter(|row| row.agent == agent);
        let mut all = Answers::default();
        own().filter_map(|row| row.answers.as_ref()).for_each(|answers| all.add(answers));
        let kinds = all.by_kind().into_iter().filter(|(_, n)| *n > 0).map(|(name, n)| format!("{n} {name}"));
        let lost: u64 = own().map(|row| row.lost_by_answers).sum();
        let lost = (lost > 0).then(|| format!("; {} lost by them", print::count(lost as usize, "match", "matches")));
        let lost = lost.unwrap_or_default();
        writeln!(out, "answers of {agent}: {}{lost}", kinds.collect::<Vec<_>>().join(", "))?;
        for row in own() {
            let warnings = row.answers.iter().flat_map(Answers::warnings);
            warnings.into_iter().try_for_each(|warning| writeln!(out, "WARNING: {}: {warning}", row.part))?;
        }
    }
    Ok(())
}

/// Prints the results table of a run.
pub(in crate::commands) fn print_table(out: &mut impl Write, rows: &[PartResult]) -> io::Result<()> {
    let several = rows.iter().any(|r| r.agent != rows[0].agent);
    let mut head =
        vec!["part", "level", "progress", "score", "95 %", "w-d-l", "rating", "95 %", "blocks", "for +-30", "excluded"];
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
            match &row.note {
                Some(_) => dash(),
                None => format!("{}-{}-{}", row.tally.wins, row.tally.draws, row.tally.losses),
            },
            row.rating.map_or_else(dash, |r| {
                let shown = Measurement::of_interval(r, row.bound, 0);
                let sign = row.bound.map_or_else(String::new, |bound| format!("{} ", bound.sign()));
                format!("{sign}{}", number(shown.value, 0))
            }),
            row.rating.map_or_else(dash, |r| range(r.low, r.high, 0)),
            row.rating.map_or_else(dash, |_| row.blocks.to_string()),
            row.blocks_for_30.map_or_else(dash, |n| n.to_string()),
            lost,
        ];
        if several {
            cells.insert(1, row.agent.clone());
        }
        table.push(cells);
    }
    print::table(out, &table, |k| k > usize::from(several))?;
    if rows.iter().any(|row| row.blocks_for_30.is_some()) {
        writeln!(out, "for +-30: number of blocks needed for a 95 % interval of +-30 points")?;
    }
    Ok(())
}
