//! Reading of episode records from JSON Lines: a bad line is reported by file and line, and reading continues.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use ludex_protocol::record::RecordParts;
use serde::Serialize;

/// Location of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Source {
    pub file: String,
    /// Line number from 1; 0 for a record from a store.
    pub line: usize,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.file),
            line => write!(f, "{}:{line}", self.file),
        }
    }
}

/// Record with its source.
#[derive(Clone, Debug, PartialEq)]
pub struct SourcedRecord {
    pub source: Source,
    /// Parts of the record as plain JSON.
    pub parts: RecordParts,
}

/// Rejected record or line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RejectedRecord {
    /// Location of the record.
    #[serde(flatten)]
    pub source: Source,
    /// Episode name, if it was readable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub episode: Option<String>,
    /// Reason for the rejection.
    pub message: String,
}

impl fmt::Display for RejectedRecord {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: ", self.source)?;
        if let Some(episode) = &self.episode {
            write!(f, "{episode}: ")?;
        }
        f.write_str(&self.message)
    }
}

/// Records and rejected lines of a file or store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordLines {
    pub found: Vec<SourcedRecord>,
    /// Lines that could not be parsed as records.
    pub refused: Vec<RejectedRecord>,
}

impl RecordLines {
    /// Wraps records from a store, which has no line numbers. `name` is the name of the store in messages.
    pub fn of_store(name: &str, records: impl IntoIterator<Item = RecordParts>) -> Self {
        let source = Source { file: name.to_owned(), line: 0 };
        let found = records.into_iter().map(|parts| SourcedRecord { source: source.clone(), parts });
        RecordLines { found: found.collect(), refused: Vec::new() }
    }

    /// Appends the records and rejected lines of a second file or store.
    pub fn append(&mut self, mut other: RecordLines) {
        self.found.append(&mut other.found);
        self.refused.append(&mut other.refused);
    }
}

/// Reads the records of a file.
///
/// # Errors
/// Returns an error if the file cannot be opened. Once the file is open, lines that cannot be read or parsed are listed
/// as [`RejectedRecord`]s instead.
pub fn read_file(path: &Path) -> io::Result<RecordLines> {
    Ok(read_lines(&path.display().to_string(), BufReader::new(File::open(path)?)))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawLine {
    /// Location of the line.
    pub source: Source,
    /// Episode name of a line from a store, which holds the name outside the text; `None` for a line from a file.
    pub episode: Option<String>,
    /// Text of the line without surrounding white space.
    pub text: String,
}

impl RawLine {
    fn parse(self) -> Result<SourcedRecord, RejectedRecord> {
        match RecordParts::parse(&self.text) {
            Ok(parts) => Ok(SourcedRecord { source: self.source, parts }),
            Err(e) => Err(RejectedRecord { source: self.source, episode: self.episode, message: e.to_string() }),
        }
    }
}

/// Reads and parses lines; `name` is the file name in messages. Empty lines are skipped.
pub fn read_lines(name: &str, reader: impl BufRead) -> RecordLines {
    let mut out = RecordLines::default();
    for line in raw_lines(name, reader) {
        match line.and_then(RawLine::parse) {
            Ok(found) => out.found.push(found),
            Err(refused) => out.refused.push(refused),
        }
    }
    out
}

/// Reads lines one by one without parsing them; `name` is the file name in messages. Empty lines are skipped. A line
/// that is not UTF-8 is rejected. Reading stops after an I/O error.
pub fn raw_lines<R: BufRead>(
    name: &str,
    mut reader: R,
) -> impl Iterator<Item = Result<RawLine, RejectedRecord>> + use<R> {
    let mut source = Source { file: name.to_owned(), line: 0 };
    let mut over = false;
    std::iter::from_fn(move || {
        while !over {
            source.line += 1;
            let refuse = |message: String| Some(Err(RejectedRecord { source: source.clone(), episode: None, message }));
            let mut bytes = Vec::new();
            match reader.read_until(b'\n', &mut bytes) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(e) => {
                    over = true;
                    return refuse(format!("read failed; the remaining lines are skipped: {e}"));
                }
            }
            let mut text = match String::from_utf8(bytes) {
                Ok(text) => text,
                Err(e) => return refuse(format!("expected UTF-8; invalid at byte {}", e.utf8_error().valid_up_to())),
            };
            text.truncate(text.trim_end().len());
            text.drain(..text.len() - text.trim_start_matches('\u{feff}').trim_start().len());
            if !text.is_empty() {
                return Some(Ok(RawLine { source: source.clone(), episode: None, text }));
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_lines_are_reported_and_reading_continues() {
        let good = r#"{"ludex":1,"episode":"a","events":[]}"#;
        let mut text = format!("\u{feff}{good}\n\n{{\"ludex\":1,\n").into_bytes();
        text.extend(b"\xff\xfe\n[]\n");
        text.extend(format!("{good}\r\n{}", &good[..20]).as_bytes());
        let lines = read_lines("x.jsonl", &text[..]);
        assert_eq!(lines.found.iter().map(|f| f.source.line).collect::<Vec<_>>(), [1, 6]);
        let messages: Vec<String> = lines.refused.iter().map(RejectedRecord::to_string).collect();
        assert_eq!(lines.refused.iter().map(|r| r.source.line).collect::<Vec<_>>(), [3, 4, 5, 7], "{messages:?}");
        assert!(messages[1].starts_with("x.jsonl:4: expected UTF-8"), "{messages:?}");
    }

    #[test]
    fn missing_file_is_an_error() {
        assert!(read_file(Path::new("/there/is/no/such/file")).is_err());
    }
}
