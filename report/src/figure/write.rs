//! Data of figures as CSV, LaTeX and table rows.

use csv::{Terminator, Writer, WriterBuilder};
use ludex_referee::metric::Measurement;
use ludex_referee::metric::value::Quantiles;

use super::data::{Data, Grid, Points};
use super::svg::escape;
use crate::text::{clean, measured, number};

/// Maximum number of table rows in a page; the CSV has all rows.
const SHOWN: usize = 100;

impl Data {
    /// Returns the numbers as CSV (RFC 4180) with a header line. Numbers have full precision. Missing numbers are
    /// omitted.
    pub fn to_csv(&self) -> String {
        let (head, rows) = self.rows();
        text(|out| {
            out.write_record(head)?;
            rows.iter().try_for_each(|row| out.write_record(row.iter().map(Cell::whole)))
        })
    }

    /// Returns the numbers as a LaTeX table without packages.
    pub fn to_latex(&self) -> String {
        if let Data::Grid(grid) = self {
            return of_grid(grid);
        }
        let (head, rows) = self.rows();
        let head: Vec<String> = head.iter().map(|name| latex(&name.replace('_', " "))).collect();
        let line = |row: &Vec<Cell>| row.iter().map(Cell::short).map(|c| latex(&c)).collect::<Vec<_>>().join(" & ");
        let lines = rows.iter().map(line).collect();
        tabular(&format!("l{}", "r".repeat(head.len().saturating_sub(1))), &[head.join(" & ")], lines)
    }

    /// Returns the numbers as an HTML table, rounded for display.
    pub(crate) fn to_table(&self) -> String {
        let (mut head, mut rows) = self.rows();
        let links: Vec<Option<&str>> = match self {
            Data::Grid(grid) => grid.numbers().map(|(r, c, _)| grid.link_at(r, c)).collect(),
            _ => Vec::new(),
        };
        let value = head.iter().position(|name| *name == "value");
        if let Data::Points(points) = self
            && !points.labels_differ()
        {
            // All points belong to the agent in the heading, so the columns with names are dropped.
            head.drain(..2);
            rows.iter_mut().for_each(|row| drop(row.drain(..2)));
        }
        let head: String =
            head.iter().map(|name| format!("<th scope=\"col\">{}</th>", escape(&name.replace('_', " ")))).collect();
        let cell = |k: usize, cell: &Cell, link: Option<&str>| {
            let text = escape(&cell.short());
            match link.filter(|_| value == Some(k)) {
                Some(href) => format!("<td><a href=\"{}\">{text}</a></td>", escape(href)),
                None if k == 0 => format!("<th scope=\"row\">{text}</th>"),
                None => format!("<td>{text}</td>"),
            }
        };
        let row = |(at, row): (usize, &Vec<Cell>)| {
            let link = links.get(at).copied().flatten();
            let cells = row.iter().enumerate().map(|(k, own)| cell(k, own, link));
            format!("<tr>{}</tr>\n", cells.collect::<String>())
        };
        let body: String = rows.iter().take(SHOWN).enumerate().map(row).collect();
        let rest = rows.len().saturating_sub(SHOWN);
        let more = if rest > 0 {
            format!("<p class=\"soft\">{rest} more rows are in the CSV file.</p>\n")
        } else {
            String::new()
        };
        format!("<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n{more}")
    }

