//! Removal of old runs.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::Context as _;
use ludex_play::runs::folder::path_of;
use ludex_protocol::error::{ErrorCode, Refusal};
use ludex_store::{Store, Write};

use super::Runs;
use crate::matches::storage_failure;

/// Returns the key in the store that marks the name of a removed run.
fn mark_of(run: &str) -> String {
    format!("removed_run:{run}")
}

/// Removes a finished run. The store keeps the name, which no other run may use: the seeds of the run are public, and
/// its matches may be in the store.
///
/// # Errors
///
/// Those of the store, or a failed removal. The removal can then be repeated.
pub(crate) async fn remove_old(store: &Store, data: &Path, run: String) -> anyhow::Result<()> {
    let folder = path_of(data, &run);
    match tokio::fs::remove_dir_all(&folder).await {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("{} cannot be removed", folder.display()));
        }
        _ => {}
    }
    let mark = Write::MetaOnce { key: mark_of(&run), value: String::new() };
    Ok(store.write(vec![mark, Write::RunGone { name: run }]).await?)
}

impl Runs {
    /// Checks that no removed run had this name.
    ///
    /// # Errors
    ///
    /// A refusal, or a failed read of the store.
    pub(super) async fn check_unused(&self, run: &str) -> Result<(), Box<Refusal>> {
        match self.hub.store.meta(&mark_of(run)).await.map_err(|e| storage_failure(&e))? {
            None => Ok(()),
            Some(_) => {
                let message = "run name was used by a run that has been removed; choose another name";
                Err(Box::new(Refusal::new(ErrorCode::Conflict, message).path("run").got(run)))
            }
        }
    }
}
