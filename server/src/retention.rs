//! Removal of old data: by a server with the option `--retain`, and by `ludex admin prune`.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Weak;
use std::time::Duration;

use anyhow::Context as _;
use ludex_play::runs::folder::path_of;
use ludex_store::{OldRows, Store, Write};
use serde::Serialize;

use crate::config::Retention;
use crate::server_state::ServerState;

/// Interval at which a server removes old data.
const AGAIN: Duration = Duration::from_secs(3_600);

/// Numbers of items that are old enough to be removed. `None` for data that stay forever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OldData {
    /// Number of unrated matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unrated: Option<u64>,
    /// Number of matches whose logs are removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logs: Option<u64>,
    /// Number of removed runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<u64>,
}

/// Removes the data that are older than `retention` allows from the store and from the data directory `data`, which a
/// server may be using, and returns their numbers. With `dry_run`, removes nothing.
///
/// # Errors
///
/// Returns an error if the store fails or a folder cannot be removed. Some of the data may then be removed.
pub async fn prune(store: &Store, data: &Path, retention: &Retention, dry_run: bool) -> anyhow::Result<OldData> {
    let mut old = OldData::default();
    // Logs first, so that the numbers equal those of a dry run.
    let before_ms = |age: Duration| -> anyhow::Result<i64> {
        Ok(ludex_play::time::epoch_ms().saturating_sub(i64::try_from(age.as_millis())?))
    };
    for (kind, age, count) in
        [(OldRows::Logs, retention.logs, &mut old.logs), (OldRows::UnratedMatches, retention.unrated, &mut old.unrated)]
    {
        let Some(age) = age else { continue };
        *count = Some(match dry_run {
            true => store.count_old(kind, before_ms(age)?).await?,
            false => store.remove_old(kind, before_ms(age)?).await?,
        });
    }
    if let Some(age) = retention.runs {
        let runs = store.old_runs(before_ms(age)?).await?;
        old.runs = Some(runs.len() as u64);
        for run in runs.into_iter().filter(|_| !dry_run) {
            let folder = path_of(data, &run);
            let removed = tokio::fs::remove_dir_all(&folder).await;
            // An interrupted removal is repeated.
            if let Err(error) = removed.or_else(|e| if e.kind() == ErrorKind::NotFound { Ok(()) } else { Err(e) }) {
                return Err(error).with_context(|| format!("{} cannot be removed", folder.display()));
            }
            store.write(vec![Write::RunGone { name: run }]).await?;
        }
    }
    Ok(old)
}

/// Removes old data at the start of a server and then at intervals, until the server stops.
pub(crate) async fn watch(shared: Weak<ServerState>) {
    loop {
        let Some(shared) = shared.upgrade() else { return };
        let (store, data, retention) = (shared.store.clone(), shared.config.data.clone(), shared.config.retention);
        drop(shared);
        if retention == Retention::default() {
            return;
        }
        match prune(&store, &data, &retention, false).await {
            Ok(OldData { unrated, logs, runs }) => tracing::info!(unrated, logs, runs, "old data removed"),
            Err(error) => tracing::error!(error = %format!("{error:#}"), "removal of old data failed"),
        }
        tokio::time::sleep(AGAIN).await;
    }
}
