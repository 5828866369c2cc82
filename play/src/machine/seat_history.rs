//! Observed history of an episode, for in-process agents.

use std::collections::HashSet;
use std::sync::Arc;

use ludex_env::{DynGame, Mover, ObservedMove, Seat, Viewer};
use ludex_protocol::message::EventKind;
use ludex_protocol::record::RecordEvent;

use super::narrator::seen_of;
use super::replay_cursor::ReplayCursor;
use super::watcher::Watcher;

/// Moves and chance outcomes visible to one seat. New events are appended at each move request.
pub(super) struct SeatHistory {
    position: ReplayCursor,
    pub(super) past: Arc<Vec<ObservedMove>>,
    /// Texts revealed so far, used to skip texts that a game repeats.
    revealed: HashSet<String>,
}

impl SeatHistory {
    pub(super) fn new(game: &dyn DynGame) -> Self {
        SeatHistory { position: ReplayCursor::new(game), past: Arc::default(), revealed: HashSet::new() }
    }

    /// Appends the events since the last call, as seen by `seat`.
    pub(super) fn grow(&mut self, seat: Seat, events: &[RecordEvent]) {
        while let Some(transition) = self.position.next(events) {
            // Clones the history only while an earlier move request still holds it.
            let past = Arc::make_mut(&mut self.past);
            for event in transition {
                let seen = seen_of(&*self.position.state, Watcher::Seat(seat), event);
                let by = match event {
                    RecordEvent::Chance(_) => Mover::Chance,
                    RecordEvent::Move(m) => Mover::Seat(m.seat as Seat),
                };
                past.extend(seen.text.map(|text| ObservedMove { by, action: seen.action, text, reveals: Vec::new() }));
            }
            self.position.play(transition);
            for (text, _) in self.position.state.reveals(Viewer::Seat(seat)) {
                if self.revealed.insert(text.clone()) {
                    add_reveal(past, text);
                }
            }
        }
    }
}

/// Adds a revealed text to the last move. A text that is revealed before the first move is dropped.
fn add_reveal(past: &mut [ObservedMove], text: String) {
    if let Some(last) = past.last_mut() {
        last.reveals.push(text);
    }
}

/// Appends a move, a chance outcome or a reveal from an event frame.
pub(crate) fn append(past: &mut Vec<ObservedMove>, event: &EventKind) {
    let mut add = |by: Mover, action: Option<u32>, text: &String| {
        past.push(ObservedMove { by, action, text: text.clone(), reveals: Vec::new() });
    };
    match event {
        EventKind::Move { seat, action, text, .. } => add(Mover::Seat(*seat as Seat), *action, text),
        EventKind::Chance { action, text } => add(Mover::Chance, *action, text),
        EventKind::Reveal { text, .. } => add_reveal(past, text.clone()),
        _ => {}
    }
}
