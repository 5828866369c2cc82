//! What commands print: tables, JSON documents, progress.

use std::io::{self, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

/// Rows with their columns in line: the first to the left, the others to the right where `right` says so. Two blanks
/// between columns, none at the end of a line.
pub(crate) fn table(out: &mut impl Write, rows: &[Vec<String>], right: impl Fn(usize) -> bool) -> io::Result<()> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |k: usize| rows.iter().filter_map(|r| r.get(k)).map(|c| c.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in rows {
        let cells = row.iter().enumerate().map(|(k, cell)| {
            let w = widths[k];
            if right(k) { format!("{cell:>w$}") } else { format!("{cell:<w$}") }
        });
        writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    Ok(())
}

/// One document on standard output, and nothing else.
pub(crate) fn json(document: &Value) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{document:#}")
}

/// Progress and time left on standard error, if that is a terminal.
pub(crate) fn progress(of: u64, what: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix} {wide_bar} {pos}/{len}, {eta} left");
    let bar = ProgressBar::new(of).with_prefix(what.to_owned());
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// A count that rises, on standard error, if that is a terminal: for work of unknown size.
pub(crate) fn counter(what: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{pos} {prefix}, {per_sec:.0}/s");
    let bar = ProgressBar::no_length().with_prefix(what.to_owned());
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// `1 match`, `2 matches`.
pub(crate) fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// A return without needless decimals.
pub(crate) fn points(x: f64) -> String {
    number(x, if x.fract() == 0.0 { 0 } else { 3 })
}

/// A number with so many decimals.
pub(crate) fn number(x: f64, digits: usize) -> String {
    let text = format!("{x:.digits$}");
    // What rounds to nothing has no sign.
    if text.trim_start_matches('-').chars().all(|c| matches!(c, '0' | '.')) {
        text.trim_start_matches('-').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_in_line() {
        let rows = [["a", "10", "x"], ["bbb", "2", ""]].map(|r| r.map(str::to_owned).to_vec());
        let mut out = Vec::new();
        table(&mut out, &rows, |k| k == 1).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "a    10  x\nbbb   2\n");
    }

    #[test]
    fn nothing_has_no_sign() {
        assert_eq!([number(-0.0001, 2), number(-0.5, 1), number(3.0, 0)], ["0.00", "-0.5", "3"]);
    }
}
