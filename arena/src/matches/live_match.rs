//! One match of an event loop. It executes commands and deadlines, stores the log, and delivers the outputs of the match
//! machine.

use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, Instant};

use ludex_env::Seat;
use ludex_play::machine::interface::{Input, LogRow, MatchSetup, Output};
use ludex_play::machine::{MatchMachine, Watcher};
use ludex_protocol::error::{ErrorCode, Refusal};
use ludex_protocol::message::ServerMessage;
use ludex_protocol::record::{EndReason, Record};
use ludex_store::{ActRow, EndRow, MatchRow, StoreError, Unkept, Write, text};

use super::ended_match::EndedMatch;
use super::line::{Line, failed_end};
use super::loop_context::{LoopContext, MatchParts, RoundWrites};
use super::match_row::RowDraft;
use super::server_agents::ServerAgents;
use super::spectators::{Spectator, Spectators};
use crate::mailbox::{Mailbox, MailboxItem};
use crate::metrics::word;
use crate::sessions::match_handle::{MatchCommand, MatchHandle};

/// Maximum number of missed frames to send again. If a client missed more frames, one `resync` replaces them.
const MISSED: usize = 128;
/// Time in milliseconds for which the row and the log of a match without a durable log are buffered. If the match ends
/// during this time, its log is never written, since the record contains it. A crash loses at most the buffered rows.
const HELD: u64 = 1_000;
/// Delay in milliseconds before the rows of a match with a durable log are stored again after a failure. The delay doubles
/// after each failure.
const AGAIN: u64 = 500;
/// Maximum of the delay that starts at [`AGAIN`], in milliseconds.
const AGAIN_AT_MOST: u64 = 8_000;
/// Maximum number of consecutive replies of fast agents before the loop serves other matches.
const AT_ONCE: usize = 16;

/// Callback that receives the handle of a match and the result of storing its start.
pub(super) type OnStored = Box<dyn FnOnce(&MatchHandle, Result<(), StoreError>) + Send>;

/// State of a match after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// The match accepts further commands.
    Stays,
    /// The match must be removed, once the commands that have been sent so far are executed.
    Leaves,
    /// The match could not start.
    Failed,
}

/// Part of a match that waits for a commit. Further commands are queued meanwhile.
enum PendingCommit {
    /// Start of the match.
    Start(OnStored),
    /// Log rows, and the outputs to deliver once the rows are durable.
    Rows(Box<PendingRows>),
    /// Row of the suspension of the match.
    Suspension,
}

struct PendingRows {
    rows: Vec<LogRow>,
    /// Last row of the log, if the match has ended.
    end: Option<LogRow>,
    /// Matches to release with the end of this match.
    released: Vec<String>,
    outputs: Vec<Output>,
    /// Time at which the client's message was read, for the metric of turn latency.
    heard: Option<Instant>,
    /// Time of the next try in milliseconds, after a failed write.
    retry_at: Option<u64>,
    /// Delay in milliseconds before the next try.
    pause: u64,
}

/// Match of an event loop.
pub(super) struct LiveMatch {
    context: Rc<LoopContext>,
    number: u64,
    pub(super) machine: MatchMachine,
    pub(super) handle: MatchHandle,
    agents: ServerAgents,
    lines: Vec<Line>,
    crowd: Spectators,
    /// Data of the row of a match that the store does not know yet.
    draft: Option<RowDraft>,
    /// Number of log rows passed to the store.
    rows: u64,
    /// Buffered log rows of a match without a durable log.
    held: Vec<LogRow>,
    /// Time at which the buffered rows must be passed to the store, in milliseconds.
    held_until: Option<u64>,
    /// True once the end of the match has been delivered.
    pub(super) ended: bool,
    /// True once the match is to be removed.
    leaves: bool,
    /// True if the match cannot continue: its log is lost, or its code panicked.
    pub(super) broken: bool,
    pending: Option<PendingCommit>,
    /// Commands that arrived during the pending commit.
    backlog: VecDeque<MatchCommand>,
    /// Total stall time of the loop's thread at the last check, in milliseconds.
    lost: u64,
    /// Time for which the event loop has planned to wake the match, in milliseconds.
    pub(super) planned: Option<u64>,
}

