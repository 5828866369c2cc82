//! The verdicts: verification, schedules, ratings, metrics and reports, from episode records alone.
#![forbid(unsafe_code)]

pub mod digest;
pub mod outcome;
pub mod rating;
pub mod read;
pub mod schedule;
pub mod verify;

#[cfg(test)]
mod testing;
