//! Handle of a running match, and the commands for its task.

use std::sync::atomic::{AtomicBool, Ordering};
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
    /// Input of the match machine.
    Input(Input),
    /// Client input for the machine, with the time at which it was read from the socket.
    Heard(u64, Input),
    /// Connection to a seat: the frames after `seen` follow, or a resync.
    Attach {
        seat: Seat,
        /// Mailbox of the connection.
        mailbox: Mailbox,
        /// Number of the connection; later ones win.
        generation: u64,
        /// Last frame that the client acknowledged, if it sent one.
        seen: Option<u64>,
        /// True to send a resync.
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
        /// Session of the watcher; each session watches at most once.
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
    /// Request for the public frames so far.
    Public(oneshot::Sender<Vec<MatchFrame>>),
    /// Request for the public picture after this number of moves and outcomes.
    Picture(usize, oneshot::Sender<Option<PictureView>>),
    /// End of the task of a finished match, since its sessions have newer ones.
    Forget,
    /// End of a seat's session. A match that waits for its agents is left to the store; others continue.
    Suspend,
    /// Shutdown: buffered rows of the log are passed to the store, and later ones at once.
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
}

impl MatchHandle {
    /// Creates a handle; `seated` holds the sessions of its seats at the start.
    pub(crate) fn new(
        tx: mpsc::UnboundedSender<Box<MatchCommand>>,
        entry: MatchEntry,
        seated: Vec<Option<String>>,
        over: bool,
    ) -> Self {
        let holders = Mutex::new(seated.iter().map(|_| Weak::new()).collect());
        let (over, released) = (AtomicBool::new(over), AtomicBool::new(false));
        MatchHandle(Arc::new(SharedMatch { tx, entry, seated, holders, over, released }))
    }

    /// Sends a command; false if the task has ended.
    pub fn send(&self, cmd: MatchCommand) -> bool {
        self.0.tx.send(Box::new(cmd)).is_ok()
    }

    /// Returns the entry for lists of matches.
    pub fn entry(&self) -> &MatchEntry {
        &self.0.entry
    }

    /// Returns true if the session had a seat at the start, and so may not see hidden information.
    pub(crate) fn seated(&self, session: &str) -> bool {
        self.0.seated.iter().flatten().any(|s| s == session)
    }

    /// Returns true if the match is running.
    pub fn live(&self) -> bool {
        !self.0.over.load(Ordering::Relaxed)
    }

    /// Marks the match as ended; false if it already was.
    pub(crate) fn end(&self) -> bool {
        !self.0.over.swap(true, Ordering::Relaxed)
    }

    /// Returns true if hidden information is public, since every match of the seed is over.
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

    /// Returns the sessions that hold its seats.
    pub(crate) fn holders(&self) -> Vec<Arc<Session>> {
        self.0.holders.lock().iter().filter_map(Weak::upgrade).collect()
    }
}
