//! Plays a record again, step by step, with checked moves.

use std::fmt;

use ludex_protocol::record::{ChanceRecord, MoveRecord, Record, RecordEvent, RefusedMove};

use crate::dyn_game::DynGame;
use crate::dyn_state::DynState;
use crate::game::{Mark, Marks, ParsedMove, Seat, SeatSet, ToMove, Viewer};
use crate::message_views::touched;
use crate::picture::Picture;
use ludex_protocol::Move;

/// One step: a chance outcome, a move, or all parts of a joint move.
pub struct ReplayStep<'s> {
    /// Position before the step.
    pub before: &'s dyn DynState,
    /// Index of the step's first event.
    pub at: usize,
    /// The step's events: one, or the parts of a joint move.
    pub events: &'s [RecordEvent],
    /// Position after the step.
    pub after: &'s dyn DynState,
    /// True if the events changed the position. False for an incomplete last turn: refused attempts without a move, or
    /// only some parts of a joint move. Both positions are then equal.
    pub played: bool,
}

impl ReplayStep<'_> {
    /// Iterates over the moves of the step with their event indices; empty for a chance outcome.
    pub fn moves(&self) -> impl Iterator<Item = (usize, &MoveRecord)> {
        (self.at..).zip(self.events).filter_map(|(at, event)| match event {
            RecordEvent::Move(m) => Some((at, m)),
            RecordEvent::Chance(_) => None,
        })
    }

    /// Returns the position after the step as a picture for `who`. With perfect information, the cells of the move are
    /// marked.
    pub fn picture(&self, who: Viewer) -> Picture {
        let mut picture = self.after.view(who).picture(who);
        if self.played {
            picture.mark_last(&touched(self.before, self.moves().map(|(_, m)| (m.seat as usize, m.action))));
        }
        picture
    }

    /// Emits the marks of the step. If no move was played, emits the marks of the refused attempts.
    pub fn mark(&self, out: &mut Marks) {
        if out.wants_none() {
            return;
        }
        let mut joint = Vec::new();
        for (_, m) in self.moves() {
            let seat = m.seat as usize;
            self.before.tried(seat, &m.tries, out);
            joint.resize(joint.len().max(seat + 1), None);
            joint[seat] = parsed_move(m);
        }
        if self.played {
            self.before.marks(&joint, self.after, out);
        }
    }

    /// Returns all marks of the step. Use [`ReplayStep::mark`] for a selection: marks may be expensive.
    pub fn marks(&self) -> Vec<Mark> {
        let mut out = Marks::all();
        self.mark(&mut out);
        out.take()
    }
}

/// The reason why an event cannot be played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayStop {
    /// Index of the event.
    pub at: usize,
    /// True if a chance outcome is at fault, false for a move of a seat.
    pub chance: bool,
    /// Error message: one sentence.
    pub message: String,
}

impl fmt::Display for ReplayStop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "events[{}]: {}", self.at, self.message)
    }
}

impl std::error::Error for ReplayStop {}

/// Starts playing a record again. Every part of a joint move except the last must have `more`.
pub fn steps<'a>(game: &dyn DynGame, record: &'a Record) -> Replay<'a> {
    Replay { strict: true, ..Replay::new(game, &record.events) }
}

/// Returns the position after all events. The field `more` of the events is not checked.
///
/// # Errors
/// Returns the first event that cannot be played.
pub fn position(game: &dyn DynGame, events: &[RecordEvent]) -> Result<Box<dyn DynState>, ReplayStop> {
    let mut steps = Replay::new(game, events);
    while let Some(step) = steps.next() {
        step?;
    }
    Ok(steps.after)
}

/// Returns a recorded move in parsed form; `None` if the move is hidden in the record.
pub fn parsed_move(m: &MoveRecord) -> Option<ParsedMove> {
    m.action.map(ParsedMove::Action).or_else(|| m.document.clone().map(ParsedMove::Document))
}

/// Returns a refused attempt as submitted; `None` if the record contains no move for the attempt.
pub fn submitted_move(attempt: &RefusedMove) -> Option<Move> {
    match (attempt.action, &attempt.text, &attempt.document) {
        (Some(id), ..) => Some(Move::Id(id)),
        (_, Some(text), _) => Some(Move::Text(text.clone())),
        (_, _, Some(document)) => Some(Move::Document(document.clone())),
        _ => None,
    }
}

/// Recorded events that are played again, one step at a time.
pub struct Replay<'a> {
    events: &'a [RecordEvent],
    at: usize,
    before: Box<dyn DynState>,
    after: Box<dyn DynState>,
    /// True if the values of `more` are checked.
    strict: bool,
    joint: Vec<Option<ParsedMove>>,
}

impl<'a> Replay<'a> {
    /// Starts before the first event. The field `more` of the events is not checked.
    pub fn new(game: &dyn DynGame, events: &'a [RecordEvent]) -> Self {
        let joint = vec![None; game.spec().players as usize];
        Replay { events, at: 0, before: game.start(), after: game.start(), strict: false, joint }
    }

    /// Returns the current position: before the next step, or after the last step.
    pub fn position(&self) -> &dyn DynState {
        &*self.after
    }

