//! Messages of the server, with the expectations of laws.

use ludex_protocol::error::truncate_text;
use ludex_protocol::message::{
    Accepted, ActRefused, Batch, Enrolled, GameEntry, HandleOpened, MatchEntry, Snapshots, SuiteEntry, Viewed, Welcome,
};
use ludex_protocol::spec::Spec;
use ludex_protocol::{ErrorCode, Id, Refusal, ServerMessage};
use serde_json::Value;

use super::{LawFailure, LawResult, wrong};

/// Message of the server.
#[derive(Clone, Debug)]
pub(super) struct IncomingMessage {
    /// Message as received; bins are marked.
    pub raw: Value,
    pub re: Option<Id>,
    /// Message after strict decoding.
    pub message: ServerMessage,
    /// Short description of the request that the message answers.
    pub asked: String,
}

impl IncomingMessage {
    /// Creates the fault for a message that differs from the expectation.
    pub fn not(&self, expected: &str) -> LawFailure {
        let raw = truncate_text(&self.raw.to_string());
        match self.asked.as_str() {
            "" => wrong(format!("sent {raw}"), expected),
            asked => wrong(format!("answered {asked} with {raw}"), expected),
        }
    }

    /// Describes this message as the answer to `what`, which is not a request.
    pub fn after(&self, what: &Value) -> String {
        format!("answered {} with {}", truncate_text(&what.to_string()), truncate_text(&self.raw.to_string()))
    }

    fn only<T>(self, name: &str, pick: impl FnOnce(ServerMessage) -> Option<T>) -> LawResult<T> {
        let otherwise = self.not(&format!("`{name}`"));
        pick(self.message).ok_or(otherwise)
    }

    pub fn welcome(self) -> LawResult<Box<Welcome>> {
        self.only("welcome", |m| if let ServerMessage::Welcome(m) = m { Some(m) } else { None })
    }

    pub fn pong(self) -> LawResult<u64> {
        self.only("pong", |m| if let ServerMessage::Pong(m) = m { Some(m.now_ms) } else { None })
    }

    pub fn games(self) -> LawResult<Vec<GameEntry>> {
        self.only("games", |m| if let ServerMessage::Games(m) = m { Some(m.games) } else { None })
    }

    pub fn spec(self) -> LawResult<Spec> {
        self.only("spec", |m| if let ServerMessage::Spec(m) = m { Some(m.spec) } else { None })
    }

    pub fn opened(self) -> LawResult<Box<HandleOpened>> {
        self.only("opened", |m| if let ServerMessage::Opened(m) = m { Some(m) } else { None })
    }

    pub fn batch(self) -> LawResult<Box<Batch>> {
        self.only("batch", |m| if let ServerMessage::Batch(m) = m { Some(m) } else { None })
    }

    pub fn viewed(self) -> LawResult<Box<Viewed>> {
        self.only("viewed", |m| if let ServerMessage::Viewed(m) = m { Some(m) } else { None })
    }

    pub fn snapshots(self) -> LawResult<Snapshots> {
        self.only("snapshots", |m| if let ServerMessage::Snapshots(m) = m { Some(m) } else { None })
    }

    pub fn matches(self) -> LawResult<Vec<MatchEntry>> {
        self.only("matches", |m| if let ServerMessage::Matches(m) = m { Some(m.matches) } else { None })
    }

    pub fn joined(self) -> LawResult<String> {
        self.only("joined", |m| if let ServerMessage::Joined(m) = m { Some(m.join) } else { None })
    }

    pub fn suites(self) -> LawResult<Vec<SuiteEntry>> {
        self.only("suites", |m| if let ServerMessage::Suites(m) = m { Some(m.suites) } else { None })
    }

    pub fn enrolled(self) -> LawResult<Enrolled> {
        self.only("enrolled", |m| if let ServerMessage::Enrolled(m) = m { Some(m) } else { None })
    }

    pub fn accepted(self) -> LawResult<Accepted> {
        self.only("accepted", |m| if let ServerMessage::Accepted(m) = m { Some(m) } else { None })
    }

    pub fn refusal(self) -> LawResult<Box<ActRefused>> {
        self.only("refused", |m| if let ServerMessage::Refused(m) = m { Some(m) } else { None })
    }

    pub fn ok(self) -> LawResult {
        self.only("ok", |m| if let ServerMessage::Ok(_) = m { Some(()) } else { None })
    }

    /// Expects an error with one of these codes.
    pub fn expect_error(self, codes: &[ErrorCode]) -> LawResult<Box<Refusal>> {
        let names: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
        let name = format!("error {}", names.join(" or "));
        let pick = |m| if let ServerMessage::Error(m) = m { Some(m).filter(|m| codes.contains(&m.code)) } else { None };
        self.only(&name, pick)
    }

    /// Expects an error with this code.
    pub fn error(self, code: ErrorCode) -> LawResult<Box<Refusal>> {
        self.expect_error(&[code])
    }

    /// Expects an error with this code about this field.
    pub fn error_at(self, code: ErrorCode, path: &str) -> LawResult<Box<Refusal>> {
        let otherwise = self.not(&format!("error {code} with path {path:?}"));
        match self.error(code) {
            Ok(error) if error.path.as_deref() == Some(path) => Ok(error),
            _ => Err(otherwise),
        }
    }
}