impl LiveMatch {
    /// Creates a match. `rows` is the number of log rows in the store, and `draft` holds the data of the match's row if
    /// the store does not have it.
    pub(super) fn new(
        context: Rc<LoopContext>,
        number: u64,
        machine: MatchMachine,
        handle: MatchHandle,
        agents: ServerAgents,
        rows: u64,
        draft: Option<RowDraft>,
    ) -> Self {
        let lines = machine.header().seats.iter().map(|_| Line::default()).collect();
        handle.add_rows(rows);
        LiveMatch {
            lost: context.stalled_ms(),
            held_until: draft.is_some().then(|| context.now() + HELD),
            ended: machine.is_over(),
            context,
            number,
            machine,
            handle,
            agents,
            lines,
            crowd: Spectators::default(),
            draft,
            rows,
            held: Vec::new(),
            leaves: false,
            broken: false,
            pending: None,
            backlog: VecDeque::new(),
            planned: None,
        }
    }

    /// Returns the id of the match.
    pub(super) fn id(&self) -> &str {
        self.machine.id()
    }

    /// Returns true if the store has the row of the match.
    pub(super) fn is_stored(&self) -> bool {
        self.draft.is_none()
    }

    /// Returns true if each row of the log is durable before its outputs are delivered.
    fn is_durable(&self) -> bool {
        self.machine.header().rated || self.machine.setup().run.is_some()
    }

    /// Starts the match. If the log is durable, the start and `drawn` are stored first. `on_stored` receives the
    /// result.
    pub(super) fn start(&mut self, drawn: Option<Write>, on_stored: OnStored, writes: &mut RoundWrites) -> Flow {
        if !self.is_durable() {
            writes.behind.extend(drawn.map(|drawn| vec![drawn]));
            self.begin(on_stored);
            return Flow::Stays;
        }
        self.held_until = None;
        match self.take_row() {
            Ok(row) => {
                let row = row.map(Write::MatchStart);
                writes.durable.push((self.number, drawn.into_iter().chain(row).collect()));
                self.pending = Some(PendingCommit::Start(on_stored));
                Flow::Stays
            }
            Err(error) => {
                on_stored(&self.handle, Err(StoreError::Conflict { message: error.to_string() }));
                Flow::Failed
            }
        }
    }

    /// Seats the clients, and starts the match.
    fn begin(&mut self, on_stored: OnStored) {
        on_stored(&self.handle, Ok(()));
        self.agents.enter();
        self.handle.send(MatchCommand::Input(Input::Start));
        self.context.observer.on_start(self.id());
    }

    /// Returns the match's row, if the store does not have it.
    fn take_row(&mut self) -> Result<Option<MatchRow>, Unkept> {
        let Some(draft) = self.draft.take() else { return Ok(None) };
        draft.row(self.machine.setup(), self.handle.session_ids()).map(Some)
    }

    /// Executes a command, or queues it during a pending commit.
    pub(super) fn handle(&mut self, command: MatchCommand, writes: &mut RoundWrites) -> Flow {
        if self.pending.is_some() {
            match command {
                // The rows are in the store's queue. A full store may delay the commit forever, so it is not awaited.
                MatchCommand::Persist(done) => writes.persisted.push(done),
                command => self.backlog.push_back(command),
            }
            return Flow::Stays;
        }
        self.credit_stalls();
        let forget = matches!(command, MatchCommand::Forget);
        let suspended = matches!(command, MatchCommand::Suspend) && self.machine.setup().grace_ms.is_none();
        if suspended && !self.machine.is_over() && !self.leaves {
            return self.suspend(writes);
        }
        self.execute(command, writes);
        self.crowd.send_if_due();
        self.crowd.catch_up(&self.machine);
        if self.ended && forget { self.leave() } else { Flow::Stays }
    }

    /// Stores the suspension. The match leaves once its row is durable, so that no other command continues or ends it first.
    fn suspend(&mut self, writes: &mut RoundWrites) -> Flow {
        let row = self.machine.suspension(self.context.now());
        match log_writes(self.id(), self.rows, &[row], None, &[]) {
            Ok(group) => {
                writes.durable.push((self.number, group));
                self.pending = Some(PendingCommit::Suspension);
                Flow::Stays
            }
            Err(error) => self.end_suspension(Some(&error)),
        }
    }

