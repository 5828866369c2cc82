//! Handle of a running match, and the commands for it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use ludex_agents::Agent;
use ludex_env::Seat;
use ludex_gym::opponents::Pace;
use ludex_play::machine::interface::Input;
use ludex_protocol::message::{MatchEntry, MatchFrame, MatchView, PictureView, ResumedMatch};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::Session;
use crate::mailbox::Mailbox;

/// Server agent with its measured reply time.
pub type TimedAgent = (Arc<dyn Agent>, Arc<Pace>);

/// Command for a match.
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
    /// Command to remove a finished match, since one of its sessions has too many newer finished matches, or since its
    /// time is over.
    Forget,
    /// Notification that a seat's session has ended. A match that waits for absent agents without a time limit is then
    /// suspended and stays in the store. Other matches continue.
    Suspend,
    /// Server agents of a restored match of a run, by seat, from the thread of the run.
    Agents(Vec<Option<TimedAgent>>),
    /// Command to pass the match to the store as it is, so that a read of the store finds it.
    Persist(oneshot::Sender<()>),
}

/// Queue of commands for matches, each with a number that selects the match.
pub trait MatchInbox: Send + Sync {
    /// Adds a command. Returns false if no command is executed anymore.
    fn send(&self, number: u64, command: MatchCommand) -> bool;
}

/// Handle of a running match.
#[derive(Clone)]
pub struct MatchHandle(Arc<SharedMatch>);

struct SharedMatch {
    inbox: Arc<dyn MatchInbox>,
    number: u64,
    /// True until the match is removed.
    open: Mutex<bool>,
    entry: MatchEntry,
    seated: Vec<Option<String>>,
    holders: Mutex<Vec<Weak<Session>>>,
    over: AtomicBool,
    released: AtomicBool,
    /// Number of log rows for which the match has sent the events, or is about to.
    rows: AtomicU64,
}

impl MatchHandle {
    /// Creates the handle of match `number`. `seated` holds the sessions that have seats at the start.
    pub fn new(
        inbox: Arc<dyn MatchInbox>,
        number: u64,
        entry: MatchEntry,
        seated: Vec<Option<String>>,
        over: bool,
    ) -> Self {
        let holders = Mutex::new(seated.iter().map(|_| Weak::new()).collect());
        let (over, released) = (AtomicBool::new(over), AtomicBool::new(false));
        let (open, rows) = (Mutex::new(true), AtomicU64::new(0));
        MatchHandle(Arc::new(SharedMatch { inbox, number, open, entry, seated, holders, over, released, rows }))
    }

    /// Sends a command to the match. Returns false if the match is gone.
    pub fn send(&self, command: MatchCommand) -> bool {
        // Locked, so that no command is added after the match is closed.
        let open = self.0.open.lock();
        *open && self.0.inbox.send(self.0.number, command)
    }

    /// Refuses commands from now on. Commands that were sent before are still executed.
    pub fn close(&self) {
        *self.0.open.lock() = false;
    }

    /// Returns the match's entry in lists of matches.
    pub fn entry(&self) -> &MatchEntry {
        &self.0.entry
    }

    /// Returns true if the session had a seat at the start of the match. Such a session may not see hidden information.
    pub fn seated(&self, session: &str) -> bool {
        self.0.seated.iter().flatten().any(|s| s == session)
    }

    /// Returns true if a client plays `seat`, and false for a server agent.
    pub fn is_client(&self, seat: Seat) -> bool {
        self.0.seated.get(seat).is_some_and(Option::is_some)
    }

    /// Returns true if the match is running.
    pub fn live(&self) -> bool {
        !self.0.over.load(Ordering::Relaxed)
    }

    /// Marks the match as ended. Returns false if it was already marked.
    pub fn end(&self) -> bool {
        !self.0.over.swap(true, Ordering::Relaxed)
    }

    /// Returns the number of log rows of the match, which grows with each event.
    pub fn rows(&self) -> u64 {
        self.0.rows.load(Ordering::Relaxed)
    }

    /// Adds new log rows to the number of rows.
    pub fn add_rows(&self, rows: u64) {
        self.0.rows.fetch_add(rows, Ordering::Relaxed);
    }

    /// Returns true if hidden information is public, since every match with the same seed as this match has ended.
    pub fn is_released(&self) -> bool {
        self.0.released.load(Ordering::Relaxed)
    }

    /// Marks hidden information as public.
    pub fn release(&self) {
        self.0.released.store(true, Ordering::Relaxed);
    }

    /// Assigns a seat to a session.
    pub fn hold(&self, seat: Seat, session: &Arc<Session>) {
        if let Some(holder) = self.0.holders.lock().get_mut(seat) {
            *holder = Arc::downgrade(session);
        }
    }

    /// Returns the owner charged for the server agents' computation: that of the first client.
    pub fn owner(&self) -> Arc<str> {
        self.holders().first().map_or_else(|| Arc::from(self.0.entry.match_id.as_str()), |s| s.account.name.clone())
    }

    /// Returns the id of the session that holds each seat; `None` for a server agent.
    pub fn session_ids(&self) -> Vec<Option<String>> {
        let holders = self.0.holders.lock();
        let id = |(holder, seated): (&Weak<Session>, &Option<String>)| {
            holder.upgrade().map(|session| session.id.clone()).or_else(|| seated.clone())
        };
        holders.iter().zip(&self.0.seated).map(id).collect()
    }

    /// Returns the sessions that hold seats in the match, each once.
    pub fn holders(&self) -> Vec<Arc<Session>> {
        let mut sessions: Vec<Arc<Session>> = Vec::new();
        for session in self.0.holders.lock().iter().filter_map(Weak::upgrade) {
            if !sessions.iter().any(|other| Arc::ptr_eq(other, &session)) {
                sessions.push(session);
            }
        }
        sessions
    }
}
