//! A run as tables: its episodes, its decisions, its calls. A table is columns with types and units, and rows of plain JSON
//! values, so that every format writes the same.

pub mod card;
pub mod parquet;
pub mod rows;

use serde_json::{Map, Value};

/// What the values of a column are. Any may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text; documents are JSON text.
    Text,
    /// Whole numbers of 64 bits with sign.
    Int,
    /// Doubles.
    Float,
    /// True or false.
    Flag,
}

impl Kind {
    /// The kind in words, as the data card has it.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Int => "integer",
            Kind::Float => "number",
            Kind::Flag => "true or false",
        }
    }
}

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What its values are.
    pub kind: Kind,
    /// What it means, and in which unit.
    pub about: &'static str,
}

/// Columns and rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What the rows are: `episodes`, `decisions`, `calls`.
    pub what: &'static str,
    /// What one row is, in a sentence.
    pub about: &'static str,
    /// The columns.
    pub columns: &'static [Column],
    /// The rows, a value for each column; `null` where there is none.
    pub rows: Vec<Vec<Value>>,
}

impl Table {
    /// A row as an object with the columns' names.
    pub fn object(&self, row: &[Value]) -> Map<String, Value> {
        self.columns.iter().zip(row).map(|(column, value)| (column.name.to_owned(), value.clone())).collect()
    }

    /// The rows as JSON Lines.
    pub fn jsonl(&self) -> String {
        self.rows.iter().map(|row| Value::Object(self.object(row)).to_string() + "\n").collect()
    }
}