    /// Leaves the event loop. If storing the suspension failed, the time away until now is lost.
    fn end_suspension(&mut self, failure: Option<&dyn std::fmt::Display>) -> Flow {
        if let Some(error) = failure {
            tracing::error!(match_id = %self.id(), %error, "storing a suspension failed");
        }
        self.context.observer.on_suspension(&self.machine);
        self.leave()
    }

    /// Returns true if the match continues only after its agents have returned, from the store.
    fn is_suspended(&self) -> bool {
        self.leaves && !self.machine.is_over()
    }

    /// Returns true if the match has ended, and only its record and the acknowledgments of its clients are still needed.
    pub(super) fn is_dormant(&self) -> bool {
        let is_open = self.leaves || self.broken || self.pending.is_some() || !self.backlog.is_empty();
        self.ended && !is_open && self.crowd.are_up_to_date()
    }

    /// Drops all data of a dormant match that its record in the store contains too.
    pub(super) fn into_ended(mut self) -> EndedMatch {
        for (seat, line) in self.lines.iter_mut().enumerate().filter(|(seat, _)| self.handle.is_client(*seat)) {
            line.last.get_or_insert_with(|| self.machine.resume_entry(seat).seq);
        }
        let lines = self.lines.into_boxed_slice();
        EndedMatch { handle: self.handle, lines, state: self.machine.into_ended(), waiting: None, leaves: false }
    }

    /// Rebuilds a match that has ended, with its waiting commands as the backlog.
    pub(super) fn from_ended(
        context: Rc<LoopContext>,
        number: u64,
        ended: EndedMatch,
        (setup, record): (MatchSetup, Record),
    ) -> Self {
        let EndedMatch { handle, lines, state, waiting, leaves } = ended;
        let machine = MatchMachine::from_ended(setup, record, state, context.now());
        let mut live = Self::new(context, number, machine, handle, ServerAgents::new(Vec::new()), 0, None);
        live.lines = lines.into_vec();
        live.leaves = leaves;
        live.backlog = waiting.unwrap_or_default().into();
        live
    }

    /// Executes the backlog, until a command must wait for a commit.
    pub(super) fn handle_backlog(&mut self, writes: &mut RoundWrites) -> Flow {
        let mut flow = Flow::Stays;
        while self.pending.is_none()
            && !self.broken
            && let Some(command) = self.backlog.pop_front()
        {
            if self.handle(command, writes) == Flow::Leaves {
                flow = Flow::Leaves;
            }
        }
        flow
    }

    fn leave(&mut self) -> Flow {
        self.crowd.send();
        if std::mem::replace(&mut self.leaves, true) { Flow::Stays } else { Flow::Leaves }
    }

    /// Executes the deadlines that are due.
    pub(super) fn tick(&mut self, writes: &mut RoundWrites) -> Flow {
        let now = self.context.now();
        if let Some(PendingCommit::Rows(pending)) = &mut self.pending {
            if pending.retry_at.take_if(|at| *at <= now).is_some() {
                self.store_pending(writes);
            }
            return Flow::Stays;
        }
        if self.held_until.is_some_and(|at| now >= at) {
            self.write_held(writes);
        }
        self.handle(MatchCommand::Input(Input::Tick), writes)
    }

    /// Returns the time of the next deadline, in milliseconds.
    pub(super) fn next_deadline(&self) -> Option<u64> {
        match &self.pending {
            Some(PendingCommit::Rows(pending)) => return pending.retry_at,
            Some(PendingCommit::Start(_) | PendingCommit::Suspension) => return None,
            None if self.is_suspended() => return None,
            None => {}
        }
        // Rounded up, so that the match is not woken too early.
        let crowd = self.crowd.wake().map(|left| self.context.now() + left.as_millis() as u64 + 1);
        self.machine.next_deadline().into_iter().chain(self.held_until).chain(crowd).min()
    }

