//! Records as they are: one JSON object a line.

use ludex_protocol::record::RecordParts;
use schemars::JsonSchema;
use serde_json::Value;

/// The columns of exported records. Nothing makes such rows: records are exported by [`parts_line`].
#[derive(JsonSchema)]
pub struct RecordLine {
    /// version of the record format
    pub ludex: Option<u64>,
    /// name of the match
    pub episode: Option<String>,
    /// id of the game
    pub game: Option<String>,
    /// object: its parameters
    pub params: Option<String>,
    /// version of the rules
    pub rules: Option<u64>,
    /// hash of the game's spec
    pub hash: Option<String>,
    /// program that played it
    pub server: Option<String>,
    /// list: name, kind and spec of the agent on each seat
    pub seats: Option<String>,
    /// whether it was to count
    pub rated: Option<bool>,
    /// object: the clock, milliseconds
    pub clock: Option<String>,
    /// object: how illegal moves were treated
    pub illegal: Option<String>,
    /// commitment to the seed, hex SHA-256
    pub seed_commit: Option<String>,
    /// when it started, UTC, RFC 3339
    pub started: Option<String>,
    /// list: chance outcomes and moves in order, with time in milliseconds and refused attempts
    pub events: Option<String>,
    /// list: return of each seat, in the game's points
    pub returns: Option<String>,
    /// list: win, loss, draw or none, by seat
    pub outcome: Option<String>,
    /// why it ended
    pub reason: Option<String>,
    /// seat whose forfeit ended it
    pub at_fault: Option<u64>,
    /// when it ended, UTC, RFC 3339
    pub ended: Option<String>,
    /// name of the run
    pub run: Option<String>,
    /// matches of one seed share it
    pub pair: Option<String>,
    /// the seed, decimal
    pub seed: Option<String>,
    /// salt of the commitment, hex
    pub salt: Option<String>,
    /// digest of the record, hex
    pub digest: Option<String>,
}

/// A record as one line, nothing of it lost.
pub fn parts_line(parts: &RecordParts) -> String {
    let mut all = parts.header.clone();
    all.insert("events".to_owned(), parts.events.clone().into());
    all.extend(parts.footer.clone());
    Value::Object(all).to_string()
}
