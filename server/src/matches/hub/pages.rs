//! What may be read of matches: lists, and single episodes.

use ludex_play::machine::Match;
use ludex_protocol::message::{ListMatches, MatchEntry, MatchFrame, Matches};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::Hub;
use super::restore::rows_of;
use crate::sessions::running::{Cmd, Handle};
use crate::store::KeptMatch;

/// The most matches in one list.
const LIST_LIMIT: u32 = 500;

/// What the end of a match keeps to itself until its release.
const HIDDEN: [&str; 5] = ["digest", "seed", "salt", "run", "pair"];

impl Hub {
    /// The list of matches that a client or a page asked for.
    pub fn matches(&self, which: &ListMatches) -> Matches {
        let limit = which.limit.min(LIST_LIMIT) as usize;
        let of_game = |m: &MatchEntry, g: &str| m.game == g || m.game.split('(').next() == Some(g);
        let wanted =
            |h: &&Handle| (!which.live || h.live()) && which.game.as_deref().is_none_or(|g| of_game(h.entry(), g));
        let mut all: Vec<MatchEntry> = self.live.lock().values().filter(wanted).map(|h| h.entry().clone()).collect();
        all.sort_by(|a, b| b.started_ms.cmp(&a.started_ms).then_with(|| a.match_id.cmp(&b.match_id)));
        all.truncate(limit);
        Matches { matches: all }
    }

    /// Whether an agent of this name and owner has a seat in a match.
    pub(in crate::matches) fn plays_in(&self, id: &str, agent: &str, owner: Option<&str>) -> bool {
        self.sessions.named(agent, owner).iter().any(|session| session.seat(id).is_some())
    }

    /// What everybody may see of an episode: the record when it is released, else its head and the public events.
    pub async fn episode(&self, id: &str) -> Option<Value> {
        let handle = self.handle(id);
        let kept = self.store.episode(id).await.unwrap_or_else(|error| {
            tracing::error!(id, %error, "an episode could not be read");
            None
        })?;
        if kept.released
            && let Some(end) = &kept.end
        {
            return serde_json::from_str(&end.record).ok();
        }
        let told = match handle {
            Some(handle) => {
                let (tx, rx) = oneshot::channel();
                handle.send(Cmd::Public(tx));
                rx.await.ok()
            }
            None => None,
        };
        // Without a task, or if that ended just now, the store tells.
        let frames = told.or_else(|| self.retold(&kept))?;
        let mut page: serde_json::Map<String, Value> = serde_json::from_str(&kept.row.header).ok()?;
        page.insert("events".into(), json!(frames));
        if let Some(end) = &kept.end
            && let Ok(Value::Object(footer)) = serde_json::from_str::<Value>(&end.footer)
        {
            page.extend(footer.into_iter().filter(|(key, _)| !HIDDEN.contains(&key.as_str())));
        }
        Some(Value::Object(page))
    }

    /// The public events of a match that has no task any more.
    fn retold(&self, kept: &KeptMatch) -> Option<Vec<MatchFrame>> {
        let (setup, _) = self.setup_of(kept, 0).ok()?;
        let (machine, _) = Match::restore(setup, rows_of(kept).ok()?, 0).ok()?;
        Some(machine.public_events())
    }
}
