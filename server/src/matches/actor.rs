//! Task of one match. It waits for inputs and deadlines, stores the log, and delivers the outputs of the match machine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ludex_agents::{Agent, AgentError, MoveReply};
use ludex_env::{Budget, Seat};
use ludex_play::machine::interface::{AgentOutcome, Input, LogRow, Output};
use ludex_play::machine::{MatchMachine, Watcher};
use ludex_protocol::message::ServerMessage;
use ludex_protocol::record::{EndReason, Record};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::hub::Hub;
use super::spectators::{Spectator, Spectators};
use crate::compute::{CurrentJob, JobError, caught};
use crate::mailbox::{Mailbox, MailboxItem};
use crate::opponents::Pace;
use crate::sessions::match_handle::{MatchCommand, MatchHandle};
use crate::stall_monitor::StallMonitor;
use crate::store::{ActRow, EndRow, Unkept, Write, text};

/// Maximum number of missed frames to send again. If a client missed more frames, one `resync` replaces them.
const MISSED: usize = 128;
/// Maximum time reserved for the delivery of an agent's reply. The reserved time is a tenth of the agent's time per
/// turn, up to this maximum.
const WAY: Duration = Duration::from_millis(200);
/// Time in milliseconds for which log rows of an unrated match are buffered. If the match ends during this time, the
/// rows are never written, since the record contains them. A crash loses at most the buffered rows.
const HELD: u64 = 1_000;
/// Initial delay before retrying to store the end of a rated match. The delay doubles after each try.
const AGAIN: Duration = Duration::from_millis(500);
/// Maximum delay between two tries to store the end of a rated match.
const AGAIN_AT_MOST: Duration = Duration::from_secs(8);
/// Maximum number of consecutive replies of fast agents before the task yields to other tasks.
const AT_ONCE: usize = 16;

#[derive(Default)]
struct Line {
    mailbox: Option<Mailbox>,
    generation: u64,
    /// Sequence number of the last frame that the client acknowledged.
    seen: Option<u64>,
    /// Total stall time of the connection's thread at the last check, in milliseconds.
    lost: u64,
}

/// Server agent with its measured reply time.
pub(super) type TimedAgent = (Arc<dyn Agent>, Arc<Pace>);

/// State of a match task.
pub(super) struct Actor {
    hub: Arc<Hub>,
    machine: MatchMachine,
    handle: MatchHandle,
    /// Owner charged for the agents' compute time: the owner of the first client.
    owner: Arc<str>,
    agents: Vec<Option<TimedAgent>>,
    lines: Vec<Line>,
    /// Guard that notifies the agents of the end of the match; `None` once the match has ended.
    entered: Option<Entered>,
    crowd: Spectators,
    /// Number of log rows passed to the store.
    rows: u64,
    /// Buffered log rows of an unrated match.
    held: Vec<LogRow>,
    /// Time at which the buffered rows must be passed to the store, in milliseconds.
    held_until: Option<u64>,
    /// True once log rows are no longer buffered.
    settled: bool,
    /// Time at which an ended match is removed.
    gone_at: Option<u64>,
    /// Stall monitor of this task's thread. The field `lost` holds the monitor's total at the last check.
    pulse: StallMonitor,
    lost: u64,
    /// Stall time of each seat since the last check, in milliseconds. The buffer is reused to save allocations.
    losses: Vec<u64>,
}

impl Actor {
    pub(super) fn new(
        hub: Arc<Hub>,
        machine: MatchMachine,
        handle: MatchHandle,
        agents: Vec<Option<TimedAgent>>,
        rows: u64,
    ) -> Self {
        let lines = (0..agents.len()).map(|_| Line::default()).collect();
        handle.add_rows(rows);
        Actor {
            entered: (!machine.is_over()).then(|| Entered::new(&agents)),
            hub,
            machine,
            owner: handle.owner(),
            handle,
            agents,
            lines,
            crowd: Spectators::default(),
            rows,
            held: Vec::new(),
            held_until: None,
            settled: false,
            gone_at: None,
            pulse: StallMonitor::default(),
            lost: 0,
            losses: Vec::new(),
        }
    }

    /// Returns the id of the match.
    pub(super) fn id(&self) -> &str {
        self.machine.id()
    }

