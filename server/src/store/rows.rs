//! What is kept: the rows of the store and the writes that make them.
//!
//! Bodies (`header`, `secret`, `body`, `footer`, `record`) are JSON text that the store never looks into. Times are
//! milliseconds since the Unix epoch.

use crate::token::{Scopes, TokenHash};

/// A match as it stands when it begins; durable before anybody hears of the match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchRow {
    /// The match's id, unique in the store.
    pub id: String,
    /// The game's id, such as `connect_four`.
    pub game: String,
    /// The canonical game string, such as `connect_four(rows=6,columns=7)`.
    pub string: String,
    /// Whether the match counts.
    pub rated: bool,
    /// The run that the match belongs to, if any.
    pub run: Option<String>,
    /// Who plays, by seat.
    pub seats: Vec<SeatRow>,
    /// The record's public header.
    pub header: String,
    /// What nobody may see before release: seed, salt, and what a restart needs beside the seats.
    pub secret: String,
    /// When it began.
    pub started_ms: i64,
}

/// A seat of a match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeatRow {
    /// The agent's name.
    pub agent: String,
    /// The session that holds it; absent for an agent of the server's.
    pub session: Option<String>,
    /// The join that it came from.
    pub join: Option<String>,
}

impl From<&str> for SeatRow {
    fn from(agent: &str) -> Self {
        SeatRow { agent: agent.to_owned(), ..SeatRow::default() }
    }
}

/// One row of a match's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActRow {
    /// Its place in the log, from 0, without gaps.
    pub n: u64,
    /// What was done, as JSON.
    pub body: String,
}

/// How a match ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndRow {
    /// The reason, a word of the protocol.
    pub reason: String,
    /// When it ended.
    pub ended_ms: i64,
    /// The public part of the result.
    pub footer: String,
    /// The whole episode record, with everything that only the release shows.
    pub record: String,
}

/// A match as the store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredMatch {
    /// How it began.
    pub row: MatchRow,
    /// How often a server took it up again.
    pub restarts: u32,
    /// Its log in order; empty once it was forgotten ([`Write::Forget`]).
    pub acts: Vec<ActRow>,
    /// Its end, when it is over.
    pub end: Option<EndRow>,
    /// Whether seed, salt and the full record may be shown.
    pub released: bool,
}

/// One line of a list of matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchLine {
    /// Rises with every match; the cursor of [`MatchFilter::before`].
    pub seq: u64,
    /// The match's id.
    pub id: String,
    /// The game's id.
    pub game: String,
    /// The canonical game string.
    pub string: String,
    /// Whether it counts.
    pub rated: bool,
    /// The run that it belongs to.
    pub run: Option<String>,
    /// The record's public header.
    pub header: String,
    /// When it began.
    pub started_ms: i64,
    /// When and why it ended.
    pub ended: Option<(i64, String)>,
    /// The public part of the result, when it ended.
    pub footer: Option<String>,
    /// Whether the full record may be shown.
    pub released: bool,
}

/// Which matches or records are meant; everything absent means any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MatchFilter {
    /// A game's id or its canonical string.
    pub game: Option<String>,
    /// An agent that had a seat.
    pub agent: Option<String>,
    /// A run.
    pub run: Option<String>,
    /// Rated or unrated only.
    pub rated: Option<bool>,
    /// Only those whose full record may be shown.
    pub released: bool,
    /// Running (`true`) or ended (`false`) only. Records are of ended matches whatever this says.
    pub live: Option<bool>,
    /// For lists: only matches with a smaller [`MatchLine::seq`].
    pub before: Option<u64>,
}

/// One released episode record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordRow {
    /// Its place in the order of release, from 1, rising: the cursor of [`Store::records`](super::Store::records).
    pub seq: u64,
    /// The match's id.
    pub id: String,
    /// The record as one JSON object.
    pub record: String,
}

/// A session, so that a client finds it again after a crash of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// The session's id.
    pub id: String,
    /// SHA-256 of the resume key, in hex.
    pub key_hash: String,
    /// The hash of the key before, while the client may not know the new one.
    pub old_key: Option<String>,
    /// The agent's name.
    pub agent: String,
    /// What else is known of the agent, as JSON.
    pub body: String,
    /// When it may be forgotten.
    pub expires_ms: i64,
}