    fn rows(&self) -> (Vec<&'static str>, Vec<Vec<Cell>>) {
        let measure = |m: &Measurement, digits| {
            [
                Cell::Some(m.value, digits),
                Cell::of(m.low, digits),
                Cell::of(m.high, digits),
                Cell::Text(m.n.to_string()),
            ]
        };
        let name = |text: &str| Cell::Text(text.to_owned());
        match self {
            Data::Grid(grid) => {
                let row = |(r, c, m): (usize, usize, Measurement)| {
                    let column = &grid.columns[c];
                    let mut cells = vec![name(&grid.rows[r]), name(&column.under), name(&column.name)];
                    cells.extend(measure(&m, column.axis.digits));
                    cells
                };
                let rows = grid.numbers().map(row).collect();
                (vec!["row", "under", "column", "value", "low", "high", "n"], rows)
            }
            Data::Lines(data) => {
                let row = |line: &str, at: f64, m: &Measurement| {
                    let mut cells = vec![name(line), Cell::Some(at, data.x.digits)];
                    cells.extend(measure(m, data.y.digits));
                    cells
                };
                let of = |line: &super::data::ChartLine| -> Vec<Vec<Cell>> {
                    line.points.iter().map(|(at, m)| row(&line.name, *at, m)).collect()
                };
                (vec!["line", "at", "value", "low", "high", "n"], data.lines.iter().flat_map(of).collect())
            }
            Data::Boxes(data) => {
                let digits = data.value.digits;
                let row = |(of, q): (&str, Quantiles)| {
                    let numbers = [q.min, q.q1, q.median, q.q3, q.max, q.mean].map(|v| Cell::Some(v, digits));
                    [vec![name(of), Cell::Text(q.n.to_string())], numbers.into()].concat()
                };
                let boxes = data.boxes.iter().filter_map(|b| Some((b.name.as_str(), b.quantiles?)));
                (vec!["row", "n", "min", "q1", "median", "q3", "max", "mean"], boxes.map(row).collect())
            }
            Data::Points(data) => (vec!["group", "label", "x", "y"], points(data)),
            Data::Arrows(data) => {
                let node = |k: usize| data.graph.nodes.get(k).map_or(Cell::None, |n| name(n));
                let rows = data.graph.edges.iter().map(|e| vec![node(e.from), node(e.to), Cell::Some(e.weight, 2)]);
                (vec!["from", "to", "weight"], rows.collect())
            }
            Data::Strip(data) => {
                let rows = data.pictures.iter().enumerate();
                let row = |(k, p): (usize, &super::data::StripPicture)| {
                    vec![Cell::Text((k + 1).to_string()), name(&p.caption)]
                };
                (vec!["number", "caption"], rows.map(row).collect())
            }
        }
    }
}

/// Returns the numbers of several pages as CSV, with the name of the page in the first column.
pub(super) fn pages_csv<'a>(pages: impl Iterator<Item = (&'a str, &'a Data)>) -> String {
    text(|out| {
        for (k, (name, data)) in pages.enumerate() {
            let (head, rows) = data.rows();
            if k == 0 {
                out.write_record(std::iter::once("page").chain(head))?;
            }
            let cells = |row: &Vec<Cell>| std::iter::once(name.to_owned()).chain(row.iter().map(Cell::whole)).collect();
            rows.iter().map(cells).try_for_each(|row: Vec<String>| out.write_record(row))?;
        }
        Ok(())
    })
}

fn points(data: &Points) -> Vec<Vec<Cell>> {
    let mut rows = Vec::new();
    for group in &data.groups {
        for p in &group.points {
            let names = [Cell::Text(group.name.clone()), Cell::Text(p.label.clone())];
            rows.push([names, [Cell::Some(p.x, data.x.digits), Cell::Some(p.y, data.y.digits)]].concat());
        }
    }
    rows
}

/// Cell in a table of a figure's numbers.
#[derive(Clone)]
enum Cell {
    Text(String),
    /// Number, and number of decimals for display.
    Some(f64, usize),
    None,
}

impl Cell {
    fn of(value: Option<f64>, digits: usize) -> Cell {
        value.map_or(Cell::None, |value| Cell::Some(value, digits))
    }

    /// Returns the shortest text that parses to exactly this number.
    fn whole(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Some(value, _) if value.is_finite() => value.to_string(),
            Cell::Some(..) | Cell::None => String::new(),
        }
    }

    fn short(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Some(value, digits) => number(Some(*value), *digits),
            Cell::None => number(None, 0),
        }
    }
}

