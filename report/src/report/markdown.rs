//! Markdown page of a report. The tables of the page have at most [`SHOWN`] cells, and CSV files have all numbers.

use std::fmt::Write as _;

use super::Report;
use crate::figure::RenderedFigure;
use crate::figure::data::{Data, Grid};
use crate::text::{clean, count, measured};

/// Maximum number of cells in a table of the page; larger tables are in their file only.
const SHOWN: usize = 250;

/// Maximum number of columns with intervals in a table.
const WITH_INTERVALS: usize = 6;

/// Renders the page. `folder` is the name of the folder with the numbers, beside the page.
pub(super) fn page(report: &Report, folder: &str) -> String {
    let mut out = format!("# {}\n\n", text(&report.about.title));
    for note in &report.about.notes {
        let _ = writeln!(out, "{}.\n", text(note));
    }
    out += "| | |\n|---|---|\n";
    let mut fact = |name: &str, value: String| {
        let _ = writeln!(out, "| {name} | {value} |");
    };
    let mut specs: Vec<&str> = Vec::new();
    for run in &report.runs {
        let title = if run.title.is_empty() { &run.suite } else { &run.title };
        let digest = run.digest.get(..16).unwrap_or(&run.digest);
        let suite = format!("{} (`{}`, version {}, digest `{digest}`)", text(title), run.suite, run.version);
        fact("suite", suite);
        fact("run", format!("{}, started {}, by {}", text(&run.run), run.begun, text(&run.program)));
        fact("seeds", text(&run.seeds));
        if !run.share.is_empty() {
            fact("extent", text(&run.share));
        }
        for agent in &run.agents {
            // Variants of an agent have one spec.
            if specs.contains(&agent.spec.as_str()) {
                continue;
            }
            specs.push(&agent.spec);
            fact("agent", format!("`{}`", agent.spec.replace('`', "'")));
        }
    }
    let records = count(report.records as u64);
    fact(
        "records",
        format!("{records} verified episodes; `sha256:{}` over their sorted digests", report.records_digest),
    );
    fact("program", report.program.clone());
    out += "\nParentheses hold 95 % intervals, and tables with many columns omit them. The CSV files have all numbers, with the number of matches or values (n).\n";
    for figure in &report.figures {
        out += &section(figure, folder);
    }
    let _ = write!(
        out,
        "\n## Further tables\n\n- [ratings.csv]({folder}/ratings.csv): ratings, intervals and metrics of each part\n\
         - [crosstable.csv]({folder}/crosstable.csv): results of each pair of agents in each part\n"
    );
    out
}

fn section(figure: &RenderedFigure, folder: &str) -> String {
    let mut out = format!("\n### Figure {}\n\n{}.", figure.id, text(&figure.title));
    if !figure.caption.is_empty() {
        let _ = write!(out, " {}", text(&figure.caption));
    }
    out += "\n\n";
    let [file, id] = [folder, &figure.id];
    match figure.pages.as_slice() {
        pages if pages.iter().all(|page| page.data.is_empty()) => out += "No numbers.\n",
        [page]
            if let Data::Grid(grid) = &page.data
                && grid.rows.len() * grid.columns.len() <= SHOWN =>
        {
            let _ = write!(out, "{}\n[{file}/{id}.csv]({file}/{id}.csv).\n", table(grid));
        }
        pages if pages.iter().all(|page| matches!(page.data, Data::Strip(_))) => {
            let _ = writeln!(out, "{} strips of pictures.", pages.len());
        }
        pages => {
            let drawings = if pages.len() == 1 { "1 drawing".to_owned() } else { format!("{} drawings", pages.len()) };
            let _ = writeln!(out, "[{file}/{id}.csv]({file}/{id}.csv): {drawings}.");
        }
    }
    out
}

fn table(grid: &Grid) -> String {
    let names = grid.columns.iter().map(|column| text(&column.full()));
    let head: Vec<String> = std::iter::once(text(&grid.corner)).chain(names).collect();
    let mut out = format!("| {} |\n|---|{}\n", head.join(" | "), "--:|".repeat(grid.columns.len()));
    for (r, row) in grid.rows.iter().enumerate() {
        let cell = |c: usize| {
            let Some(m) = grid.at(r, c) else { return "\u{2013}".to_owned() };
            let digits = grid.columns[c].axis.digits;
            let value = text(&measured(&m, digits));
            match m.low.zip(m.high).filter(|_| grid.columns.len() <= WITH_INTERVALS) {
                Some((low, high)) => {
                    let [low, high] = [low, high].map(|end| crate::text::number(Some(end), digits));
                    format!("{value} ({low} to {high})")
                }
                None => value,
            }
        };
        let cells: Vec<String> = (0..grid.columns.len()).map(cell).collect();
        let _ = writeln!(out, "| {} | {} |", text(row), cells.join(" | "));
    }
    out
}

/// Escapes text for a Markdown table.
fn text(text: &str) -> String {
    clean(text).replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;").replace('*', "\\*")
}
