//! Event loops of matches. Each worker thread has one loop, which owns the matches that started on the thread. A round of
//! the loop executes the commands that have arrived and the deadlines that are due, and stores the results of all its
//! matches with one job.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use foldhash::fast::FixedState;
use ludex_play::machine::MatchMachine;
use ludex_play::machine::interface::{MatchSetup, Output};
use ludex_protocol::message::MatchEntry;
use ludex_protocol::record::Record;
use ludex_store::{GroupReceipt, StoreError, Write};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use super::ended_match::{EndedFlow, EndedMatch};
use super::live_match::{Flow, LiveMatch, OnStored};
use super::loop_context::{LoopContext, MatchParts, RoundWrites};
use super::match_row::RowDraft;
use super::observer::MatchObserver;
use super::plan::Occupant;
use super::server_agents::ServerAgents;
use crate::sessions::match_handle::{MatchCommand, MatchHandle, MatchInbox, TimedAgent};

/// Maximum number of commands that a loop takes at once.
const BATCH: usize = 256;
/// Time limit of a round for its commands, and again for its deadlines. What is left waits for the next round.
const ROUND: Duration = Duration::from_millis(2);

thread_local! {
    /// Index of the event loop of this thread.
    static HERE: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Command for an event loop.
enum LoopCommand {
    /// Command to add a match to the loop.
    Launch(Box<Launch>),
    /// Command for the match with this number.
    Match(u64, MatchCommand),
    /// Setup and record of an ended match that must be rebuilt, or the reason why they cannot be read.
    Rebuild(u64, Box<Result<(MatchSetup, Record), String>>),
    /// Command to remove a closed match, after all commands that were sent to the match before.
    Remove(u64),
    /// Command to pass the rows and logs of all matches to the store.
    Persist(oneshot::Sender<()>),
    /// Command to pass the rows and logs of all matches to the store, and to buffer no further rows.
    Settle(oneshot::Sender<()>),
}

/// Match that an event loop is to run.
pub(super) struct NewMatch {
    pub machine: MatchMachine,
    pub agents: Vec<Option<TimedAgent>>,
    pub origin: Origin,
}

/// Origin of a match.
pub(super) enum Origin {
    /// New match, which the store does not know.
    New(Box<NewStart>),
    /// Match from the store.
    Stored {
        /// Number of log rows in the store.
        rows: u64,
        /// Outputs to deliver at the start.
        first: Vec<Output>,
    },
}

/// Start of a new match.
pub(super) struct NewStart {
    pub draft: RowDraft,
    /// Write that reserves the number from which the seed is derived.
    pub drawn: Option<Write>,
    pub on_stored: OnStored,
}

struct Launch {
    number: u64,
    handle: MatchHandle,
    new: NewMatch,
}

/// Splits the occupants of a match into the server's agents, by seat, and the session ids of the clients.
pub(super) fn agents_of(occupants: &[Occupant]) -> (Vec<Option<TimedAgent>>, Vec<Option<String>>) {
    let split = |occupant: &Occupant| match occupant {
        Occupant::Agent { agent, pace, .. } => (Some((agent.clone(), pace.clone())), None),
        Occupant::Client(session) => (None, Some(session.id.clone())),
        Occupant::Expected => (None, None),
    };
    occupants.iter().map(split).unzip()
}

/// Event loops of a server.
pub struct EventLoops {
    inboxes: Vec<Arc<Inbox>>,
    /// Queues of the loops that do not run yet.
    queues: Mutex<Vec<Option<mpsc::UnboundedReceiver<LoopCommand>>>>,
    /// Number of matches so far.
    matches: AtomicU64,
}

struct Inbox(mpsc::UnboundedSender<LoopCommand>);

impl MatchInbox for Inbox {
    fn send(&self, number: u64, command: MatchCommand) -> bool {
        self.0.send(LoopCommand::Match(number, command)).is_ok()
    }
}

impl EventLoops {
    /// Creates `count` loops, at least one. Each starts with [`run`](Self::run); commands wait until then.
    pub(super) fn new(count: usize) -> Self {
        let inbox = |_| {
            let (inbox, queue) = mpsc::unbounded_channel();
            (Arc::new(Inbox(inbox)), Some(queue))
        };
        let (inboxes, queues): (_, Vec<_>) = (0..count.max(1)).map(inbox).unzip();
        EventLoops { inboxes, queues: Mutex::new(queues), matches: AtomicU64::new(0) }
    }

    /// Adds a match to the loop of this thread, or to the next loop in rotation if this thread has none. `entry` is its
    /// entry in lists, and `seated` holds the session id of each seat, `None` for server agents.
    pub(super) fn launch(&self, new: NewMatch, entry: MatchEntry, seated: Vec<Option<String>>) -> MatchHandle {
        let number = self.matches.fetch_add(1, Ordering::Relaxed);
        let here = HERE.get().unwrap_or(number as usize) % self.inboxes.len();
        let inbox = &self.inboxes[here];
        let over = new.machine.is_over();
        let handle = MatchHandle::new(inbox.clone(), number, entry, seated, over);
        // Sending fails only if the loop has ended, because the server stops.
        let _ = inbox.0.send(LoopCommand::Launch(Box::new(Launch { number, handle: handle.clone(), new })));
        handle
    }

    /// Passes the rows and logs of all matches to the store.
    pub(super) async fn persist(&self) {
        self.notify_all(LoopCommand::Persist).await;
    }

    /// Passes the rows and logs of all matches to the store. Rows logged later are not buffered.
    pub(super) async fn settle(&self) {
        self.notify_all(LoopCommand::Settle).await;
    }

    async fn notify_all(&self, command: impl Fn(oneshot::Sender<()>) -> LoopCommand) {
        let notify = |inbox: &Arc<Inbox>| {
            let (done, executed) = oneshot::channel();
            // Sending fails only if the loop has ended, and then it has no matches.
            let _ = inbox.0.send(command(done));
            executed
        };
        futures_util::future::join_all(self.inboxes.iter().map(notify).collect::<Vec<_>>()).await;
    }

    /// Runs loop number `index` on the current thread until the thread's runtime stops. A loop runs only once.
    pub(super) async fn run(&self, index: usize, parts: MatchParts, observer: Arc<dyn MatchObserver>) {
        let Some(queue) = self.queues.lock().get_mut(index).and_then(Option::take) else { return };
        HERE.set(Some(index));
        let event_loop = EventLoop {
            context: Rc::new(LoopContext::new(parts, observer)),
            inbox: self.inboxes[index].clone(),
            queue,
            matches: HashMap::default(),
            ended: HashMap::default(),
            deadlines: BinaryHeap::new(),
            commits: VecDeque::new(),
            writes: RoundWrites::default(),
        };
        event_loop.run().await;
    }
}

/// Commit of a round, and the matches that wait for it.
struct Commit {
    receipt: GroupReceipt,
    matches: Vec<u64>,
}

/// Event loop of one thread.
struct EventLoop {
    context: Rc<LoopContext>,
    inbox: Arc<Inbox>,
    queue: mpsc::UnboundedReceiver<LoopCommand>,
    /// Matches of the loop, by number.
    matches: HashMap<u64, Box<LiveMatch>, FixedState>,
    /// Ended matches, by number. A match that is being rebuilt for a command that needs its record is in `matches`.
    ended: HashMap<u64, EndedMatch, FixedState>,
    /// Deadlines in milliseconds, with the number of the match. An entry whose match has a new deadline has no effect.
    deadlines: BinaryHeap<Reverse<(u64, u64)>>,
    /// Commits that have not been acknowledged, in order.
    commits: VecDeque<Commit>,
    /// Writes of the current round.
    writes: RoundWrites,
}

impl EventLoop {
    async fn run(mut self) {
        let mut commands = VecDeque::new();
        let mut arrived = Vec::with_capacity(BATCH);
        let (mut timer, mut armed) = (Box::pin(tokio::time::sleep(Duration::ZERO)), None);
        loop {
            let next = self.deadlines.peek().map(|Reverse((at, _))| *at);
            if let Some(at) = next.filter(|_| armed != next) {
                timer.as_mut().reset(self.context.parts.clock.instant(at));
                armed = next;
            }
            if commands.is_empty() {
                tokio::select! {
                    biased;
                    results = next_commit(&mut self.commits) => self.on_commit(results),
                    count = self.queue.recv_many(&mut arrived, BATCH) => {
                        if count == 0 {
                            return;
                        }
                        commands.extend(arrived.drain(..));
                    }
                    () = timer.as_mut(), if next.is_some() => armed = None,
                }
            } else {
                tokio::task::yield_now().await;
            }
            self.round(&mut commands);
            self.submit().await;
        }
    }

    /// Executes queued commands, then due deadlines, each for at most [`ROUND`]. What is left waits for the next round.
    fn round(&mut self, commands: &mut VecDeque<LoopCommand>) {
        self.context.refresh();
        let from = Instant::now();
        while let Some(command) = commands.pop_front() {
            match command {
                LoopCommand::Launch(launch) => self.launch(*launch),
                LoopCommand::Match(number, command) => match self.ended.get_mut(&number) {
                    Some(ended) => {
                        let flow = ended.handle(command, &mut self.writes);
                        self.follow(number, flow);
                    }
                    None => self.with_match(number, |live, writes| live.handle(command, writes)),
                },
                LoopCommand::Rebuild(number, read) => self.rebuild(number, *read),
                LoopCommand::Remove(number) => {
                    self.matches.remove(&number);
                    // A match whose record is being read is removed after its waiting commands.
                    if self.ended.get(&number).is_some_and(|ended| ended.waiting.is_none()) {
                        self.ended.remove(&number);
                    }
                }
                LoopCommand::Persist(done) => self.persist(done),
                LoopCommand::Settle(done) => {
                    self.context.settle();
                    self.persist(done);
                }
            }
            if from.elapsed() > ROUND {
                break;
            }
        }
        // A command may have stalled the thread. Reads the stall monitor again, so that no player loses this time.
        self.context.refresh();
        let (from, now) = (Instant::now(), self.context.now());
        while let Some(Reverse((at, number))) = self.deadlines.peek().copied().filter(|Reverse((at, _))| *at <= now) {
            self.deadlines.pop();
            let Some(live) = self.matches.get_mut(&number).filter(|live| live.planned == Some(at)) else { continue };
            live.planned = None;
            self.with_match(number, LiveMatch::tick);
            if from.elapsed() > ROUND {
                break;
            }
        }
    }

    fn persist(&mut self, done: oneshot::Sender<()>) {
        self.matches.values_mut().for_each(|live| live.persist(&mut self.writes));
        self.writes.persisted.push(done);
    }

    fn launch(&mut self, launch: Launch) {
        let Launch { number, handle, new } = launch;
        let agents = ServerAgents::new(new.agents);
        let context = self.context.clone();
        match new.origin {
            Origin::New(start) => {
                let NewStart { draft, drawn, on_stored } = *start;
                let live = LiveMatch::new(context, number, new.machine, handle, agents, 0, Some(draft));
                self.matches.insert(number, Box::new(live));
                self.with_match(number, |live, writes| live.start(drawn, on_stored, writes));
            }
            Origin::Stored { rows, first } => {
                let live = LiveMatch::new(context, number, new.machine, handle, agents, rows, None);
                self.matches.insert(number, Box::new(live));
                self.with_match(number, |live, writes| live.resume(first, writes));
            }
        }
    }

    /// Executes a step of a match and plans the match's next deadline. If the step panics, only this match ends.
    fn with_match(&mut self, number: u64, step: impl FnOnce(&mut LiveMatch, &mut RoundWrites) -> Flow) {
        let Some(live) = self.matches.get_mut(&number) else { return };
        let writes = &mut self.writes;
        let flow = std::panic::catch_unwind(AssertUnwindSafe(|| step(live, writes))).unwrap_or_else(|_| {
            tracing::error!(match_id = %live.handle.entry().match_id, "match panicked");
            live.broken = true;
            Flow::Stays
        });
        if live.broken {
            return self.end_broken(number);
        }
        match flow {
            Flow::Stays if live.is_dormant() => {
                let Some(live) = self.matches.remove(&number) else { return };
                let flow = self.ended.entry(number).or_insert(live.into_ended()).leave_if_seen();
                return self.follow(number, flow);
            }
            Flow::Stays => {}
            Flow::Leaves => {
                let handle = live.handle.clone();
                return self.close(number, &handle);
            }
            Flow::Failed => return drop(self.matches.remove(&number)),
        }
        if let Some(at) = live.next_deadline().filter(|at| live.planned.is_none_or(|planned| *at < planned)) {
            live.planned = Some(at);
            self.deadlines.push(Reverse((at, number)));
        }
    }

    /// Acts on the consequence of a command for an ended match.
    fn follow(&mut self, number: u64, flow: EndedFlow) {
        let Some(ended) = self.ended.get(&number) else { return };
        match flow {
            EndedFlow::Stays => {}
            EndedFlow::Leaves => {
                let handle = ended.handle.clone();
                self.close(number, &handle);
            }
            EndedFlow::Rebuilds => {
                let id = &ended.handle.entry().match_id;
                let read = self.context.observer.read_ended(id, ended.state.restarts());
                let (inbox, (queued, writes)) = (self.inbox.clone(), oneshot::channel());
                // The end of the match may be among the writes of this round, so the record is read after them.
                self.writes.persisted.push(queued);
                tokio::spawn(async move {
                    let _ = writes.await;
                    // Sending fails only if the loop has ended, because the server stops.
                    let _ = inbox.0.send(LoopCommand::Rebuild(number, Box::new(read.await)));
                });
            }
        }
    }

    /// Rebuilds an ended match and executes its waiting commands. Without a record, refuses them and removes the match.
    fn rebuild(&mut self, number: u64, read: Result<(MatchSetup, Record), String>) {
        let Some(ended) = self.ended.remove(&number) else { return };
        let (handle, leaves, context) = (ended.handle.clone(), ended.leaves, self.context.clone());
        let rebuilt = match read {
            // The panic hook has printed a panic.
            Ok(parts) => std::panic::catch_unwind(AssertUnwindSafe(|| {
                Box::new(LiveMatch::from_ended(context, number, ended, parts))
            }))
            .ok(),
            Err(error) => {
                tracing::error!(match_id = %handle.entry().match_id, error, "reading an ended match failed");
                ended.fail_waiting();
                None
            }
        };
        if let Some(live) = rebuilt {
            self.matches.insert(number, live);
            self.with_match(number, LiveMatch::handle_backlog);
            if leaves {
                self.matches.remove(&number);
            }
        } else if !leaves {
            self.close(number, &handle);
        }
    }

    /// Closes a match that leaves the loop. Commands that have been sent so far are still executed.
    fn close(&self, number: u64, handle: &MatchHandle) {
        handle.close();
        let _ = self.inbox.0.send(LoopCommand::Remove(number));
        self.context.observer.on_removal(&handle.entry().match_id);
    }

    /// Ends and removes a match that cannot continue.
    fn end_broken(&mut self, number: u64) {
        let Some(mut live) = self.matches.remove(&number) else { return };
        live.handle.close();
        if live.ended {
            return self.context.observer.on_removal(live.id());
        }
        // If this panics, the clients get no message about the end; nothing else is lost.
        let _ = std::panic::catch_unwind(AssertUnwindSafe(|| live.end_broken()));
        self.context.observer.on_failure(&live.machine, live.is_stored());
    }

    fn on_commit(&mut self, results: Vec<Result<(), StoreError>>) {
        self.context.refresh();
        let Some(commit) = self.commits.pop_front() else { return };
        for (number, result) in commit.matches.into_iter().zip(results) {
            self.with_match(number, |live, writes| live.on_commit(result, writes));
        }
    }

    /// Queues the writes of the round.
    async fn submit(&mut self) {
        let RoundWrites { durable, behind, persisted } = std::mem::take(&mut self.writes);
        if !durable.is_empty() {
            let (matches, groups) = durable.into_iter().unzip();
            match self.context.parts.store.submit_groups(groups).await {
                Ok(receipt) => self.commits.push_back(Commit { receipt, matches }),
                Err(error) => {
                    for number in matches {
                        let error = error.clone();
                        self.with_match(number, |live, writes| live.on_commit(Err(error), writes));
                    }
                }
            }
        }
        if !behind.is_empty()
            && let Err(error) = self.context.parts.store.write_groups_behind(behind).await
        {
            tracing::error!(%error, "queueing match logs failed");
        }
        for done in persisted {
            // A reader that has left needs no notification.
            let _ = done.send(());
        }
    }
}

/// Waits for the first commit. Without commits, waits forever.
async fn next_commit(commits: &mut VecDeque<Commit>) -> Vec<Result<(), StoreError>> {
    match commits.front_mut() {
        Some(commit) => (&mut commit.receipt).await,
        None => std::future::pending().await,
    }
}
