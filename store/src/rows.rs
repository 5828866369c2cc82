//! Rows of the store, and the writes that create them.
//!
//! Bodies (`header`, `secret`, `body`, `footer`, `record`) are JSON text that the store does not parse. Times are
//! milliseconds since the Unix epoch.
#![allow(missing_docs, reason = "the other names are self-explanatory")]

use super::token::{Scopes, TokenHash};

/// Data of a match that are known at its start. The row is durable before any client is notified of the match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchRow {
    /// Match id, unique in the store.
    pub id: String,
    /// Game id, such as `connect_four`.
    pub game: String,
    /// Canonical game string, such as `connect_four(rows=6,columns=7)`.
    pub string: String,
    /// True if the match is rated.
    pub rated: bool,
    /// Run that the match belongs to, or the label of its ladder season.
    pub run: Option<String>,
    /// Player of each seat, in seat order.
    pub seats: Vec<SeatRow>,
    /// Public header of the record.
    pub header: String,
    /// Data hidden until the release: seed, salt, and other data needed to restart the match.
    pub secret: String,
    pub started_ms: i64,
}

/// Seat of a match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeatRow {
    pub agent: String,
    /// Session that plays the seat; `None` for a server agent.
    pub session: Option<String>,
    /// Join that filled the seat.
    pub join: Option<String>,
}

impl From<&str> for SeatRow {
    fn from(agent: &str) -> Self {
        SeatRow { agent: agent.to_owned(), ..SeatRow::default() }
    }
}

/// Row of a match's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActRow {
    /// Index in the log, from 0, without gaps.
    pub n: u64,
    /// Logged act as JSON.
    pub body: String,
}

/// End of a match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndRow {
    /// End reason, as in the protocol.
    pub reason: String,
    pub ended_ms: i64,
    /// Public part of the result.
    pub footer: String,
    /// Complete episode record, including data that is hidden until the match is released.
    pub record: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredMatch {
    /// Row written at the start of the match.
    pub row: MatchRow,
    pub restarts: u32,
    /// Log in order; empty after [`Write::Forget`].
    pub acts: Vec<ActRow>,
    /// End of the match; `None` while the match is running.
    pub end: Option<EndRow>,
    /// True if seed, salt and the complete record are public.
    pub released: bool,
}

/// State of a match. If two states are equal, the public data of the match are also equal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct MatchState {
    /// Number of log rows.
    pub rows: u64,
    pub ended: bool,
    pub released: bool,
}

/// Entry of a list of matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchLine {
    /// Sequence number of the match, for the cursor [`MatchFilter::before`].
    pub seq: u64,
    pub id: String,
    pub game: String,
    pub string: String,
    /// True if the match is rated.
    pub rated: bool,
    /// Run that the match belongs to, or the label of its ladder season.
    pub run: Option<String>,
    /// Public header of the record.
    pub header: String,
    pub started_ms: i64,
    /// End time and reason.
    pub ended: Option<(i64, String)>,
    /// Public part of the result; `None` while the match is running.
    pub footer: Option<String>,
    /// True if the complete record is public.
    pub released: bool,
}

/// Filter for matches or records; `None` matches any value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MatchFilter {
    /// Game id or canonical game string.
    pub game: Option<String>,
    /// Name of an agent with a seat.
    pub agent: Option<String>,
    /// Run, or label of a ladder season.
    pub run: Option<String>,
    /// True for rated matches, false for unrated matches.
    pub rated: Option<bool>,
    /// True for matches whose complete record is public; false for all matches.
    pub released: bool,
    /// True for running matches, false for ended matches. Ignored in queries for records, whose matches have all ended.
    pub live: Option<bool>,
    /// In queries for lists: upper bound (exclusive) for [`MatchLine::seq`].
    pub before: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordRow {
    /// Number in order of release, from 1; the cursor of [`Store::records`](super::Store::records).
    pub seq: u64,
    pub id: String,
    /// Record as one JSON object.
    pub record: String,
}

/// Session, stored so that its client can resume after a crash of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    pub id: String,
    /// SHA-256 of the resume key in hex.
    pub key_hash: String,
    /// SHA-256 of the previous resume key in hex; `None` once the client is known to have the new key.
    pub old_key: Option<String>,
    pub agent: String,
    /// Other data of the agent as JSON.
    pub body: String,
    /// Time after which the session may be deleted.
    pub expires_ms: i64,
}

/// Join of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinRow {
    pub id: String,
    /// Session that holds the join.
    pub session: String,
    pub body: String,
}

/// Run that clients play.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    pub name: String,
    /// Suite of the run; empty for a tournament.
    pub suite: String,
    pub season: Option<String>,
    /// True while the season hides the data of the run.
    pub hidden: bool,
    /// End of the run, or of its season if that ends later; `None` for an open run.
    pub ended_ms: Option<i64>,
    /// Enrolment as JSON; empty if the run is removed.
    pub body: String,
}

