//! Playing a record again step by step, for those who show it.

use std::ops::Range;

use ludex_env::history::Steps;
use ludex_env::{DynState, GameRef, Viewer};
use ludex_protocol::record::{MoveRecord, Record, RecordEvent};

/// A record on its way from the first position to the last.
pub struct Stepper<'a> {
    record: &'a Record,
    steps: Steps<'a>,
    at: usize,
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
    /// Begins before the first event and plays no further than event `until` (`None`: to the end).
    pub fn new(game: &GameRef, record: &'a Record, until: Option<usize>) -> Self {
        let until = until.unwrap_or(record.events.len()).min(record.events.len());
        Stepper { record, steps: Steps::new(&**game, &record.events[..until]), at: 0 }
    }

    /// The position.
    pub fn state(&self) -> &dyn DynState {
        self.steps.position()
    }

    /// The event that is next.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Plays the next event, or the joint move that begins there. `None` at the end, and where it cannot be played.
    pub fn step(&mut self) -> Option<Stepped> {
        let step = self.steps.next()?.ok().filter(|step| step.played)?;
        let texts: Option<Vec<String>> = match step.events {
            [RecordEvent::Chance(c)] => Some(vec![format!("chance: {}", step.before.outcome_text(c.action?))]),
            _ => step.moves().map(|(_, m)| said(step.before, self.record, m)).collect(),
        };
        let events = step.at..step.at + step.events.len();
        self.at = events.end;
        Some(Stepped { events, text: texts?.join("; ") })
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
