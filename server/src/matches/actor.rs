//! The task that drives one match: it waits for inputs and time, keeps rows, and delivers what the machine puts out.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ludex_agents::Agent;
use ludex_env::Seat;
use ludex_protocol::client::MatchView;
use ludex_protocol::record::Reason;
use ludex_protocol::server::{HeldMatch, MatchEntry, MatchFrame, ServerMessage};
use tokio::sync::{mpsc, oneshot};

use super::hub::Hub;
use super::mailbox::{Mailbox, Undelivered};
use crate::session::Out;
use crate::store::{ActRow, EndRow, Write};
use ludex_play::machine::Match;
use ludex_play::machine::Watcher;
use ludex_play::machine::terms::{Did, Input, Kept, Output};

/// More missed frames than this are sent as one `resync`.
const MISSED: usize = 128;
/// Of an agent's time for a turn, the tenth part is kept back for the way of its answer, and no more than this.
const WAY: Duration = Duration::from_millis(200);
/// How often it is tried to tell spectators who fell behind where the match stands.
const BEHIND: Duration = Duration::from_millis(100);

/// What others ask of a match.
pub enum Cmd {
    /// An input of the machine.
    Input(Input),
    /// A connection takes a seat: events after `seen` follow, or a resync.
    Attach {
        /// The seat.
        seat: Seat,
        /// The way to it.
        mailbox: Mailbox,
        /// The connection's number within its session: later ones win.
        generation: u64,
        /// The last frame seen, when it said so.
        seen: Option<u64>,
        /// Whether everything is sent anew.
        resync: bool,
    },
    /// A connection is lost.
    Detach {
        /// The seat.
        seat: Seat,
        /// Which connection.
        generation: u64,
    },
    /// Somebody watches.
    Spectate {
        /// Who; one name watches once.
        session: String,
        /// The way there.
        mailbox: Mailbox,
        /// The request to answer.
        re: i64,
        /// Whether hidden information is shown.
        full: bool,
        /// Views that each event carries.
        views: Vec<MatchView>,
    },
    /// Somebody watches no more.
    Unspectate {
        /// Who.
        session: String,
    },
    /// Where a seat stands.
    Held(Seat, oneshot::Sender<HeldMatch>),
    /// What everybody may see so far.
    Public(oneshot::Sender<Vec<MatchFrame>>),
}

/// A running match as others know it.
#[derive(Clone)]
pub struct Handle {
    /// Where to send.
    pub tx: mpsc::UnboundedSender<Cmd>,
    /// What lists show.
    pub entry: Arc<MatchEntry>,
    /// The sessions and owners of its seats, who must not see what is hidden.
    pub seated: Arc<[Option<String>]>,
    /// Whether it is over.
    pub over: Arc<AtomicBool>,
    /// Whether what was hidden in it may be shown: every match of its seed is over.
    pub released: Arc<AtomicBool>,
}

impl Handle {
    /// Sends; a match that is gone takes nothing.
    pub fn send(&self, cmd: Cmd) -> bool {
        self.tx.send(cmd).is_ok()
    }

    /// Whether the match still runs.
    pub fn live(&self) -> bool {
        !self.over.load(Ordering::Relaxed)
    }

    /// Whether what was hidden in it may be shown.
    pub fn is_released(&self) -> bool {
        self.released.load(Ordering::Relaxed)
    }
}

struct Spectator {
    session: String,
    mailbox: Mailbox,
    to: Watcher,
    views: Vec<MatchView>,
    /// Missed events: a resync is due.
    behind: bool,
}

#[derive(Default)]
struct Line {
    mailbox: Option<Mailbox>,
    generation: u64,
}

/// The task's state.
pub(super) struct Actor {
    hub: Arc<Hub>,
    machine: Match,
    tx: mpsc::UnboundedSender<Cmd>,
    agents: Vec<Option<Arc<dyn Agent>>>,
    lines: Vec<Line>,
    /// Until the match is over.
    entered: Option<Entered>,
    spectators: Vec<Spectator>,
    /// Rows kept so far.
    rows: u64,
    over: Arc<AtomicBool>,
}

impl Actor {
    pub(super) fn new(
        hub: Arc<Hub>,
        machine: Match,
        tx: mpsc::UnboundedSender<Cmd>,
        agents: Vec<Option<Arc<dyn Agent>>>,
        rows: u64,
        over: Arc<AtomicBool>,
    ) -> Self {
        let lines = (0..agents.len()).map(|_| Line::default()).collect();
        let entered = (!machine.over()).then(|| Entered::new(&agents));
        Actor { hub, machine, tx, agents, lines, entered, spectators: Vec::new(), rows, over }
    }