    /// Delivers the first outputs of a restored match.
    pub(super) fn resume(&mut self, outputs: Vec<Output>, writes: &mut RoundWrites) -> Flow {
        if !self.machine.is_over() {
            self.agents.enter();
        }
        self.deliver(outputs, None, writes);
        Flow::Stays
    }

    /// Continues the match after the pending commit, and executes the commands that arrived meanwhile.
    pub(super) fn on_commit(&mut self, result: Result<(), StoreError>, writes: &mut RoundWrites) -> Flow {
        match (self.pending.take(), result) {
            (None, _) => {}
            (Some(PendingCommit::Suspension), result) => {
                let flow = self.end_suspension(result.as_ref().err().map(|error| error as &dyn std::fmt::Display));
                // None of these commands changes the match anymore.
                self.handle_backlog(writes);
                return flow;
            }
            (Some(PendingCommit::Start(on_stored)), Ok(())) => self.begin(on_stored),
            (Some(PendingCommit::Start(on_stored)), Err(error)) => {
                on_stored(&self.handle, Err(error));
                return Flow::Failed;
            }
            (Some(PendingCommit::Rows(pending)), Ok(())) => {
                self.rows += pending.rows.len() as u64;
                if pending.end.is_some() {
                    self.context.observer.on_release(&pending.released);
                }
                let added = (pending.rows.len() + usize::from(pending.end.is_some())) as u64;
                self.show(pending.outputs, added, pending.heard, writes);
            }
            (Some(PendingCommit::Rows(pending)), Err(error)) => {
                self.on_failed_write(pending, &error, error.is_passing(), writes);
            }
        }
        self.handle_backlog(writes)
    }

    /// Handles a failed write. If the reason may pass, such as a full disk, or if the match is over, the rows are stored
    /// again later: clients are notified once they are stored, which may take any time. Otherwise the log is lost, and the
    /// match cannot continue.
    fn on_failed_write(
        &mut self,
        mut pending: Box<PendingRows>,
        error: &dyn std::fmt::Display,
        passes: bool,
        writes: &mut RoundWrites,
    ) {
        if pending.pause == AGAIN || !passes {
            tracing::error!(match_id = %self.id(), %error, passes, "match log write failed");
        }
        if !self.machine.is_over() && !passes {
            // The machine has played moves whose log rows are lost, so no client may see them.
            self.broken = true;
        } else if self.machine.is_over() && self.context.is_draining() {
            // After the restart, the match continues from the stored part of its log.
            self.end(writes);
        } else {
            pending.retry_at = Some(self.context.now() + pending.pause);
            pending.pause = (2 * pending.pause).min(AGAIN_AT_MOST);
            self.pending = Some(PendingCommit::Rows(pending));
        }
    }

    /// Credits each seat with the time for which the thread of this loop, or of the seat's connection, was stalled.
    /// Otherwise, a move that waited in the socket during the stall could time out.
    fn credit_stalls(&mut self) {
        let total = self.context.stalled_ms();
        let own = total.saturating_sub(std::mem::replace(&mut self.lost, total));
        let mut any = own > 0;
        let mut losses = self.context.losses.borrow_mut();
        losses.clear();
        for line in &mut self.lines {
            let mut lost = own;
            if let Some(monitor) = line.mailbox.as_ref().map(Mailbox::pulse).filter(|m| !self.context.is_own(m)) {
                let total = monitor.lost_ms();
                lost = own.max(total.saturating_sub(std::mem::replace(&mut line.lost, total)));
            }
            any |= lost > 0;
            losses.push(lost);
        }
        if any {
            self.machine.credit_stall(&losses);
        }
    }

