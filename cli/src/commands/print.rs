//! Output of commands: tables, JSON documents and progress.

use std::io::{self, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use ludex_protocol::is_unprintable;
pub(crate) use ludex_protocol::plain_text as plain;
pub(crate) use ludex_report::display::{count, number, points};
use serde_json::Value;

/// Reason for an early end of a run, to be followed by the last failure.
pub(crate) const STOPPED: &str = "stopped, since the infrastructure failed in several consecutive matches. These do not count; \
                                  run the same command to continue. The last failure: ";

/// Writes a table with aligned columns, separated by two spaces. Columns for which `right` returns true are
/// right-aligned.
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

/// Breaks a text into lines of at most `width` characters, at spaces and after commas, where possible. Further lines are
/// indented.
pub(crate) fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::new();
    let mut line = 0;
    for word in text.split_inclusive([' ', ',', ';']) {
        let length = word.trim_end().chars().count();
        if line > 0 && line + length > width {
            out.truncate(out.trim_end().len());
            out += "\n  ";
            line = 2;
        }
        out += word;
        line += word.chars().count();
    }
    out + "\n"
}

/// Prints a JSON document to standard output.
pub(crate) fn json(document: &Value) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{}", escaped(&format!("{document:#}")))
}

/// Replaces unprintable characters of a JSON text by escape sequences. Only strings contain such characters.
pub(crate) fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c != '\n' && is_unprintable(c) {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}

/// Returns a progress bar with the remaining time. The bar is drawn on standard error if that is a terminal.
pub(crate) fn progress(of: u64, what: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix} {wide_bar} {pos}/{len}{msg}, {eta} left");
    let bar = ProgressBar::new(of).with_prefix(what.to_owned());
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Returns a counter for work of unknown size. The counter is drawn on standard error if that is a terminal.
pub(crate) fn counter(what: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{pos} {prefix}, {per_sec:.0}/s");
    let bar = ProgressBar::no_length().with_prefix(what.to_owned());
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_json_is_printable_and_has_the_same_value() {
        let document = serde_json::json!({ "reason": "a\u{1b}[2J\u{202e}\u{9b}\n\u{7f}é" });
        let text = escaped(&format!("{document:#}"));
        assert!(text.chars().all(|c| c == '\n' || !is_unprintable(c)), "{text:?}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), document);
    }

    #[test]
    fn text_is_wrapped_at_spaces_and_commas() {
        assert_eq!(wrapped("game(a=1,b=2,c=3)", 12), "game(a=1,\n  b=2,c=3)\n");
        assert_eq!(wrapped("one two three", 8), "one two\n  three\n");
        assert_eq!(wrapped("short", 80), "short\n");
    }

    #[test]
    fn table_aligns_columns_left_or_right() {
        let rows = [["a", "10", "x"], ["bbb", "2", ""]].map(|r| r.map(str::to_owned).to_vec());
        let mut out = Vec::new();
        table(&mut out, &rows, |k| k == 1).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "a    10  x\nbbb   2\n");
    }
}
