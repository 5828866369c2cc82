//! A running match as others know it, and what they may ask of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use ludex_env::Seat;
use ludex_play::machine::interface::Input;
use ludex_protocol::message::{MatchEntry, MatchFrame, MatchView, PictureView, ResumedMatch};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use super::Session;
use crate::mailbox::Mailbox;

/// What others ask of a match.
pub enum MatchCommand {
    /// An input of the machine.
    Input(Input),
    /// What a client asks of the machine, and when that was read from its socket.
    Heard(u64, Input),
    /// A connection takes a seat: events after `seen` follow, or a resync.
    Attach {
        /// The seat.
        seat: Seat,
        /// The way to it.
        mailbox: Mailbox,
        /// The connection's number: later ones win.
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
    /// A seat has seen all frames up to `seq`, and will not ask for them again.
    Ack {
        /// The seat.
        seat: Seat,
        /// The number of the last frame that it has seen.
        seq: u64,
    },
    /// Somebody watches.
    Spectate {
        /// Who; one session watches once.
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
    /// Somebody stops watching.
    Unspectate {
        /// Who.
        session: String,
    },
    /// Where a seat stands.
    Held(Seat, oneshot::Sender<ResumedMatch>),
    /// What everybody may see so far.
    Public(oneshot::Sender<Vec<MatchFrame>>),
    /// What the public is drawn after this number of moves and outcomes.
    Picture(usize, oneshot::Sender<Option<PictureView>>),
    /// The match is over, and its sessions have had newer ones since: its task ends.
    Forget,
    /// The session of a seat is over. A match that waits for its agents is left to the store; others continue.
    Suspend,
    /// The server stops: from now on each row of the log is handed to the store at once, those held back first.
    Settle(oneshot::Sender<()>),
}

/// A running match as others know it.
#[derive(Clone)]
pub struct MatchHandle(Arc<Known>);

struct Known {
    tx: mpsc::UnboundedSender<Box<MatchCommand>>,
    entry: MatchEntry,
    seated: Vec<Option<String>>,
    holders: Mutex<Vec<Weak<Session>>>,
    over: AtomicBool,
    released: AtomicBool,
}

impl MatchHandle {
    /// `seated` are the sessions of its seats when it began.
    pub(crate) fn new(
        tx: mpsc::UnboundedSender<Box<MatchCommand>>,
        entry: MatchEntry,
        seated: Vec<Option<String>>,
        over: bool,
    ) -> Self {
        let holders = Mutex::new(seated.iter().map(|_| Weak::new()).collect());
        let (over, released) = (AtomicBool::new(over), AtomicBool::new(false));
        MatchHandle(Arc::new(Known { tx, entry, seated, holders, over, released }))
    }

    /// Sends; false if the match is gone.
    pub fn send(&self, cmd: MatchCommand) -> bool {
        self.0.tx.send(Box::new(cmd)).is_ok()
    }

    /// What lists show.
    pub fn entry(&self) -> &MatchEntry {
        &self.0.entry
    }

    /// Whether the session had a seat when the match began: it must not see what is hidden.
    pub(crate) fn seated(&self, session: &str) -> bool {
        self.0.seated.iter().flatten().any(|s| s == session)
    }

    /// Whether the match still runs.
    pub fn live(&self) -> bool {
        !self.0.over.load(Ordering::Relaxed)
    }

    /// The match is over; false if it was so before.
    pub(crate) fn end(&self) -> bool {
        !self.0.over.swap(true, Ordering::Relaxed)
    }

    /// Whether what was hidden in it may be shown: every match of its seed is over.
    pub fn is_released(&self) -> bool {
        self.0.released.load(Ordering::Relaxed)
    }

    /// What was hidden in it may be shown.
    pub(crate) fn release(&self) {
        self.0.released.store(true, Ordering::Relaxed);
    }

    /// A session holds a seat from now on.
    pub(crate) fn hold(&self, seat: Seat, session: &Arc<Session>) {
        if let Some(holder) = self.0.holders.lock().get_mut(seat) {
            *holder = Arc::downgrade(session);
        }
    }

    /// For whom the server's agents think in it: its first client.
    pub(crate) fn owner(&self) -> Arc<str> {
        self.holders().first().map_or_else(|| Arc::from(self.0.entry.match_id.as_str()), |s| s.account.name.clone())
    }

    /// The sessions that hold its seats.
    pub(crate) fn holders(&self) -> Vec<Arc<Session>> {
        self.0.holders.lock().iter().filter_map(Weak::upgrade).collect()
    }
}
