//! Playing the events of a record again.

use ludex_env::erased::legal_list;
use ludex_env::{Draw, DynState, GameRef, Given, Outcomes, Seat, SeatSet, Turn};
use ludex_protocol::error::ErrorCode;
use ludex_protocol::record::{IllegalPolicy, MoveRecord, Reason, Record, RecordEvent};

use super::{Fault, FaultKind};

/// Where the events lead.
pub(super) struct Ending {
    /// Sum of rewards, per seat.
    pub returns: Vec<f64>,
    /// Moves played: a joint move is one, chance is not counted.
    pub moves: u32,
    /// The seat whose last turn has refused attempts but no move.
    pub unanswered: Option<Seat>,
}

struct Replay<'a> {
    record: &'a Record,
    reason: Reason,
    state: Box<dyn DynState>,
    draw: Option<Draw>,
    /// Each seat's own turns so far.
    turns: Vec<u32>,
    moves: u32,
    unanswered: Option<Seat>,
}

/// Plays all events. The last position must fit the reason why the episode ended.
pub(super) fn replay(game: &GameRef, record: &Record, reason: Reason, seed: Option<u64>) -> Result<Ending, Fault> {
    let mut replay = Replay {
        record,
        reason,
        state: game.start(),
        draw: seed.map(|seed| Draw::new(game.id(), seed, u64::from(record.header.number))),
        turns: vec![0; game.spec().players as usize],
        moves: 0,
        unanswered: None,
    };
    let mut at = 0;
    while at < record.events.len() {
        at = replay.take(at)?;
    }
    let over = replay.state.turn() == Turn::Over;
    let wrong = match reason {
        Reason::Finished if !over => "it is called finished, but by the rules it is not over",
        Reason::Finished => "",
        _ if over && reason.counts() => "by the rules the episode was finished, but another reason is given",
        _ => "",
    };
    if !wrong.is_empty() {
        return Err(Fault::new(FaultKind::Result, wrong));
    }
    Ok(Ending { returns: replay.state.returns(), moves: replay.moves, unanswered: replay.unanswered })
}

