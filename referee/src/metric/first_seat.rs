//! Win rate of the first seat.

use ludex_protocol::record::EndReason;

use super::{Args, Metric, Value, number, share_of};
use crate::rows::Rows;

/// Share of the agent's matches that the first seat wins under the rules of the game. A match ended by a fault is not a
/// win.
///
/// Source: LLMArena, table 2, in which each player plays against itself.
pub const FIRST_SEAT: Metric = Metric {
    id: "first_seat",
    title: "First seat wins",
    unit: "share of matches",
    formula: "matches won by the seat that moves first and ended by the rules / matches; Wilson interval",
    source: "LLMArena",
    of: first_seat,
    ..Metric::DEFAULT
};

fn first_seat(rows: &Rows, _: &Args) -> Option<Value> {
    let matches = rows.own_matches();
    let fights = matches.iter().filter(|(game, _)| rows.is_contest(game));
    let won =
        fights.clone().filter(|(game, _)| game.reason == EndReason::Finished && game.points(&[game.first]) == 1.0);
    number(share_of(won.count() as u64, fights.count() as u64))
}