/// Season that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeasonRow {
    /// Kind and name of the contest, such as `ladder:chess`.
    pub contest: String,
    pub name: String,
    /// Time since which the season is final; `None` for a season in progress.
    pub frozen_ms: Option<i64>,
    /// Settings and counts as JSON.
    pub body: String,
}

/// Agent in a season of a ladder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingRow {
    pub agent: String,
    /// Owner of the name; empty for a guest. `None` if no join has used the name.
    pub owner: Option<String>,
    /// Rating as JSON; `None` before the first counted match.
    pub body: Option<String>,
}

/// Token. Its secret text is displayed once and not stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRow {
    /// SHA-256 of the token.
    pub hash: TokenHash,
    /// Owner of the token.
    pub owner: String,
    pub scopes: Scopes,
    /// Allowed agent names: exact names, or a prefix and `*`.
    pub names: Vec<String>,
    pub created_ms: i64,
    pub expires_ms: Option<i64>,
    pub revoked_ms: Option<i64>,
}

/// Write operation. The writes of one call are stored together or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// Start of a match with a new id.
    MatchStart(MatchRow),
    /// Match that is stored only when it ends, without a log.
    MatchPlayed {
        row: MatchRow,
        /// Result of the match.
        end: EndRow,
        /// True if this write also releases the match: its seed, salt and complete record are then public.
        released: bool,
    },
    /// Row `n` of a match's log: accepted and refused acts in order of arrival.
    ///
    /// If a row is lost, later rows of the same match are refused with
    /// [`StoreError::Broken`](super::StoreError::Broken) until the match ends. A log therefore never has gaps.
    Act {
        id: String,
        /// Index in the log.
        n: u64,
        /// Logged act as JSON.
        body: String,
    },
    /// End of a match: the remaining rows of its log, and the result.
    MatchEnd {
        /// Id of a running match.
        id: String,
        /// Last rows of the match's log, which are not stored yet.
        acts: Vec<ActRow>,
        /// Result of the match.
        end: EndRow,
    },
    /// Restart of a running match.
    Restarted {
        id: String,
        /// Number of restarts so far.
        restarts: u32,
    },
    /// Release of the seeds, salts and records of these matches. Submit the release with the [`Write::MatchEnd`] of the
    /// last match that shares the seed. Unknown and running matches are unchanged.
    Released { ids: Vec<String> },
    /// Deletion of the log rows of an ended match from the index `from` on; the record stays. A running match is
    /// unchanged.
    Forget {
        id: String,
        /// Index in the log, from 0.
        from: u64,
    },
    /// Deletion of an unrated match without a log, including its record. No effect if the match is running or
    /// unreleased, is the newest match, or belongs to an open join.
    MatchGone { id: String },
    /// New or changed session.
    Session(SessionRow),
    /// End of a session and its joins.
    SessionGone { id: String },
    /// New or changed join.
    Join(JoinRow),
    /// End of a join.
    JoinGone { id: String },
    /// Transfer of all joins of a session and of the listed seats to a new session.
    Reclaimed {
        /// Id of the previous session.
        from: String,
        /// Id of the new session.
        to: String,
        /// Pairs of match id and seat index.
        seats: Vec<(String, u32)>,
    },
    /// Transfer of the listed seats to a new session.
    SeatsMoved {
        /// Id of the new session.
        to: String,
        /// Pairs of match id and seat index.
        seats: Vec<(String, u32)>,
    },
    /// New or changed run.
    Run(RunRow),
    /// Removal of a finished run. Its name stays.
    RunGone { name: String },
    /// New or changed season.
    Season(SeasonRow),
    /// New owner or rating of an agent in a season. A first owner is final, and `None` changes nothing.
    Standing { contest: String, season: String, row: StandingRow },
    /// Deletion of all ratings of a season. The owners of names stay.
    StandingsReset { contest: String, season: String },
    /// New or changed token.
    Token(TokenRow),
    /// Revocation of a token; no effect on an unknown token.
    TokenRevoked {
        /// SHA-256 of the token.
        hash: TokenHash,
        revoked_ms: i64,
    },
    /// Suspension of an owner; no effect on a suspended owner.
    Suspended { owner: String, since_ms: i64 },
    /// End of an owner's suspension.
    Resumed { owner: String },
    /// Request of an operator to end a match.
    EndRequested { id: String },
    /// Removal of a request to end a match.
    EndProcessed { id: String },
    /// New or changed value under `key`.
    Meta { key: String, value: String },
    /// ColumnValue under `key`, stored only if the key has no value yet.
    MetaOnce { key: String, value: String },
    /// Minimum value of a counter. A counter never decreases.
    Counter {
        key: String,
        /// Minimum value of the counter.
        value: u64,
    },
}
