//! The data card: it describes a file of a run for people who do not have the run.

use std::fmt::Write as _;

use super::ColumnDoc;
use crate::runs::archive::Archive;
use crate::runs::describe::{LICENCE, about_run, facts, program, sha256};

/// A file that a card describes.
pub struct Described<'a> {
    /// Its name, without folder.
    pub file: &'a str,
    /// `jsonl`, `parquet`, ...
    pub format: &'a str,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// What one row is.
    pub about: &'a str,
    /// The number of rows, and what they are.
    pub count: String,
    /// Its columns; empty for formats without columns.
    pub columns: &'a [ColumnDoc],
}

/// The card of one file of a run, as Markdown. Its last line is for the licence, which the owner of the run fills in.
pub fn card(run: &Archive, command: &str, file: &Described) -> String {
    let mut out = format!("# {}\n\n{}\n\n", file.file, file.about);
    facts(
        &mut out,
        &[
            ("file", format!("`{}`, {}, {} bytes", file.file, file.format, file.bytes.len())),
            ("holds", file.count.clone()),
            ("sha256", format!("`{}`", sha256(file.bytes))),
        ],
    );
    out += "\n## The run\n\n";
    out += &about_run(&run.about);
    out += "\n## How it was made\n\n";
    let _ = write!(
        out,
        "The matches were played by {}; this file was made by {} with\n\n```sh\n{command}\n```\n\nRules and formats of the games: \
         `ludex games explain NAME --page`. Every match can be played again from its record: `ludex verify`.\n",
        program(&run.about),
        crate::PROGRAM
    );
    if !file.columns.is_empty() {
        out += "\n## Columns\n\nAny value may be absent.\n\n| column | type | meaning |\n|---|---|---|\n";
        for column in file.columns {
            let _ = writeln!(out, "| `{}` | {} | {} |", column.name, column.kind.name(), column.about);
        }
    }
    out + LICENCE
}
