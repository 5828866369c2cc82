//! Data card: the description of an exported file for readers without the run.

use std::fmt::Write as _;

use super::ColumnDoc;
use crate::runs::archive::Archive;
use crate::runs::describe::{LICENCE, about_run, facts, program, sha256};

/// File to describe.
pub struct Described<'a> {
    /// Name without the folder.
    pub file: &'a str,
    /// Format: `jsonl`, `parquet`, ...
    pub format: &'a str,
    pub bytes: &'a [u8],
    /// Description of a row.
    pub about: &'a str,
    /// Number and kind of the rows.
    pub count: String,
    /// Columns; empty for formats without columns.
    pub columns: &'a [ColumnDoc],
}

/// Returns the card of a file of a run, as Markdown. The last section is the licence, which the owner of the run fills in.
pub fn card(run: &Archive, command: &str, file: &Described) -> String {
    let mut out = format!("# {}\n\n{}\n\n", file.file, file.about);
    facts(
        &mut out,
        &[
            ("file", format!("`{}`, {}, {} bytes", file.file, file.format, file.bytes.len())),
            ("content", file.count.clone()),
            ("sha256", format!("`{}`", sha256(file.bytes))),
        ],
    );
    out += "\n## The run\n\n";
    out += &about_run(&run.about);
    out += "\n## Production\n\n";
    let _ = write!(
        out,
        "The matches were played by {}. This file was written by {} with\n\n```sh\n{command}\n```\n\nFor the rules and formats of the \
         games, run `ludex games explain NAME --page`. `ludex verify` replays every match from its record.\n",
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
