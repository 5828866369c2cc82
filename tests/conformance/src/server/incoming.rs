//! A message of the server, and what a law expects of it.

use ludex_protocol::error::truncate_text;
use ludex_protocol::message::{
    Accepted, ActRefused, Batch, Enrolled, GameEntry, HandleOpened, MatchEntry, Snapshots, SuiteEntry, Viewed, Welcome,
};
use ludex_protocol::spec::Spec;
use ludex_protocol::{ErrorCode, Id, Refusal, ServerMessage};
use serde_json::Value;

use super::{Done, Stop, wrong};

/// A message of the server.
#[derive(Clone, Debug)]
pub(super) struct IncomingMessage {
    /// As it came; bins are marked.
    pub raw: Value,
    pub re: Option<Id>,
    /// As it was understood.
    pub message: ServerMessage,
    /// The request that it answers, in a few words.
    pub asked: String,
}

impl IncomingMessage {
    /// The fault that it is not what it should be.
    pub fn not(&self, expected: &str) -> Stop {
        let raw = truncate_text(&self.raw.to_string());
        match self.asked.as_str() {
            "" => wrong(format!("sent {raw}"), expected),
            asked => wrong(format!("answered {asked} with {raw}"), expected),
        }
    }

    /// What happened, in words, if it came after something that is not a request.
    pub fn after(&self, what: &Value) -> String {
        format!("answered {} with {}", truncate_text(&what.to_string()), truncate_text(&self.raw.to_string()))
    }

    fn only<T>(self, name: &str, pick: impl FnOnce(ServerMessage) -> Option<T>) -> Done<T> {
        let otherwise = self.not(&format!("`{name}`"));
        pick(self.message).ok_or(otherwise)
    }

    pub fn welcome(self) -> Done<Box<Welcome>> {
        self.only("welcome", |m| if let ServerMessage::Welcome(m) = m { Some(m) } else { None })
    }

    pub fn pong(self) -> Done<u64> {
        self.only("pong", |m| if let ServerMessage::Pong(m) = m { Some(m.now_ms) } else { None })
    }

    pub fn games(self) -> Done<Vec<GameEntry>> {
        self.only("games", |m| if let ServerMessage::Games(m) = m { Some(m.games) } else { None })
    }

    pub fn spec(self) -> Done<Spec> {
        self.only("spec", |m| if let ServerMessage::Spec(m) = m { Some(m.spec) } else { None })
    }

    pub fn opened(self) -> Done<Box<HandleOpened>> {
        self.only("opened", |m| if let ServerMessage::Opened(m) = m { Some(m) } else { None })
    }

    pub fn batch(self) -> Done<Box<Batch>> {
        self.only("batch", |m| if let ServerMessage::Batch(m) = m { Some(m) } else { None })
    }

    pub fn viewed(self) -> Done<Box<Viewed>> {
        self.only("viewed", |m| if let ServerMessage::Viewed(m) = m { Some(m) } else { None })
    }

    pub fn snapshots(self) -> Done<Snapshots> {
        self.only("snapshots", |m| if let ServerMessage::Snapshots(m) = m { Some(m) } else { None })
    }

    pub fn matches(self) -> Done<Vec<MatchEntry>> {
        self.only("matches", |m| if let ServerMessage::Matches(m) = m { Some(m.matches) } else { None })
    }

    pub fn joined(self) -> Done<String> {
        self.only("joined", |m| if let ServerMessage::Joined(m) = m { Some(m.join) } else { None })
    }

    pub fn suites(self) -> Done<Vec<SuiteEntry>> {
        self.only("suites", |m| if let ServerMessage::Suites(m) = m { Some(m.suites) } else { None })
    }

    pub fn enrolled(self) -> Done<Enrolled> {
        self.only("enrolled", |m| if let ServerMessage::Enrolled(m) = m { Some(m) } else { None })
    }

    pub fn accepted(self) -> Done<Accepted> {
        self.only("accepted", |m| if let ServerMessage::Accepted(m) = m { Some(m) } else { None })
    }

    pub fn refusal(self) -> Done<Box<ActRefused>> {
        self.only("refused", |m| if let ServerMessage::Refused(m) = m { Some(m) } else { None })
    }

    pub fn ok(self) -> Done {
        self.only("ok", |m| if let ServerMessage::Ok(_) = m { Some(()) } else { None })
    }

    /// An error of one of these codes.
    pub fn expect_error(self, codes: &[ErrorCode]) -> Done<Box<Refusal>> {
        let names: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
        let name = format!("error {}", names.join(" or "));
        let pick = |m| if let ServerMessage::Error(m) = m { Some(m).filter(|m| codes.contains(&m.code)) } else { None };
        self.only(&name, pick)
    }

    /// An error of this code.
    pub fn error(self, code: ErrorCode) -> Done<Box<Refusal>> {
        self.expect_error(&[code])
    }

    /// An error of this code about this field.
    pub fn error_at(self, code: ErrorCode, path: &str) -> Done<Box<Refusal>> {
        let otherwise = self.not(&format!("error {code} with path {path:?}"));
        match self.error(code) {
            Ok(error) if error.path.as_deref() == Some(path) => Ok(error),
            _ => Err(otherwise),
        }
    }
}
