//! Replay of a record's events with checks.

use std::collections::BTreeSet;

use ludex_env::recording::{self, ReplayStep, ReplayStop};
use ludex_env::{Draw, DynState, GameRef, MarkValue, Marks, Outcomes, ParsedMove, Seat, Stream, ToMove};
use ludex_protocol::error::ErrorCode;
use ludex_protocol::record::{EndReason, IllegalPolicy, MoveRecord, Record, RecordEvent, RefusedMove};

use super::{FaultKind, RecordFault};
use crate::result::{EMOTION, SeatMark};

/// Final position of a replay.
pub(super) struct FinalPosition {
    /// Sum of rewards, per seat.
    pub returns: Vec<f64>,
    /// Number of moves; a joint move counts as one move, and chance events are excluded.
    pub moves: u32,
    /// Team of each seat, in games with teams.
    pub teams: Option<Vec<usize>>,
    /// Scores of the hands, by seat; empty for every seat if the game's marks do not report scores of hands.
    pub hand_scores: Vec<Vec<f64>>,
    /// Collected marks by seat.
    pub marks: Vec<Vec<SeatMark>>,
    /// Seat whose last turn has refused attempts but no move.
    pub unanswered: Option<Seat>,
}

/// State of a replay.
struct Replay<'a> {
    record: &'a Record,
    draw: Option<Draw>,
    /// Number of turns that each seat has had so far.
    turns: Vec<u32>,
}

/// Replays all events. The final position must match the reason for the end of the episode.
///
/// `wanted` holds the names of the marks to collect. Only these marks are computed, because some marks take longer to
/// compute than all checks.
pub(super) fn replay(
    game: &GameRef,
    record: &Record,
    reason: EndReason,
    seed: Option<u64>,
    wanted: &BTreeSet<String>,
) -> Result<FinalPosition, RecordFault> {
    let mut replay = Replay {
        record,
        draw: seed.map(|seed| Draw::new(game.id(), seed, u64::from(record.header.number))),
        turns: vec![0; game.spec().players as usize],
    };
    let (mut moves, mut unanswered) = (0, None);
    let mut hand_scores = vec![Vec::new(); game.spec().players as usize];
    let mut marks = vec![Vec::new(); game.spec().players as usize];
    let scores = game.info().hand_scores.then(|| "hand_score".to_owned());
    let names: BTreeSet<String> = wanted.iter().filter(|name| *name != EMOTION).cloned().chain(scores).collect();
    let mut counted = Marks::only(&names);
    let mut steps = recording::steps(&**game, record);
    while let Some(step) = steps.next() {
        let step = step.map_err(fault)?;
        let start = record.header.start as usize;
        let given = step.at < start;
        if given && step.at + step.events.len() > start {
            return Err(RecordFault::at(
                step.at,
                FaultKind::Move,
                "expected the start to end after a complete joint move, got an incomplete joint move",
            ));
        }
        let before = replay.turns.clone();
        match step.events {
            [RecordEvent::Chance(_)] if given => {}
            _ if given => {
                for (at, m) in step.moves() {
                    replay.check_given(at, m)?;
                }
            }
            [RecordEvent::Chance(c)] => replay.chance(&step, c.action)?,
            _ => {
                for (at, m) in step.moves() {
                    replay.check(step.before, at, m)?;
                }
                moves += u32::from(step.played);
            }
        }
        if wanted.contains(EMOTION) {
            for (_, m) in step.moves() {
                let Some(felt) = m.notes.as_ref().and_then(|notes| notes.emotion.clone()) else { continue };
                let mark = SeatMark { name: EMOTION.into(), value: MarkValue::Text(felt), turn: m.turn };
                marks[m.seat as usize].push(mark);
            }
        }
        if !given {
            step.mark(&mut counted);
            for mark in counted.take() {
                if let ("hand_score", MarkValue::Number(score)) = (mark.name, &mark.value) {
                    hand_scores[mark.seat].push(*score);
                }
                if wanted.contains(mark.name) {
                    let turn = before[mark.seat];
                    marks[mark.seat].push(SeatMark { name: mark.name.into(), value: mark.value, turn });
                }
            }
        }
        if !step.played {
            if reason == EndReason::Finished {
                return Err(RecordFault::at(
                    step.at,
                    FaultKind::Move,
                    "expected a move in every turn of a finished episode, got a turn without a move",
                ));
            }
            unanswered = step.moves().filter(|(_, m)| m.action.is_none()).map(|(_, m)| m.seat as usize).last();
        }
    }
    if record.header.start as usize > record.events.len() {
        let message =
            format!("expected at least {} events for the start, got {}", record.header.start, record.events.len());
        return Err(RecordFault::new(FaultKind::Move, message));
    }
    let over = steps.position().turn() == ToMove::Over;
    let wrong = match reason {
        EndReason::Finished if !over => "expected a finished game, got a position with moves left",
        EndReason::Finished => "",
        _ if over && reason.counts() => "expected reason \"finished\", got another reason after the end of the game",
        _ => "",
    };
    if !wrong.is_empty() {
        return Err(RecordFault::new(FaultKind::Result, wrong));
    }
    let position = steps.position();
    Ok(FinalPosition { returns: position.returns(), moves, teams: position.teams(), hand_scores, marks, unanswered })
}

