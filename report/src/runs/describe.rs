//! Description of a run for data cards.

use std::fmt::Write as _;

use ludex_referee::schedule::Deals;
use sha2::{Digest as _, Sha256};

use super::settings::{RunKind, RunSeeds, RunSettings, names};

/// Last line of every card.
pub(crate) const LICENSE: &str = "\n## License\n\nNot stated yet: to be filled in by the owner of the run.\n";

/// Returns the program that created the run.
pub(crate) fn program(about: &RunSettings) -> &str {
    if about.ludex.is_empty() { "ludex" } else { &about.ludex }
}

/// Returns a Markdown table that describes the run: agents, games with their rules, suite and seeds.
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
        vec![("run", line(&about.run)), ("kind", kind.to_owned()), ("started", line(&about.begun)), ("suite", suite)];
    rows.extend([("agents", agents.join("; ")), ("games", games.join("; ")), ("seeds", seeds)]);
    let roles = about.roles.iter().map(|(role, agents)| format!("{role}: {}", line(&names(agents))));
    rows.push(("roles", roles.collect::<Vec<_>>().join("; ")));
    rows.push(("variants", about.variants.as_deref().unwrap_or_default().join(", ")));
    let left_out = about.left_out.iter().map(|(part, why)| format!("{}: {}", line(part), line(why)));
    rows.push(("parts left out", left_out.collect::<Vec<_>>().join("; ")));
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

/// Returns the source of the run's seeds as text.
pub fn seeds(about: &RunSettings) -> String {
    match about.seeds {
        RunSeeds::Open(open) => format!("open, from {open}"),
        RunSeeds::Secret(_) => "from the secret in the run's settings".to_owned(),
    }
}

/// Appends a Markdown table of two columns.
pub(crate) fn facts(out: &mut String, rows: &[(&str, String)]) {
    out.push_str("| property | value |\n|---|---|\n");
    for (name, value) in rows {
        let _ = writeln!(out, "| {name} | {value} |");
    }
}

/// Escapes text for a table cell.
pub(crate) fn line(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}

/// Returns the SHA-256 of `bytes` in hex.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
