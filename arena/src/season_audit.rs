//! Audit of the bundle of a season.

use std::collections::BTreeSet;
use std::path::Path;

use ludex_referee::read::{RejectedRecord, Source};
use ludex_report::runs::bundle::{Files, TABLE};
use serde::Serialize;
use serde_json::Value;

/// Relative difference below which two numbers of a table are equal. Machines differ in their last digits.
const TOLERANCE: f64 = 1e-6;

/// Result of the audit of a season's bundle.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SeasonAudit {
    /// Ladder or suite, and season.
    pub title: String,
    /// Number of records without faults.
    pub verified: usize,
    /// Faults of checksums, records and table.
    pub refused: Vec<RejectedRecord>,
    /// Results of the audit in words.
    pub notes: Vec<String>,
}

impl SeasonAudit {
    pub(crate) fn refuse(&mut self, place: &Path, file: &str, message: String) {
        let source = Source { file: place.join(file).display().to_string(), line: 0 };
        self.refused.push(RejectedRecord { source, episode: None, message });
    }

    /// Compares the table of the bundle with the table that was computed again.
    pub(crate) fn compare(&mut self, place: &Path, files: &Files, again: &Value) {
        let table: Option<Value> = files.get(TABLE).and_then(|bytes| serde_json::from_slice(bytes).ok());
        let Some(table) = table else { return self.refuse(place, TABLE, "expected a table in JSON".to_owned()) };
        match difference(&table, again, "") {
            None => self.notes.push(format!("the table was computed again from the records, and equals {TABLE}")),
            Some(what) => self.refuse(place, TABLE, format!("differs from the table of the records: {what}")),
        }
    }
}

/// Returns the first difference between two JSON values, with its path; `None` if they are equal up to [`TOLERANCE`].
fn difference(was: &Value, is: &Value, path: &str) -> Option<String> {
    let differs = || Some(format!("{path}: expected {is}, got {was}"));
    match (was, is) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64()?, b.as_f64()?);
            if (a - b).abs() <= TOLERANCE * (1.0 + a.abs().max(b.abs())) { None } else { differs() }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().find_map(|(k, (a, b))| difference(a, b, &format!("{path}/{k}")))
        }
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            keys.into_iter().find_map(|key| {
                let [a, b] = [a, b].map(|map| map.get(key).unwrap_or(&Value::Null));
                difference(a, b, &format!("{path}/{key}"))
            })
        }
        _ if was == is => None,
        _ => differs(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn first_difference_of_tables_has_its_path() {
        let table = json!([{"agent": "a", "rating": 1500.0}, {"agent": "b", "rating": 900.0}]);
        let mut other = table.clone();
        other[1]["rating"] = json!(900.000_1);
        assert_eq!(difference(&table, &other, ""), None, "the last digits may differ");
        other[1]["rating"] = json!(901.0);
        assert_eq!(difference(&table, &other, "").as_deref(), Some("/1/rating: expected 901.0, got 900.0"));
        other[1] = json!({"agent": "b"});
        assert_eq!(difference(&table, &other, "").as_deref(), Some("/1/rating: expected null, got 900.0"));
        assert!(difference(&table, &json!([]), "").is_some());
    }
}
