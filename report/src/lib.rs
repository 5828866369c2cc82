//! Reports of verified results: tables, figures and pages; comparisons of agents and sample sizes; calibration of anchor
//! ladders; imported tables; runs read from their files, with their transcripts and exported tables.
//!
//! A report rates the records and renders them as HTML, CSV and JSON with the same numbers:
//!
//! ```
//! use std::{fs::File, io::BufReader};
//!
//! use ludex_referee::{Verifier, read::read_lines};
//! use ludex_report::{Report, ReportAbout, scale::RatingOptions};
//!
//! let file = "../referee/examples/tic_tac_toe.jsonl";
//! let lines = read_lines(file, BufReader::new(File::open(file)?));
//! let about = ReportAbout { title: "Tic-tac-toe".into(), ..ReportAbout::default() };
//! // These matches were played without a server, so they are unrated by default.
//! let options = RatingOptions { unrated: true, ..RatingOptions::default() };
//! let report = Report::verify(&Verifier::new(ludex_games::builtin()), lines, options, about);
//! assert_eq!((report.records, report.refused.len()), (10, 0));
//! assert!(report.to_csv().contains("alphabeta depth=9"));
//! for (name, text) in report.files() {
//!     println!("{name}: {} bytes", text.len());
//! }
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Rules for this crate:
//!
//! - It depends on verdicts of the referee, not on agents, a server or a store. Callers read and write the files,
//!   except the files of a run, which [`runs::archive`], [`runs::bundle`] and [`runs::signature`] read.
//! - Equal input gives equal bytes. The drawings in `tests/data/figures` are fixed.
//! - All formats of a report or a figure contain the same numbers, rounded in drawings and exact in CSV and JSON.
//! - Names come from untrusted sources: each text is escaped for its format, and invisible characters are replaced.
//! - Imported tables become the same rows as records, so that every metric works on both.
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "names of rows and fields say it; the crate is used inside the project alone")]

pub mod anchor_ladder;
pub mod compare;
pub mod display;
pub mod figure;
pub mod import;
pub mod labels;
mod page;
pub mod power;
pub mod report;
pub mod runs;
pub mod scale;
pub mod site;
pub mod tables;
mod text;
pub mod transcript;
mod yaml;

pub use report::{Report, ReportAbout};
pub use scale::rate;

/// Program name and version, as sent to clients and written to records.
pub const PROGRAM: &str = concat!("ludex/", env!("CARGO_PKG_VERSION"));