impl Replay<'_> {
    /// Plays the event at `at`, or the joint move that begins there. Gives the place of the next one.
    fn take(&mut self, at: usize) -> Result<usize, Fault> {
        if self.unanswered.is_some() {
            return Err(Fault::at(at, FaultKind::Move, "an event follows a turn without a move"));
        }
        match (self.state.turn(), &self.record.events[at]) {
            (Turn::Chance, RecordEvent::Chance(c)) => self.chance(at, c.action),
            (Turn::Seat(seat), RecordEvent::Move(m)) => self.single(at, seat, m),
            (Turn::Together(acting), RecordEvent::Move(_)) => self.joint(at, acting),
            (Turn::Over, _) => Err(Fault::at(at, FaultKind::Move, "the episode was over before")),
            (Turn::Chance, _) => Err(Fault::at(at, FaultKind::Move, "a move where chance is to draw")),
            (_, RecordEvent::Chance(_)) => {
                Err(Fault::at(at, FaultKind::Chance, "a chance outcome where a seat is to move"))
            }
        }
    }

    fn chance(&mut self, at: usize, action: Option<u32>) -> Result<usize, Fault> {
        let wrong = |message: String| Err(Fault::at(at, FaultKind::Chance, message));
        let Some(action) = action else {
            return wrong("the outcome is withheld".into());
        };
        if let Some(draw) = &mut self.draw {
            let mut outcomes = Outcomes::new();
            self.state.chance(&mut outcomes);
            let drawn = draw.pick(&outcomes);
            if drawn != Some(action) {
                return wrong(format!("outcome {action}, but the seed draws {drawn:?}"));
            }
        }
        match self.state.play_chance(action) {
            Ok(()) => Ok(at + 1),
            Err(refusal) => wrong(refusal.message),
        }
    }

    fn single(&mut self, at: usize, seat: Seat, m: &MoveRecord) -> Result<usize, Fault> {
        if m.more {
            return Err(Fault::at(at, FaultKind::Move, "marked as part of a joint move, but only one seat moves here"));
        }
        self.check(at, seat, m)?;
        let played = match (m.action, &m.said) {
            (Some(action), None) => self.state.play(seat, action),
            (None, Some(said)) => self.state.play_said(seat, said),
            _ => return self.no_move(at, seat, m, at + 1 == self.record.events.len()),
        };
        if let Err(refusal) = played {
            return Err(Fault::at(at, FaultKind::Move, format!("seat {seat}: {}", refusal.message)));
        }
        self.moves += 1;
        Ok(at + 1)
    }

    fn joint(&mut self, at: usize, acting: SeatSet) -> Result<usize, Fault> {
        let mut joint = vec![None; self.turns.len()];
        let (mut next, mut lacking) = (at, None);
        for seat in acting.iter() {
            let m = match self.record.events.get(next) {
                Some(RecordEvent::Move(m)) if m.seat as usize == seat => m,
                _ => {
                    lacking = lacking.or(Some((seat, next)));
                    continue;
                }
            };
            self.check(next, seat, m)?;
            match m.action.filter(|_| m.said.is_none()) {
                Some(action) if self.state.is_legal(seat, action) => joint[seat] = Some(action),
                Some(action) => {
                    return Err(Fault::at(next, FaultKind::Move, format!("seat {seat}: {action} is not legal here")));
                }
                None => {
                    // The parts of other seats may follow; it is checked below that nothing else does.
                    self.no_move(next, seat, m, true)?;
                    lacking = lacking.or(Some((seat, next)));
                }
            }
            next += 1;
        }
        if let Some((seat, due)) = lacking {
            // Allowed only at the end of an episode that was broken off when some seats had answered.
            if self.broken_off() && next == self.record.events.len() {
                return Ok(next);
            }
            let message = format!("seat {seat}'s part of the joint move is missing");
            return Err(Fault::at(due.min(self.record.events.len() - 1), FaultKind::Move, message));
        }
        let more = |k: usize| matches!(&self.record.events[k], RecordEvent::Move(m) if m.more);
        if let Some(k) = (at..next).find(|&k| more(k) != (k + 1 < next)) {
            return Err(Fault::at(k, FaultKind::Move, "in a joint move, every part but the last has `more`"));
        }
        match self.state.play_together(&joint) {
            Ok(()) => {
                self.moves += 1;
                Ok(next)
            }
            Err(refusal) => Err(Fault::at(at, FaultKind::Move, refusal.message)),
        }
    }

    /// Whether the episode may end in the middle of a turn.
    fn broken_off(&self) -> bool {
        self.reason != Reason::Finished
    }

    /// A turn with refused attempts and no move is allowed only at the end of an episode that was broken off.
    fn no_move(&mut self, at: usize, seat: Seat, m: &MoveRecord, last: bool) -> Result<usize, Fault> {
        let wrong = |message: String| Err(Fault::at(at, FaultKind::Move, message));
        if m.action.is_some() || m.said.is_some() {
            return wrong(format!("seat {seat} moves with an id and in words at once, or in words in a joint move"));
        }
        if !self.broken_off() || !last {
            return wrong(format!("seat {seat} makes no move"));
        }
        self.unanswered = Some(seat);
        Ok(at + 1)
    }

    /// Seat, turn and refused attempts of a move.
    fn check(&mut self, at: usize, seat: Seat, m: &MoveRecord) -> Result<(), Fault> {
        let wrong = |message: String| Err(Fault::at(at, FaultKind::Move, message));
        if m.seat as usize != seat {
            return wrong(format!("seat {} moves where seat {seat} is to move", m.seat));
        }
        if m.turn != self.turns[seat] {
            return wrong(format!("it is seat {seat}'s turn {}, not {}", self.turns[seat], m.turn));
        }
        self.turns[seat] += 1;
        for attempt in m.tries.iter().filter(|t| t.code == ErrorCode::IllegalAction) {
            let given = match (attempt.action, &attempt.text, &attempt.proposal) {
                (Some(id), ..) => Given::Id(id),
                (_, Some(text), _) => Given::Text(text.clone()),
                (_, _, Some(proposal)) => Given::Document(proposal.clone()),
                _ => continue,
            };
            if self.state.read(seat, &given).is_ok() {
                return wrong(format!("seat {seat} was refused {given:?}, which is legal"));
            }
        }
        let rule = self.record.header.illegal;
        let tries = rule.tries.max(1) as usize;
        if m.forced {
            let policy = rule.policy != IllegalPolicy::Forfeit && m.tries.len() == tries;
            // A match may skip a turn with only one legal move.
            let skipped = m.tries.is_empty() && legal_list(&*self.state, seat).len() == 1;
            if !policy && !skipped {
                return wrong(format!("a move was forced on seat {seat} without a cause"));
            }
            if rule.policy == IllegalPolicy::Default && m.action != Some(self.state.default_action(seat)) {
                return wrong(format!("the move forced on seat {seat} is not the game's default"));
            }
        } else if m.tries.len() >= tries && (m.action.is_some() || m.said.is_some()) {
            return wrong(format!("seat {seat} was allowed more than {tries} attempts"));
        }
        Ok(())
    }
}
