//! Verification, schedules, ratings and metrics, computed from episode records alone.
//!
//! A record counts only if a replay of its events reproduces its result. Ratings take the verified results:
//!
//! ```
//! use std::{fs::File, io::BufReader};
//!
//! use ludex_referee::rating::anchored::{Anchored, anchored};
//! use ludex_referee::{Verifier, read::raw_lines};
//!
//! let file = "examples/tic_tac_toe.jsonl";
//! let lines = raw_lines(file, BufReader::new(File::open(file)?));
//! let (mut results, mut refused) = (Vec::new(), Vec::new());
//! Verifier::new(ludex_games::builtin()).verify_stream(lines, |_game, _params| true, |judged| match judged {
//!     Ok(result) => results.push(result),
//!     Err(why) => refused.push(why),
//! });
//! assert_eq!((results.len(), refused.len()), (10, 0));
//!
//! // Player 0 is `random`, with the constant rating 0.
//! let player = |name: &str| usize::from(name != "random");
//! let games: Vec<_> =
//!     results.iter().map(|game| game.played(game.seats.iter().map(|seat| player(&seat.name)).collect(), None)).collect();
//! let ratings = anchored(2, &games, &Anchored { fixed: vec![(0, 0.0)], ..Anchored::default() });
//! let best = ratings.players[1].unwrap();
//! assert!(best.rating > 0.0);
//! println!("{}, 95 % {:?}", best.rating, best.interval);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Rules for this crate:
//!
//! - It depends on records and game rules only: no sockets, no store, no clock, no agents. Times come from the records.
//! - Equal input gives equal output: every random draw (resamples, seatings) comes from an explicit seed.
//! - Only a [`Verifier`] creates a [`VerifiedRecord`] or a [`GameResult`], so that only verified records are rated.
//! - A bad line or record is reported with its location, and reading continues.
//! - Plans ([`schedule`], [`suite`], [`tournament`]) compute the due matches from the completed matches.
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "names of rows and fields say it; the crate is used inside the project alone")]

pub mod agreement;
pub mod answer_counts;
pub mod digest;
pub mod distribution;
pub mod metric;
pub mod moments;
pub mod outcome;
pub mod rating;
pub mod read;
pub mod relation;
pub mod result;
pub mod rows;
pub mod schedule;
pub mod suite;
pub mod tournament;
pub mod verify;

pub use result::GameResult;
pub use verify::{VerifiedRecord, Verifier};

#[cfg(any(test, feature = "testing"))]
pub mod testing;
