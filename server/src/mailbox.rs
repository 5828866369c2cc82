//! The way to one connection.

use ludex_protocol::Id;
use ludex_protocol::error::{Close, close};
use ludex_protocol::message::ServerMessage;
use tokio::sync::mpsc;

use crate::frame::EventBatch;
use crate::stall_monitor::StallMonitor;

/// What a connection is to send, or to do, at the wish of others.
#[derive(Clone, Debug)]
pub enum MailboxItem {
    /// A message; a reply with the `id` of its request. Boxed: the mailbox of a connection that does nothing holds room
    /// for many.
    Message(Option<Id>, Box<ServerMessage>),
    /// Events that many get.
    Broadcast(EventBatch),
    /// Close the connection.
    Close(Close),
}

/// The sending end of a connection's mailbox. It is bounded: a sender that finds it full lets go of it, and the
/// connection, whose client does not read, closes itself.
#[derive(Clone, Debug)]
pub struct Mailbox {
    sender: mpsc::Sender<MailboxItem>,
    pulse: StallMonitor,
}

/// Why something could not be put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undelivered {
    /// There is no room now.
    Full,
    /// There is nobody.
    Closed,
}

impl Mailbox {
    /// The mailbox of a connection of this thread.
    pub(crate) fn new(sender: mpsc::Sender<MailboxItem>) -> Self {
        Mailbox { sender, pulse: StallMonitor::here() }
    }

    /// The pulse of the thread that serves the connection.
    pub(crate) fn pulse(&self) -> &StallMonitor {
        &self.pulse
    }

    /// Puts something in that must not be lost: when there is no room the connection is closed, and its client resumes.
    ///
    /// # Errors
    /// There is no room, or nobody.
    pub fn post(&self, out: MailboxItem) -> Result<(), Undelivered> {
        let put = self.put(out);
        if put == Err(Undelivered::Full) {
            let sender = self.sender.clone();
            tokio::spawn(async move { sender.send(MailboxItem::Close(close::TOO_SLOW)).await });
        }
        put
    }

    /// Puts an event in that may be left out.
    ///
    /// # Errors
    /// There is no room, or nobody.
    pub fn event(&self, message: ServerMessage) -> Result<(), Undelivered> {
        self.put(MailboxItem::Message(None, Box::new(message)))
    }

    /// Puts events in that many get, and that may be left out.
    ///
    /// # Errors
    /// There is no room, or nobody.
    pub fn broadcast(&self, events: EventBatch) -> Result<(), Undelivered> {
        self.put(MailboxItem::Broadcast(events))
    }

    fn put(&self, out: MailboxItem) -> Result<(), Undelivered> {
        self.sender.try_send(out).map_err(|e| match e {
            mpsc::error::TrySendError::Full(_) => Undelivered::Full,
            mpsc::error::TrySendError::Closed(_) => Undelivered::Closed,
        })
    }

    /// Answers a request. A client that does not read loses its answer with its connection, and asks again.
    pub fn reply(&self, re: Id, message: impl Into<ServerMessage>) {
        let _ = self.post(MailboxItem::Message(Some(re), Box::new(message.into())));
    }

    /// Whether the box is more than half empty: a reader who fell behind has caught up.
    pub fn roomy(&self) -> bool {
        self.sender.capacity() * 2 > self.sender.max_capacity()
    }
}
