//! What every watcher of a match was told, in its own gapless numbering; and the views that frames carry.

use std::collections::HashSet;

use ludex_env::batch::Layout;
use ludex_env::present::view_of;
use ludex_env::{DynGame, Mover, Past, Seat, Viewer};
use ludex_protocol::message::{Event, EventKind, MatchEnd, MatchFrame, MatchStart, MatchView};
use ludex_protocol::record::RecordEvent;

use super::course::replay;

/// Somebody who is told about a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Watcher {
    /// A seat.
    Seat(Seat),
    /// Spectators who see what everybody at the table sees.
    Public,
    /// Spectators who see hidden information.
    Full,
}

impl Watcher {
    /// Whose eyes the watcher has.
    pub fn viewer(self) -> Viewer {
        match self {
            Watcher::Seat(s) => Viewer::Seat(s),
            Watcher::Public | Watcher::Full => Viewer::Public,
        }
    }
}

/// A frame, and how many events of the record came before it.
struct Told {
    frame: MatchFrame,
    ply: usize,
}

struct Log {
    told: Vec<Told>,
    next: u64,
    revealed: HashSet<String>,
}

/// The logs of all watchers of one match.
pub(super) struct Logs {
    match_id: String,
    seats: usize,
    logs: Vec<Log>,
}

impl Logs {
    pub(super) fn new(match_id: &str, seats: usize, first: u64) -> Self {
        let log = || Log { told: Vec::new(), next: first, revealed: HashSet::new() };
        Logs { match_id: match_id.to_owned(), seats, logs: (0..seats + 2).map(|_| log()).collect() }
    }

    /// Seats in order, then the public, then full spectators.
    pub(super) fn watchers(&self) -> impl Iterator<Item = Watcher> + use<> {
        (0..self.seats).map(Watcher::Seat).chain([Watcher::Public, Watcher::Full])
    }

    fn index(&self, to: Watcher) -> usize {
        match to {
            Watcher::Seat(s) => s,
            Watcher::Public => self.seats,
            Watcher::Full => self.seats + 1,
        }
    }

    fn log(&self, to: Watcher) -> &Log {
        &self.logs[self.index(to)]
    }

    /// Numbers a frame and keeps it.
    pub(super) fn push(&mut self, to: Watcher, mut frame: MatchFrame, ply: usize) -> MatchFrame {
        let i = self.index(to);
        let log = &mut self.logs[i];
        frame.set_seq(log.next);
        log.next += 1;
        log.told.push(Told { frame: frame.clone(), ply });
        frame
    }

    pub(super) fn event(&mut self, to: Watcher, kind: EventKind, ply: usize) -> MatchFrame {
        let event = Event { seq: 0, match_id: self.match_id.clone(), kind, view: None };
        self.push(to, MatchFrame::Event(Box::new(event)), ply)
    }

    /// Whether `to` has not been told this revelation; it counts as told from now on.
    pub(super) fn first_time(&mut self, to: Watcher, text: &str) -> bool {
        let i = self.index(to);
        self.logs[i].revealed.insert(text.to_owned())
    }

    pub(super) fn last_seq(&self, to: Watcher) -> Option<u64> {
        self.log(to).told.last().map(|t| t.frame.seq())
    }

    pub(super) fn all(&self, to: Watcher) -> Vec<MatchFrame> {
        self.log(to).told.iter().map(|t| t.frame.clone()).collect()
    }

    pub(super) fn after(&self, to: Watcher, seen: u64) -> Vec<MatchFrame> {
        self.log(to).told.iter().filter(|t| t.frame.seq() > seen).map(|t| t.frame.clone()).collect()
    }

    pub(super) fn events(&self, to: Watcher) -> Vec<MatchFrame> {
        self.all(to).into_iter().filter(|f| matches!(f, MatchFrame::Event(_))).collect()
    }

    /// The moves and outcomes that a watcher was told.
    pub(super) fn past(&self, to: Watcher) -> Vec<Past> {
        let events = self.log(to).told.iter().filter_map(|told| match &told.frame {
            MatchFrame::Event(event) => Some(&event.kind),
            _ => None,
        });
        events.filter_map(past_of).collect()
    }

    /// Start, events and end, as a `resync` carries them.
    pub(super) fn parts(&self, to: Watcher) -> (Option<Box<MatchStart>>, Vec<MatchFrame>, Option<Box<MatchEnd>>) {
        let (mut start, mut events, mut end) = (None, Vec::new(), None);
        for frame in self.all(to) {
            match frame {
                MatchFrame::MatchStart(s) => start = Some(s),
                MatchFrame::MatchEnd(e) => end = Some(e),
                MatchFrame::Event(_) => events.push(frame),
                MatchFrame::Turn(_) => {}
            }
        }
        (start, events, end)
    }

    /// All frames of a spectator, the events with views of the positions that they led to.
    pub(super) fn retold(
        &self,
        to: Watcher,
        game: &dyn DynGame,
        record: &[RecordEvent],
        views: &[MatchView],
    ) -> Vec<MatchFrame> {
        let mut frames = Vec::new();
        for told in &self.log(to).told {
            let mut frame = told.frame.clone();
            if let (MatchFrame::Event(event), false) = (&mut frame, views.is_empty()) {
                let state = replay(game, &record[..told.ply.min(record.len())]);
                event.view = Some(view_of(&*state, to.viewer(), views, Layout::Ludex));
            }
            frames.push(frame);
        }
        frames
    }
}

/// What an event tells an agent about the moves of the episode.
pub(crate) fn past_of(event: &EventKind) -> Option<Past> {
    match *event {
        EventKind::Move { seat, action, .. } => Some(Past { by: Mover::Seat(seat as Seat), action }),
        EventKind::Chance { action, .. } => Some(Past { by: Mover::Chance, action }),
        _ => None,
    }
}
