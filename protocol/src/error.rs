//! What goes wrong: error codes, the `error` message, and the codes that close a connection.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::{IntoStaticStr, VariantArray};

use crate::serde_helpers::or_default;

/// What went wrong, for programs.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, IntoStaticStr, VariantArray,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorCode {
    /// The frame is not one whole message of the connection's encoding.
    BadFrame,
    /// The frame is not a message: it is not a map, lacks an `id` that it needs, or its `id` is not an `int`.
    BadMessage,
    /// A field is missing or has a wrong type or value; `path` names it.
    BadField,
    /// There is no such message; `nearest` may help.
    UnknownType,
    /// The message or one of its parts is over its limit.
    TooLarge,
    /// Nested deeper than `limits.depth`.
    TooDeep,
    /// No protocol version in common.
    ProtocolVersion,
    /// Another message came before `hello`.
    HelloFirst,
    /// The token is wrong, revoked or missing.
    Unauthorized,
    /// The token does not grant this.
    Forbidden,
    /// There is no such game.
    UnknownGame,
    /// The parameters do not fit the game.
    BadParams,
    /// The agent spec names no agent, or its options are wrong.
    UnknownAgent,
    /// A seed is not a decimal number below 2^64.
    BadSeed,
    /// The session has no such environment.
    UnknownEnv,
    /// The episode is over and the environment does not reset itself.
    EnvOver,
    /// A column has the wrong number of entries.
    BadShape,
    /// The action is not legal here.
    IllegalAction,
    /// The text names no move.
    Unparsed,
    /// A snapshot does not lead to a reachable state of this game.
    BadSnapshot,
    /// A limit of the server is reached.
    Limit,
    /// Too many requests; try again after `after_ms`.
    RateLimited,
    /// Too many requests without a reply.
    WindowFull,
    /// The session has no such join.
    UnknownJoin,
    /// The server offers no such suite.
    UnknownSuite,
    /// There is no such run, or it is not this agent's.
    UnknownRun,
    /// There is no such match, or it is not this session's.
    UnknownMatch,
    /// The seat is not this session's.
    NotYourSeat,
    /// The seat is not to move, or the turn or try is ahead of the match.
    NotYourTurn,
    /// The turn was answered and is over.
    StaleTurn,
    /// Another move under a key (or another request under an `id`) that was used before.
    Conflict,
    /// The match is over.
    MatchOver,
    /// The server takes nothing new.
    Draining,
    /// The server failed. The client is not to blame.
    Internal,
}

impl ErrorCode {
    /// Every code, in the order of the protocol page.
    pub const ALL: &'static [ErrorCode] = <ErrorCode as VariantArray>::VARIANTS;

    /// The code as it is written on the wire.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Whose fault it is unless said otherwise.
    pub const fn fault(self) -> Fault {
        match self {
            ErrorCode::Draining | ErrorCode::Internal => Fault::Server,
            _ => Fault::Client,
        }
    }

    /// Whether the same request may succeed later unless said otherwise.
    pub const fn retry(self) -> bool {
        matches!(self, ErrorCode::RateLimited | ErrorCode::WindowFull | ErrorCode::Draining)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whose fault an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The request was wrong.
    Client,
    /// An agent that the server plays failed.
    Agent,
    /// The server failed or is going down.
    Server,
}

/// Why something was refused. The `error` message is a refusal in the envelope of its request.
///
/// It is small (below 128 bytes), so that it can be the error of any `Result`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Refusal {
    /// What went wrong, for programs.
    pub code: ErrorCode,
    /// One sentence for people.
    pub message: String,
    /// Whose fault it is.
    pub fault: Fault,
    /// Whether the same request may succeed later.
    pub retry: bool,
    /// When to try again, in milliseconds from now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_ms: Option<u32>,
    /// The field that is wrong, e.g. `agent.name` or `views[1]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Box<str>>,
    /// The position in the list that is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u32>,
    /// What was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub got: Option<Box<Value>>,
    /// What could have been sent: a list of values, or a range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Box<Value>>,
    /// The allowed word that is most like what was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<Box<str>>,
    /// What is wrong with a document.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<Issue>,
}

/// What is wrong with one place of a document.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Issue {
    /// Where in the document.
    pub path: String,
    /// The value there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub got: Option<Value>,
    /// The values that are allowed there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Value>,
    /// One sentence for people.
    pub message: String,
    /// What went wrong in one word of the game's page, for programs that count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Box<str>>,
}

impl Issue {
    /// What is wrong with the value at `path`, a JSON pointer.
    pub fn new(path: impl Into<String>, got: &Value, allowed: impl Into<Value>, message: impl Into<String>) -> Self {
        let (got, allowed) = (Some(got.clone()), Some(allowed.into()));
        Issue { path: path.into(), got, allowed, message: message.into(), code: None }
    }

    /// The issue with a code.
    pub fn code(mut self, code: &str) -> Self {
        self.code = Some(code.into());
        self
    }

