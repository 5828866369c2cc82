//! Standing ladders: agents come and go, meet those that are near to them, and have a rating that changes with every match.
//!
//! The [`Table`] is a function of the verified results in their order and of the times that they tell, and [`meetings`] decides
//! from what it is told who plays now. Neither reads a clock or a file, so a table can be made again from its records.

mod pairing;
mod table;

pub use pairing::{Meeting, Pacing, Partner, WaitingAgent, meetings};
pub use table::{LadderSettings, RankStatus, StandingEntry, StandingRow, StandingTable};

#[cfg(test)]
mod simulation;
