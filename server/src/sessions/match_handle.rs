//! Handle of a running match, and the commands for its task.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use ludex_env::Seat;
use ludex_play::machine::interface::Input;
use ludex_protocol::message::{MatchEntry, MatchFrame, MatchView, PictureView, ResumedMatch};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use super::Session;
use crate::mailbox::Mailbox;

/// Command for the task of a match.
pub enum MatchCommand {
    /// Input for the match machine.
    Input(Input),
    /// Client input for the match machine, and the time in milliseconds at which the input was read from the socket.
    Heard(u64, Input),
    /// Attachment of a connection to a seat. The connection then gets the frames after `seen`, or a resync.
    Attach {
        seat: Seat,
        /// Mailbox of the connection.
        mailbox: Mailbox,
        /// Number of the connection. A higher number replaces a lower one.
        generation: u64,
        /// Sequence number of the last frame that the client acknowledged, if any.
        seen: Option<u64>,
        /// True to send a resync instead of the missed frames.
        resync: bool,
    },
    Detach {
        seat: Seat,
        /// Number of the lost connection.
        generation: u64,
    },
    /// Acknowledgment of all frames up to `seq`.
    Ack {
        seat: Seat,
        /// Sequence number of the last acknowledged frame.
        seq: u64,
    },
    Spectate {
        /// Session of the watcher. A session watches a match at most once.
        session: String,
        /// Mailbox of the watcher.
        mailbox: Mailbox,
        /// Id of the request to reply to.
        re: i64,
        /// True if the watcher sees hidden information.
        full: bool,
        /// Views in each event.
        views: Vec<MatchView>,
    },
    /// Removal of a watcher.
    Unspectate {
        /// Session of the watcher.
        session: String,
    },
    /// Request for the state of a seat.
    Held(Seat, oneshot::Sender<ResumedMatch>),
    /// Request for all public frames sent so far.
    Public(oneshot::Sender<Vec<MatchFrame>>),
    /// Request for a picture of the position after this number of moves and chance outcomes, without hidden
    /// information.
    Picture(usize, oneshot::Sender<Option<PictureView>>),
    /// Command to end the task of a finished match, since one of its sessions has too many newer finished matches.
    Forget,
    /// Notification that a seat's session has ended. A match that waits for absent agents without a time limit is then
    /// suspended and stays in the store. Other matches continue.
    Suspend,
    /// Notification of the shutdown. Buffered log rows are passed to the store, and later rows are not buffered.
    Settle(oneshot::Sender<()>),
}

/// Handle of a running match.
#[derive(Clone)]
pub struct MatchHandle(Arc<SharedMatch>);

struct SharedMatch {
    tx: mpsc::UnboundedSender<Box<MatchCommand>>,
    entry: MatchEntry,
    seated: Vec<Option<String>>,
    holders: Mutex<Vec<Weak<Session>>>,
    over: AtomicBool,
    released: AtomicBool,
    /// Ended match without a task.
    parked: Mutex<Option<ParkedMatch>>,
    /// Number of log rows for which the match has sent the events, or is about to.
    rows: AtomicU64,
}

/// Closure that restarts the task of a parked match.
pub(crate) type ParkedMatch = Box<dyn FnOnce() + Send>;

impl MatchHandle {
    /// Creates a handle. `seated` holds the sessions that have seats at the start.
    pub(crate) fn new(
        tx: mpsc::UnboundedSender<Box<MatchCommand>>,
        entry: MatchEntry,
        seated: Vec<Option<String>>,
        over: bool,
    ) -> Self {
        let holders = Mutex::new(seated.iter().map(|_| Weak::new()).collect());
        let (over, released) = (AtomicBool::new(over), AtomicBool::new(false));
        let (rows, parked) = (AtomicU64::new(0), Mutex::default());
        MatchHandle(Arc::new(SharedMatch { tx, entry, seated, holders, over, released, parked, rows }))
    }

    /// Sends a command to the match. If the match is parked, restarts its task. Returns false if the match is gone.
    pub fn send(&self, cmd: MatchCommand) -> bool {
        let sent = self.0.tx.send(Box::new(cmd)).is_ok();
        // Released before the call, which may lock other state.
        let parked = self.0.parked.lock().take();
        parked.into_iter().for_each(|wake| wake());
        sent
    }

    /// Drops a parked match, whose state refers to this handle.
    pub(crate) fn discard(&self) {
        // Released before the drop, which may lock other state.
        let parked = self.0.parked.lock().take();
        drop(parked);
    }

    /// Parks the match until the next command. `parked` is called under the lock that [`send`](Self::send) takes after
    /// sending a command, and returns `None` if a command has arrived.
    pub(crate) fn park(&self, parked: impl FnOnce() -> Option<ParkedMatch>) {
        let mut slot = self.0.parked.lock();
        *slot = parked();
    }

    /// Returns the match's entry in lists of matches.
    pub fn entry(&self) -> &MatchEntry {
        &self.0.entry
    }

    /// Returns true if the session had a seat at the start of the match. Such a session may not see hidden information.
    pub(crate) fn seated(&self, session: &str) -> bool {
        self.0.seated.iter().flatten().any(|s| s == session)
    }

    /// Returns true if the match is running.
    pub fn live(&self) -> bool {
        !self.0.over.load(Ordering::Relaxed)
    }

    /// Marks the match as ended. Returns false if it was already marked.
    pub(crate) fn end(&self) -> bool {
        !self.0.over.swap(true, Ordering::Relaxed)
    }

    /// Returns the number of log rows of the match, which grows with each event.
    pub(crate) fn rows(&self) -> u64 {
        self.0.rows.load(Ordering::Relaxed)
    }

    /// Adds new log rows to the number of rows.
    pub(crate) fn add_rows(&self, rows: u64) {
        self.0.rows.fetch_add(rows, Ordering::Relaxed);
    }

    /// Returns true if hidden information is public, since every match with the same seed as this match has ended.
    pub fn is_released(&self) -> bool {
        self.0.released.load(Ordering::Relaxed)
    }

    /// Marks hidden information as public.
    pub(crate) fn release(&self) {
        self.0.released.store(true, Ordering::Relaxed);
    }

    /// Assigns a seat to a session.
    pub(crate) fn hold(&self, seat: Seat, session: &Arc<Session>) {
        if let Some(holder) = self.0.holders.lock().get_mut(seat) {
            *holder = Arc::downgrade(session);
        }
    }

    /// Returns the owner charged for the server agents' computation: that of the first client.
    pub(crate) fn owner(&self) -> Arc<str> {
        self.holders().first().map_or_else(|| Arc::from(self.0.entry.match_id.as_str()), |s| s.account.name.clone())
    }

    /// Returns the sessions that hold seats in the match.
    pub(crate) fn holders(&self) -> Vec<Arc<Session>> {
        self.0.holders.lock().iter().filter_map(Weak::upgrade).collect()
    }
}
