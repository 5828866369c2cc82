//! Removal of the folders of old runs.

use std::path::Path;
use std::time::SystemTime;

use anyhow::Context as _;
use ludex_play::runs::folder::path_of;
use ludex_protocol::error::{ErrorCode, Refusal};
use ludex_store::{Store, Write};

use super::Runs;
use super::enrolment::Enrolment;
use super::season::secret_of_run;
use crate::matches::storage_failure;

/// Prefix of the keys in the store that mark the secrets of removed runs. Their seeds are public, so that no other run
/// may use them.
const PUBLIC: &str = "public_secret:";

/// Finished run that is old enough to be removed.
pub(crate) struct OldRun {
    name: String,
    /// Id of the secret from which the seeds of the run were derived.
    secret: String,
}

impl OldRun {
    /// Returns the finished runs in `data` that have not changed since `before`. The runs of a season that hides them
    /// are excluded.
    pub(crate) fn all(data: &Path, before: SystemTime) -> Vec<OldRun> {
        let runs = Enrolment::over_after(data, "", None, usize::MAX).into_iter();
        let old = |kept: &Enrolment| !kept.is_held() && kept.changed(data).is_ok_and(|changed| changed < before);
        runs.filter(old).map(|kept| OldRun { name: kept.run().to_owned(), secret: kept.secret() }).collect()
    }

    /// Removes the folder of the run. The store keeps the name, which no other run may use, since matches of the run may
    /// be in the store.
    ///
    /// # Errors
    ///
    /// Those of the store, or a failed removal.
    pub(crate) async fn remove(self, store: &Store, data: &Path) -> anyhow::Result<()> {
        let mark = |secret: &str| Write::MetaOnce { key: format!("{PUBLIC}{secret}"), value: String::new() };
        store.write(vec![mark(&self.secret), mark(&secret_of_run(&self.name))]).await?;
        let folder = path_of(data, &self.name);
        let context = format!("{} cannot be removed", folder.display());
        let removed = tokio::task::spawn_blocking(move || Enrolment::remove_folder(&folder)).await?;
        removed.with_context(|| context)
    }
}

impl Runs {
    /// Marks the seeds of removed runs as public. Must be called before the first enrolment.
    pub(super) async fn remember_removed(&self) {
        match self.hub.store.meta_keys(PUBLIC).await {
            Ok(keys) => {
                self.shown.lock().extend(keys.into_iter().filter_map(|key| Some(key.strip_prefix(PUBLIC)?.to_owned())));
            }
            Err(error) => tracing::error!(%error, "reading removed runs failed"),
        }
    }

    /// Checks that no removed run had this name.
    ///
    /// # Errors
    ///
    /// A refusal, or a failed read of the store.
    pub(super) async fn check_unused(&self, run: &str) -> Result<(), Box<Refusal>> {
        let key = format!("{PUBLIC}{}", secret_of_run(run));
        match self.hub.store.meta(&key).await.map_err(|e| storage_failure(&e))? {
            None => Ok(()),
            Some(_) => {
                let message = "run name was used by a run that has been removed; choose another name";
                Err(Box::new(Refusal::new(ErrorCode::Conflict, message).path("run").got(run)))
            }
        }
    }
}
