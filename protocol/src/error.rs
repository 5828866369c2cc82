//! Error codes, the `error` message, and the close codes of connections.

use std::fmt;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::{IntoStaticStr, VariantArray};

use crate::serde_helpers::or_default;

/// Machine-readable reason of an error.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, IntoStaticStr, VariantArray,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorCode {
    /// The frame is not exactly one message of the connection's encoding.
    BadFrame,
    /// The frame is not a message: it is not a map, lacks a required `id`, or has an `id` that is not an `int`.
    BadMessage,
    /// A field is missing or has an invalid type or value; `path` names the field.
    BadField,
    /// Unknown message type; `nearest` may contain a similar type.
    UnknownType,
    /// The message or a part of it exceeds a limit.
    TooLarge,
    /// Maps and lists are nested deeper than `limits.depth`.
    TooDeep,
    /// Client and server have no protocol version in common.
    ProtocolVersion,
    /// The first message is not `hello`.
    HelloFirst,
    /// The token is invalid, revoked or missing.
    Unauthorized,
    /// The token does not grant the required scope.
    Forbidden,
    /// Unknown game id or alias.
    UnknownGame,
    /// Invalid parameters for the game.
    BadParams,
    /// The agent spec names an unknown agent or has invalid options.
    UnknownAgent,
    /// A seed is not a decimal number below 2^64.
    BadSeed,
    /// The session has no environment with this handle or index.
    UnknownEnv,
    /// The episode has ended, and the environment does not reset automatically.
    EnvOver,
    /// A column has the wrong number of entries.
    BadShape,
    /// The action is illegal in this state.
    IllegalAction,
    /// The text contains no move.
    Unparsed,
    /// The snapshot does not lead to a reachable state of this game.
    BadSnapshot,
    /// A limit of the server is reached.
    Limit,
    /// Too many requests; retry after `after_ms`.
    RateLimited,
    /// Too many requests without a reply.
    WindowFull,
    /// The session has no join with this id.
    UnknownJoin,
    /// The server offers no suite with this name.
    UnknownSuite,
    /// The run is unknown or belongs to a different agent.
    UnknownRun,
    /// The match is unknown or belongs to a different session.
    UnknownMatch,
    /// The seat belongs to a different session.
    NotYourSeat,
    /// The seat is not to move, or `turn` or `try` is greater than the current value.
    NotYourTurn,
    /// The turn already has an accepted move.
    StaleTurn,
    /// An `act` was repeated with a different move, or an `id` was reused for a different request.
    Conflict,
    /// The match has ended.
    MatchOver,
    /// The server is shutting down and accepts no new work.
    Draining,
    /// Another cell of the server serves the request; `moved` has its URL.
    Moved,
    /// Internal failure of the server, not caused by the client.
    Internal,
}

impl ErrorCode {
    /// All codes, in the order of the protocol page.
    pub const ALL: &'static [ErrorCode] = <ErrorCode as VariantArray>::VARIANTS;

    /// Returns the code as written on the wire.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns the default of [`Refusal::fault`]: the party that usually causes the error.
    pub const fn fault(self) -> Fault {
        match self {
            ErrorCode::Draining | ErrorCode::Internal => Fault::Server,
            _ => Fault::Client,
        }
    }

    /// Returns the default of [`Refusal::retry`]: true if the same request may succeed later.
    pub const fn retry(self) -> bool {
        matches!(self, ErrorCode::RateLimited | ErrorCode::WindowFull | ErrorCode::Draining)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Party at fault for an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The client sent an invalid request.
    Client,
    /// An agent run by the server failed.
    Agent,
    /// The server failed or is shutting down.
    Server,
}

// Smaller than 128 bytes, the limit of clippy's `result_large_err`.
/// The refusal of a request, sent to the client as the message `error`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Refusal {
    /// Reason of the refusal, for programs.
    pub code: ErrorCode,
    /// Human-readable reason: one sentence.
    pub message: String,
    /// Party that caused the error.
    pub fault: Fault,
    /// True if the same request may succeed later.
    pub retry: bool,
    /// Time to wait before a retry, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_ms: Option<NonZeroU32>,
    /// Path of the invalid field, e.g. `agent.name` or `views[1]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Box<str>>,
    /// Index of the invalid entry in the list at `path`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// Received value, possibly truncated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub got: Option<Box<Value>>,
    /// Allowed values: a list, or a range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Box<Value>>,
    /// Allowed word that is most similar to the received word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<Box<str>>,
    /// Issues found in the document.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<Issue>,
    /// Cell that serves the request, with the code `moved`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<Box<MovedTo>>,
}

/// Cell of a server that serves a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MovedTo {
    /// URL of the cell.
    pub at: String,
    /// Number of the cell.
    pub cell: u32,
}