    /// Runs the match to its end, then serves clients that missed the end. An ended match is parked without a task
    /// until the next command arrives. `first` holds the outputs to deliver at the start.
    pub(super) async fn run(
        mut self: Box<Self>,
        mut rx: mpsc::UnboundedReceiver<Box<MatchCommand>>,
        first: Vec<Output>,
    ) {
        self.pulse = StallMonitor::here();
        self.lost = self.pulse.lost_ms();
        // A match that ended before a restart only reports its end.
        if self.machine.is_over() && self.gone_at.is_none() {
            self.gone_at = Some(self.hub.on_match_ended(self.machine.id()));
        }
        self.deliver(first).await;
        loop {
            if self.machine.is_over() && self.gone_at.is_none() {
                self.entered = None;
                self.hub.clone().match_over(&self.machine).await;
                self.gone_at = Some(self.hub.on_match_ended(self.machine.id()));
                self.machine.pack();
            }
            self.give_back();
            let now = self.hub.now();
            if self.gone_at.is_some_and(|at| now >= at) {
                break;
            }
            if self.held_until.is_some_and(|at| now >= at) {
                self.write_held().await;
            }
            if self.gone_at.is_some() && self.held_until.is_none() && self.crowd.wake().is_none() {
                (self, rx) = match park(self, rx) {
                    Some(busy) => busy,
                    None => return,
                };
            }
            let wake = self.machine.next_deadline().filter(|_| self.gone_at.is_none());
            let wake = wake.into_iter().chain(self.gone_at).chain(self.held_until).min();
            let wake = wake.map(|at| Duration::from_millis(at.saturating_sub(now)));
            let cmd = match wake.into_iter().chain(self.crowd.wake()).min() {
                Some(left) => tokio::select! {
                    biased;
                    cmd = rx.recv() => cmd,
                    () = tokio::time::sleep(left) => Some(Box::new(MatchCommand::Input(Input::Tick))),
                },
                None => rx.recv().await,
            };
            let Some(cmd) = cmd else { break };
            let forget = matches!(*cmd, MatchCommand::Forget);
            let acked = matches!(*cmd, MatchCommand::Ack { .. });
            let suspended = matches!(*cmd, MatchCommand::Suspend) && self.machine.setup().grace_ms.is_none();
            if suspended && !self.machine.is_over() {
                self.hub.suspended(&self.machine);
                break;
            }
            self.give_back();
            self.take(*cmd).await;
            self.crowd.send_if_due();
            self.crowd.catch_up(&self.machine);
            if self.machine.is_over() && (forget || acked && !self.crowd.any_behind() && self.all_have_seen()) {
                break;
            }
        }
        // Requests that have arrived so far still get a reply.
        rx.close();
        while let Ok(cmd) = rx.try_recv() {
            self.take(*cmd).await;
        }
        self.crowd.send();
        self.hub.forget(self.machine.id());
    }

    /// Credits each seat with the time for which the thread of this task, or of the seat's connection, was stalled. A
    /// move that waited in the socket meanwhile then does not time out.
    fn give_back(&mut self) {
        let lost = self.pulse.lost_ms();
        let own = lost.saturating_sub(std::mem::replace(&mut self.lost, lost));
        let of = |line: &mut Line| {
            let Some(mailbox) = &line.mailbox else { return own };
            let lost = mailbox.pulse().lost_ms();
            own.max(lost.saturating_sub(std::mem::replace(&mut line.lost, lost)))
        };
        self.losses.clear();
        self.losses.extend(self.lines.iter_mut().map(of));
        if self.losses.iter().any(|&ms| ms > 0) {
            self.machine.credit_stall(&self.losses);
        }
    }

    /// Returns true if every client of the match has acknowledged the last frame.
    fn all_have_seen(&self) -> bool {
        let clients = self.lines.iter().enumerate().filter(|(seat, _)| self.agents[*seat].is_none());
        clients.into_iter().all(|(seat, line)| line.seen >= Some(self.machine.resume_entry(seat).seq))
    }

