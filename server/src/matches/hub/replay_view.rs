//! Data of a match page: the events, and the position after each step, from one viewer's perspective.

use ludex_env::Seat;
use ludex_env::notation::Notation;
use ludex_env::recording::in_notation;
use ludex_play::machine::{MatchMachine, Watcher};
use ludex_protocol::message::{MatchFrame, PictureView};
use ludex_protocol::record::{Header, Record};
use serde_json::Value;
use tokio::sync::oneshot;

use super::Hub;
use super::restore::rows_of;
use crate::sessions::match_handle::MatchCommand;
use crate::store::StoredMatch;

/// Match from the public's view or, after its release, from the view of a seat.
pub(crate) struct MatchReplay {
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
    /// Returns a match from the view of `seat`, or of the public if `seat` is `None`. Returns `None` if the match does
    /// not exist or the seat's view is not released yet.
    pub(crate) async fn look(&self, id: &str, seat: Option<Seat>) -> Option<MatchReplay> {
        let kept = self.stored_match(id).await?;
        let header: Header = serde_json::from_str(&kept.row.header).ok()?;
        let to = watcher(&kept, &header, seat)?;
        let told = match kept.end {
            None => self.ask(id, MatchCommand::Public).await,
            Some(_) => None,
        };
        let retold = || self.replayed(&kept).map(|machine| machine.replay_frames(to, &[])).unwrap_or_default();
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

    /// Returns a picture of the position after `at` moves and chance outcomes that the viewer observed. If there are
    /// fewer, returns the last position.
    pub(crate) async fn picture(&self, id: &str, seat: Option<Seat>, at: usize) -> Option<PictureView> {
        let kept = self.stored_match(id).await?;
        let header: Header = serde_json::from_str(&kept.row.header).ok()?;
        let to = watcher(&kept, &header, seat)?;
        if kept.end.is_none()
            && let Some(picture) = self.ask(id, |answer| MatchCommand::Picture(at, answer)).await
        {
            return picture;
        }
        self.replayed(&kept)?.picture_after(to, at)
    }

    /// Returns a match in its game's notation. `None` if the match does not exist, is not released, or its game has no
    /// notation.
    pub(crate) async fn written(&self, id: &str) -> Option<(Notation, String)> {
        let kept = self.stored_match(id).await.filter(|kept| kept.released)?;
        let record: Record = serde_json::from_str(&kept.end?.record).ok()?;
        let game = self.config.catalogue.load(&record.header.game, &record.header.params).ok()?;
        let notation = game.info().notation?;
        let made = self.compute.wait(move || in_notation(&*game, &record)).await.ok()?;
        made.map_err(|why| tracing::warn!(id, why, "notation export failed")).ok().map(|text| (notation, text))
    }

    /// Sends a request to the task of a match and awaits its reply; `None` without a task.
    async fn ask<T>(&self, id: &str, question: impl FnOnce(oneshot::Sender<T>) -> MatchCommand) -> Option<T> {
        let (tx, rx) = oneshot::channel();
        self.handle(id)?.send(question(tx));
        rx.await.ok()
    }

    /// Returns a stored match. `None` if the match does not exist or is hidden until its season ends.
    pub(super) async fn stored_match(&self, id: &str) -> Option<StoredMatch> {
        if self.runs.holds(id) {
            return None;
        }
        self.store.episode(id).await.unwrap_or_else(|error| {
            tracing::error!(id, %error, "reading an episode failed");
            None
        })
    }

    /// Returns true if a match is hidden until its season ends. The list of matches contains hidden matches too.
    pub(crate) fn hides(&self, id: &str) -> bool {
        self.runs.holds(id)
    }

    /// Returns true if a match exists and is hidden until its season ends.
    pub(crate) async fn has_hidden(&self, id: &str) -> bool {
        self.hides(id) && self.store.episode(id).await.is_ok_and(|kept| kept.is_some())
    }

    /// Rebuilds the machine of a stored match. `None` if the rules of its game have changed.
    fn replayed(&self, kept: &StoredMatch) -> Option<MatchMachine> {
        let (setup, _) = self.setup_of(kept, 0).ok()?;
        Some(MatchMachine::restore(setup, rows_of(kept).ok()?, 0).ok()?.0)
    }
}

/// Returns the viewer if access is allowed. The public is always allowed, a seat only after the release.
fn watcher(kept: &StoredMatch, header: &Header, seat: Option<Seat>) -> Option<Watcher> {
    match seat {
        None => Some(Watcher::Public),
        Some(seat) => (kept.released && seat < header.seats.len()).then_some(Watcher::Seat(seat)),
    }
}
