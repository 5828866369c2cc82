//! A run as tables: its episodes, its decisions, its calls. A row is a struct; its fields are the columns. The doc comment of
//! a field describes its column, and its type gives the kind of the column, so that every format holds the same.

pub mod calls;
pub mod card;
pub mod decisions;
pub mod episodes;
pub mod parquet;
pub mod record;

use ludex_protocol::record::{Record, RecordParts};
use ludex_referee::read::{RejectedRecord, SourcedRecord};
use ludex_report::runs::episode::episode_of;
use schemars::{JsonSchema, schema_for};
use serde::Serialize;
use serde_json::Value;

/// What the values of a column are. Any may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnKind {
    /// Text; documents are JSON text.
    Text,
    /// Whole numbers of 64 bits with sign.
    Integer,
    /// Doubles.
    Number,
    /// True or false.
    Flag,
}

impl ColumnKind {
    /// The kind in words, as the data card has it.
    pub const fn name(self) -> &'static str {
        match self {
            ColumnKind::Text => "text",
            ColumnKind::Integer => "integer",
            ColumnKind::Number => "number",
            ColumnKind::Flag => "true or false",
        }
    }

    /// The kind of a property by its schema; absent values aside.
    fn of_schema(property: &Value) -> ColumnKind {
        let types = &property["type"];
        let is = |name: &str| types == name || types.as_array().is_some_and(|all| all.iter().any(|t| t == name));
        match () {
            () if is("integer") => ColumnKind::Integer,
            () if is("number") => ColumnKind::Number,
            () if is("boolean") => ColumnKind::Flag,
            () => ColumnKind::Text,
        }
    }
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnDoc {
    /// Its name.
    pub name: String,
    /// What its values are.
    pub kind: ColumnKind,
    /// What it means, and in which unit.
    pub about: String,
}

/// The columns of rows of this type, in the order of its fields.
pub fn columns<R: JsonSchema>() -> Vec<ColumnDoc> {
    let schema = schema_for!(R);
    let properties = schema.get("properties").and_then(Value::as_object);
    let column = |(name, property): (&String, &Value)| ColumnDoc {
        name: name.clone(),
        kind: ColumnKind::of_schema(property),
        about: property["description"].as_str().unwrap_or_default().replace('\n', " "),
    };
    properties.into_iter().flatten().map(column).collect()
}

/// A row of a table of a run.
pub trait TableRow: Serialize + JsonSchema {
    /// What the rows are: `episodes`, `decisions`, `calls`.
    const WHAT: &str;
    /// What one row is, in a sentence.
    const ABOUT: &str;
}

/// Rows as JSON Lines.
///
/// # Errors
/// A row that JSON cannot hold.
pub fn jsonl<R: TableRow>(rows: &[R]) -> serde_json::Result<String> {
    rows.iter().map(|row| Ok(serde_json::to_string(row)? + "\n")).collect()
}

/// The rows of all records. A record without rows is refused, with the reason that `of` gives.
fn gather<R>(
    records: &[&SourcedRecord],
    of: impl Fn(&Record, &RecordParts) -> Result<Vec<R>, String>,
) -> (Vec<R>, Vec<RejectedRecord>) {
    let (mut all, mut refused) = (Vec::new(), Vec::new());
    for found in records {
        let rows = found.parts.clone().record().map_err(|e| e.to_string()).and_then(|record| of(&record, &found.parts));
        match rows {
            Ok(rows) => all.extend(rows),
            Err(message) => {
                let episode = Some(episode_of(&found.parts).to_owned());
                refused.push(RejectedRecord { source: found.source.clone(), episode, message });
            }
        }
    }
    (all, refused)
}

/// A document as JSON text.
fn document(value: impl Serialize) -> Result<String, String> {
    serde_json::to_string(&value).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row.
    #[derive(Serialize, JsonSchema)]
    struct Row {
        /// a name that
        /// takes two lines
        name: String,
        /// a move
        r#move: Option<u32>,
        /// a price
        usd: Option<f64>,
        /// yes or no
        #[schemars(with = "Option<bool>")]
        counts: bool,
    }

    impl TableRow for Row {
        const WHAT: &str = "rows";
        const ABOUT: &str = "One row is a test.";
    }

    #[test]
    fn columns_are_the_fields_of_a_row() {
        let columns = columns::<Row>();
        let said: Vec<_> = columns.iter().map(|c| (c.name.as_str(), c.kind.name(), c.about.as_str())).collect();
        let expected = [
            ("name", "text", "a name that takes two lines"),
            ("move", "integer", "a move"),
            ("usd", "number", "a price"),
            ("counts", "true or false", "yes or no"),
        ];
        assert_eq!(said, expected);
        let row = Row { name: "a".into(), r#move: None, usd: Some(1.0), counts: true };
        assert_eq!(jsonl(&[row]).unwrap(), "{\"name\":\"a\",\"move\":null,\"usd\":1.0,\"counts\":true}\n");
    }
}