    /// Runs the match to its end, and a while longer for those who missed it. `first` are outputs that wait already.
    pub(super) async fn run(mut self, mut rx: mpsc::UnboundedReceiver<Cmd>, first: Vec<Output>) {
        let until = |now: u64, machine: &Match| now.saturating_add(machine.setup().grace_ms);
        // A match that is over already was so before a restart: it only tells its end.
        let mut gone_at = self.machine.over().then(|| until(self.hub.now(), &self.machine));
        self.deliver(first).await;
        loop {
            if self.machine.over() && gone_at.is_none() {
                self.over.store(true, Ordering::Relaxed);
                gone_at = Some(until(self.hub.now(), &self.machine));
                self.entered = None;
                self.hub.clone().match_over(&self.machine).await;
                self.machine.pack();
            }
            let now = self.hub.now();
            if gone_at.is_some_and(|at| now >= at) {
                break;
            }
            let wake = gone_at.or_else(|| self.machine.wake()).map(|at| Duration::from_millis(at.saturating_sub(now)));
            let behind = self.spectators.iter().any(|s| s.behind).then_some(BEHIND);
            let cmd = match wake.into_iter().chain(behind).min() {
                Some(left) => tokio::select! {
                    biased;
                    cmd = rx.recv() => cmd,
                    () = tokio::time::sleep(left) => Some(Cmd::Input(Input::Tick)),
                },
                None => rx.recv().await,
            };
            let Some(cmd) = cmd else { break };
            self.take(cmd).await;
            self.catch_up();
        }
        // Whatever came until now is answered.
        rx.close();
        while let Ok(cmd) = rx.try_recv() {
            self.take(cmd).await;
        }
        self.hub.forget(self.machine.id());
    }

    /// Tells spectators who fell behind, and read again, where the match stands.
    fn catch_up(&mut self) {
        let machine = &self.machine;
        self.spectators.retain_mut(|s| {
            if s.behind && s.mailbox.roomy() {
                match s.mailbox.event(machine.resync(s.to)) {
                    Ok(()) => s.behind = false,
                    Err(Undelivered::Full) => {}
                    Err(Undelivered::Closed) => return false,
                }
            }
            true
        });
    }

    async fn take(&mut self, cmd: Cmd) {
        match cmd {
            Cmd::Input(input) => self.input(input).await,
            Cmd::Attach { seat, mailbox, generation, seen, resync } => {
                let Some(line) = self.lines.get_mut(seat) else { return };
                if generation < line.generation {
                    return;
                }
                line.generation = generation;
                line.mailbox = Some(mailbox);
                let frames = if resync {
                    vec![self.machine.resync(Watcher::Seat(seat))]
                } else {
                    self.machine.catch_up(Watcher::Seat(seat), seen)
                };
                // Many missed frames would fill the mailbox: then everything goes in one.
                let frames =
                    if frames.len() > MISSED { vec![self.machine.resync(Watcher::Seat(seat))] } else { frames };
                for frame in frames {
                    self.post(seat, Out::Message(None, frame));
                }
                self.input(Input::Online(seat)).await;
            }
            Cmd::Detach { seat, generation } => {
                if self.lines.get(seat).is_some_and(|l| l.generation == generation) {
                    self.lines[seat].mailbox = None;
                    self.input(Input::Offline(seat)).await;
                }
            }
            Cmd::Spectate { session, mailbox, re, full, views } => {
                self.spectators.retain(|s| s.session != session);
                let to = if full { Watcher::Full } else { Watcher::Public };
                self.machine.listen(to);
                mailbox.reply(re, ServerMessage::Ok(Default::default()));
                let told =
                    self.machine.retold(to, &views).into_iter().try_for_each(|frame| mailbox.event(frame.into()));
                self.spectators.push(Spectator { session, mailbox, to, views, behind: told.is_err() });
            }
            Cmd::Unspectate { session } => self.spectators.retain(|s| s.session != session),
            Cmd::Held(seat, answer) => drop(answer.send(self.machine.held(seat))),
            Cmd::Public(answer) => drop(answer.send(self.machine.public_events())),
        }
    }

    async fn input(&mut self, input: Input) {
        let outputs = self.machine.on(self.hub.now(), input);
        self.deliver(outputs).await;
    }

    /// Delivers in order. In rated matches it waits at rows until they are durable; the last move and the result go
    /// into one write, and what stands between them waits for both.
    async fn deliver(&mut self, outputs: Vec<Output>) {
        let rated = self.machine.header().rated;
        let is_end = |o: &Output| matches!(o, Output::Keep(row) if matches!(**row, Kept::End(_)));
        let mut together = outputs.iter().any(is_end).then(Vec::new);
        if let Some(rows) = &mut together {
            rows.extend(
                outputs.iter().filter_map(|o| if let Output::Keep(row) = o { Some((**row).clone()) } else { None }),
            );
        }
        let ends = together.is_some();
        if let Some(rows) = together
            && !self.keep(rows, rated).await
        {
            return;
        }
        for output in outputs {
            match output {
                Output::Keep(_) if ends => {}
                Output::Keep(row) => {
                    if !self.keep(vec![*row], rated).await {
                        return;
                    }
                }
                other => self.show(other),
            }
        }
        self.machine.delivered(self.hub.now());
    }

