//! Positive sentiment score (PSS) of an agent.

use std::collections::BTreeMap;

use super::selection::value_of;
use super::{ANY, Args, Measurement, Metric, ParamDef, Takes, Value, mean};
use crate::moments::Moments;
use crate::result::EMOTION;
use crate::rows::Rows;

/// Mean emotion in the notes of an agent's moves: A (desperate) -2, B -1, C 0, D 1, E (excited) 2.
///
/// The mean is taken over all moves (`pooled`), or over the moves of each cycle and then over cycles (`cycles`). `ply`
/// gives a separate mean for each move number, counted from 1 among the agent's own moves in a match. `result` gives a
/// separate mean for won, drawn and lost matches.
///
/// Source: Qi Town, section 5 of its protocol.
pub const PSS: Metric = Metric {
    id: "pss",
    title: "PSS",
    unit: "-2 to 2",
    formula: "A -2, B -1, C 0, D 1, E 2; cycles: mean over the moves of a cycle, then over cycles; pooled: mean over all moves; ply: mean by the number of the agent's own move; result: mean by win, draw and loss",
    source: "Qi Town",
    params: &[ParamDef::new(
        "form",
        "cycles",
        Takes::Words(&["cycles", "pooled", "ply", "result"]),
        "averaging and grouping of the moves",
    )],
    marks: &[EMOTION],
    of: pss,
    planned: true,
    ..Metric::DEFAULT
};

fn pss(rows: &Rows, args: &Args) -> Option<Value> {
    let felt = |rows: &Rows| -> Moments {
        rows.observed(EMOTION).iter().filter_map(|seen| value_of(EMOTION, &seen.value)).collect()
    };
    match args.text("form") {
        "pooled" => mean(&felt(rows), [-2.0, 2.0]).map(Value::Number),
        "ply" => {
            let mut plies: BTreeMap<u32, Moments> = BTreeMap::new();
            for seen in rows.observed(EMOTION) {
                if let Some(value) = value_of(EMOTION, &seen.value) {
                    plies.entry(seen.turn + 1).or_default().push(value);
                }
            }
            let series: Vec<_> =
                plies.iter().filter_map(|(ply, m)| Some((f64::from(*ply), mean(m, [-2.0, 2.0])?))).collect();
            (!series.is_empty()).then_some(Value::Series(series))
        }
        "result" => {
            let points: Vec<f64> = rows.own_matches().iter().map(|(game, seats)| game.points(seats)).collect();
            let of = |result: f64| {
                let own = rows.observed(EMOTION).into_iter().filter(|seen| points[seen.game] == result);
                mean(&own.filter_map(|seen| value_of(EMOTION, &seen.value)).collect(), [-2.0, 2.0])
            };
            let all = [("win", of(1.0)), ("draw", of(0.5)), ("loss", of(0.0))];
            let shares: Vec<_> = all.into_iter().filter_map(|(name, m)| Some((name.to_owned(), m?))).collect();
            (!shares.is_empty()).then_some(Value::Shares(shares))
        }
        _ => {
            let cycles: Vec<Moments> = rows.cycles().into_iter().map(|cycle| felt(&rows.of_cycle(cycle))).collect();
            let n = cycles.iter().map(Moments::count).sum();
            let value = cycles.iter().filter_map(Moments::mean).collect::<Moments>();
            Some(Value::Number(Measurement { n, ..mean(&value, ANY)? }))
        }
    }
}
