//! Cursor over the events of a match, with the position after each event.

use ludex_env::message_views::touched;
use ludex_env::recording::parsed_move;
use ludex_env::{DynGame, DynState, ToMove};
use ludex_protocol::error::Refusal;
use ludex_protocol::record::{MoveRecord, RecordEvent};

/// Position after the first `at` events. Moves are not checked for legality, since the same machine recorded them.
pub(super) struct ReplayCursor {
    pub(super) state: Box<dyn DynState>,
    /// Number of events played.
    pub(super) at: usize,
}

impl ReplayCursor {
    /// Creates a cursor before the first event.
    pub(super) fn new(game: &dyn DynGame) -> Self {
        ReplayCursor { state: game.start(), at: 0 }
    }

    /// Returns the next transition: one event, or all moves of a joint turn. Returns `None` at the end of the events or
    /// if the next joint turn is incomplete.
    pub(super) fn next<'e>(&self, events: &'e [RecordEvent]) -> Option<&'e [RecordEvent]> {
        let rest = events.get(self.at..)?;
        let more = |event: &RecordEvent| matches!(event, RecordEvent::Move(m) if m.more);
        match rest.first()? {
            RecordEvent::Move(m) if m.action.is_none() && m.document.is_none() => None,
            RecordEvent::Move(_) if matches!(self.state.turn(), ToMove::Simultaneous(_)) => {
                let last = rest.iter().position(|event| !more(event))?;
                Some(&rest[..=last])
            }
            _ => Some(&rest[..1]),
        }
    }

    /// Returns the cells touched by `transition`, which must be the next transition.
    pub(super) fn touched(&self, transition: &[RecordEvent]) -> Vec<String> {
        let moves = transition.iter().filter_map(|event| match event {
            RecordEvent::Move(m) => Some((m.seat as usize, m.action)),
            RecordEvent::Chance(_) => None,
        });
        touched(&*self.state, moves)
    }

    /// Plays the transition returned by [`ReplayCursor::next`].
    pub(super) fn play(&mut self, transition: &[RecordEvent]) {
        self.at += transition.len();
        if let (ToMove::Simultaneous(_), Some(RecordEvent::Move(_))) = (self.state.turn(), transition.first()) {
            let mut joint = vec![None; self.state.spec().players as usize];
            for event in transition {
                if let RecordEvent::Move(m) = event
                    && let Some(place) = joint.get_mut(m.seat as usize)
                {
                    *place = parsed_move(m);
                }
            }
            return self.state.play_joint_unchecked(&joint);
        }
        match transition {
            [RecordEvent::Chance(c)] => self.state.play_unchecked(c.action.unwrap_or(0)),
            // If the game refuses its own canonical document, the machine has already logged the error.
            [RecordEvent::Move(m)] => drop(play_move(&mut *self.state, m)),
            _ => {}
        }
    }
}

/// Plays a recorded move outside a joint turn.
///
/// # Errors
/// Returns the refusal of a game that refuses its own canonical document.
pub(super) fn play_move(state: &mut dyn DynState, m: &MoveRecord) -> Result<(), Refusal> {
    match (m.action, &m.document) {
        (Some(a), _) => state.play_unchecked(a),
        (None, Some(document)) => state.play_document(m.seat as usize, document)?,
        (None, None) => {}
    }
    Ok(())
}