    fn show(&mut self, output: Output) {
        match output {
            Output::Reply { seat, re, message } => self.post(seat, Out::Message(Some(re), *message)),
            Output::Frame { to: Watcher::Seat(seat), frame } => {
                self.post(seat, Out::Message(None, (*frame).into()));
            }
            Output::Frame { to, frame } => self.broadcast(to, *frame),
            Output::Ask(seat) => self.ask(seat),
            Output::Keep(_) | Output::Over => {}
        }
    }

    fn post(&mut self, seat: Seat, out: Out) {
        let line = &mut self.lines[seat];
        if let Some(mailbox) = &line.mailbox
            && mailbox.post(out).is_err()
        {
            // Too slow, or gone: it resumes from its last seen frame. A newer connection may be on its way already.
            line.mailbox = None;
            let _ = self.tx.send(Cmd::Detach { seat, generation: line.generation });
        }
    }

    fn broadcast(&mut self, to: Watcher, frame: MatchFrame) {
        let machine = &self.machine;
        self.spectators.retain_mut(|s| {
            if s.to != to || s.behind {
                return true;
            }
            let mut frame = frame.clone();
            if let (MatchFrame::Event(event), false) = (&mut frame, s.views.is_empty()) {
                event.view = Some(machine.spectator_view(to, &s.views));
            }
            let told = s.mailbox.event(frame.into());
            s.behind = told == Err(Undelivered::Full);
            told != Err(Undelivered::Closed)
        });
    }

    /// Writes rows; `false` if a rated match could not be kept and was ended for it.
    async fn keep(&mut self, rows: Vec<Kept>, rated: bool) -> bool {
        let id = self.machine.id().to_owned();
        let mut acts = Vec::new();
        let mut end = None;
        for row in rows {
            if let Kept::End(record) = row {
                end = Some(record);
                continue;
            }
            acts.push(ActRow { n: self.rows, body: serde_json::to_string(&row).unwrap_or_default() });
            self.rows += 1;
        }
        let mut writes = Vec::new();
        let mut released = Vec::new();
        // Whoever hears of the end finds the record.
        let durable = rated || end.is_some();
        match end {
            Some(record) => {
                let reason = record.footer.reason.unwrap_or(Reason::Aborted);
                let end = EndRow {
                    reason: serde_json::to_value(reason)
                        .ok()
                        .and_then(|v| v.as_str().map(str::to_owned))
                        .unwrap_or_default(),
                    ended_ms: ludex_play::time::epoch_ms(),
                    footer: serde_json::to_string(&record.footer).unwrap_or_default(),
                    record: record.to_line().unwrap_or_default(),
                };
                writes.push(Write::MatchEnd { id: id.clone(), acts, end });
                released = self.hub.released_with(&self.machine);
                writes.push(Write::Released { ids: released.clone() });
            }
            None => writes.extend(acts.into_iter().map(|a| Write::Act { id: id.clone(), n: a.n, body: a.body })),
        }
        let kept = if durable { self.hub.store.write(writes).await } else { self.hub.store.write_behind(writes).await };
        let Err(error) = kept else {
            self.hub.mark_released(&released);
            return true;
        };
        tracing::error!(match_id = %id, %error, "a row could not be kept");
        if rated && !self.machine.over() {
            // Nothing of it was shown; the match cannot go on without its log.
            let outputs = self.machine.on(self.hub.now(), Input::Abort(Reason::InfraError));
            for output in outputs {
                self.show(output);
            }
        }
        !rated
    }

    /// Asks an in-process agent: one that waits for something outside on a thread of its own, others on the pool. The
    /// machine ends the turn when the time is over; an answer that comes later is dropped there.
    fn ask(&mut self, seat: Seat) {
        let Some(agent) = self.agents.get(seat).cloned().flatten() else { return };
        let limit_ms = self.hub.config.opponents.agent_ms;
        let Some(question) = self.machine.question(self.hub.now(), seat, &*agent, limit_ms) else { return };
        let left = Duration::from_millis(question.left_ms);
        let deadline = Instant::now().checked_add(left - WAY.min(left / 10));
        let (tx, compute, turn, waits) = (self.tx.clone(), self.hub.compute.clone(), question.turn, agent.waits());
        let think = move || agent.act(&question.ask(), deadline);
        tokio::spawn(async move {
            let thought = if waits { compute.wait(think).await } else { compute.run(think).await };
            let did = match thought {
                Ok(answer) => Did::from(answer),
                Err(panicked) => Did::Failed { reason: Reason::AgentError, message: panicked.to_string() },
            };
            let _ = tx.send(Cmd::Input(Input::Agent { seat, turn, did }));
        });
    }
}

/// Agents that were told that their match began. Told that it ended when this goes, however it goes.
struct Entered(Vec<Arc<dyn Agent>>);

impl Entered {
    fn new(agents: &[Option<Arc<dyn Agent>>]) -> Self {
        let agents: Vec<_> = agents.iter().flatten().cloned().collect();
        agents.iter().for_each(|agent| agent.enter());
        Entered(agents)
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.0.iter().for_each(|agent| agent.leave());
    }
}
