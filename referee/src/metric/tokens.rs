//! Tokens of replies.

use super::{Args, Measurement, Metric, NOT_NEGATIVE, ParamDef, Takes, Value, mean, number};
use crate::moments::Moments;
use crate::rows::Rows;

/// Mean number of tokens per reply, move or match, from the notes of moves and of refused attempts.
///
/// Source: GTBench, section 9 of its metrics.
pub const TOKENS: Metric = Metric {
    id: "tokens",
    title: "Tokens",
    unit: "tokens",
    digits: 0,
    formula: "sum of tokens / replies (per = query), / moves with a reply (per = move) or / matches with a reply (per = match, +- 1.96 s / sqrt(matches)); of = all: input and output tokens",
    source: "GTBench",
    params: &[
        ParamDef::new("per", "match", Takes::Words(&["query", "move", "match"]), "unit of the mean"),
        ParamDef::new("of", "all", Takes::Words(&["all", "in", "out"]), "input tokens, output tokens or both"),
    ],
    of: tokens,
    ..Metric::DEFAULT
};

fn tokens(rows: &Rows, args: &Args) -> Option<Value> {
    let used: Vec<_> = rows
        .own_matches()
        .into_iter()
        .map(|(game, seats)| seats.into_iter().map(|seat| game.seats[seat].tokens).collect::<Vec<_>>())
        .filter(|seats| seats.iter().any(|seat| seat.answers > 0))
        .collect();
    let count = |of: &crate::result::TokenUse| match args.text("of") {
        "in" => of.input,
        "out" => of.out,
        _ => of.total(),
    };
    let per_match: Moments = used.iter().map(|seats| seats.iter().map(count).sum::<u64>() as f64).collect();
    let all = used.iter().flatten();
    let sum = all.clone().map(count).sum::<u64>() as f64;
    let of = |n: u64| (n > 0).then(|| Measurement::plain(sum / n as f64, n));
    number(match args.text("per") {
        "query" => of(all.map(|seat| seat.answers).sum()),
        "move" => of(all.map(|seat| seat.moves).sum()),
        _ => mean(&per_match, NOT_NEGATIVE),
    })
}
