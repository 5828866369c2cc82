//! Position that follows the events of a match.

use ludex_env::message_views::touched;
use ludex_env::{DynGame, DynState, ParsedMove, ToMove};
use ludex_protocol::record::RecordEvent;

/// Position after a prefix of the events. Moves are played unchecked, since the same machine recorded them.
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

    /// Returns the next transition: one event, or all moves of a joint turn. `None` at the end, and at an incomplete
    /// turn.
    pub(super) fn next<'e>(&self, events: &'e [RecordEvent]) -> Option<&'e [RecordEvent]> {
        let rest = events.get(self.at..)?;
        let more = |event: &RecordEvent| matches!(event, RecordEvent::Move(m) if m.more);
        match rest.first()? {
            RecordEvent::Move(m) if m.action.is_none() && m.said.is_none() => None,
            RecordEvent::Move(_) if matches!(self.state.turn(), ToMove::Simultaneous(_)) => {
                let last = rest.iter().position(|event| !more(event))?;
                Some(&rest[..=last])
            }
            _ => Some(&rest[..1]),
        }
    }

    /// Returns the cells touched by `transition`, which must come next.
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
                    let said = || m.said.clone().map(ParsedMove::Document);
                    *place = m.action.map(ParsedMove::Action).or_else(said);
                }
            }
            return self.state.play_joint_unchecked(&joint);
        }
        match transition {
            [RecordEvent::Chance(c)] => self.state.play_unchecked(c.action.unwrap_or(0)),
            [RecordEvent::Move(m)] => match (m.action, &m.said) {
                (Some(a), _) => self.state.play_unchecked(a),
                // The machine already logged an error if the game refuses its own canonical document.
                (None, Some(said)) => drop(self.state.play_said(m.seat as usize, said)),
                (None, None) => {}
            },
            _ => {}
        }
    }
}