    fn execute(&mut self, command: MatchCommand, writes: &mut RoundWrites) {
        match command {
            MatchCommand::Input(input) => self.input(self.context.now(), input, None, writes),
            MatchCommand::Heard(at, input) => {
                let late = Duration::from_millis(self.context.now().saturating_sub(at));
                self.input(at, input, Instant::now().checked_sub(late), writes);
            }
            MatchCommand::Attach { seat, mailbox, generation, seen, resync } => {
                let Some(line) = self.lines.get_mut(seat).filter(|line| generation >= line.generation) else { return };
                line.generation = generation;
                line.lost = mailbox.pulse().lost_ms();
                line.mailbox = Some(mailbox);
                let to = Watcher::Seat(seat);
                // Many missed frames would fill the mailbox, so one resync replaces them.
                let missed = (!resync).then(|| self.machine.catch_up(to, seen)).filter(|missed| missed.len() <= MISSED);
                for message in missed.unwrap_or_else(|| vec![self.machine.resync(to)]) {
                    self.put(seat, None, &message);
                }
                self.post();
                self.input(self.context.now(), Input::Online(seat), None, writes);
            }
            MatchCommand::Detach { seat, generation } => {
                if let Some(line) = self.lines.get_mut(seat).filter(|line| line.generation == generation) {
                    line.mailbox = None;
                    self.input(self.context.now(), Input::Offline(seat), None, writes);
                }
            }
            MatchCommand::Spectate { session, mailbox, re, full, views } => {
                self.crowd.leave(&session);
                let to = if full { Watcher::Full } else { Watcher::Public };
                self.machine.add_watcher(to);
                mailbox.reply(re, ServerMessage::Ok(Default::default()));
                let told = self
                    .machine
                    .replay_frames(to, &views)
                    .into_iter()
                    .try_for_each(|frame| mailbox.event(frame.into()));
                self.crowd.enter(Spectator { session, mailbox, to, views, behind: told.is_err() });
            }
            MatchCommand::Unspectate { session } => self.crowd.leave(&session),
            MatchCommand::Agents(agents) => {
                if self.agents.provide(agents) {
                    let asks = self.machine.open_requests().collect();
                    self.show(asks, 0, None, writes);
                }
            }
            MatchCommand::Held(seat, answer) => drop(answer.send(self.machine.resume_entry(seat))),
            MatchCommand::Public(answer) => drop(answer.send(self.machine.public_events())),
            MatchCommand::Picture(at, answer) => drop(answer.send(self.machine.picture_after(Watcher::Public, at))),
            MatchCommand::Ack { seat, seq } => {
                if let Some(line) = self.lines.get_mut(seat) {
                    // A client cannot have seen a frame that was not sent.
                    let seq = line.last.map_or(seq, |last| seq.min(last));
                    line.seen = line.seen.max(Some(seq));
                }
            }
            MatchCommand::Forget | MatchCommand::Suspend => {}
            MatchCommand::Persist(done) => {
                self.write_held(writes);
                writes.persisted.push(done);
            }
        }
    }

    fn input(&mut self, at: u64, input: Input, heard: Option<Instant>, writes: &mut RoundWrites) {
        if self.is_suspended() {
            if let Input::Act { seat, re, .. } | Input::Resign { seat, re } = input {
                let error = Refusal::new(ErrorCode::MatchOver, "the match is suspended until its agents return");
                self.put(seat, Some(re), &error.into());
                self.post();
            }
            return;
        }
        let mut outputs = self.machine.handle(at, input);
        self.ask_quick(&mut outputs);
        self.deliver(outputs, heard, writes);
    }

    /// Runs fast agents before the rows are stored, so that one write also stores their replies.
    fn ask_quick(&mut self, outputs: &mut Vec<Output>) {
        let (mut at, mut asked) = (0, 0);
        while let Some(output) = outputs.get(at) {
            match *output {
                Output::Ask(seat) if asked < AT_ONCE && self.agents.is_quick(seat) => {
                    outputs.remove(at);
                    asked += 1;
                    let (now, limit_ms) = (self.context.now(), self.context.parts.agent_ms);
                    let reply = self.agents.ask_now(&mut self.machine, now, limit_ms, seat);
                    self.context.refresh();
                    if let Some(reply) = reply {
                        outputs.append(&mut self.machine.handle(self.context.now(), reply));
                    }
                }
                _ => at += 1,
            }
        }
    }

