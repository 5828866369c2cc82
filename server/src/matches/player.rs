//! A session's side of the match plane.

use std::collections::BTreeMap;
use std::sync::Arc;

use ludex_protocol::client::ListMatches;
use ludex_protocol::server::{HeldJoin, HeldMatch, Matches};
use ludex_protocol::{ClientMessage, ErrorCode, ErrorMessage, Id};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::auth::Scopes;
use crate::session::{Identity, Out};

/// The matches of a server.
#[derive(Default)]
pub struct Hub {}

impl Hub {
    /// Returns when no match runs.
    pub async fn idle(&self) {}

    /// The list of matches.
    pub async fn matches(&self, _which: &ListMatches) -> Matches {
        Matches::default()
    }

    /// The ratings, of one game or of all.
    pub async fn ratings(&self, _game: Option<&str>) -> Value {
        serde_json::json!({ "ratings": [] })
    }

    /// What somebody with `scopes` may see of an episode.
    pub async fn episode(&self, _id: &str, _scopes: Scopes) -> Option<Value> {
        None
    }
}

/// A session's seats, joins and places in the audience.
pub struct Player {
    mailbox: Option<mpsc::Sender<Out>>,
}

impl Player {
    /// A player without seats.
    pub fn new(_hub: Arc<Hub>, _who: Identity, mailbox: mpsc::Sender<Out>) -> Self {
        Player { mailbox: Some(mailbox) }
    }

    /// Carries a request out; its reply goes to the mailbox.
    pub async fn handle(&mut self, id: Option<Id>, _message: ClientMessage) {
        let error = ErrorMessage::new(ErrorCode::Internal, "matches are not available");
        if let (Some(mailbox), Some(_)) = (&self.mailbox, id) {
            let _ = mailbox.try_send(Out::Message(id, error.into()));
        }
    }

    /// The client came back: what it has not seen goes to the new mailbox.
    pub async fn resume(&mut self, mailbox: mpsc::Sender<Out>, _seen: BTreeMap<String, u64>) {
        self.mailbox = Some(mailbox);
    }

    /// Takes over the seats that the agent's name holds.
    pub async fn reclaim(&mut self) {}

    /// The running matches.
    pub fn seats(&self) -> Vec<HeldMatch> {
        Vec::new()
    }

    /// The joins that are not used up.
    pub fn joins(&self) -> Vec<HeldJoin> {
        Vec::new()
    }

    /// Whether it holds a seat or waits for one.
    pub fn at_stake(&self) -> bool {
        false
    }

    /// The connection is lost.
    pub fn detach(&mut self) {
        self.mailbox = None;
    }
}