    /// That a text holds no move: `allowed` says how one is written.
    pub fn unparsed(got: &Value, allowed: impl Into<Value>, message: impl Into<String>) -> Self {
        Issue::new("", got, allowed, message).code(ErrorCode::Unparsed.as_str())
    }

    /// Whether it says that a text holds no move.
    pub fn is_unparsed(&self) -> bool {
        self.code.as_deref() == Some(ErrorCode::Unparsed.as_str())
    }
}

impl Refusal {
    /// An error with the code's own fault and retry.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Refusal {
            code,
            message: message.into(),
            fault: code.fault(),
            retry: code.retry(),
            after_ms: None,
            path: None,
            at: None,
            got: None,
            allowed: None,
            nearest: None,
            issues: Vec::new(),
        }
    }

    /// For a word that is not allowed: says what it was, what is allowed, and which allowed word is nearest.
    /// `what` names the kind of thing in the sentence, such as `game`.
    pub fn unknown<'a>(code: ErrorCode, what: &str, got: &str, allowed: impl IntoIterator<Item = &'a str>) -> Self {
        let allowed: Vec<&str> = allowed.into_iter().collect();
        let near = nearest(got, allowed.iter().copied());
        let hint = near.map(|word| format!("; did you mean {word:?}?")).unwrap_or_default();
        let mut error = Refusal::new(code, format!("there is no {what} {:?}{hint}", truncate_text(got)))
            .got(truncate_text(got))
            .allowed(allowed.as_slice());
        error.nearest = near.map(Into::into);
        error
    }

    /// Names the field that is wrong.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into().into());
        self
    }

    /// Names the position that is wrong.
    pub fn at(mut self, at: usize) -> Self {
        self.at = Some(u32::try_from(at).unwrap_or(u32::MAX));
        self
    }

    /// Shows what was sent.
    pub fn got(mut self, got: impl Into<Value>) -> Self {
        self.got = Some(Box::new(got.into()));
        self
    }

    /// Shows what could have been sent.
    pub fn allowed(mut self, allowed: impl Into<Value>) -> Self {
        self.allowed = Some(Box::new(allowed.into()));
        self
    }

    /// Names the allowed word that is most like what was sent.
    pub fn nearest(mut self, word: impl Into<String>) -> Self {
        self.nearest = Some(word.into().into());
        self
    }

    /// Lists what is wrong with a document.
    pub fn issues(mut self, issues: Vec<Issue>) -> Self {
        self.issues = issues;
        self
    }

    /// Says when to try again; implies that it may succeed then.
    pub fn after_ms(mut self, ms: u32) -> Self {
        self.after_ms = Some(ms);
        self.retry = true;
        self
    }

    /// Puts the blame elsewhere than the code does.
    pub fn fault(mut self, fault: Fault) -> Self {
        self.fault = fault;
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for Refusal {}

/// The candidate most like `word`, if one is like it at all: by what both have in common (Jaro-Winkler), or because one slip
/// separates them (two neighbouring letters swapped are one slip). In a short word a slip lowers that score too much. A word is
/// not like another of half its length whose letters it happens to hold, unless one begins the other.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LONGEST: usize = 64;
    if word.len() > LONGEST {
        return None;
    }
    let word = word.to_lowercase();
    let likeness = |candidate: &str| {
        let candidate = candidate.to_lowercase();
        let [short, long] = [word.len().min(candidate.len()), word.len().max(candidate.len())];
        if short * 2 < long && !word.starts_with(&candidate) && !candidate.starts_with(&word) {
            return 0.0;
        }
        // Two words of one letter have nothing in common.
        let slip = if long > 1 && strsim::osa_distance(&word, &candidate) == 1 { 0.9 } else { 0.0 };
        strsim::jaro_winkler(&word, &candidate).max(slip)
    };
    let likely = candidates.into_iter().map(|candidate| (likeness(candidate), candidate));
    likely.filter(|&(like, _)| like > 0.75).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, candidate)| candidate)
}

/// The end of an error about an unknown name: the nearest known name, and all known names. Empty if none is known.
pub fn did_you_mean(got: &str, known: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
    if names.is_empty() {
        return String::new();
    }
    let hint =
        nearest(got, names.iter().copied()).map_or_else(|| ".".to_owned(), |near| format!("; did you mean {near}?"));
    format!("{hint} There are: {}", names.join(", "))
}

/// The beginning of a text that came from outside, so that an answer never echoes a megabyte.
pub fn truncate_text(text: &str) -> String {
    const LONGEST: usize = 120;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// What a closed connection means for its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResumeRule {
    /// Come back with the session's key.
    Yes,
    /// Come back with the session's key after `after_ms`.
    Later,
    /// The session is over.
    No,
}

/// A way to close the WebSocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Close {
    /// The WebSocket close code.
    pub code: u16,
    /// Its name, sent as the reason (a sentence may follow).
    pub name: &'static str,
    /// Whether the session can be resumed.
    pub resume: ResumeRule,
}

/// Every way in which the server closes a connection.
pub mod close {
    use super::{Close, ResumeRule};