    /// Returns the index of the next event.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Plays the next step; `None` at the end. The step borrows the positions, so this is not an `Iterator`.
    ///
    /// # Errors
    /// Fails on an event that cannot be played. The replay then stops, and the position is unchanged.
    #[allow(clippy::should_implement_trait, reason = "a step borrows the positions")]
    pub fn next(&mut self) -> Option<Result<ReplayStep<'_>, ReplayStop>> {
        let from = self.at;
        self.events.get(from)?;
        self.before.copy_from(&*self.after);
        let played = match self.play(from) {
            Ok((end, played)) => {
                self.at = end;
                played
            }
            Err(stop) => {
                self.events = &self.events[..from];
                return Some(Err(stop));
            }
        };
        let events = &self.events[from..self.at];
        Some(Ok(ReplayStep { before: &*self.before, at: from, events, after: &*self.after, played }))
    }

    /// Plays the step that starts at event `at`. Returns the index of the next step's first event, and true if the
    /// position changed.
    fn play(&mut self, at: usize) -> Result<(usize, bool), ReplayStop> {
        match (self.after.turn(), &self.events[at]) {
            (ToMove::Chance, RecordEvent::Chance(c)) => self.chance(at, c),
            (ToMove::Seat(seat), RecordEvent::Move(m)) => self.single(at, seat, m),
            (ToMove::Simultaneous(acting), RecordEvent::Move(_)) => self.joint(at, acting),
            (ToMove::Over, _) => Err(wrong(at, "the episode has already ended")),
            (ToMove::Chance, _) => Err(wrong(at, "expected a chance outcome, got a move")),
            (_, RecordEvent::Chance(_)) => {
                Err(ReplayStop { chance: true, ..wrong(at, "expected a move of a seat, got a chance outcome") })
            }
        }
    }

    fn chance(&mut self, at: usize, c: &ChanceRecord) -> Result<(usize, bool), ReplayStop> {
        let played = match c.action {
            Some(action) => self.after.play_chance(action).map_err(|refusal| refusal.message),
            None => Err("expected the id of the chance outcome, got none".to_owned()),
        };
        played.map(|()| (at + 1, true)).map_err(|message| ReplayStop { at, chance: true, message })
    }

    fn single(&mut self, at: usize, seat: Seat, m: &MoveRecord) -> Result<(usize, bool), ReplayStop> {
        if m.more && self.strict {
            return Err(wrong(at, "expected a single move, got a part of a joint move"));
        }
        if m.seat as usize != seat {
            return Err(wrong(at, format!("expected a move of seat {seat}, got a move of seat {}", m.seat)));
        }
        let played = match (m.action, &m.document) {
            (Some(action), None) => self.after.play(seat, action),
            (None, Some(document)) => self.after.play_document(seat, document),
            (None, None) if at + 1 == self.events.len() => return Ok((at + 1, false)),
            (None, None) => return Err(wrong(at, format!("seat {seat}: expected a move, got none"))),
            (Some(_), Some(_)) => {
                return Err(wrong(at, format!("seat {seat}: expected an action id or a document, got both")));
            }
        };
        played.map(|()| (at + 1, true)).map_err(|refusal| wrong(at, format!("seat {seat}: {}", refusal.message)))
    }

    fn joint(&mut self, at: usize, acting: SeatSet) -> Result<(usize, bool), ReplayStop> {
        self.joint.fill(None);
        let (mut next, mut lacking) = (at, None);
        for seat in acting.iter() {
            let m = match self.events.get(next) {
                Some(RecordEvent::Move(m)) if m.seat as usize == seat => m,
                _ => {
                    lacking = lacking.or(Some((seat, next)));
                    continue;
                }
            };
            match (m.action, &m.document) {
                (Some(action), None) if self.after.is_legal(seat, action) => {
                    self.joint[seat] = Some(ParsedMove::Action(action));
                }
                (Some(action), None) => return Err(wrong(next, format!("seat {seat}: action {action} is illegal"))),
                (None, Some(document)) => self.joint[seat] = Some(ParsedMove::Document(document.clone())),
                (None, None) => lacking = lacking.or(Some((seat, next))),
                (Some(_), Some(_)) => {
                    return Err(wrong(next, format!("seat {seat}: expected an action id or a document, got both")));
                }
            }
            next += 1;
        }
        if let Some((seat, due)) = lacking {
            // Valid only at the end of an episode that was cut short after some seats had moved.
            if next == self.events.len() {
                return Ok((next, false));
            }
            let at = due.min(self.events.len() - 1);
            return Err(wrong(at, format!("joint move: expected a move of seat {seat}, got none")));
        }
        let more = |k: usize| matches!(&self.events[k], RecordEvent::Move(m) if m.more);
        if self.strict
            && let Some(k) = (at..next).find(|&k| more(k) != (k + 1 < next))
        {
            return Err(wrong(k, "expected `more` on every part of a joint move except the last"));
        }
        self.after.play_joint(&self.joint).map_err(|refusal| wrong(at, refusal.message))?;
        Ok((next, true))
    }
}

fn wrong(at: usize, message: impl Into<String>) -> ReplayStop {
    ReplayStop { at, chance: false, message: message.into() }
}
