//! A run in words, for data cards.

use std::fmt::Write as _;

use ludex_referee::schedule::Deals;
use sha2::{Digest as _, Sha256};

use super::settings::{RunKind, RunSeeds, RunSettings, names};

/// The end of every card.
pub(crate) const LICENCE: &str = "\n## Licence\n\nNot stated yet: to be filled in by the owner of the run.\n";

/// The program that a run was played by.
pub(crate) fn program(about: &RunSettings) -> &str {
    if about.ludex.is_empty() { "ludex" } else { &about.ludex }
}

/// The run in a table: agents, games with their rules, suite, seeds.
pub(crate) fn about_run(about: &RunSettings) -> String {
    let mut out = String::new();
    let agents: Vec<String> = about.agents.iter().map(|a| format!("{} (`{}`)", line(&a.name), line(&a.spec))).collect();
    let games: Vec<String> = about.games.iter().map(|(game, hash)| format!("`{game}` (rules hash `{hash}`)")).collect();
    let seeds = seeds(about);
    let suite = format!("{}, version {} ({})", line(&about.suite.name), about.suite.version, about.suite.digest);
    let kind = match about.kind {
        RunKind::Evaluate => "evaluation",
        RunKind::Tournament => "tournament",
    };
    let mut rows =
        vec![("run", line(&about.run)), ("kind", kind.to_owned()), ("begun", line(&about.begun)), ("suite", suite)];
    rows.extend([("agents", agents.join("; ")), ("games", games.join("; ")), ("seeds", seeds)]);
    let roles = about.roles.iter().map(|(role, agents)| format!("{role}: {}", line(&names(agents))));
    rows.push(("roles", roles.collect::<Vec<_>>().join("; ")));
    if about.deals != Deals::default() {
        rows.push(("deals", about.deals.to_string()));
    }
    if let Some(shard) = about.shard {
        rows.push(("shard", shard.to_string()));
    }
    rows.retain(|(_, value)| !value.is_empty());
    facts(&mut out, &rows);
    out
}

/// Where the seeds of a run come from.
pub(crate) fn seeds(about: &RunSettings) -> String {
    match about.seeds {
        RunSeeds::Open(open) => format!("open, from {open}"),
        RunSeeds::Secret(_) => "from a secret that the run's settings tell".to_owned(),
    }
}

/// A Markdown table of two columns.
pub(crate) fn facts(out: &mut String, rows: &[(&str, String)]) {
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
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
