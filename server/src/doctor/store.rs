//! Check of the store's file.

use std::path::{Path, PathBuf};

use ludex_store::StoreError;
use rusqlite::{Connection, OpenFlags};

use super::Finding;

const CHECK: &str = "store";

/// Maximum number of faults in a finding.
const FAULTS: usize = 3;

/// Checks the whole file for damage, however long it takes.
pub(super) async fn integrity(path: PathBuf) -> Finding {
    let name = path.display().to_string();
    let checked = tokio::task::spawn_blocking(move || faults(&path)).await;
    let remedy = "stop the server, move the data folder away, and restore a backup: ludex admin restore";
    match checked {
        Ok(Ok(faults)) if faults == ["ok"] => Finding::ok(CHECK, format!("{name} is undamaged")),
        Ok(Ok(faults)) => Finding::problem(CHECK, format!("{name} is damaged: {}", faults.join("; ")), remedy),
        Ok(Err(error)) => Finding::problem(CHECK, format!("{name} cannot be checked: {error}"), remedy),
        Err(error) => Finding::problem(CHECK, format!("{name} cannot be checked: {error}"), remedy),
    }
}

fn faults(path: &Path) -> rusqlite::Result<Vec<String>> {
    let file = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut check = file.prepare(&format!("PRAGMA quick_check({FAULTS})"))?;
    check.query_map([], |row| row.get(0))?.collect()
}

/// Returns the finding for a store that cannot be opened. The text of the error contains the remedy.
pub(super) fn failure(error: &StoreError) -> Finding {
    let text = error.to_string();
    let (text, remedy) = text.split_once("; ").unwrap_or((&text, "restore a backup: ludex admin restore"));
    Finding::problem(CHECK, text, remedy)
}
