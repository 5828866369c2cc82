//! Complete records, one JSON object per line.

use ludex_protocol::record::RecordParts;
use schemars::JsonSchema;
use serde_json::Value;

/// Columns of exported records, for the data card only. [`parts_line`] writes the records.
#[derive(JsonSchema)]
pub struct RecordLine {
    /// version of the record format
    pub ludex: Option<u64>,
    /// name of the match
    pub episode: Option<String>,
    /// id of the game
    pub game: Option<String>,
    /// object: parameters of the game
    pub params: Option<String>,
    /// version of the rules
    pub rules: Option<u64>,
    /// hash of the game's spec
    pub hash: Option<String>,
    /// program that ran the match
    pub server: Option<String>,
    /// list: name, kind and spec of the agent on each seat
    pub seats: Option<String>,
    /// true if the match was set up to count for ratings
    pub rated: Option<bool>,
    /// object: the clock, milliseconds
    pub clock: Option<String>,
    /// object: policy for illegal moves
    pub illegal: Option<String>,
    /// commitment to the seed, hex SHA-256
    pub seed_commit: Option<String>,
    /// start, UTC, RFC 3339
    pub started: Option<String>,
    /// list: chance outcomes and moves in order, with time in milliseconds and refused attempts
    pub events: Option<String>,
    /// list: return of each seat, in the game's points
    pub returns: Option<String>,
    /// list: win, loss, draw or none, by seat
    pub outcome: Option<String>,
    /// reason for the end
    pub reason: Option<String>,
    /// seat whose forfeit ended the match
    pub at_fault: Option<u64>,
    /// end, UTC, RFC 3339
    pub ended: Option<String>,
    /// name of the run
    pub run: Option<String>,
    /// id shared by all matches on one seed
    pub pair: Option<String>,
    /// seed of the match, decimal
    pub seed: Option<String>,
    /// salt of the commitment, hex
    pub salt: Option<String>,
    /// digest of the record, hex
    pub digest: Option<String>,
}

/// Formats a record as one line, including unknown fields.
pub fn parts_line(parts: &RecordParts) -> String {
    let mut all = parts.header.clone();
    all.insert("events".to_owned(), parts.events.clone().into());
    all.extend(parts.footer.clone());
    Value::Object(all).to_string()
}