/// Renders a grid as a LaTeX table, with the rounding of the page.
fn of_grid(grid: &Grid) -> String {
    let mut head = Vec::new();
    if grid.columns.iter().any(|c| !c.under.is_empty()) {
        let mut line = String::new();
        let mut at = 0;
        while at < grid.columns.len() {
            let under = &grid.columns[at].under;
            let span = grid.columns[at..].iter().take_while(|c| c.under == *under).count();
            line.push_str(&format!(" & \\multicolumn{{{span}}}{{c}}{{{}}}", latex(under)));
            at += span;
        }
        head.push(line);
    }
    let names = grid.columns.iter().map(|c| latex(&c.name));
    head.push(std::iter::once(latex(&grid.corner)).chain(names).collect::<Vec<_>>().join(" & "));
    let places: Vec<[Option<f64>; 2]> = (0..grid.columns.len()).map(|c| grid.places(c)).collect();
    let own = grid.rows.len() - grid.margin_rows.min(grid.rows.len());
    let mut lines = Vec::new();
    for (r, name) in grid.rows.iter().enumerate() {
        let cell = |(c, column): (usize, &super::data::GridColumn)| {
            let Some(m) = grid.at(r, c) else { return "--".to_owned() };
            let short = |value: f64| latex(&number(Some(value), column.axis.digits));
            let text = latex(&measured(&m, column.axis.digits));
            let text = match places[c] {
                [Some(best), _] if r < own && best == m.value => format!("\\textbf{{{text}}}"),
                [_, Some(second)] if r < own && second == m.value => format!("\\underline{{{text}}}"),
                _ => text,
            };
            match (m.low, m.high) {
                (Some(low), Some(high)) => format!("{text} {{\\scriptsize [{}, {}]}}", short(low), short(high)),
                _ => text,
            }
        };
        let cells = grid.columns.iter().enumerate().map(cell);
        let rule = if r == own && r > 0 { "\\hline\n" } else { "" };
        lines.push(format!("{rule}{}", std::iter::once(latex(name)).chain(cells).collect::<Vec<_>>().join(" & ")));
    }
    tabular(&format!("l{}", "r".repeat(grid.columns.len())), &head, lines)
}

/// Renders a LaTeX table. Each line contains the cells of a row, joined by `&`.
fn tabular(columns: &str, head: &[String], lines: Vec<String>) -> String {
    let end = |line: &String| format!("{line} \\\\\n");
    let (head, body): (String, String) = (head.iter().map(end).collect(), lines.iter().map(end).collect());
    format!("\\begin{{tabular}}{{{columns}}}\n\\hline\n{head}\\hline\n{body}\\hline\n\\end{{tabular}}\n")
}

/// Escapes text for LaTeX.
pub(super) fn latex(text: &str) -> String {
    let mut out = String::new();
    for c in clean(text).chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', c]),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '\\' => out.push_str("\\textbackslash{}"),
            '<' => out.push_str("\\textless{}"),
            '>' => out.push_str("\\textgreater{}"),
            '|' => out.push_str("\\textbar{}"),
            '\u{2212}' => out.push_str("$-$"),
            '\u{2013}' => out.push_str("--"),
            '\u{2026}' => out.push_str("\\ldots{}"),
            c => out.push(c),
        }
    }
    out
}

/// Returns the output of `write` as text.
pub(crate) fn text(write: impl FnOnce(&mut Writer<Vec<u8>>) -> csv::Result<()>) -> String {
    let mut out = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
    // Writing to memory cannot fail, and all rows have the columns of the head.
    write(&mut out).unwrap_or_else(|e| unreachable!("CSV row cannot be written: {e}"));
    let bytes = out.into_inner().unwrap_or_else(|e| unreachable!("CSV text cannot be completed: {e}"));
    String::from_utf8(bytes).unwrap_or_else(|e| unreachable!("CSV text is not UTF-8: {e}"))
}
