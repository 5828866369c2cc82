//! Bounded mailbox of a connection.

use ludex_protocol::Id;
use ludex_protocol::error::{Close, close};
use ludex_protocol::message::ServerMessage;
use tokio::sync::mpsc;

use crate::frame::EventBatch;
use crate::stall_monitor::StallMonitor;

/// Message or command for a connection.
#[derive(Clone, Debug)]
pub enum MailboxItem {
    /// Message for the client. A reply carries the `id` of its request. Boxed, since each idle connection reserves room
    /// for many items.
    Message(Option<Id>, Box<ServerMessage>),
    /// Events shared by many connections.
    Broadcast(EventBatch),
    /// Command to close the connection.
    Close(Close),
}

/// Sending end of a connection's bounded mailbox. If the client does not read and the mailbox fills up, the sender
/// drops its end, and the connection closes.
#[derive(Clone, Debug)]
pub struct Mailbox {
    sender: mpsc::Sender<MailboxItem>,
    pulse: StallMonitor,
}

/// Reason for a failed delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undelivered {
    /// The mailbox is full.
    Full,
    /// The connection is closed.
    Closed,
}

impl Mailbox {
    /// Creates the mailbox of a connection that the current thread serves.
    pub(crate) fn new(sender: mpsc::Sender<MailboxItem>) -> Self {
        Mailbox { sender, pulse: StallMonitor::here() }
    }

    /// Returns the stall monitor of the thread that serves the connection.
    pub(crate) fn pulse(&self) -> &StallMonitor {
        &self.pulse
    }

    /// Posts an item that must not be lost. If the mailbox is full, the connection is closed, and the client resumes.
    ///
    /// # Errors
    ///
    /// The mailbox is full or closed.
    pub fn post(&self, out: MailboxItem) -> Result<(), Undelivered> {
        let put = self.put(out);
        if put == Err(Undelivered::Full) {
            let sender = self.sender.clone();
            tokio::spawn(async move { sender.send(MailboxItem::Close(close::TOO_SLOW)).await });
        }
        put
    }

    /// Posts an event that may be dropped.
    ///
    /// # Errors
    ///
    /// The mailbox is full or closed.
    pub fn event(&self, message: ServerMessage) -> Result<(), Undelivered> {
        self.put(MailboxItem::Message(None, Box::new(message)))
    }

    /// Posts shared events that may be dropped.
    ///
    /// # Errors
    ///
    /// The mailbox is full or closed.
    pub fn broadcast(&self, events: EventBatch) -> Result<(), Undelivered> {
        self.put(MailboxItem::Broadcast(events))
    }

    fn put(&self, out: MailboxItem) -> Result<(), Undelivered> {
        self.sender.try_send(out).map_err(|e| match e {
            mpsc::error::TrySendError::Full(_) => Undelivered::Full,
            mpsc::error::TrySendError::Closed(_) => Undelivered::Closed,
        })
    }

    /// Replies to a request. If the mailbox is full, the connection is closed with the reply undelivered, and the
    /// client repeats the request.
    pub fn reply(&self, re: Id, message: impl Into<ServerMessage>) {
        let _ = self.post(MailboxItem::Message(Some(re), Box::new(message.into())));
    }

    /// Returns true if more than half of the mailbox is free.
    pub fn roomy(&self) -> bool {
        self.sender.capacity() * 2 > self.sender.max_capacity()
    }
}
