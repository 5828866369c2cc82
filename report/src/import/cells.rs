//! Cells of a table, and their conversion to values.

use serde_json::Value;

use super::{ImportError, ImportFormat};

/// Maximum number of matches per row.
pub(super) const MOST: u64 = 1_000_000;

pub(super) struct Cells {
    pub columns: Vec<String>,
    pub rows: Vec<Row>,
}

/// Row with its number in the file.
pub(super) struct Row {
    pub number: u64,
    cells: Vec<String>,
}

impl Cells {
    pub fn read(text: &str, format: ImportFormat) -> Result<Cells, ImportError> {
        let cells = match format {
            ImportFormat::Csv => csv(text),
            ImportFormat::Json => json(text),
        }?;
        let twice = cells.columns.iter().enumerate().find(|(k, column)| cells.columns[..*k].contains(column));
        match twice {
            Some((_, column)) => Err(ImportError::at(1, column, "expected a unique column name, got a duplicate")),
            None if cells.rows.is_empty() => Err(ImportError::whole("expected at least one row, got none")),
            None => Ok(cells),
        }
    }

    /// Returns the text of a cell; `None` if the table lacks the column or the cell is empty.
    pub fn get<'c>(&self, row: &'c Row, column: &str) -> Option<&'c str> {
        let at = self.columns.iter().position(|known| known == column)?;
        row.cells.get(at).map(String::as_str).filter(|cell| !cell.is_empty())
    }

    /// Returns the text of a cell, which must not be empty.
    pub fn text<'c>(&self, row: &'c Row, column: &str) -> Result<&'c str, ImportError> {
        self.get(row, column).ok_or_else(|| ImportError::at(row.number, column, "expected a value, got an empty cell"))
    }

    pub fn number(&self, row: &Row, column: &str) -> Result<f64, ImportError> {
        let text = self.text(row, column)?;
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| ImportError::at(row.number, column, format!("expected a number, got {text:?}")))
    }

    /// Parses a nonnegative integer.
    pub fn whole(&self, row: &Row, column: &str) -> Result<u64, ImportError> {
        let text = self.text(row, column)?;
        let wrong =
            || ImportError::at(row.number, column, format!("expected a whole number from 0 to {MOST}, got {text:?}"));
        text.parse::<u64>().ok().filter(|n| *n <= MOST).ok_or_else(wrong)
    }

    /// Parses a flag: 1 or 0, yes or no, true or false.
    pub fn flag(&self, row: &Row, column: &str) -> Result<bool, ImportError> {
        let text = self.text(row, column)?;
        match text.to_ascii_lowercase().as_str() {
            "1" | "yes" | "true" => Ok(true),
            "0" | "no" | "false" => Ok(false),
            _ => Err(ImportError::at(row.number, column, format!("expected 1 or 0, got {text:?}"))),
        }
    }
}

fn csv(text: &str) -> Result<Cells, ImportError> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).flexible(true).from_reader(text.as_bytes());
    let wrong = |e: csv::Error| {
        let row = e.position().map(csv::Position::line);
        ImportError { row, column: None, message: e.to_string() }
    };
    // A byte order mark is not part of the first name.
    let columns: Vec<String> =
        reader.headers().map_err(wrong)?.iter().map(|name| name.trim_start_matches('\u{feff}').to_owned()).collect();
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(wrong)?;
        let number = record.position().map_or(0, csv::Position::line);
        if record.len() != columns.len() {
            let message = format!("expected {} cells as in the header, got {}", columns.len(), record.len());
            return Err(ImportError { row: Some(number), column: None, message });
        }
        rows.push(Row { number, cells: record.iter().map(str::to_owned).collect() });
    }
    Ok(Cells { columns, rows })
}

fn json(text: &str) -> Result<Cells, ImportError> {
    let list: Vec<Value> =
        serde_json::from_str(text).map_err(|e| ImportError::whole(format!("expected a JSON list of objects: {e}")))?;
    let mut columns: Vec<String> = Vec::new();
    let mut objects = Vec::new();
    for (number, value) in (1..).zip(&list) {
        let Some(object) = value.as_object() else {
            return Err(ImportError {
                row: Some(number),
                column: None,
                message: format!("expected an object, got {value}"),
            });
        };
        for name in object.keys().filter(|name| !columns.contains(name)).collect::<Vec<_>>() {
            columns.push(name.clone());
        }
        objects.push((number, object));
    }
    let cell = |number: u64, name: &str, value: Option<&Value>| match value {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.trim().to_owned()),
        Some(value @ (Value::Number(_) | Value::Bool(_))) => Ok(value.to_string()),
        Some(other) => Err(ImportError::at(number, name, format!("expected text or a number, got {other}"))),
    };
    let row = |(number, object): (u64, &serde_json::Map<String, Value>)| {
        let cells: Result<Vec<String>, _> = columns.iter().map(|name| cell(number, name, object.get(name))).collect();
        Ok(Row { number, cells: cells? })
    };
    let rows = objects.into_iter().map(row).collect::<Result<Vec<Row>, ImportError>>()?;
    Ok(Cells { columns, rows })
}
