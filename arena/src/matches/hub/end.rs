//! Ends of matches that are not played to their ends.

use std::sync::Arc;
use std::time::Duration;

use ludex_play::machine::interface::Input;
use ludex_protocol::record::EndReason;
use ludex_store::{EndRow, StoreError, Write};
use serde_json::json;

use super::Hub;
use crate::metrics::word;
use crate::sessions::match_handle::{MatchCommand, MatchHandle};

/// Maximum time to wait for the end of a match.
const PATIENCE: Duration = Duration::from_secs(1);

/// Interval at which the end of a match is awaited.
const POLL: Duration = Duration::from_millis(5);

/// Returns the end of a stored match that is not played to its end, with a note of the reason in place of a record.
pub fn stored_end(reason: EndReason, why: &str) -> EndRow {
    let reason = word(reason);
    EndRow {
        ended_ms: ludex_play::time::epoch_ms(),
        footer: json!({ "reason": reason, "ended": ludex_play::time::now_text() }).to_string(),
        record: json!({ "note": why }).to_string(),
        reason,
    }
}

impl Hub {
    /// Ends a stored match that cannot continue, and notes the reason `why`.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn abandon(&self, id: &str, reason: EndReason, why: &str) -> Result<(), StoreError> {
        tracing::info!(match_id = id, reason = word(reason), "match ended");
        self.metrics.ended(reason);
        let end = stored_end(reason, why);
        self.store.write(vec![Write::MatchEnd { id: id.to_owned(), acts: Vec::new(), end }]).await
    }

    /// Ends a running match as aborted, since an operator requests it. No effect on other matches.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn end_match(self: &Arc<Self>, id: &str) -> Result<(), StoreError> {
        if !self.is_live(id) {
            self.store.catch_up().await;
            let Some(kept) = self.store.episode(id).await?.filter(|kept| kept.end.is_none()) else { return Ok(()) };
            // A match that has not ended and is not live belongs to a run and waits in the store for its agent.
            self.unplan(id);
            if let Err(why) = self.revive(kept).await {
                return self.abandon(id, EndReason::Aborted, &why).await;
            }
        }
        let Some(handle) = self.handle(id) else { return Ok(()) };
        handle.send(MatchCommand::Input(Input::Abort(EndReason::Aborted)));
        let ended = async {
            while MatchHandle::live(&handle) {
                tokio::time::sleep(POLL).await;
            }
        };
        // If the store is full, the end is stored later.
        let _ = tokio::time::timeout(PATIENCE, ended).await;
        Ok(())
    }
}
