//! Reading episode records from JSON Lines: a bad line is named by file and line, and the rest is still read.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use ludex_protocol::record::Parts;
use serde::Serialize;

/// Where a record came from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Source {
    /// File or store.
    pub file: String,
    /// Line, from 1; 0 where there are no lines (a store).
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

/// A record as it was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Where.
    pub source: Source,
    /// Its three parts as plain JSON.
    pub parts: Parts,
}

/// A record, or a line, that is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// Where it stands.
    #[serde(flatten)]
    pub source: Source,
    /// The episode's name, if that much could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub episode: Option<String>,
    /// Why.
    pub message: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: ", self.source)?;
        if let Some(episode) = &self.episode {
            write!(f, "{episode}: ")?;
        }
        f.write_str(&self.message)
    }
}

/// What a source held.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lines {
    /// The records, in order.
    pub found: Vec<Found>,
    /// The lines that are none.
    pub refused: Vec<Refused>,
}

impl Lines {
    /// Records of a store, which has no lines.
    pub fn of_store(name: &str, records: impl IntoIterator<Item = Parts>) -> Self {
        let source = Source { file: name.to_owned(), line: 0 };
        let found = records.into_iter().map(|parts| Found { source: source.clone(), parts });
        Lines { found: found.collect(), refused: Vec::new() }
    }

    /// What another source held, behind this one's.
    pub fn append(&mut self, mut other: Lines) {
        self.found.append(&mut other.found);
        self.refused.append(&mut other.refused);
    }
}

/// Reads a file.
///
/// # Errors
/// When it cannot be opened. What goes wrong later is a [`Refused`] line.
pub fn read_file(path: &Path) -> io::Result<Lines> {
    Ok(read_lines(&path.display().to_string(), BufReader::new(File::open(path)?)))
}

/// Reads lines; `name` stands for the file in messages. Empty lines are passed over.
pub fn read_lines(name: &str, mut reader: impl BufRead) -> Lines {
    let mut out = Lines::default();
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        let source = Source { file: name.to_owned(), line };
        let mut refuse = |message: String| {
            out.refused.push(Refused { source: source.clone(), episode: None, message });
        };
        match reader.read_until(b'\n', &mut bytes) {
            Ok(0) => break,
            Ok(_) => {}
            Err(e) => {
                refuse(format!("the file cannot be read further: {e}"));
                break;
            }
        }
        match std::str::from_utf8(&bytes) {
            Err(e) => refuse(format!("not UTF-8 (byte {})", e.valid_up_to())),
            Ok(text) => match text.trim_start_matches('\u{feff}').trim() {
                "" => {}
                text => match Parts::parse(text) {
                    Ok(parts) => out.found.push(Found { source, parts }),
                    Err(e) => refuse(e.to_string()),
                },
            },
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_lines_are_named_and_the_rest_is_read() {
        let good = r#"{"ludex":1,"episode":"a","events":[]}"#;
        let mut text = format!("\u{feff}{good}\n\n{{\"ludex\":1,\n").into_bytes();
        text.extend(b"\xff\xfe\n[]\n");
        text.extend(format!("{good}\r\n{}", &good[..20]).as_bytes());
        let lines = read_lines("x.jsonl", &text[..]);
        assert_eq!(lines.found.iter().map(|f| f.source.line).collect::<Vec<_>>(), [1, 6]);
        let messages: Vec<String> = lines.refused.iter().map(Refused::to_string).collect();
        assert_eq!(lines.refused.iter().map(|r| r.source.line).collect::<Vec<_>>(), [3, 4, 5, 7], "{messages:?}");
        assert!(messages[1].starts_with("x.jsonl:4: not UTF-8"), "{messages:?}");
    }

    #[test]
    fn a_file_that_is_not_there_is_an_error() {
        assert!(read_file(Path::new("/there/is/no/such/file")).is_err());
    }
}
