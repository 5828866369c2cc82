//! Check of the folders of runs against the store.

use std::collections::BTreeSet;
use std::path::Path;

use ludex_play::runs::folder::path_of;
use ludex_report::runs::run_files::{EPISODES, RUN};
use ludex_store::{MatchFilter, RunRow, Store, StoreError};

use super::Finding;
use super::store::failure;

const CHECK: &str = "runs";

/// Number of runs per read of the store.
const PAGE: usize = 500;

/// Maximum number of names in a finding.
const NAMES: usize = 5;

/// Checks that runs with ended matches have records, and that folders belong to runs.
pub(super) async fn check(store: &Store, data: &Path) -> Vec<Finding> {
    match compare(store, data).await {
        Ok(findings) => findings,
        Err(error) => vec![failure(&error)],
    }
}

async fn compare(store: &Store, data: &Path) -> Result<Vec<Finding>, StoreError> {
    let rows = all_runs(store).await?;
    let (mut missing, mut pending) = (Vec::new(), Vec::new());
    for row in &rows {
        let has_records = path_of(data, &row.name).join(EPISODES).exists();
        if !has_records && has_ended_match(store, &row.name).await? {
            // The server adds the records of an open run at its start.
            if row.ended_ms.is_some() { &mut missing } else { &mut pending }.push(row.name.clone());
        }
    }
    let known: BTreeSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    let strange = folders(data).into_iter().filter(|name| !known.contains(name.as_str()));
    // Runs of `ludex evaluate` are in no store.
    let strange: Vec<String> = strange.filter(|name| !path_of(data, name).join(RUN).exists()).collect();
    let mut findings = Vec::new();
    if !missing.is_empty() {
        let text = format!("finished runs without records: {}", names(&missing));
        findings.push(match store.cells().await?.owners.len() {
            0 | 1 => Finding::problem(CHECK, text, "restore the folders below runs from a backup"),
            _ => Finding::warning(
                CHECK,
                text,
                "nothing, if other servers have played them: their folders are written when somebody asks for the report",
            ),
        });
    }
    if !pending.is_empty() {
        let text = format!("open runs without records: {}", names(&pending));
        findings.push(Finding::warning(CHECK, text, "restart the server, which adds the records"));
    }
    if !strange.is_empty() {
        let text = format!("folders without a run: {}", names(&strange));
        let remedy = format!("move them out of {}", path_of(data, "").display());
        findings.push(Finding::warning(CHECK, text, remedy));
    }
    if findings.is_empty() {
        findings.push(Finding::ok(CHECK, format!("{} runs in the store, each with its records", rows.len())));
    }
    Ok(findings)
}

/// Returns the runs that are not removed.
async fn all_runs(store: &Store) -> Result<Vec<RunRow>, StoreError> {
    let mut rows = store.active_runs().await?;
    let mut after = String::new();
    loop {
        let page = store.finished_runs(None, &after, PAGE).await?;
        let is_last = page.len() < PAGE;
        if let Some(row) = page.last() {
            after.clone_from(&row.name);
        }
        rows.extend(page);
        if is_last {
            return Ok(rows);
        }
    }
}

async fn has_ended_match(store: &Store, run: &str) -> Result<bool, StoreError> {
    let filter = MatchFilter { run: Some(run.to_owned()), live: Some(false), ..MatchFilter::default() };
    Ok(!store.matches(&filter, 1).await?.is_empty())
}

/// Returns the names of the folders of runs. Hidden files belong to other programs.
fn folders(data: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(path_of(data, "")).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| !name.starts_with('.'));
    names.sort();
    names
}

fn names(all: &[String]) -> String {
    let first = all.iter().take(NAMES).cloned().collect::<Vec<_>>().join(", ");
    match all.len().saturating_sub(NAMES) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
