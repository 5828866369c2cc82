//! Bounded mailbox of a connection.

use ludex_protocol::error::{Close, close};
use ludex_protocol::message::ServerMessage;
use ludex_protocol::{Encoding, ErrorCode, Id};
use tokio::sync::mpsc;

use crate::frame::{EventBatch, WireFrame};
use crate::stall_monitor::StallMonitor;

/// Messages or command for a connection.
#[derive(Clone, Debug)]
pub enum MailboxItem {
    /// Encoded messages, in order.
    Frames(Vec<OutgoingFrame>),
    /// Events shared by many connections.
    Broadcast(EventBatch),
    /// Command to close the connection.
    Close(Close),
}

/// Encoded message for a client.
#[derive(Clone, Debug)]
pub struct OutgoingFrame {
    /// Id of the request to which the message replies, if any.
    pub re: Option<Id>,
    pub frame: WireFrame,
    /// Code and text of the error, if the message is an error.
    pub error: Option<(ErrorCode, String)>,
}

/// Sending end of a connection's bounded mailbox. If the client does not read and the mailbox fills up, the sender
/// drops its end, and the connection closes.
#[derive(Clone, Debug)]
pub struct Mailbox {
    sender: mpsc::Sender<MailboxItem>,
    encoding: Encoding,
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
    pub fn new(sender: mpsc::Sender<MailboxItem>, encoding: Encoding) -> Self {
        Mailbox { sender, encoding, pulse: StallMonitor::here() }
    }

    /// Encodes a message for the connection. `re` is the id of the request to which the message replies, if any.
    pub fn encode(&self, re: Option<Id>, message: &ServerMessage) -> OutgoingFrame {
        let error = match message {
            ServerMessage::Error(error) => Some((error.code, error.message.clone())),
            _ => None,
        };
        OutgoingFrame { re, frame: WireFrame::encode(self.encoding, re, message), error }
    }

    /// Returns the stall monitor of the thread that serves the connection.
    pub fn pulse(&self) -> &StallMonitor {
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
        self.put(MailboxItem::Frames(vec![self.encode(None, &message)]))
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
        let _ = self.post(MailboxItem::Frames(vec![self.encode(Some(re), &message.into())]));
    }

    /// Returns true if more than half of the mailbox is free.
    pub fn roomy(&self) -> bool {
        self.sender.capacity() * 2 > self.sender.max_capacity()
    }
}
