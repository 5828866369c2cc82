//! Ended match of an event loop, without its record, which is read from the store when a client needs it.

use ludex_env::Seat;
use ludex_play::machine::EndedState;
use ludex_play::machine::interface::Input;
use ludex_protocol::error::{ErrorCode, Refusal};
use ludex_protocol::message::ResumedMatch;

use super::line::{Line, failed_end};
use super::loop_context::RoundWrites;
use crate::sessions::match_handle::{MatchCommand, MatchHandle};

/// Match that has ended, for clients that have not acknowledged the end.
pub(super) struct EndedMatch {
    pub handle: MatchHandle,
    pub lines: Box<[Line]>,
    pub state: EndedState,
    /// Commands that arrived while the record is being read; `None` if it is not being read.
    pub waiting: Option<Vec<MatchCommand>>,
    /// True once the match is to be removed, after its waiting commands.
    pub leaves: bool,
}

/// Consequence of a command for an ended match.
pub(super) enum EndedFlow {
    Stays,
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
                return self.leave_if_seen();
            }
            MatchCommand::Forget => return self.leave(),
            MatchCommand::Detach { seat, generation } => {
                if let Some(line) = self.lines.get_mut(seat).filter(|line| line.generation == generation) {
                    line.mailbox = None;
                }
            }
            MatchCommand::Held(seat, answer) => {
                let seq = self.lines.get(seat).and_then(|line| line.last).unwrap_or(0);
                let match_id = self.handle.entry().match_id.clone();
                let _ = answer.send(ResumedMatch { match_id, seat: Some(seat as u32), seq });
            }
            MatchCommand::Persist(done) => writes.persisted.push(done),
            MatchCommand::Suspend | MatchCommand::Unspectate { .. } | MatchCommand::Agents(_) => {}
            command => {
                let reads = self.waiting.is_some();
                self.waiting.get_or_insert_default().push(command);
                return if reads { EndedFlow::Stays } else { EndedFlow::Rebuilds };
            }
        }
        EndedFlow::Stays
    }

    /// Leaves if every client has acknowledged the last frame.
    pub fn leave_if_seen(&mut self) -> EndedFlow {
        let mut clients = self.lines.iter().enumerate().filter(|(seat, _)| self.handle.is_client(*seat));
        if clients.all(|(_, line)| line.seen >= line.last) { self.leave() } else { EndedFlow::Stays }
    }

    fn leave(&mut self) -> EndedFlow {
        if std::mem::replace(&mut self.leaves, true) { EndedFlow::Stays } else { EndedFlow::Leaves }
    }

    /// Refuses the requests among the waiting commands, since the record cannot be read. Clients that return without the
    /// end of the match get one.
    pub fn fail_waiting(self) {
        let error = Refusal::new(ErrorCode::Internal, "reading the record of the match failed; try again later");
        let line = |seat: Seat| self.lines.get(seat);
        for command in self.waiting.into_iter().flatten() {
            match command {
                MatchCommand::Input(Input::Act { seat, re, .. } | Input::Resign { seat, re })
                | MatchCommand::Heard(_, Input::Act { seat, re, .. } | Input::Resign { seat, re }) => {
                    if let Some(mailbox) = line(seat).and_then(|line| line.mailbox.as_ref()) {
                        mailbox.reply(re, error.clone());
                    }
                }
                MatchCommand::Attach { seat, mailbox, seen, .. } => {
                    if let Some(last) = line(seat).and_then(|line| line.last).filter(|last| seen < Some(*last)) {
                        // If the mailbox is full or closed, the client gets no end.
                        let _ = mailbox.event(failed_end(&self.handle, seat, last));
                    }
                }
                MatchCommand::Spectate { mailbox, re, .. } => mailbox.reply(re, error.clone()),
                _ => {}
            }
        }
    }
}