    async fn take(&mut self, cmd: MatchCommand) {
        match cmd {
            MatchCommand::Input(input) => self.input(input).await,
            MatchCommand::Heard(at, input) => {
                let (since, late) = (Instant::now(), self.hub.now().saturating_sub(at));
                self.input_at(at, input).await;
                self.hub.metrics.turns.record(since.elapsed() + Duration::from_millis(late));
            }
            MatchCommand::Attach { seat, mailbox, generation, seen, resync } => {
                let Some(line) = self.lines.get_mut(seat) else { return };
                if generation < line.generation {
                    return;
                }
                line.generation = generation;
                line.lost = mailbox.pulse().lost_ms();
                line.mailbox = Some(mailbox);
                let frames = if resync {
                    vec![self.machine.resync(Watcher::Seat(seat))]
                } else {
                    self.machine.catch_up(Watcher::Seat(seat), seen)
                };
                // Many missed frames would fill the mailbox, so one resync replaces them.
                let frames =
                    if frames.len() > MISSED { vec![self.machine.resync(Watcher::Seat(seat))] } else { frames };
                for frame in frames {
                    self.post(seat, MailboxItem::Message(None, Box::new(frame)));
                }
                self.input(Input::Online(seat)).await;
            }
            MatchCommand::Detach { seat, generation } => {
                if self.lines.get(seat).is_some_and(|l| l.generation == generation) {
                    self.lines[seat].mailbox = None;
                    self.input(Input::Offline(seat)).await;
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
            MatchCommand::Held(seat, answer) => drop(answer.send(self.machine.resume_entry(seat))),
            MatchCommand::Public(answer) => drop(answer.send(self.machine.public_events())),
            MatchCommand::Picture(at, answer) => drop(answer.send(self.machine.picture_after(Watcher::Public, at))),
            MatchCommand::Ack { seat, seq } => {
                if let Some(line) = self.lines.get_mut(seat) {
                    line.seen = line.seen.max(Some(seq));
                }
            }
            MatchCommand::Forget | MatchCommand::Suspend => {}
            MatchCommand::Settle(done) => {
                self.settled = true;
                self.write_held().await;
                let _ = done.send(());
            }
        }
    }

    async fn input(&mut self, input: Input) {
        self.input_at(self.hub.now(), input).await;
    }

    async fn input_at(&mut self, at: u64, input: Input) {
        let mut outputs = self.machine.handle(at, input);
        self.ask_quick(&mut outputs);
        self.deliver(outputs).await;
    }

    /// Runs fast agents before the pending rows are stored, so that one write also stores their replies.
    fn ask_quick(&mut self, outputs: &mut Vec<Output>) {
        let (mut at, mut asked) = (0, 0);
        while let Some(output) = outputs.get(at) {
            match output {
                Output::Ask(seat) if asked < AT_ONCE && self.is_quick(*seat) => {
                    let seat = *seat;
                    outputs.remove(at);
                    asked += 1;
                    if let Some((turn, act)) = self.question(seat) {
                        let did = did(caught("agent", act));
                        outputs.append(&mut self.machine.handle(self.hub.now(), Input::Agent { seat, turn, did }));
                    }
                }
                _ => at += 1,
            }
        }
    }

    /// Delivers outputs in order, after their log rows are stored or, in unrated matches, buffered. In rated matches,
    /// waits until the rows are durable.
    async fn deliver(&mut self, outputs: Vec<Output>) {
        let (mut rows, mut shown) = (Vec::new(), Vec::with_capacity(outputs.len()));
        for output in outputs {
            match output {
                Output::Persist(row) => rows.push(*row),
                other => shown.push(other),
            }
        }
        let added = rows.len() as u64;
        if !rows.is_empty() && !self.keep(rows).await {
            return;
        }
        self.handle.add_rows(added);
        shown.into_iter().for_each(|output| self.show(output));
        self.machine.start_client_clocks(self.hub.now());
    }

    fn show(&mut self, output: Output) {
        match output {
            Output::Reply { seat, re, message } => self.post(seat, MailboxItem::Message(Some(re), message)),
            Output::Frame { to: Watcher::Seat(seat), frame } => {
                self.post(seat, MailboxItem::Message(None, Box::new((*frame).into())));
            }
            Output::Frame { to, frame } => self.crowd.tell(&self.machine, to, *frame),
            Output::Ask(seat) => self.ask(seat),
            Output::Persist(_) | Output::Over => {}
        }
    }

    fn post(&mut self, seat: Seat, out: MailboxItem) {
        let line = &mut self.lines[seat];
        if let Some(mailbox) = &line.mailbox
            && mailbox.post(out).is_err()
        {
            // The mailbox is full or closed: the client resumes from its last acknowledged frame. A newer connection
            // may already be pending.
            line.mailbox = None;
            self.handle.send(MatchCommand::Detach { seat, generation: line.generation });
        }
    }

    /// Stores log rows, or buffers those of a running unrated match. Returns false if a write for a rated match failed,
    /// which ends the match.
    async fn keep(&mut self, mut rows: Vec<LogRow>) -> bool {
        let rated = self.machine.header().rated;
        let end = match rows.last() {
            Some(LogRow::End(_)) => rows.pop(),
            _ => None,
        };
        if !rated && !self.settled && end.is_none() {
            self.held.append(&mut rows);
            self.held_until.get_or_insert(self.hub.now() + HELD);
            return true;
        }
        if !rated && end.is_some() {
            // The record of an unrated match replaces its log.
            rows.clear();
            self.held.clear();
            self.held_until = None;
        }
        let mut pause = AGAIN;
        loop {
            let Err(error) = self.write(&rows, end.as_ref(), rated).await else { return true };
            tracing::error!(match_id = %self.machine.id(), %error, "match log write failed");
            if !rated || !self.machine.is_over() || self.hub.draining() {
                break;
            }
            // Players are notified of the end once it is stored. The fault, such as a full disk, may take any time to
            // repair.
            tokio::time::sleep(pause).await;
            pause = (2 * pause).min(AGAIN_AT_MOST);
            self.rows -= rows.len() as u64;
        }
        if rated && !self.machine.is_over() {
            // No output of these rows was delivered; the match cannot continue without its log.
            let outputs = self.machine.handle(self.hub.now(), Input::Abort(EndReason::InfraError));
            for output in outputs {
                self.show(output);
            }
        }
        !rated
    }

    /// Passes log rows and the end of the match to the store. If the match is rated or over, waits until they are
    /// durable.
    async fn write(&mut self, rows: &[LogRow], end: Option<&LogRow>, rated: bool) -> Result<(), String> {
        let id = self.machine.id().to_owned();
        let act = |(row, n): (&LogRow, u64)| Ok(ActRow { n, body: text(row)? });
        let acts: Result<Vec<ActRow>, Unkept> = rows.iter().zip(self.rows..).map(act).collect();
        let acts = acts.map_err(|e| e.to_string())?;
        self.rows += rows.len() as u64;
        let Some(LogRow::End(record)) = end else {
            let writes = acts.into_iter().map(|a| Write::Act { id: id.clone(), n: a.n, body: a.body }).collect();
            let kept =
                if rated { self.hub.store.write(writes).await } else { self.hub.store.write_behind(writes).await };
            return kept.map_err(|e| e.to_string());
        };
        let end = end_row(record)?;
        let released = self.hub.released_with(&self.machine);
        // The record is stored before any client is notified of the end.
        let writes = vec![Write::MatchEnd { id, acts, end }, Write::Released { ids: released.clone() }];
        self.hub.store.write(writes).await.map_err(|e| e.to_string())?;
        self.hub.mark_released(&released);
        Ok(())
    }

    /// Passes the buffered log rows to the store.
    async fn write_held(&mut self) {
        self.held_until = None;
        let rows = std::mem::take(&mut self.held);
        if let Err(error) = self.write(&rows, None, false).await {
            tracing::error!(match_id = %self.machine.id(), %error, "match log write failed");
        }
    }

    fn is_quick(&self, seat: Seat) -> bool {
        let agent = self.agents.get(seat).and_then(Option::as_ref);
        agent.is_some_and(|(agent, pace)| pace.is_quick() && !agent.is_io_bound())
    }

    /// Returns the turn number of the agent on `seat`, and a closure that computes the agent's reply.
    fn question(&mut self, seat: Seat) -> Option<(u32, impl FnOnce() -> Answered + Send + use<>)> {
        let (agent, pace) = self.agents.get(seat).cloned().flatten()?;
        let limit_ms = self.hub.config.opponents.agent_ms;
        let question = self.machine.agent_request(self.hub.now(), seat, &*agent, limit_ms)?;
        let (turn, left) = (question.turn, Duration::from_millis(question.left_ms));
        let deadline = Instant::now().checked_add(left - WAY.min(left / 10));
        let act = move || {
            let from = Instant::now();
            let budget = Budget::default().with_deadline(deadline).with_scheduler(Some(&CurrentJob));
            let answer = agent.act(&question.ask().with_budget(budget));
            pace.measure(from.elapsed());
            answer
        };
        Some((turn, act))
    }

    /// Runs an in-process agent, on a separate thread if the agent blocks on I/O, else in the pool. If the agent's time
    /// runs out, the machine ends the turn and drops the late reply.
    fn ask(&mut self, seat: Seat) {
        let waits = self.agents.get(seat).and_then(Option::as_ref).is_some_and(|(agent, _)| agent.is_io_bound());
        let Some((turn, act)) = self.question(seat) else { return };
        let (handle, compute, owner) = (self.handle.clone(), self.hub.compute.clone(), self.owner.clone());
        let reply = tokio::spawn(async move {
            let thought = if waits { compute.wait(act).await } else { compute.run(&owner, act).await };
            // The server stops; the request is repeated after the restart.
            if thought != Err(JobError::Stopped) {
                handle.send(MatchCommand::Input(Input::Agent { seat, turn, did: did(thought) }));
            }
        });
        if let Some(entered) = &mut self.entered {
            entered.await_reply(seat, reply.abort_handle());
        }
    }
}

/// Parks an ended match until its next command. Returns the match if a command has arrived.
fn park(
    actor: Box<Actor>,
    rx: mpsc::UnboundedReceiver<Box<MatchCommand>>,
) -> Option<(Box<Actor>, mpsc::UnboundedReceiver<Box<MatchCommand>>)> {
    let handle = actor.handle.clone();
    let mut parts = Some((actor, rx));
    handle.park(|| {
        let (actor, rx) = parts.take_if(|(_, rx)| rx.is_empty())?;
        let runtime = Handle::current();
        Some(Box::new(move || drop(runtime.spawn(actor.hub.clone().drive(actor, rx, Vec::new())))))
    });
    parts
}

type Answered = Result<MoveReply, AgentError>;

/// Converts an agent's reply or error to the outcome of its turn.
fn did(thought: Result<Answered, JobError>) -> AgentOutcome {
    match thought {
        Ok(answer) => AgentOutcome::from(answer),
        Err(error) => AgentOutcome::Failed { reason: EndReason::AgentError, message: error.to_string() },
    }
}

/// Agents notified of the start of their match, with their pending replies. On drop, searches stop and the agents are
/// notified of the end.
struct Entered {
    agents: Vec<Arc<dyn Agent>>,
    /// Task of the last request to the agent on each seat.
    replies: Vec<Option<AbortHandle>>,
}

impl Entered {
    fn new(seats: &[Option<TimedAgent>]) -> Self {
        let agents: Vec<_> = seats.iter().flatten().map(|(agent, _)| agent.clone()).collect();
        agents.iter().for_each(|agent| agent.enter());
        Entered { agents, replies: seats.iter().map(|_| None).collect() }
    }

    /// Replaces the pending reply of a seat. The search for an earlier reply, which came too late, stops.
    fn await_reply(&mut self, seat: Seat, reply: AbortHandle) {
        let earlier = self.replies.get_mut(seat).and_then(|pending| pending.replace(reply));
        if let Some(earlier) = earlier {
            earlier.abort();
        }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.replies.iter().flatten().for_each(AbortHandle::abort);
        self.agents.iter().for_each(|agent| agent.leave());
    }
}

fn end_row(record: &Record) -> Result<EndRow, String> {
    let reason = serde_json::to_value(record.footer.reason.unwrap_or(EndReason::Aborted)).map_err(|e| e.to_string())?;
    Ok(EndRow {
        reason: reason.as_str().ok_or("expected the end reason as text")?.to_owned(),
        ended_ms: ludex_play::time::epoch_ms(),
        footer: text(&record.footer).map_err(|e| e.to_string())?,
        record: record.to_line().map_err(|e| e.to_string())?,
    })
}
