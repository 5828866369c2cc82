//! Folders of finished runs that another server has played. The store has their matches and their enrolment.

use std::path::Path;
use std::sync::Arc;

use ludex_play::runs::folder::path_of;
use ludex_protocol::message::RunReason;
use ludex_report::runs::bundle::REPORT;
use tokio::runtime::Handle;

use super::enrolment::{EarlyStop, Enrolment};
use super::enrolment_state::EnrolmentState;
use super::host::Host;
use super::server_executor::ServerExecutor;
use super::{Runs, consents};

impl Runs {
    /// Writes the folder and the report of a finished run from the store, unless this server has the report.
    ///
    /// # Errors
    ///
    /// A failed write to a file, or those of the store.
    pub(super) async fn write_stored_folder(self: &Arc<Self>, kept: Enrolment) -> anyhow::Result<()> {
        let _one_by_one = self.writing_folder.lock().await;
        let run = kept.run().to_owned();
        let folder = path_of(&self.hub.config.data, &run);
        if has_report(&folder) || kept.is_held() {
            return Ok(());
        }
        let contest = Host::contest(self, &kept).await?;
        // Nothing is played: the executor of a stopped run returns the matches that the store has.
        let stop = EarlyStop { reason: RunReason::Deadline, agent: None };
        let book = Arc::new(EnrolmentState::new(Enrolment { stop: Some(stop), ..kept.clone() }));
        let (runs, name, runtime) = (self.clone(), run.clone(), Handle::current());
        let written = tokio::task::spawn_blocking(move || {
            consents::write(&folder, &kept)?;
            let stored = ServerExecutor::new(runs, book, &kept, &contest, runtime);
            contest.play(&stored, &name, |_, _| {}).map(drop)
        });
        written.await??;
        self.report(&run).await.map(drop)
    }
}

fn has_report(folder: &Path) -> bool {
    folder.join(REPORT).exists()
}
