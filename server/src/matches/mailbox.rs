//! How matches and the lobby reach a connection.

use std::sync::Arc;

use ludex_protocol::error::Close;
use ludex_protocol::server::ServerMessage;
use tokio::sync::{Notify, mpsc};

/// What goes to a connection.
#[derive(Clone, Debug)]
pub enum Out {
    /// The answer to a request.
    Reply(i64, Box<ServerMessage>),
    /// An event.
    Event(Box<ServerMessage>),
    /// The connection is to be closed.
    Close(Close),
}

/// The way to one connection. Bounded: a connection that does not read is told so and loses the way.
#[derive(Clone, Debug)]
pub struct Mailbox {
    tx: mpsc::Sender<Out>,
    slow: Arc<Notify>,
}

/// The connection's end.
#[derive(Debug)]
pub struct Inbox {
    /// What came.
    pub rx: mpsc::Receiver<Out>,
    /// Notified when something found the box full: the connection is to be closed with 4003.
    pub slow: Arc<Notify>,
}

impl Mailbox {
    /// A box for `capacity` messages.
    pub fn new(capacity: usize) -> (Mailbox, Inbox) {
        let (tx, rx) = mpsc::channel(capacity);
        let slow = Arc::new(Notify::new());
        (Mailbox { tx, slow: slow.clone() }, Inbox { rx, slow })
    }

    /// Puts something in. `false`: the connection is gone, or too slow and now told so.
    pub fn post(&self, out: Out) -> bool {
        match self.tx.try_send(out) {
            Ok(()) => true,
            Err(mpsc::error::TrySendError::Full(_)) => {
                self.slow.notify_one();
                false
            }
            Err(mpsc::error::TrySendError::Closed(_)) => false,
        }
    }

    /// Puts an event in only if there is room; for spectators, who are conflated and not closed.
    pub fn offer(&self, message: ServerMessage) -> Result<(), Gone> {
        match self.tx.try_send(Out::Event(Box::new(message))) {
            Ok(()) => Ok(()),
            Err(mpsc::error::TrySendError::Full(_)) => Err(Gone::Full),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(Gone::Closed),
        }
    }

    /// Answers a request.
    pub fn reply(&self, re: i64, message: impl Into<ServerMessage>) -> bool {
        self.post(Out::Reply(re, Box::new(message.into())))
    }

    /// Whether the box is more than half empty: a reader who fell behind has caught up.
    pub fn roomy(&self) -> bool {
        self.tx.capacity() * 2 > self.tx.max_capacity()
    }
}

/// Why an offer was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// There is no room now.
    Full,
    /// There is nobody.
    Closed,
}
