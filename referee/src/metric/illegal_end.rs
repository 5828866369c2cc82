//! Share of matches that end by an illegal move.

use ludex_protocol::record::EndReason;

use super::{Args, Metric, ParamDef, Takes, Value, number, share_of};
use crate::rows::Rows;

/// Share of matches ended by an illegal move of the agent, or with `by = any` of any player. Matches that were played
/// again are included too.
///
/// Source: LLMArena, table 2 (its error rate).
pub const ILLEGAL_END: Metric = Metric {
    id: "illegal_end",
    title: "Ended by an illegal move",
    unit: "share of matches",
    formula: "matches ended by an illegal move / matches; by = own: only illegal moves of the agent; Wilson interval",
    source: "LLMArena",
    params: &[ParamDef::new("by", "own", Takes::Words(&["own", "any"]), "moves of the agent, or of any seat")],
    of: illegal_end,
    ..Metric::DEFAULT
};

fn illegal_end(rows: &Rows, args: &Args) -> Option<Value> {
    let all = rows.own_everything();
    // Matches of an imported table are excluded: they have neither moves nor a reason for their end.
    let known = all.iter().filter(|(game, _)| game.moves.is_some());
    let ended = known.clone().filter(|(game, seats)| {
        let own = game.at_fault.is_none_or(|seat| game.players[seat] == game.players[seats[0]]);
        game.reason == EndReason::Illegal && (own || args.is("by", "any"))
    });
    number(share_of(ended.count() as u64, known.count() as u64))
}