    /// Delivers outputs in order: after their log rows are durable or, in a match without a durable log, immediately.
    fn deliver(&mut self, outputs: Vec<Output>, heard: Option<Instant>, writes: &mut RoundWrites) {
        if !outputs.iter().any(|output| matches!(output, Output::Persist(_))) {
            return self.show(outputs, 0, heard, writes);
        }
        let (mut rows, mut shown) = (Vec::new(), Vec::with_capacity(outputs.len()));
        for output in outputs {
            match output {
                Output::Persist(row) => rows.push(*row),
                other => shown.push(other),
            }
        }
        let added = rows.len() as u64;
        let end = rows.pop_if(|row| matches!(row, LogRow::End(_)));
        if self.is_durable() {
            let released = if end.is_some() { self.context.observer.released_with(&self.machine) } else { Vec::new() };
            let (retry_at, pause) = (None, AGAIN);
            let pending = PendingRows { rows, end, released, outputs: shown, heard, retry_at, pause };
            self.pending = Some(PendingCommit::Rows(Box::new(pending)));
            return self.store_pending(writes);
        }
        match end {
            Some(end) => self.store_end(&end, writes),
            None => {
                self.held.append(&mut rows);
                self.held_until.get_or_insert(self.context.now() + HELD);
                if self.context.is_settled() {
                    self.write_held(writes);
                }
            }
        }
        self.show(shown, added, heard, writes);
    }

    /// Passes the pending rows to the store.
    fn store_pending(&mut self, writes: &mut RoundWrites) {
        let Some(PendingCommit::Rows(pending)) = &self.pending else { return };
        match log_writes(self.id(), self.rows, &pending.rows, pending.end.as_ref(), &pending.released) {
            Ok(group) => writes.durable.push((self.number, group)),
            Err(error) => {
                if let Some(PendingCommit::Rows(pending)) = self.pending.take() {
                    self.on_failed_write(pending, &error, false, writes);
                }
            }
        }
    }

    /// Passes the end of a match without a durable log to the store. The record replaces the log.
    fn store_end(&mut self, end: &LogRow, writes: &mut RoundWrites) {
        self.held.clear();
        self.held_until = None;
        let released = self.context.observer.released_with(&self.machine);
        let group = match self.take_row() {
            Ok(Some(row)) => played(row, end, &released),
            Ok(None) => log_writes(self.id(), self.rows, &[], Some(end), &released),
            Err(error) => Err(error),
        };
        self.write_behind(group, writes);
        self.context.observer.on_release(&released);
    }

    /// Passes the row of the match and the buffered log rows to the store.
    fn write_held(&mut self, writes: &mut RoundWrites) {
        self.held_until = None;
        if self.draft.is_none() && self.held.is_empty() {
            return;
        }
        let rows = std::mem::take(&mut self.held);
        let group = self.take_row().and_then(|row| {
            let log = log_writes(self.id(), self.rows, &rows, None, &[])?;
            Ok(row.map(Write::MatchStart).into_iter().chain(log).collect())
        });
        self.rows += rows.len() as u64;
        self.write_behind(group, writes);
    }

    fn write_behind(&self, group: Result<Vec<Write>, Unkept>, writes: &mut RoundWrites) {
        match group {
            Ok(group) => writes.behind.push(group),
            Err(error) => tracing::error!(match_id = %self.id(), %error, "match log write failed"),
        }
    }

    /// Passes the row and the log to the store.
    pub(super) fn persist(&mut self, writes: &mut RoundWrites) {
        if self.pending.is_none() {
            self.write_held(writes);
        }
    }

    /// Sends outputs to the clients, and ends the match if it is over. `added` is the number of their log rows.
    fn show(&mut self, outputs: Vec<Output>, added: u64, heard: Option<Instant>, writes: &mut RoundWrites) {
        if added > 0 {
            self.handle.add_rows(added);
        }
        for output in outputs {
            match output {
                Output::Reply { seat, re, message } => self.put(seat, Some(re), &message),
                Output::Frame { to: Watcher::Seat(seat), frame } => self.put(seat, None, &(*frame).into()),
                Output::Frame { to, frame } => self.crowd.tell(&self.machine, to, *frame),
                Output::Ask(seat) => self.ask(seat),
                Output::Persist(_) | Output::Over => {}
            }
        }
        self.post();
        self.machine.start_client_clocks(self.context.now());
        if let Some(heard) = heard {
            self.context.parts.metrics.turns.record(heard.elapsed());
        }
        if self.machine.is_over() && !self.ended {
            self.end(writes);
        }
    }

