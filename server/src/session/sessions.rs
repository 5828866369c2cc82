//! All sessions of the server: which connection holds each, or that it waits for its client to come back.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ludex_protocol::error::Close;
use ludex_protocol::server::Draining;
use sha2::{Digest, Sha256};
use tokio::sync::{mpsc, oneshot};

use super::Session;

/// What is said to the task of a connection.
pub(crate) enum Control {
    /// A newer connection takes the session: hand it over and close with 4002.
    Take(oneshot::Sender<Box<Session>>),
    /// The server goes down.
    Drain(Draining),
    /// Close the connection.
    Close(Close),
}

/// SHA-256 of a resume key: all that is kept of it.
type KeyHash = [u8; 32];

pub(crate) fn hash(key: &str) -> KeyHash {
    Sha256::digest(key.as_bytes()).into()
}

struct Entry {
    key: KeyHash,
    /// The key before, good until the first message after `welcome`: the client may never have read the new one.
    old: Option<KeyHash>,
    owner: Option<String>,
    place: Place,
}

enum Place {
    /// A connection holds it.
    Live(mpsc::UnboundedSender<Control>),
    /// It waits; the number tells one wait from another.
    Parked(Box<Session>, u64),
    /// It is on its way to another connection.
    Moving,
}

/// All sessions.
pub(crate) struct Sessions {
    all: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    entries: HashMap<String, Entry>,
    parked: u64,
}

impl Sessions {
    pub fn new() -> Self {
        Sessions { all: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many sessions there are: held by a connection, and waiting.
    pub fn count(&self) -> (usize, usize) {
        let table = self.lock();
        let live = table.entries.values().filter(|e| matches!(e.place, Place::Live(_))).count();
        (live, table.entries.len() - live)
    }

    /// A new session under `key`; false if there is one of this name.
    pub fn insert(&self, id: &str, key: &str, owner: Option<String>, control: mpsc::UnboundedSender<Control>) -> bool {
        let mut table = self.lock();
        if table.entries.contains_key(id) {
            return false;
        }
        let entry = Entry { key: hash(key), old: None, owner, place: Place::Live(control) };
        table.entries.insert(id.to_owned(), entry);
        true
    }

    /// The session `id`, if `key` opens it and it belongs to `owner`: out of its waiting, or out of the hands of an
    /// older connection. The caller puts it into [`hold`](Self::hold).
    pub async fn take(&self, id: &str, key: &str, owner: Option<&str>, wait: Duration) -> Option<Box<Session>> {
        let coming = {
            let mut table = self.lock();
            let entry = table.entries.get_mut(id)?;
            let hash = hash(key);
            if (entry.key != hash && entry.old != Some(hash)) || entry.owner.as_deref() != owner {
                return None;
            }
            // The key that was shown is the one that its client knows, until it says something.
            entry.old = Some(hash);
            match std::mem::replace(&mut entry.place, Place::Moving) {
                Place::Parked(session, _) => return Some(session),
                Place::Moving => return None,
                Place::Live(control) => {
                    let (give, coming) = oneshot::channel();
                    // If its task is gone the sender is dropped here, and nothing comes.
                    let _ = control.send(Control::Take(give));
                    coming
                }
            }
        };
        tokio::time::timeout(wait, coming).await.ok()?.ok()
    }

    /// A connection holds a session that it took, under a new key.
    pub fn hold(&self, id: &str, key: &str, control: mpsc::UnboundedSender<Control>) {
        if let Some(entry) = self.lock().entries.get_mut(id) {
            entry.key = hash(key);
            entry.place = Place::Live(control);
        }
    }

    /// The client has its new key: the one before is dead.
    pub fn settle(&self, id: &str) {
        if let Some(entry) = self.lock().entries.get_mut(id) {
            entry.old = None;
        }
    }

    /// The connection is lost: the session waits, or goes to the one who asked for it meanwhile. Returns the number to
    /// [`expire`](Self::expire) it by, if it waits.
    pub fn park(&self, session: Box<Session>, control: &mut mpsc::UnboundedReceiver<Control>) -> Option<u64> {
        let mut table = self.lock();
        table.parked += 1;
        let number = table.parked;
        let mut session = session;
        while let Ok(said) = control.try_recv() {
            if let Control::Take(give) = said {
                match give.send(session) {
                    Ok(()) => return None,
                    // Who asked has gone.
                    Err(back) => session = back,
                }
            }
        }
        let entry = table.entries.get_mut(&session.who.session)?;
        entry.place = Place::Parked(session, number);
        Some(number)
    }

    /// Nobody came back.
    pub fn expire(&self, id: &str, number: u64) {
        let mut table = self.lock();
        if matches!(table.entries.get(id).map(|e| &e.place), Some(Place::Parked(_, n)) if *n == number) {
            let entry = table.entries.remove(id);
            drop(table);
            // Thousands of environments may go with it: not under the lock.
            drop(entry);
        }
    }

    /// The session is over.
    pub fn forget(&self, id: &str) {
        let entry = self.lock().entries.remove(id);
        drop(entry);
    }

    /// Says the same to every connection.
    pub fn broadcast(&self, said: impl Fn() -> Control) {
        for entry in self.lock().entries.values() {
            if let Place::Live(control) = &entry.place {
                let _ = control.send(said());
            }
        }
    }
}
