//! What the page of a match shows: what happened, and the position after each step, as one viewer sees it.

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

/// A match, as everybody may see it; once it is released, also as a seat saw it.
pub(crate) struct MatchReplay {
    pub header: Header,
    /// What happened, in order.
    pub events: Vec<MatchFrame>,
    /// The public part of the result, when the match is over.
    pub footer: Option<Value>,
    /// The whole record, once it may be shown.
    pub record: Option<Box<Record>>,
    /// When it ended.
    pub ended_ms: Option<i64>,
}

impl Hub {
    /// A match with what `seat`, or the public, heard of it. `None` if there is no such match, or if the view of a seat may not
    /// be shown yet.
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

    /// The position of a match after `at` moves and outcomes that the viewer heard of; after all of them if there are fewer.
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

    /// A match in the notation of its game. `None` if there is no such match, if it is not released, or if its game has none.
    pub(crate) async fn written(&self, id: &str) -> Option<(Notation, String)> {
        let kept = self.stored_match(id).await.filter(|kept| kept.released)?;
        let record: Record = serde_json::from_str(&kept.end?.record).ok()?;
        let game = self.config.catalogue.load(&record.header.game, &record.header.params).ok()?;
        let notation = game.notation()?;
        let made = self.compute.wait(move || in_notation(&*game, &record)).await.ok()?;
        made.map_err(|why| tracing::warn!(id, why, "a match cannot be written in the notation of its game"))
            .ok()
            .map(|text| (notation, text))
    }

    /// Asks the task of a match, if there is one.
    async fn ask<T>(&self, id: &str, question: impl FnOnce(oneshot::Sender<T>) -> MatchCommand) -> Option<T> {
        let (tx, rx) = oneshot::channel();
        self.handle(id)?.send(question(tx));
        rx.await.ok()
    }

    /// A match of the store; `None` too if its season keeps it hidden.
    pub(super) async fn stored_match(&self, id: &str) -> Option<StoredMatch> {
        if self.runs.holds(id) {
            return None;
        }
        self.store.episode(id).await.unwrap_or_else(|error| {
            tracing::error!(id, %error, "an episode could not be read");
            None
        })
    }

    /// Whether a match is hidden until its season is over. The list of matches has it all the same.
    pub(crate) fn hides(&self, id: &str) -> bool {
        self.runs.holds(id)
    }

    /// Whether there is such a hidden match.
    pub(crate) async fn has_hidden(&self, id: &str) -> bool {
        self.hides(id) && self.store.episode(id).await.is_ok_and(|kept| kept.is_some())
    }

    /// A match of the store, played again. `None` if its rules have changed since.
    fn replayed(&self, kept: &StoredMatch) -> Option<MatchMachine> {
        let (setup, _) = self.setup_of(kept, 0).ok()?;
        Some(MatchMachine::restore(setup, rows_of(kept).ok()?, 0).ok()?.0)
    }
}

/// Whose eyes are lent: those of the public, and those of a seat when everything is released.
fn watcher(kept: &StoredMatch, header: &Header, seat: Option<Seat>) -> Option<Watcher> {
    match seat {
        None => Some(Watcher::Public),
        Some(seat) => (kept.released && seat < header.seats.len()).then_some(Watcher::Seat(seat)),
    }
}
