//! Ratings for the read-only page, by the referee.

use ludex_protocol::record::Parts;
use serde_json::Value;

/// The rating table over records, as the report's JSON has it.
pub fn table(_records: &[Parts]) -> Value {
    Value::Null
}
