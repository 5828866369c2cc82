//! State of a seat, which is a function of the messages that it was sent.

use std::collections::BTreeMap;

use ludex_client::protocol::ServerMessage;
use ludex_client::protocol::message::{
    ActRefused, Enrolled, EventKind, MatchEnd, MatchEvent, MatchFrame, MatchStart, TurnFrame,
};
use serde_json::{Value, json};

use super::history::SeenHistory;

/// Match and seat. A client has one seat of a match, or several in some suites.
type SeatKey = (String, u32);

#[derive(Default)]
pub(super) struct SeatState {
    /// Join of the seat, once accepted.
    pub join: Option<String>,
    /// True if the seat plays the matches of a run, and not a single match.
    pub is_run: bool,
    /// Running matches of the seat.
    pub starts: BTreeMap<SeatKey, Box<MatchStart>>,
    /// Turns that wait for an answer.
    pub turns: BTreeMap<SeatKey, Box<TurnFrame>>,
    pub history: SeenHistory,
    /// Number of entries of the history that replies have shown.
    pub shown: usize,
    /// Result of the last match.
    pub last: Option<Value>,
    /// Reason why the seat waits.
    pub note: String,
    /// Reason why all matches are over.
    pub over: Option<String>,
}

impl SeatState {
    /// Applies a message. Returns the reason if all matches are over.
    pub fn apply(&mut self, message: ServerMessage) -> Option<String> {
        match message {
            ServerMessage::Queued(queued) => self.note = format!("{} in the queue", queued.waiting),
            ServerMessage::MatchStart(start) => self.start(start),
            ServerMessage::Turn(turn) => self.open_turn(turn),
            ServerMessage::Event(event) => self.event(&event),
            ServerMessage::MatchEnd(end) => return self.end(&end),
            ServerMessage::Resync(resync) => {
                self.start(resync.start);
                for frame in resync.events {
                    if let MatchFrame::Event(event) = frame {
                        self.event(&event);
                    }
                }
                resync.turn.into_iter().for_each(|turn| self.open_turn(turn));
                return resync.end.and_then(|end| self.end(&end));
            }
            ServerMessage::Progress(progress) => {
                self.note = format!("{} matches played, {} to play", progress.done, progress.due);
            }
            ServerMessage::RunEnd(end) => {
                self.last = Some(json!(end));
                return Some(format!("the run {} has ended; its report: {}", end.run, end.report));
            }
            _ => {}
        }
        None
    }

    /// Stores the join of a run.
    pub fn enrolled(&mut self, enrolled: &Enrolled) {
        self.join.clone_from(&enrolled.join);
        self.note = format!("{} matches played, {} to play", enrolled.done, enrolled.due);
        for (part, why) in &enrolled.left_out {
            self.history.push(format!("The run leaves out {part}: {why}"));
        }
    }

    /// Forgets the running matches of a lost session, which the server sends again.
    pub fn forget_matches(&mut self, resumed: bool) {
        if !resumed {
            self.starts.clear();
            self.turns.clear();
        }
    }

    /// Removes a turn that was played, unless a later one of the seat is already pending.
    pub fn close_turn(&mut self, played: &TurnFrame) {
        let key = (played.match_id.clone(), played.seat);
        if self.turns.get(&key).is_some_and(|pending| pending.turn == played.turn) {
            self.turns.remove(&key);
        }
    }

    /// Stores a refused move: the turn waits for the next try, unless the policy has decided it.
    pub fn refuse(&mut self, turn: &TurnFrame, refused: &ActRefused) {
        if refused.applied_policy.is_some() {
            return self.close_turn(turn);
        }
        let pending = self.turns.get_mut(&(turn.match_id.clone(), turn.seat));
        if let Some(pending) = pending.filter(|pending| pending.turn == turn.turn) {
            pending.attempt = refused.attempt;
        }
    }

    fn start(&mut self, start: Box<MatchStart>) {
        let names: Vec<&str> = start.seats.iter().map(|seat| seat.name.as_str()).collect();
        let seat = start.seat.unwrap_or_default();
        self.history.push(format!(
            "Match {} of {}: {}. You have seat {seat}.",
            start.match_id,
            start.game,
            names.join(", ")
        ));
        self.note = format!("match {}: others are to move", start.match_id);
        self.starts.insert((start.match_id.clone(), seat), start);
    }

    fn open_turn(&mut self, turn: Box<TurnFrame>) {
        let key = (turn.match_id.clone(), turn.seat);
        // A turn without a reply may be sent again, also while the reply is on its way.
        if self.turns.get(&key).is_none_or(|pending| (pending.turn, pending.attempt) <= (turn.turn, turn.attempt)) {
            self.turns.insert(key, turn);
        }
    }

    fn event(&mut self, event: &MatchEvent) {
        let mut seats = self.starts.iter().filter(|((id, _), _)| *id == event.match_id);
        let Some(((_, first), start)) = seats.next() else { return };
        // With several seats, each event is sent for each of them.
        if event.viewer.is_some_and(|viewer| viewer != *first) {
            return;
        }
        let name = |seat: &u32| start.seats.get(*seat as usize).map_or("", |seat| seat.name.as_str());
        let line = match &event.kind {
            EventKind::Move { seat, text, .. } => format!("Seat {seat} ({}): {text}", name(seat)),
            EventKind::Chance { text, .. } => format!("Chance: {text}"),
            EventKind::Reveal { text, .. } => format!("Revealed: {text}"),
            EventKind::Say { seat, text } => format!("Seat {seat} ({}) says: {text}", name(seat)),
            EventKind::Phase { phase } => format!("Phase: {phase}"),
            EventKind::Reward { rewards } => format!("Rewards: {rewards:?}"),
            EventKind::Presence { .. } => return,
        };
        self.history.push(line);
    }

    fn end(&mut self, end: &MatchEnd) -> Option<String> {
        let key = (end.match_id.clone(), end.seat.unwrap_or_default());
        self.turns.remove(&key);
        self.starts.remove(&key);
        let own = end.returns.get(key.1 as usize).copied().unwrap_or_default();
        let reason = serde_json::to_value(end.reason).unwrap_or_default();
        let reason = reason.as_str().unwrap_or_default();
        let text = format!("match {} has ended ({reason}), your return is {own}", end.match_id);
        self.history.push(format!("Match {} has ended ({reason}). Your return: {own}.", end.match_id));
        self.last = Some(json!({
            "match": end.match_id, "return": own, "returns": end.returns, "outcome": end.outcome, "reason": end.reason,
            "at_fault": end.at_fault, "record": end.record,
        }));
        (!self.is_run && self.starts.is_empty()).then_some(text)
    }
}
