//! The data card: what a file of a run holds, for those who find it without the run.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::Column;
use crate::archive::Archive;
use crate::runs::settings::{Kind, RunSeeds, Settings};

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
    /// How many there are, and of what.
    pub count: String,
    /// Its columns; none for formats that have none.
    pub columns: &'a [Column],
}

/// The card of one file of a run, as Markdown. It ends with a line for the licence, which is the owner's to fill in.
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
         `ludex games NAME --page`. Every match can be played again from its record: `ludex verify`.\n",
        if run.about.ludex.is_empty() { "ludex" } else { &run.about.ludex },
        crate::PROGRAM
    );
    if !file.columns.is_empty() {
        out += "\n## Columns\n\nAny value may be absent.\n\n| column | type | meaning |\n|---|---|---|\n";
        for column in file.columns {
            let _ = writeln!(out, "| `{}` | {} | {} |", column.name, column.kind.name(), column.about);
        }
    }
    out + "\n## Licence\n\nNot stated yet: to be filled in by the owner of the run.\n"
}

/// The run in a table: agents, games with their rules, suite, seeds.
pub fn about_run(about: &Settings) -> String {
    let mut out = String::new();
    let agents: Vec<String> = about.agents.iter().map(|a| format!("{} (`{}`)", line(&a.name), line(&a.spec))).collect();
    let games: Vec<String> = about.games.iter().map(|(game, hash)| format!("`{game}` (rules hash `{hash}`)")).collect();
    let seeds = match about.seeds {
        RunSeeds::Open(open) => format!("open, from {open}"),
        RunSeeds::Secret(_) => "from a secret that the run's settings tell".to_owned(),
    };
    let suite = format!("{}, version {} ({})", line(&about.suite.name), about.suite.version, about.suite.digest);
    let kind = match about.kind {
        Kind::Evaluate => "evaluation",
        Kind::Tournament => "tournament",
    };
    let mut rows =
        vec![("run", line(&about.run)), ("kind", kind.to_owned()), ("begun", line(&about.begun)), ("suite", suite)];
    rows.extend([("agents", agents.join("; ")), ("games", games.join("; ")), ("seeds", seeds)]);
    rows.retain(|(_, value)| !value.is_empty());
    facts(&mut out, &rows);
    out
}

fn facts(out: &mut String, rows: &[(&str, String)]) {
    out.push_str("| what | |\n|---|---|\n");
    for (name, value) in rows {
        let _ = writeln!(out, "| {name} | {value} |");
    }
}

/// Text that stands in a cell.
fn line(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}

/// The SHA-256 of some bytes, hex.
pub fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
