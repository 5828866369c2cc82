//! Messages of a scripted match to the client: their numbers, and the selection that a returning client receives.

use std::collections::BTreeMap;

use ludex_env::{Action, EventView, Seat, Viewer};
use ludex_protocol::message::{EventKind, MatchEvent, MatchFrame, ResumedMatch, Resync, SeenFrames, ServerMessage};

use super::{ScriptMatch, ScriptSeat};

/// Message to the client about one of its seats.
#[derive(Clone)]
pub(in crate::client) struct ScriptFrame {
    pub seat: Seat,
    /// Sequence number among the messages about the seat.
    pub seq: u64,
    /// Frame of the match; `None` for an event of an unknown kind.
    pub frame: Option<MatchFrame>,
}

impl ScriptMatch {
    /// Returns the numbers of a `resume` that concern this match, by seat.
    pub fn cursors(&self, seen: &BTreeMap<String, SeenFrames>) -> BTreeMap<Seat, u64> {
        let only = self.seats.len() == 1;
        let of = |seat: Seat| Some((seat, seen.get(&self.id)?.of(seat as u32, only)?));
        self.seat_numbers().into_iter().filter_map(of).collect()
    }

    /// Adds the next message about a seat and returns its number. `None` is an event of an unknown kind.
    pub(super) fn push(&mut self, seat: Seat, frame: Option<MatchFrame>) -> u64 {
        let Some(held) = self.seat_mut(seat) else { return 0 };
        let seq = held.messages;
        held.messages += 1;
        let numbered = |mut frame: MatchFrame| {
            frame.set_seq(seq);
            frame
        };
        self.log.push(ScriptFrame { seat, seq, frame: frame.map(numbered) });
        seq
    }

    /// Adds an event: each seat gets its own version.
    pub(super) fn announce(
        &mut self,
        seen: impl Fn(Viewer) -> EventView,
        kind: impl Fn(Option<Action>, String) -> EventKind,
    ) {
        for seat in self.seat_numbers() {
            let EventView { action, text } = seen(Viewer::Seat(seat));
            if let Some(text) = text {
                let (match_id, viewer) = (self.id.clone(), Some(seat as u32));
                let event = MatchEvent { seq: 0, match_id, viewer, kind: kind(action, text), view: None };
                self.push(seat, Some(MatchFrame::Event(Box::new(event))));
            }
            if self.extras {
                self.push(seat, None);
            }
        }
    }

    /// Returns the entries of the match in a `welcome`.
    pub fn resume_entries(&self) -> Vec<ResumedMatch> {
        let entry = |held: &ScriptSeat| {
            let seq = held.messages.saturating_sub(1);
            ResumedMatch { match_id: self.id.clone(), seat: Some(held.seat as u32), seq }
        };
        self.seats.iter().map(entry).collect()
    }

    /// Returns a `resync` with the complete state of a seat, and its number.
    pub fn resync(&self, seat: Seat) -> (u64, ServerMessage) {
        let mut resync = Resync {
            match_id: self.id.clone(),
            seat: Some(seat as u32),
            turn: self.open(seat).cloned().map(Box::new),
            ..Resync::default()
        };
        for message in self.log.iter().filter(|message| message.seat == seat) {
            resync.seq = message.seq;
            match &message.frame {
                Some(MatchFrame::MatchStart(start)) => resync.start = start.clone(),
                Some(MatchFrame::MatchEnd(end)) => resync.end = Some(end.clone()),
                Some(MatchFrame::Turn(_)) | None => {}
                Some(event) => resync.events.push(event.clone()),
            }
        }
        (resync.seq, ServerMessage::Resync(Box::new(resync)))
    }
}