/// A join of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinRow {
    /// The join's id.
    pub id: String,
    /// The session that holds it.
    pub session: String,
    /// What was asked for, as JSON.
    pub body: String,
}

/// A ticket: the right of one entrant to one join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketRow {
    /// The ticket, as handed out.
    pub ticket: String,
    /// The only agent name that may show it.
    pub agent: String,
    /// The run that gave it out, if any.
    pub run: Option<String>,
    /// What the join is to be, as JSON.
    pub body: String,
    /// The join that it became when it was first shown.
    pub join: Option<String>,
}

/// A token. The token itself is shown once and not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRow {
    /// Its SHA-256.
    pub hash: TokenHash,
    /// Whom it was given to.
    pub owner: String,
    /// What it allows.
    pub scopes: Scopes,
    /// The agent names that may be used with it: exact, or a prefix and `*`.
    pub names: Vec<String>,
    /// When it was made.
    pub created_ms: i64,
    /// When it ends by itself.
    pub expires_ms: Option<i64>,
    /// When it was revoked.
    pub revoked_ms: Option<i64>,
}

/// One thing to keep. A call's writes are kept together or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// A match begins; its id must be new.
    MatchStart(MatchRow),
    /// The `n`-th row of a match's log, accepted and refused acts in order of arrival.
    ///
    /// When one cannot be kept, later ones of the same match are refused with
    /// [`StoreError::Broken`](super::StoreError::Broken) until the match ends, so that a log never has holes.
    Act {
        /// The match.
        id: String,
        /// Its place in the log.
        n: u64,
        /// What was done.
        body: String,
    },
    /// A match ends: the rest of its log and the result in one.
    MatchEnd {
        /// The match, which must be running.
        id: String,
        /// The last rows of its log, those not yet written.
        acts: Vec<ActRow>,
        /// The result.
        end: EndRow,
    },
    /// A restarted server took a match up again.
    Restarted {
        /// The match.
        id: String,
        /// How often that has happened.
        restarts: u32,
    },
    /// Seed, salt and record of these matches may now be shown. Put it beside the [`Write::MatchEnd`] of the last
    /// match that shares the seed. Matches that are unknown or still running stay as they are.
    Released {
        /// The matches.
        ids: Vec<String>,
    },
    /// The logs of these ended matches are needed no more (their records stay). Running matches stay as they are.
    Forget {
        /// The matches.
        ids: Vec<String>,
    },
    /// A session, new or changed.
    Session(SessionRow),
    /// A session is over, and its joins with it.
    SessionGone {
        /// Its id.
        id: String,
    },
    /// A join, new or changed.
    Join(JoinRow),
    /// A join is over.
    JoinGone {
        /// Its id.
        id: String,
    },
    /// All joins of a session, and its seats in these matches, belong to another session now.
    Reclaimed {
        /// The session that held them.
        from: String,
        /// The one that holds them now.
        to: String,
        /// Matches and seats.
        seats: Vec<(String, u32)>,
    },
    /// The seats of a session in these matches belong to another session now.
    SeatsMoved {
        /// The session that holds them now.
        to: String,
        /// Matches and seats.
        seats: Vec<(String, u32)>,
    },
    /// A ticket, new or changed.
    Ticket(TicketRow),
    /// A ticket was shown and became this join, unless it had become another one before: the first one stays.
    TicketShown {
        /// The ticket.
        ticket: String,
        /// The join.
        join: String,
    },
    /// All tickets of a run are void.
    TicketsGone {
        /// The run.
        run: String,
    },
    /// A token, new or changed.
    Token(TokenRow),
    /// A token is revoked. Unknown ones are left alone.
    TokenRevoked {
        /// Its SHA-256.
        hash: TokenHash,
        /// When.
        revoked_ms: i64,
    },
    /// A value by name, new or changed.
    Meta {
        /// Its name.
        key: String,
        /// Its value.
        value: String,
    },
    /// A value by name, unless there is one already.
    MetaOnce {
        /// Its name.
        key: String,
        /// Its value.
        value: String,
    },
    /// A counter that stands at `value` or higher; it never goes back.
    Counter {
        /// Its name.
        key: String,
        /// The least that it stands at.
        value: u64,
    },
}
