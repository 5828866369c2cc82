//! Check of the store.

use ludex_store::{Store, StoreError};

use super::Finding;

const CHECK: &str = "store";

/// Checks a whole file for damage, however long it takes. A database checks its own files.
pub(super) async fn integrity(store: &Store) -> Finding {
    let name = store.location();
    let remedy = "stop the server, move the data folder away, and restore a backup: ludex admin restore";
    match store.faults().await {
        Ok(Some(faults)) if faults.is_empty() => Finding::ok(CHECK, format!("{name} is undamaged")),
        Ok(Some(faults)) => Finding::problem(CHECK, format!("{name} is damaged: {}", faults.join("; ")), remedy),
        Ok(None) => Finding::ok(CHECK, format!("{name} answers")),
        Err(error) => Finding::problem(CHECK, format!("{name} cannot be checked: {error}"), remedy),
    }
}

/// Returns the finding for a store that cannot be opened. The text of the error contains the remedy.
pub(super) fn failure(error: &StoreError) -> Finding {
    let text = error.to_string();
    let (text, remedy) = text.split_once("; ").unwrap_or((&text, "restore a backup: ludex admin restore"));
    Finding::problem(CHECK, text, remedy)
}
