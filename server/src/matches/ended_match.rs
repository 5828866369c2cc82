//! Ended match of an event loop, without its record, which is read from the store when a client needs it.

use ludex_play::machine::EndedState;
use ludex_protocol::message::ResumedMatch;

use super::line::{Line, all_have_seen};
use super::loop_context::RoundWrites;
use crate::sessions::match_handle::{MatchCommand, MatchHandle};

/// Match that has ended, for clients that have not acknowledged the end.
pub(super) struct EndedMatch {
    pub handle: MatchHandle,
    pub lines: Box<[Line]>,
    pub state: EndedState,
    /// Commands that arrived while the record is being read; `None` if it is not being read.
    pub waiting: Option<Vec<MatchCommand>>,
}

/// Consequence of a command for an ended match.
pub(super) enum EndedFlow {
    Stays,
    /// The match must be removed.
    Leaves,
    /// The match must be rebuilt from its record, which executes the waiting commands.
    Rebuilds,
}

impl EndedMatch {
    /// Executes a command that needs no record, or queues it.
    pub fn handle(&mut self, command: MatchCommand, writes: &mut RoundWrites) -> EndedFlow {
        match command {
            MatchCommand::Ack { seat, seq } => {
                if let Some(line) = self.lines.get_mut(seat) {
                    line.seen = line.seen.max(Some(seq));
                }
                if all_have_seen(&self.lines, &self.handle) { EndedFlow::Leaves } else { EndedFlow::Stays }
            }
            MatchCommand::Forget => EndedFlow::Leaves,
            MatchCommand::Detach { seat, generation } => {
                if let Some(line) = self.lines.get_mut(seat).filter(|line| line.generation == generation) {
                    line.mailbox = None;
                }
                EndedFlow::Stays
            }
            MatchCommand::Held(seat, answer) => {
                let seq = self.lines.get(seat).and_then(|line| line.last).unwrap_or(0);
                let match_id = self.handle.entry().match_id.clone();
                let _ = answer.send(ResumedMatch { match_id, seat: Some(seat as u32), seq });
                EndedFlow::Stays
            }
            MatchCommand::Persist(done) => {
                writes.persisted.push(done);
                EndedFlow::Stays
            }
            MatchCommand::Suspend | MatchCommand::Unspectate { .. } => EndedFlow::Stays,
            command => {
                let reads = self.waiting.is_some();
                self.waiting.get_or_insert_default().push(command);
                if reads { EndedFlow::Stays } else { EndedFlow::Rebuilds }
            }
        }
    }
}
