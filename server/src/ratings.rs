//! Ratings for the read-only page, by the referee.

use ludex_referee::Verifier;
use ludex_referee::read::read_lines;
use ludex_referee::scale::{Options, rate};
use serde_json::{Value, json};

/// The scales over records, one per line; only what verifies counts.
pub(crate) fn table(lines: &str) -> Value {
    let found = read_lines("store", lines.as_bytes()).found;
    let (games, refused) = Verifier::new().verify_all(&found);
    json!({ "ratings": rate(&games, &Options::default()), "records": games.len(), "refused": refused.len() })
}