    fn end(&mut self, writes: &mut RoundWrites) {
        self.ended = true;
        self.agents.leave();
        let gone = self.context.observer.on_end(&self.machine);
        if !gone.is_empty() {
            writes.behind.push(gone);
        }
        self.held = Vec::new();
    }

    fn ask(&mut self, seat: Seat) {
        let MatchParts { clock, agent_ms, compute, .. } = &self.context.parts;
        self.agents.ask(&mut self.machine, clock.now(), *agent_ms, seat, &self.handle, compute);
    }

    /// Ends the match for its clients, whatever the state of the machine.
    pub(super) fn end_broken(&mut self) {
        for seat in 0..self.lines.len() {
            let seq = self.lines[seat].last.map_or(0, |last| last + 1);
            self.put(seat, None, &failed_end(&self.handle, seat, seq));
        }
        self.post();
    }

    /// Adds a message to those of the current command. `re` is the id of the request to which it replies.
    fn put(&mut self, seat: Seat, re: Option<i64>, message: &ServerMessage) {
        let Some(line) = self.lines.get_mut(seat) else { return };
        line.last = seq_of(message).or(line.last);
        if let Some(mailbox) = &line.mailbox {
            line.frames.push(mailbox.encode(re, message));
        }
    }

    /// Posts the messages of the current command.
    fn post(&mut self) {
        for (seat, line) in self.lines.iter_mut().enumerate().filter(|(_, line)| !line.frames.is_empty()) {
            let frames = std::mem::take(&mut line.frames);
            if let Some(mailbox) = &line.mailbox
                && mailbox.post(MailboxItem::Frames(frames)).is_err()
            {
                // The mailbox is full or closed: the client resumes from its last acknowledged frame. A newer
                // connection may already be pending.
                line.mailbox = None;
                self.handle.send(MatchCommand::Detach { seat, generation: line.generation });
            }
        }
    }
}

/// Returns the sequence number of a frame; `None` for other messages.
fn seq_of(message: &ServerMessage) -> Option<u64> {
    match message {
        ServerMessage::MatchStart(start) => Some(start.seq),
        ServerMessage::Turn(turn) => Some(turn.seq),
        ServerMessage::Event(event) => Some(event.seq),
        ServerMessage::MatchEnd(end) => Some(end.seq),
        ServerMessage::Resync(resync) => Some(resync.seq),
        _ => None,
    }
}

/// Returns the writes that add rows to the log of a match. `first` is the index of the first row.
fn log_writes(
    id: &str,
    first: u64,
    rows: &[LogRow],
    end: Option<&LogRow>,
    released: &[String],
) -> Result<Vec<Write>, Unkept> {
    let act = |(row, n): (&LogRow, u64)| Ok(ActRow { n, body: text(row)? });
    let acts: Vec<ActRow> = rows.iter().zip(first..).map(act).collect::<Result<_, Unkept>>()?;
    let id = id.to_owned();
    let Some(LogRow::End(record)) = end else {
        return Ok(acts.into_iter().map(|act| Write::Act { id: id.clone(), n: act.n, body: act.body }).collect());
    };
    Ok(vec![Write::MatchEnd { id, acts, end: end_row(record)? }, Write::Released { ids: released.to_vec() }])
}

/// Returns the writes for a match that is stored only with its end.
fn played(row: MatchRow, end: &LogRow, released: &[String]) -> Result<Vec<Write>, Unkept> {
    let LogRow::End(record) = end else { return Ok(vec![Write::MatchStart(row)]) };
    let (alone, end) = (*released == [row.id.clone()], end_row(record)?);
    let mut writes = vec![Write::MatchPlayed { row, end, released: alone }];
    if !alone && !released.is_empty() {
        writes.push(Write::Released { ids: released.to_vec() });
    }
    Ok(writes)
}

fn end_row(record: &Record) -> Result<EndRow, Unkept> {
    Ok(EndRow {
        reason: word(record.footer.reason.unwrap_or(EndReason::Aborted)),
        ended_ms: ludex_play::time::epoch_ms(),
        footer: text(&record.footer)?,
        record: record.to_line().map_err(|e| Unkept(e.to_string()))?,
    })
}