/// An issue at one location of a document.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Issue {
    /// Location in the document, as a JSON pointer; empty for the whole document.
    pub path: String,
    /// Value at this location.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub got: Option<Value>,
    /// Allowed values at this location.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Value>,
    /// Human-readable description: one sentence.
    pub message: String,
    /// Machine-readable kind of the issue, defined on the game's page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Box<str>>,
}

impl Issue {
    /// Creates an issue about the value at `path`, a JSON pointer.
    pub fn new(path: impl Into<String>, got: &Value, allowed: impl Into<Value>, message: impl Into<String>) -> Self {
        let (got, allowed) = (Some(got.clone()), Some(allowed.into()));
        Issue { path: path.into(), got, allowed, message: message.into(), code: None }
    }

    /// Sets the machine-readable code of the issue.
    pub fn code(mut self, code: &str) -> Self {
        self.code = Some(code.into());
        self
    }

    /// Creates the issue for a text that contains no move; `allowed` describes the notation of moves.
    pub fn unparsed(got: &Value, allowed: impl Into<Value>, message: impl Into<String>) -> Self {
        Issue::new("", got, allowed, message).code(ErrorCode::Unparsed.as_str())
    }

    /// Returns true if the issue reports a text that contains no move.
    pub fn is_unparsed(&self) -> bool {
        self.code.as_deref() == Some(ErrorCode::Unparsed.as_str())
    }
}

impl Refusal {
    /// Creates a refusal with the code's default `fault` and `retry`.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Refusal {
            code,
            message: message.into(),
            fault: code.fault(),
            retry: code.retry(),
            after_ms: None,
            path: None,
            index: None,
            got: None,
            allowed: None,
            nearest: None,
            issues: Vec::new(),
            moved: None,
        }
    }

    /// Creates the refusal of a request that the cell number `cell` serves at the URL `at`.
    pub fn moved(cell: u32, at: &str) -> Self {
        let message = format!("expected a session of cell {cell}; connect to {at} and send the request there");
        let moved = Some(Box::new(MovedTo { at: at.to_owned(), cell }));
        Refusal { moved, ..Refusal::new(ErrorCode::Moved, message) }
    }

    /// Creates the refusal of an unknown name, with the allowed names and the most similar allowed name. `what` is the
    /// noun for the message, such as `game`.
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

    /// Sets the path of the invalid field.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into().into());
        self
    }

    /// Sets the position of the invalid entry.
    pub fn index(mut self, index: usize) -> Self {
        self.index = Some(u32::try_from(index).unwrap_or(u32::MAX));
        self
    }

    /// Sets the received value.
    pub fn got(mut self, got: impl Into<Value>) -> Self {
        self.got = Some(Box::new(got.into()));
        self
    }

    /// Sets the allowed values.
    pub fn allowed(mut self, allowed: impl Into<Value>) -> Self {
        self.allowed = Some(Box::new(allowed.into()));
        self
    }

    /// Sets the allowed word that is most similar to the received value.
    pub fn nearest(mut self, word: impl Into<String>) -> Self {
        self.nearest = Some(word.into().into());
        self
    }

    /// Sets the issues found in a document.
    pub fn issues(mut self, issues: Vec<Issue>) -> Self {
        self.issues = issues;
        self
    }

    /// Sets the time before a retry, in milliseconds, and sets `retry` to true.
    pub fn after_ms(mut self, ms: u32) -> Self {
        self.after_ms = NonZeroU32::new(ms);
        self.retry = true;
        self
    }

    /// Overrides the code's default party at fault.
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

/// Returns the candidate with the highest Jaro-Winkler similarity to `word`; `None` if no candidate is similar. Words
/// of several letters at edit distance one count as similar; a swap of neighboring letters is one edit. If the lengths
/// differ by more than a factor of two, the shorter word must be a prefix of the longer word.
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
        // Words of one letter are excluded: at distance one, they have no letter in common.
        let slip = if long > 1 && strsim::osa_distance(&word, &candidate) == 1 { 0.9 } else { 0.0 };
        strsim::jaro_winkler(&word, &candidate).max(slip)
    };
    let likely = candidates.into_iter().map(|candidate| (likeness(candidate), candidate));
    likely.filter(|&(like, _)| like > 0.75).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, candidate)| candidate)
}

/// Returns the suffix of an error message about an unknown name: the most similar known name, if any, then all known
/// names. Empty if `known` is empty.
pub fn did_you_mean(got: &str, known: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
    if names.is_empty() {
        return String::new();
    }
    let (near, all) = (nearest(got, names.iter().copied()), names.join(", "));
    near.map_or_else(|| format!("; allowed: {all}"), |near| format!("; did you mean {near}? Allowed: {all}"))
}

