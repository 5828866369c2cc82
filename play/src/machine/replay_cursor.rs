//! A position that follows the events of its match.

use ludex_env::message_views::touched;
use ludex_env::{DynGame, DynState, ParsedMove, ToMove};
use ludex_protocol::record::RecordEvent;

/// A position on its way through the events. It plays without checks: the events are this very machine's.
pub(super) struct ReplayCursor {
    pub(super) state: Box<dyn DynState>,
    /// Events played so far.
    pub(super) at: usize,
}

impl ReplayCursor {
    /// Before the first event.
    pub(super) fn new(game: &dyn DynGame) -> Self {
        ReplayCursor { state: game.start(), at: 0 }
    }

    /// The next transition: one event, or all moves of a joint turn. `None` at the end, and at a turn that was cut short.
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

    /// The cells that a transition which comes next touches.
    pub(super) fn touched(&self, transition: &[RecordEvent]) -> Vec<String> {
        let moves = transition.iter().filter_map(|event| match event {
            RecordEvent::Move(m) => Some((m.seat as usize, m.action)),
            RecordEvent::Chance(_) => None,
        });
        touched(&*self.state, moves)
    }

    /// Plays what [`Follower::next`] gave.
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
                // The machine logs it when a game refuses its own canonical saying.
                (None, Some(said)) => drop(self.state.play_said(m.seat as usize, said)),
                (None, None) => {}
            },
            _ => {}
        }
    }
}
