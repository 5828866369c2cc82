//! The verdicts: verification, schedules, ratings, metrics and reports, made from episode records alone.
//!
//! A record counts only if playing it again gives the same result. What is verified can be rated:
//!
//! ```
//! use std::{fs::File, io::BufReader};
//!
//! use ludex_referee::{Verifier, rate, read::raw_lines, scale::RatingOptions};
//!
//! let file = "examples/tic_tac_toe.jsonl";
//! let lines = raw_lines(file, BufReader::new(File::open(file)?));
//! let (mut results, mut refused) = (Vec::new(), Vec::new());
//! Verifier::new().verify_stream(lines, |_game, _params| true, |judged| match judged {
//!     Ok(result) => results.push(result),
//!     Err(why) => refused.push(why),
//! });
//! assert_eq!((results.len(), refused.len()), (10, 0));
//!
//! // These matches were played without a server, so they are unrated unless we ask for them.
//! let scales = rate(&results, &RatingOptions { unrated: true, ..RatingOptions::default() });
//! let best = &scales[0].agents[0];
//! assert_eq!(best.name, "alphabeta depth=9");
//! println!("{}: {:?}, 95 % {:?} to {:?}", scales[0].name, best.rating, best.low, best.high);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! What holds for everything here:
//!
//! - It knows records and rules, and nothing else: no sockets, no store, no clock, no agents. Times are what the
//!   records say.
//! - The same input gives the same output: whatever is drawn (resamples, seatings) comes from a seed that is named.
//! - Only a [`Verifier`] makes a [`Verified`] record or a [`GameResult`], so that only true records are rated.
//! - A bad line or record is named with its place, and the rest is still read.
//! - Plans ([`schedule`], [`suite`], [`tournament`]) are functions from what is done to what is due. They play nothing.
#![forbid(unsafe_code)]

pub mod anchor_ladder;
pub mod answer_counts;
pub mod compare;
pub mod digest;
pub mod distribution;
pub mod import;
pub mod labels;
pub mod metric;
pub mod moments;
pub mod outcome;
pub mod power;
pub mod rating;
pub mod read;
pub mod relation;
pub mod report;
pub mod result;
pub mod rows;
pub mod scale;
pub mod schedule;
pub mod standing_ladder;
pub mod suite;
pub mod tournament;
pub mod verify;

pub use report::Report;
pub use result::GameResult;
pub use scale::rate;
pub use verify::{VerifiedRecord, Verifier};

#[cfg(test)]
mod testing;