/// Truncates external text, so that a reply never echoes a megabyte.
pub fn truncate_text(text: &str) -> String {
    const LONGEST: usize = 120;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Rule for resuming a session after its connection was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResumeRule {
    /// The session can be resumed with its key.
    Yes,
    /// The session can be resumed with its key after `after_ms`.
    Later,
    /// The session has ended.
    No,
}

/// A close code with its name and its rule for resuming the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Close {
    /// Close code of the WebSocket frame.
    pub code: u16,
    /// Name of the close code, sent as the reason (a sentence may follow).
    pub name: &'static str,
    /// Rule for resuming the session after this close code.
    pub resume: ResumeRule,
}

/// All close codes that the server sends.
pub mod close {
    use super::{Close, ResumeRule};

    /// The client closed the connection normally.
    pub const NORMAL: Close = Close { code: 1000, name: "normal", resume: ResumeRule::No };
    /// The server is shutting down.
    pub const GOING_AWAY: Close = Close { code: 1001, name: "going_away", resume: ResumeRule::Yes };
    /// A frame of the wrong kind: text on a MessagePack connection, or binary on a JSON connection.
    pub const UNSUPPORTED: Close = Close { code: 1003, name: "unsupported", resume: ResumeRule::Yes };
    /// A text frame that is not UTF-8.
    pub const NOT_UTF8: Close = Close { code: 1007, name: "not_utf8", resume: ResumeRule::Yes };
    /// A frame larger than `limits.frame_bytes`.
    pub const TOO_LARGE: Close = Close { code: 1009, name: "too_large", resume: ResumeRule::Yes };
    /// The server is restarting.
    pub const RESTART: Close = Close { code: 1012, name: "restart", resume: ResumeRule::Yes };
    /// An invalid or late `hello`, or repeated invalid frames.
    pub const PROTOCOL: Close = Close { code: 4000, name: "protocol", resume: ResumeRule::No };
    /// The token is invalid or revoked.
    pub const UNAUTHORIZED: Close = Close { code: 4001, name: "unauthorized", resume: ResumeRule::No };
    /// A newer connection took over the session or seat.
    pub const SUPERSEDED: Close = Close { code: 4002, name: "superseded", resume: ResumeRule::No };
    /// The client does not read its messages.
    pub const TOO_SLOW: Close = Close { code: 4003, name: "too_slow", resume: ResumeRule::Yes };
    /// The client continued to exceed its limits after `rate_limited`.
    pub const RATE: Close = Close { code: 4004, name: "rate", resume: ResumeRule::Later };
    /// No message for `limits.idle_ms` on a connection without seats and environments.
    pub const IDLE: Close = Close { code: 4005, name: "idle", resume: ResumeRule::No };
    /// Another cell has the session; the error before names its URL.
    pub const MOVED: Close = Close { code: 4006, name: "moved", resume: ResumeRule::Yes };

    /// All close codes, ascending.
    pub const ALL: [Close; 13] = [
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
        MOVED,
    ];

    /// Returns the definition of a close code; `None` if the protocol does not define the code.
    pub fn of(code: u16) -> Option<Close> {
        ALL.into_iter().find(|close| close.code == code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_code_serializes_as_its_name() {
        for &code in ErrorCode::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
    }

    #[test]
    fn refusal_is_smaller_than_128_bytes() {
        assert!(size_of::<Refusal>() < 128, "{}", size_of::<Refusal>());
    }

    #[test]
    fn nearest_ignores_dissimilar_words() {
        let games = ["tic_tac_toe", "connect_four", "chess"];
        assert_eq!(nearest("conect_four", games), Some("connect_four"));
        assert_eq!(nearest("Ches", games), Some("chess"));
        assert_eq!(nearest("conect4", games), Some("connect_four"));
        assert_eq!(nearest("gqo", ["ataxx", "go"]), Some("go"));
        assert_eq!(nearest("zzz", games), None);
        assert_eq!(nearest("c", ["a", "b"]), None);
        // A short word whose letters occur in a long word is not a match.
        assert_eq!(nearest("win_rate", ["nra", "wdl"]), None);
        assert_eq!(nearest("connect", ["connect_four_by_four"]), Some("connect_four_by_four"));
        assert_eq!(nearest("backgammon", games), None);
        assert_eq!(nearest("", games), None);
        assert_eq!(nearest(&"x".repeat(100_000), games), None);
    }

    #[test]
    fn error_text_suggests_nearest_name_and_lists_all_names() {
        assert_eq!(did_you_mean("ches", &["chess", "go"]), "; did you mean chess? Allowed: chess, go");
        assert_eq!(did_you_mean("zzz", &["chess".to_owned()]), "; allowed: chess");
        assert_eq!(did_you_mean("ches", &[] as &[&str]), "");
    }

    #[test]
    fn refusal_of_unknown_name_has_all_fields() {
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
    fn refusal_of_unknown_name_truncates_long_input() {
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
