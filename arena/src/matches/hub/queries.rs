//! Read-only queries of matches: lists of matches, and single episodes.

use std::sync::Arc;

use ludex_protocol::message::{ListMatches, MatchEntry, MatchFrame, Matches, SeatInfo};
use ludex_protocol::record::Header;
use ludex_store::{MatchFilter, MatchLine, StoreError, StoredMatch};
use serde_json::{Value, json};

use super::Hub;
use crate::sessions::match_handle::{MatchCommand, MatchHandle};

/// Maximum number of matches in a list.
const LIST_LIMIT: u32 = 500;

/// Fields of a match's end that stay hidden until the match is released.
const HIDDEN: [&str; 5] = ["digest", "seed", "salt", "run", "pair"];

impl Hub {
    /// Returns the running or ended matches that a client requested.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn matches(&self, which: &ListMatches) -> Result<Matches, StoreError> {
        if which.live {
            return Ok(self.running_matches(which));
        }
        let filter = MatchFilter { game: which.game.clone(), live: Some(false), ..MatchFilter::default() };
        self.store.catch_up().await;
        let lines = self.store.matches(&filter, which.limit.min(LIST_LIMIT)).await?;
        // Times in the protocol count from the start of the server.
        let began = ludex_play::time::epoch_ms() - i64::try_from(self.now()).unwrap_or(i64::MAX);
        let entry = |line: &MatchLine| {
            let seats = serde_json::from_str::<Header>(&line.header).map(|header| header.seats).unwrap_or_default();
            MatchEntry {
                match_id: line.id.clone(),
                game: line.string.clone(),
                seats: seats.into_iter().map(|s| SeatInfo { name: s.name, version: s.version, kind: s.kind }).collect(),
                rated: line.rated,
                started_ms: u64::try_from(line.started_ms - began).unwrap_or(0),
            }
        };
        Ok(Matches { matches: lines.iter().map(entry).collect() })
    }

    /// Returns a page of the stored matches, newest first: `{matches, next}`, computed as a job of `owner`. `next` is the
    /// [`before`](MatchFilter::before) of the next page.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read, or if the job fails.
    pub async fn page_of_matches(&self, filter: &MatchFilter, limit: u32, owner: &Arc<str>) -> anyhow::Result<Value> {
        let limit = limit.min(LIST_LIMIT);
        if filter.live != Some(false) {
            self.loops.persist().await;
        }
        self.store.catch_up().await;
        let lines = self.store.matches(filter, limit).await?;
        let list = move || {
            let mut page = json!({ "matches": lines.iter().map(entry_of).collect::<Vec<_>>() });
            if let Some(last) = lines.last().filter(|_| lines.len() == limit as usize) {
                page["next"] = last.seq.into();
            }
            page
        };
        Ok(self.compute.run(owner, list).await?)
    }

    fn running_matches(&self, which: &ListMatches) -> Matches {
        let limit = which.limit.min(LIST_LIMIT) as usize;
        let of_game = |m: &MatchEntry, g: &str| m.game == g || m.game.split('(').next() == Some(g);
        let wanted = |h: &&MatchHandle| h.live() && which.game.as_deref().is_none_or(|g| of_game(h.entry(), g));
        let mut all: Vec<MatchEntry> = self.live.lock().values().filter(wanted).map(|h| h.entry().clone()).collect();
        all.sort_by(|a, b| b.started_ms.cmp(&a.started_ms).then_with(|| a.match_id.cmp(&b.match_id)));
        all.truncate(limit);
        Matches { matches: all }
    }

    /// Returns true if an agent with this name and owner has a seat in a match.
    pub fn plays_in(&self, id: &str, agent: &str, owner: Option<&str>) -> bool {
        self.sessions.by_agent(agent, owner).iter().any(|session| session.plays_in(id))
    }

    /// Returns the public data of an episode as JSON, computed as a job of `owner`: the record if it is released, else the
    /// match header and the public events.
    pub async fn episode(self: &Arc<Self>, id: &str, owner: &Arc<str>) -> Option<Vec<u8>> {
        let kept = self.stored_match(id).await?;
        let told = match kept.end {
            Some(_) if kept.released => None,
            _ => self.ask(id, MatchCommand::Public).await,
        };
        let hub = self.clone();
        let write = move || serde_json::to_vec(&hub.episode_of(&kept, told)?).ok();
        self.compute.run(owner, write).await.ok()?
    }

    /// Returns the public data of a stored match. `told` holds the public events from the task of the match; without a
    /// task, they are derived from the stored log.
    fn episode_of(&self, kept: &StoredMatch, told: Option<Vec<MatchFrame>>) -> Option<Value> {
        if let Some(end) = kept.end.as_ref().filter(|_| kept.released) {
            return serde_json::from_str(&end.record).ok();
        }
        let frames = told.or_else(|| Some(self.replayed(kept)?.public_events()))?;
        let mut page: serde_json::Map<String, Value> = serde_json::from_str(&kept.row.header).ok()?;
        page.insert("events".into(), json!(frames));
        if let Some(end) = &kept.end
            && let Ok(Value::Object(footer)) = serde_json::from_str::<Value>(&end.footer)
        {
            page.extend(footer.into_iter().filter(|(key, _)| !HIDDEN.contains(&key.as_str())));
        }
        Some(Value::Object(page))
    }
}

/// Returns the public data of a listed match.
fn entry_of(line: &MatchLine) -> Value {
    let part =
        |text: Option<&String>| text.and_then(|text| serde_json::from_str::<Value>(text).ok()).unwrap_or_default();
    let (header, footer) = (part(Some(&line.header)), part(line.footer.as_ref()));
    let mut entry = json!({
        "match": line.id, "game": line.string, "seats": header["seats"], "rated": line.rated, "live": line.ended.is_none(),
        "started_ms": line.started_ms, "record": format!("/episodes/{}", line.id),
    });
    if let Some((ended_ms, reason)) = &line.ended {
        (entry["ended_ms"], entry["reason"]) = ((*ended_ms).into(), reason.as_str().into());
        (entry["returns"], entry["outcome"]) = (footer["returns"].clone(), footer["outcome"].clone());
        if footer["at_fault"].is_u64() {
            entry["at_fault"] = footer["at_fault"].clone();
        }
    }
    if let Some(run) = line.run.as_ref().filter(|_| line.released) {
        entry["run"] = run.as_str().into();
    }
    entry
}
