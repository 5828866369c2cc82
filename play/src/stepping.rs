//! Playing a record again step by step, for those who show it.

use std::ops::Range;

use ludex_env::{DynState, GameRef, Given, Turn, Viewer};
use ludex_protocol::record::{MoveRecord, Record, RecordEvent, Try};

/// A record on its way from the first position to the last.
pub struct Stepper<'a> {
    record: &'a Record,
    state: Box<dyn DynState>,
    at: usize,
    until: usize,
}

/// What one step played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stepped {
    /// The events: one, or those of a joint move.
    pub events: Range<usize>,
    /// What happened, each move as its mover knows it: `x (random): x(0,1)`.
    pub text: String,
}

impl<'a> Stepper<'a> {
    /// Begins before the first event and goes no further than event `until` (`None`: to the end).
    pub fn new(game: &GameRef, record: &'a Record, until: Option<usize>) -> Self {
        let until = until.unwrap_or(record.events.len()).min(record.events.len());
        Stepper { record, state: game.start(), at: 0, until }
    }

    /// The position.
    pub fn state(&self) -> &dyn DynState {
        &*self.state
    }

    /// The event that is next.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Plays the next event, or the joint move that begins there. `None` at the end, and where it cannot be played.
    pub fn step(&mut self) -> Option<Stepped> {
        let events = self.record.events.get(self.at..self.until)?;
        let (text, played) = self.play(events)?;
        let from = self.at;
        self.at += played;
        Some(Stepped { events: from..self.at, text })
    }

    /// What happened, and how many events that took.
    fn play(&mut self, events: &[RecordEvent]) -> Option<(String, usize)> {
        let state = &mut *self.state;
        match (state.turn(), events.first()?) {
            (Turn::Chance, RecordEvent::Chance(c)) => {
                let action = c.action?;
                let text = state.outcome_text(action);
                state.play_chance(action).ok()?;
                Some((format!("chance: {text}"), 1))
            }
            (Turn::Seat(seat), RecordEvent::Move(m)) if m.seat as usize == seat => {
                let text = said(state, self.record, m)?;
                match (m.action, &m.said) {
                    (Some(action), _) => state.play(seat, action).ok()?,
                    (None, Some(said)) => state.play_said(seat, said).ok()?,
                    (None, None) => return None,
                }
                Some((text, 1))
            }
            (Turn::Together(acting), RecordEvent::Move(_)) => {
                let moves: Vec<&MoveRecord> = events
                    .iter()
                    .map_while(|e| if let RecordEvent::Move(m) = e { Some(m) } else { None })
                    .take(acting.len())
                    .collect();
                let mut joint = vec![None; self.record.header.seats.len()];
                let texts: Option<Vec<String>> = moves.iter().map(|m| said(state, self.record, m)).collect();
                for m in &moves {
                    *joint.get_mut(m.seat as usize)? = m.action;
                }
                state.play_together(&joint).ok()?;
                Some((texts?.join("; "), moves.len()))
            }
            _ => None,
        }
    }
}

/// A move as its mover knows it; `None` where the event holds none.
pub fn move_text(state: &dyn DynState, m: &MoveRecord) -> Option<String> {
    let (seat, viewer) = (m.seat as usize, Viewer::Seat(m.seat as usize));
    match (m.action, &m.said) {
        (Some(action), _) => Some(state.view(viewer).action_text(seat, action)),
        (None, Some(said)) => Some(state.seen_said(viewer, seat, said).text.unwrap_or_default()),
        (None, None) => None,
    }
}

/// A refused attempt as it was given.
pub fn given(attempt: &Try) -> Option<Given> {
    match (attempt.action, &attempt.text, &attempt.proposal) {
        (Some(id), ..) => Some(Given::Id(id)),
        (_, Some(text), _) => Some(Given::Text(text.clone())),
        (_, _, Some(proposal)) => Some(Given::Document(proposal.clone())),
        _ => None,
    }
}

/// `x (random): x(0,1)`, as the mover knows it.
fn said(state: &dyn DynState, record: &Record, m: &MoveRecord) -> Option<String> {
    let agent = &record.header.seats.get(m.seat as usize)?.name;
    let place = state.spec().seats.get(m.seat as usize)?;
    let text = move_text(state, m)?;
    let tries = match m.tries.len() {
        0 => String::new(),
        1 => ", after 1 refused attempt".to_owned(),
        n => format!(", after {n} refused attempts"),
    };
    let forced = if m.forced { ", forced" } else { "" };
    Some(format!("{place} ({agent}): {text}{tries}{forced}"))
}