fn fault(stop: ReplayStop) -> RecordFault {
    RecordFault::at(stop.at, if stop.chance { FaultKind::Chance } else { FaultKind::Move }, stop.message)
}

impl Replay<'_> {
    /// Checks an outcome against the seed's draw, if the seed is known.
    fn chance(&mut self, step: &ReplayStep, action: Option<u32>) -> Result<(), RecordFault> {
        let Some(draw) = &mut self.draw else { return Ok(()) };
        let mut outcomes = Outcomes::new();
        step.before.chance(&mut outcomes);
        let drawn = draw.pick(&outcomes);
        if drawn == action {
            return Ok(());
        }
        let name = |outcome: Option<u32>| outcome.map_or_else(|| "nothing".to_owned(), |id| id.to_string());
        let message = format!("expected outcome {} from the seed, got {}", name(drawn), name(action));
        Err(RecordFault::at(step.at, FaultKind::Chance, message))
    }

    /// Checks a move of the start: a move before the first request, which no agent chose.
    fn check_given(&mut self, at: usize, m: &MoveRecord) -> Result<(), RecordFault> {
        let bare = MoveRecord { action: m.action, document: m.document.clone(), more: m.more, ..MoveRecord::default() };
        let turn = self.turns[m.seat as usize];
        self.turns[m.seat as usize] += 1;
        if *m != (MoveRecord { seat: m.seat, turn, forced: true, ..bare }) {
            let message = format!("expected a forced move without extra fields at turn {turn} of the start");
            return Err(RecordFault::at(at, FaultKind::Move, message));
        }
        Ok(())
    }

    /// Checks the turn and the refused attempts of a move, and the reason for a forced move.
    fn check(&mut self, before: &dyn DynState, at: usize, m: &MoveRecord) -> Result<(), RecordFault> {
        let wrong = |message: String| Err(RecordFault::at(at, FaultKind::Move, message));
        let seat = m.seat as usize;
        if m.turn != self.turns[seat] {
            return wrong(format!("expected turn {} of seat {seat}, got {}", self.turns[seat], m.turn));
        }
        self.turns[seat] += 1;
        let about_move = |t: &&RefusedMove| matches!(t.code, ErrorCode::IllegalAction | ErrorCode::Unparsed);
        let illegal = self.record.header.illegal;
        for attempt in m.tries.iter().filter(about_move) {
            let Some(given) = recording::submitted_move(attempt) else { continue };
            match before.parse_move(seat, &given) {
                Ok(_) => {
                    return wrong(format!("expected an illegal attempt of seat {seat}, got the legal move {given:?}"));
                }
                // If unparsed replies are counted separately, the code of a refusal selects the policy.
                Err(why) if illegal.unparsed.is_some() && why.code != attempt.code => {
                    return wrong(format!(
                        "expected refusal code {:?} for {given:?} of seat {seat}, got {:?}",
                        why.code, attempt.code
                    ));
                }
                Err(_) => {}
            }
        }
        // First refusal that reaches its limit; later attempts are not possible.
        let last = (0..m.tries.len()).find(|&k| {
            let code = m.tries[k].code;
            illegal.used(&m.tries[..=k], code) >= illegal.rule(code).tries.max(1)
        });
        let ended = last.map(|k| (illegal.rule(m.tries[k].code), k + 1 == m.tries.len()));
        if m.forced {
            let policy = ended.and_then(|(rule, ends)| ends.then_some(rule.policy));
            let policy = policy.filter(|policy| *policy != IllegalPolicy::Forfeit);
            // A match may skip a turn with only one legal move.
            let skipped = m.tries.is_empty() && before.legal_list(seat).len() == 1;
            if policy.is_none() && !skipped {
                return wrong(format!(
                    "expected the attempt limit or a single legal move before seat {seat}'s forced move, got neither"
                ));
            }
            if policy == Some(IllegalPolicy::Default) && !self.is_default(before, m) {
                return wrong(format!("expected the default move as the forced move of seat {seat}, got another move"));
            }
        } else if let Some((rule, _)) = ended
            && (m.action.is_some() || m.document.is_some())
        {
            return wrong(format!("expected at most {} attempts of seat {seat}, got more", rule.tries.max(1)));
        }
        Ok(())
    }

    /// Returns true if a forced move is the seat's default move. A game may draw the default at random; without the
    /// seed, a random default is always accepted.
    fn is_default(&self, before: &dyn DynState, m: &MoveRecord) -> bool {
        let seat = m.seat as usize;
        let is = |stream: &mut Stream| match before.default_move(seat, stream) {
            ParsedMove::Action(a) => m.action == Some(a),
            ParsedMove::Document(document) => m.document.as_ref() == Some(&document),
        };
        let drawn = |name: &str| before.default_move(seat, &mut Stream::from_text(name));
        match &self.draw {
            Some(draw) => is(&mut draw.policy(seat, m.turn)),
            None => is(&mut Stream::from_text("a")) || (0..8).any(|k| drawn("a") != drawn(&format!("{k}"))),
        }
    }
}
