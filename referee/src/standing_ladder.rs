//! Standing ladders: agents join and leave at any time, meet opponents of similar rating, and have a rating that
//! changes with every match.
//!
//! The [`Table`] is a function of the verified results in their order and of their times, and [`meetings`] selects the
//! next matches from its arguments alone. Neither reads a clock or a file, so a table can be rebuilt from its records.

mod pairing;
mod table;

pub use pairing::{Meeting, Pacing, Partner, WaitingAgent, meetings};
pub use table::{LadderSettings, RankStatus, StandingEntry, StandingRow, StandingTable};

#[cfg(test)]
mod simulation;
