//! Data of a match page: the events, and the position after each step, from one viewer's perspective.

use std::sync::Arc;

use ludex_env::Seat;
use ludex_env::notation::Notation;
use ludex_env::recording::in_notation;
use ludex_play::machine::{MatchMachine, Watcher};
use ludex_protocol::message::{MatchFrame, PictureView};
use ludex_protocol::record::{Header, Record};
use ludex_store::{MatchState, StoredMatch};
use serde_json::Value;
use tokio::sync::oneshot;

use super::Hub;
use super::restore::rows_of;
use crate::sessions::match_handle::{MatchCommand, MatchHandle};

/// Match from the public's view or, after its release, from the view of a seat.
pub struct MatchReplay {
    pub header: Header,
    /// Events in order of sequence number.
    pub events: Vec<MatchFrame>,
    /// Public part of the result; `None` while the match runs.
    pub footer: Option<Value>,
    /// Complete record; `None` before the release.
    pub record: Option<Box<Record>>,
    /// End time in milliseconds since the Unix epoch.
    pub ended_ms: Option<i64>,
}

impl Hub {
    /// Returns the state of a match. `None` if the match does not exist or is hidden until its season ends.
    pub async fn match_state(&self, id: &str) -> Option<MatchState> {
        if self.hides(id) {
            return None;
        }
        if let Some(handle) = self.handle(id).filter(MatchHandle::live) {
            return Some(MatchState { rows: handle.rows(), ..MatchState::default() });
        }
        self.store.catch_up().await;
        self.store.match_state(id).await.unwrap_or_else(|error| {
            tracing::error!(id, %error, "reading the state of a match failed");
            None
        })
    }

    /// Returns a match from the view of `seat`, or of the public if `seat` is `None`, computed as a job of `owner`. Returns
    /// `None` if the match does not exist or the seat's view is not released yet.
    pub async fn look(self: &Arc<Self>, id: &str, seat: Option<Seat>, owner: &Arc<str>) -> Option<MatchReplay> {
        let kept = self.stored_match(id).await?;
        let told = match kept.end {
            None => self.ask(id, MatchCommand::Public).await,
            Some(_) => None,
        };
        let hub = self.clone();
        self.compute.run(owner, move || hub.replay_of(&kept, seat, told)).await.ok()?
    }

    /// Returns a stored match from a viewer's perspective. `told` holds the public events if the match is running.
    fn replay_of(&self, kept: &StoredMatch, seat: Option<Seat>, told: Option<Vec<MatchFrame>>) -> Option<MatchReplay> {
        let header: Header = serde_json::from_str(&kept.row.header).ok()?;
        let to = watcher(kept, &header, seat)?;
        let retold = || self.replayed(kept).map(|machine| machine.replay_frames(to, &[])).unwrap_or_default();
        let mut events = told.unwrap_or_else(retold);
        events.retain(|frame| matches!(frame, MatchFrame::Event(_)));
        let end = kept.end.as_ref();
        Some(MatchReplay {
            header,
            events,
            footer: end.and_then(|end| serde_json::from_str(&end.footer).ok()),
            record: end.filter(|_| kept.released).and_then(|end| serde_json::from_str(&end.record).ok()),
            ended_ms: end.map(|end| end.ended_ms),
        })
    }

    /// Returns a picture of the position after `at` moves and chance outcomes that the viewer observed, or of the last
    /// position if there are fewer. The picture is drawn as a job of `owner`.
    pub async fn picture(
        self: &Arc<Self>,
        id: &str,
        seat: Option<Seat>,
        at: usize,
        owner: &Arc<str>,
    ) -> Option<PictureView> {
        let kept = self.stored_match(id).await?;
        if kept.end.is_none()
            && seat.is_none()
            && let Some(picture) = self.ask(id, |answer| MatchCommand::Picture(at, answer)).await
        {
            return picture;
        }
        let hub = self.clone();
        let draw = move || {
            let header: Header = serde_json::from_str(&kept.row.header).ok()?;
            let to = watcher(&kept, &header, seat)?;
            hub.replayed(&kept)?.picture_after(to, at)
        };
        self.compute.run(owner, draw).await.ok()?
    }

    /// Returns a match in its game's notation, computed as a job of `owner`. `None` if the match does not exist, is not
    /// released, or its game has no notation.
    pub async fn written(self: &Arc<Self>, id: &str, owner: &Arc<str>) -> Option<(Notation, String)> {
        let end = self.stored_match(id).await.filter(|kept| kept.released)?.end?;
        let (hub, id) = (self.clone(), id.to_owned());
        let write = move || {
            let record: Record = serde_json::from_str(&end.record).ok()?;
            let game = hub.config.catalogue.load(&record.header.game, &record.header.params).ok()?;
            let notation = game.info().notation?;
            let made = in_notation(&*game, &record);
            made.map_err(|why| tracing::warn!(id, why, "notation export failed")).ok().map(|text| (notation, text))
        };
        self.compute.run(owner, write).await.ok()?
    }

    /// Sends a request to the task of a match and awaits the reply. `None` if the match has no task.
    pub(super) async fn ask<T>(
        &self,
        id: &str,
        question: impl FnOnce(oneshot::Sender<T>) -> MatchCommand,
    ) -> Option<T> {
        let (tx, rx) = oneshot::channel();
        self.handle(id)?.send(question(tx));
        rx.await.ok()
    }

    /// Returns a stored match. `None` if the match does not exist or is hidden until its season ends.
    pub(super) async fn stored_match(&self, id: &str) -> Option<StoredMatch> {
        if self.hides(id) {
            return None;
        }
        self.persist(id).await;
        self.store.episode(id).await.unwrap_or_else(|error| {
            tracing::error!(id, %error, "reading an episode failed");
            None
        })
    }

    /// Waits until the store has the current state of the match.
    async fn persist(&self, id: &str) {
        if self.handle(id).is_some() {
            self.ask(id, MatchCommand::Persist).await;
        }
        self.store.catch_up().await;
    }

    /// Returns true if a match is hidden until its season ends. The list of matches contains hidden matches too.
    pub fn hides(&self, id: &str) -> bool {
        self.runs().is_some_and(|runs| runs.hides(id))
    }

    /// Returns true if a match exists and is hidden until its season ends.
    pub async fn has_hidden(&self, id: &str) -> bool {
        self.hides(id) && self.store.episode(id).await.is_ok_and(|kept| kept.is_some())
    }

    /// Rebuilds the machine of a stored match. `None` if the rules of its game have changed.
    pub(super) fn replayed(&self, kept: &StoredMatch) -> Option<MatchMachine> {
        let (setup, _) = self.setup_of(kept, 0).ok()?;
        Some(MatchMachine::restore(setup, rows_of(kept).ok()?, 0).ok()?.0)
    }
}

/// Returns the viewer on `seat`, or the public if `seat` is `None`. Returns `None` if the seat does not exist or the
/// match is not released.
fn watcher(kept: &StoredMatch, header: &Header, seat: Option<Seat>) -> Option<Watcher> {
    match seat {
        None => Some(Watcher::Public),
        Some(seat) => (kept.released && seat < header.seats.len()).then_some(Watcher::Seat(seat)),
    }
}
