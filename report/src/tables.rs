//! Tables of a run: episodes, matches, moves, marks, decisions, calls, labels and ratings.
//!
//! A row is a struct, and its fields are the columns. The doc comment of a field describes the column, and the type of
//! the field gives the kind of the column, so that all formats agree.

pub mod calls;
pub mod card;
pub mod decisions;
pub mod episodes;
pub mod labels;
pub mod marks;
pub mod matches;
pub mod moves;
pub mod parquet;
pub mod ratings;
pub mod record;

use ludex_protocol::record::{Record, RecordParts};
use ludex_referee::read::{RejectedRecord, SourcedRecord};
use schemars::{JsonSchema, schema_for};
use serde::Serialize;
use serde_json::Value;

use crate::runs::episode::episode_of;

/// Kind of the values of a column. Any value may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnKind {
    /// Text, including JSON documents as text.
    Text,
    /// Numbers of type `i64`.
    Integer,
    /// Numbers of type `f64`.
    Number,
    Flag,
    /// JSON lists and objects.
    Nested,
}

impl ColumnKind {
    /// Returns the name of the kind in data cards.
    pub const fn name(self) -> &'static str {
        match self {
            ColumnKind::Text => "text",
            ColumnKind::Integer => "integer",
            ColumnKind::Number => "number",
            ColumnKind::Flag => "true or false",
            ColumnKind::Nested => "list or object",
        }
    }

    /// Returns the kind of a column from the schema of the row's field.
    fn of_schema(property: &Value) -> ColumnKind {
        let types = &property["type"];
        let is = |name: &str| types == name || types.as_array().is_some_and(|all| all.iter().any(|t| t == name));
        match () {
            () if is("integer") => ColumnKind::Integer,
            () if is("number") => ColumnKind::Number,
            () if is("boolean") => ColumnKind::Flag,
            () if is("array") || is("object") => ColumnKind::Nested,
            () => ColumnKind::Text,
        }
    }
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnDoc {
    pub name: String,
    pub kind: ColumnKind,
    /// Meaning of the values, with their unit.
    pub about: String,
}

/// Returns the columns of a row type, in the order of the type's fields.
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
    /// Name of the table, such as `episodes`.
    const WHAT: &str;
    /// Description of a row, as a sentence.
    const ABOUT: &str;
}

/// Formats rows as JSON Lines.
///
/// # Errors
/// Returns an error for a row that JSON cannot express.
pub fn jsonl<R: TableRow>(rows: &[R]) -> serde_json::Result<String> {
    rows.iter().map(|row| Ok(serde_json::to_string(row)? + "\n")).collect()
}

/// Formats rows as CSV (RFC 4180) with a header line. Absent values are empty.
///
/// # Errors
/// Returns an error for a row that CSV cannot express.
pub fn csv<R: TableRow>(rows: &[R]) -> csv::Result<Vec<u8>> {
    let mut out = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
    out.write_record(columns::<R>().iter().map(|column| &column.name))?;
    rows.iter().try_for_each(|row| out.serialize(row))?;
    out.into_inner().map_err(|e| csv::Error::from(e.into_error()))
}

/// Collects the rows of all records, and lists the records for which `of` returns an error.
fn collect_rows<R>(
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

/// Serializes a document as JSON text.
fn document(value: impl Serialize) -> Result<String, String> {
    serde_json::to_string(&value).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, JsonSchema)]
    struct Row {
        /// a name that
        /// takes two lines
        name: String,
        /// id of an action
        r#move: Option<u32>,
        /// price in US dollars
        usd: Option<f64>,
        /// true if the row counts
        #[schemars(with = "Option<bool>")]
        counts: bool,
    }

    impl TableRow for Row {
        const WHAT: &str = "rows";
        const ABOUT: &str = "One row is a test.";
    }

    #[test]
    fn columns_equal_the_fields_of_the_row_type() {
        let columns = columns::<Row>();
        let found: Vec<_> = columns.iter().map(|c| (c.name.as_str(), c.kind.name(), c.about.as_str())).collect();
        let expected = [
            ("name", "text", "a name that takes two lines"),
            ("move", "integer", "id of an action"),
            ("usd", "number", "price in US dollars"),
            ("counts", "true or false", "true if the row counts"),
        ];
        assert_eq!(found, expected);
        let row = Row { name: "a".into(), r#move: None, usd: Some(1.0), counts: true };
        assert_eq!(jsonl(&[row]).unwrap(), "{\"name\":\"a\",\"move\":null,\"usd\":1.0,\"counts\":true}\n");
    }
}
