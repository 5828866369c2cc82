//! What an agent is told about how the episode came to its position.

use std::sync::Arc;

use ludex_env::{DynGame, Mover, Past, Seat};
use ludex_protocol::message::EventKind;
use ludex_protocol::record::RecordEvent;

use super::follow::Follower;
use super::narrator::seen_of;
use super::watcher::Watcher;

/// The moves and outcomes that a seat saw. It grows when the seat is asked and is never made again.
pub(super) struct Memory {
    position: Follower,
    pub(super) past: Arc<Vec<Past>>,
}

impl Memory {
    pub(super) fn new(game: &dyn DynGame) -> Self {
        Memory { position: Follower::new(game), past: Arc::default() }
    }

    /// Adds what `seat` saw of the events that are new.
    pub(super) fn grow(&mut self, seat: Seat, events: &[RecordEvent]) {
        while let Some(transition) = self.position.next(events) {
            // Copies only while an older question is still open.
            let past = Arc::make_mut(&mut self.past);
            for event in transition {
                let seen = seen_of(&*self.position.state, Watcher::Seat(seat), event);
                let by = match event {
                    RecordEvent::Chance(_) => Mover::Chance,
                    RecordEvent::Move(m) => Mover::Seat(m.seat as Seat),
                };
                past.extend(seen.text.map(|text| Past { by, action: seen.action, text }));
            }
            self.position.play(transition);
        }
    }
}

/// What an event tells an agent about the moves of the episode.
pub(crate) fn past_of(event: &EventKind) -> Option<Past> {
    match *event {
        EventKind::Move { seat, action, ref text, .. } => {
            Some(Past { by: Mover::Seat(seat as Seat), action, text: text.clone() })
        }
        EventKind::Chance { action, ref text } => Some(Past { by: Mover::Chance, action, text: text.clone() }),
        _ => None,
    }
}
