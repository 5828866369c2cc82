//! Dataset card: the description of exported tables for readers without the runs, in the form of the Hugging Face hub.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::ColumnDoc;
use crate::runs::describe::{LICENSE, about_run, program, sha256};
use crate::runs::settings::RunSettings;
use crate::yaml::front_matter;

/// Table to describe, in one file or several files.
pub struct DescribedTable<'a> {
    /// Name of the table, such as `moves`.
    pub name: &'a str,
    /// Format: `JSON Lines`, `CSV`, ...
    pub format: &'a str,
    /// Description of a row.
    pub about: &'a str,
    /// Columns; empty for formats without columns.
    pub columns: &'a [ColumnDoc],
    pub files: Vec<DescribedFile>,
}

/// File of a table.
pub struct DescribedFile {
    /// Path from the card.
    pub path: String,
    pub bytes: usize,
    /// SHA-256 of the file in hex.
    pub sha256: String,
    /// Number of rows in the file.
    pub rows: usize,
    /// Number and kind of the rows, as text.
    pub count: String,
}

impl DescribedFile {
    /// Describes a file with this content.
    pub fn of(path: String, bytes: &[u8], rows: usize, count: String) -> DescribedFile {
        DescribedFile { path, bytes: bytes.len(), sha256: sha256(bytes), rows, count }
    }
}

/// Returns the card of tables of runs, as Markdown. The last section is the license, which the owner of the runs fills in.
pub fn card(title: &str, runs: &[&RunSettings], command: &str, tables: &[DescribedTable]) -> String {
    let mut out = front_matter(&head(title, tables));
    let _ = write!(out, "# {title}\n\n");
    for table in tables {
        let _ = write!(out, "{}\n\n", table.about);
    }
    out += "## Files\n\n| file | format | content | bytes | SHA-256 |\n|---|---|---|--:|---|\n";
    for table in tables {
        for file in &table.files {
            let DescribedFile { path, bytes, sha256, count, .. } = file;
            let _ = writeln!(out, "| `{path}` | {} | {count} | {bytes} | `{sha256}` |", table.format);
        }
    }
    for run in runs {
        let heading = if runs.len() == 1 { "The run".to_owned() } else { format!("The run {}", run.run) };
        let _ = write!(out, "\n## {heading}\n\n{}\nThe matches were played by {}.\n", about_run(run), program(run));
    }
    let _ = write!(
        out,
        "\n## Production\n\nThe files were written by {} with\n\n```sh\n{command}\n```\n\nFor the rules and formats of the \
         games, run `ludex games explain NAME --page`. `ludex verify` replays every match from its record.\n",
        crate::PROGRAM
    );
    for table in tables.iter().filter(|table| !table.columns.is_empty()) {
        let of = if tables.len() == 1 { String::new() } else { format!(" of {}", table.name) };
        let _ =
            write!(out, "\n## Columns{of}\n\nAny value may be absent.\n\n| column | type | meaning |\n|---|---|---|\n");
        for column in table.columns {
            let _ = writeln!(out, "| `{}` | {} | {} |", column.name, column.kind.name(), column.about);
        }
    }
    out + LICENSE
}

/// Returns the front matter of a card. Only formats that the hub reads are listed as configurations.
fn head(title: &str, tables: &[DescribedTable]) -> Value {
    let rows: usize = tables.iter().flat_map(|table| &table.files).map(|file| file.rows).sum();
    let read = |path: &str| [".csv", ".jsonl", ".parquet"].iter().any(|end| path.ends_with(end));
    let config = |table: &DescribedTable| {
        let files: Vec<&str> = table.files.iter().map(|file| file.path.as_str()).filter(|path| read(path)).collect();
        (!files.is_empty()).then(|| json!({ "config_name": table.name, "data_files": files }))
    };
    let text = tables.iter().any(|table| ["calls", "decisions", "sft", "dpo", "grpo"].contains(&table.name));
    let tasks: &[&str] =
        if text { &["reinforcement-learning", "text-generation"] } else { &["reinforcement-learning"] };
    json!({
        "pretty_name": title,
        "license": "other",
        "license_name": "not-stated",
        "task_categories": tasks,
        "size_categories": [size(rows)],
        "tags": ["ludex", "games"],
        "configs": tables.iter().filter_map(config).collect::<Vec<_>>(),
    })
}

/// Returns the size category of the hub for a number of rows.
fn size(rows: usize) -> &'static str {
    match rows {
        ..1_000 => "n<1K",
        1_000..10_000 => "1K<n<10K",
        10_000..100_000 => "10K<n<100K",
        100_000..1_000_000 => "100K<n<1M",
        1_000_000..10_000_000 => "1M<n<10M",
        _ => "n>10M",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_lists_readable_files_and_total_size() {
        let file = |path: &str, rows| DescribedFile::of(path.to_owned(), b"x", rows, format!("{rows} rows"));
        let table = |name, files| DescribedTable { name, format: "CSV", about: "A row.", columns: &[], files };
        let tables = [
            table("moves", vec![file("data/a/moves.csv", 900), file("data/b/moves.csv", 200)]),
            table("games", vec![file("games.sgf", 3)]),
        ];
        let card = card("Two: runs", &[], "ludex", &tables);
        let head = card.strip_prefix("---\n").and_then(|rest| rest.split_once("---\n")).expect("front matter").0;
        for line in ["pretty_name: \"Two: runs\"", "  - \"1K<n<10K\"", "      - \"data/b/moves.csv\""] {
            assert!(head.lines().any(|own| own == line), "{line}: {head}");
        }
        assert!(!head.contains("sgf") && card.contains("| `games.sgf` | CSV | 3 rows | 1 |"), "{card}");
    }
}
