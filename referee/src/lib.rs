//! The verdicts: verification, schedules, ratings, metrics and reports, from episode records alone.
//!
//! ```no_run
//! use ludex_referee::{Report, read::read_file, report::About, scale::Options};
//!
//! let lines = read_file("episodes.jsonl".as_ref())?;
//! let report = Report::verify(lines, Options::default(), About::default());
//! std::fs::write("report.html", report.to_html())?;
//! # Ok::<(), std::io::Error>(())
//! ```
#![forbid(unsafe_code)]

mod canonical;
pub mod compare;
pub mod digest;
pub mod ladder;
mod line;
pub mod metric;
pub mod moments;
pub mod outcome;
pub mod rating;
pub mod read;
pub mod report;
pub mod result;
pub mod scale;
pub mod schedule;
pub mod suite;
pub mod tournament;
pub mod verify;

pub use report::Report;
pub use result::GameResult;
pub use scale::rate;
pub use verify::{Verified, Verifier};

#[cfg(test)]
mod testing;