    /// The client is done.
    pub const NORMAL: Close = Close { code: 1000, name: "normal", resume: ResumeRule::No };
    /// The server stops.
    pub const GOING_AWAY: Close = Close { code: 1001, name: "going_away", resume: ResumeRule::Yes };
    /// A frame of the wrong kind: text on a MessagePack connection or binary on a JSON one.
    pub const UNSUPPORTED: Close = Close { code: 1003, name: "unsupported", resume: ResumeRule::Yes };
    /// A text frame that is not UTF-8.
    pub const NOT_UTF8: Close = Close { code: 1007, name: "not_utf8", resume: ResumeRule::Yes };
    /// A frame over `limits.frame_bytes`.
    pub const TOO_LARGE: Close = Close { code: 1009, name: "too_large", resume: ResumeRule::Yes };
    /// The server restarts.
    pub const RESTART: Close = Close { code: 1012, name: "restart", resume: ResumeRule::Yes };
    /// `hello` late or wrong, or garbage again and again.
    pub const PROTOCOL: Close = Close { code: 4000, name: "protocol", resume: ResumeRule::No };
    /// The token is wrong or revoked.
    pub const UNAUTHORIZED: Close = Close { code: 4001, name: "unauthorized", resume: ResumeRule::No };
    /// The session or seat was taken by a newer connection.
    pub const SUPERSEDED: Close = Close { code: 4002, name: "superseded", resume: ResumeRule::No };
    /// The client does not read.
    pub const TOO_SLOW: Close = Close { code: 4003, name: "too_slow", resume: ResumeRule::Yes };
    /// Limits were ignored after `rate_limited`.
    pub const RATE: Close = Close { code: 4004, name: "rate", resume: ResumeRule::Later };
    /// Silent for `limits.idle_ms` with nothing at stake.
    pub const IDLE: Close = Close { code: 4005, name: "idle", resume: ResumeRule::No };

    /// All of them, ascending by code.
    pub const ALL: [Close; 12] = [
        NORMAL,
        GOING_AWAY,
        UNSUPPORTED,
        NOT_UTF8,
        TOO_LARGE,
        RESTART,
        PROTOCOL,
        UNAUTHORIZED,
        SUPERSEDED,
        TOO_SLOW,
        RATE,
        IDLE,
    ];

    /// The meaning of a close code, if the protocol gives it one.
    pub fn of(code: u16) -> Option<Close> {
        ALL.into_iter().find(|close| close.code == code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_written_as_they_are_named() {
        for &code in ErrorCode::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
    }

    #[test]
    fn the_message_is_small_enough_for_any_result() {
        assert!(size_of::<Refusal>() < 128, "{}", size_of::<Refusal>());
    }

    #[test]
    fn only_a_near_word_is_found() {
        let games = ["tic_tac_toe", "connect_four", "chess"];
        assert_eq!(nearest("conect_four", games), Some("connect_four"));
        assert_eq!(nearest("Ches", games), Some("chess"));
        assert_eq!(nearest("conect4", games), Some("connect_four"));
        assert_eq!(nearest("gqo", ["ataxx", "go"]), Some("go"));
        assert_eq!(nearest("zzz", games), None);
        assert_eq!(nearest("c", ["a", "b"]), None);
        // A short word whose letters stand somewhere in a long one is not meant.
        assert_eq!(nearest("win_rate", ["nra", "wdl"]), None);
        assert_eq!(nearest("connect", ["connect_four_by_four"]), Some("connect_four_by_four"));
        assert_eq!(nearest("backgammon", games), None);
        assert_eq!(nearest("", games), None);
        assert_eq!(nearest(&"x".repeat(100_000), games), None);
    }

    #[test]
    fn instead_of_an_unknown_name_there_are_others() {
        assert_eq!(did_you_mean("ches", &["chess", "go"]), "; did you mean chess? There are: chess, go");
        assert_eq!(did_you_mean("zzz", &["chess".to_owned()]), ". There are: chess");
        assert_eq!(did_you_mean("ches", &[] as &[&str]), "");
    }

    #[test]
    fn an_unknown_word_tells_all() {
        let error = Refusal::unknown(ErrorCode::UnknownGame, "game", "ches", ["chess", "go"]).path("game");
        let value = serde_json::to_value(&error).unwrap();
        assert_eq!(
            value,
            serde_json::json!({
                "code": "unknown_game", "message": "there is no game \"ches\"; did you mean \"chess\"?",
                "fault": "client", "retry": false, "path": "game", "got": "ches",
                "allowed": ["chess", "go"], "nearest": "chess"
            })
        );
    }

    #[test]
    fn a_long_word_is_not_echoed() {
        let error = Refusal::unknown(ErrorCode::UnknownType, "message", &"ä".repeat(1_000_000), ["act"]);
        assert!(serde_json::to_string(&error).unwrap().len() < 1_500);
    }

    #[test]
    fn close_codes_are_unique() {
        for close in close::ALL {
            assert_eq!(close::of(close.code), Some(close));
        }
        assert_eq!(close::of(4999), None);
    }
}
