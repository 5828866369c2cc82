//! Sequential Elo.

use super::{Args, Measurement, Metric, ParamDef, Takes, Value, count_games, rated};
use crate::rating::elo::{Elo, elo as elo_of};
use crate::rows::Rows;

/// Rating after all matches of the part, in the order of the plan.
pub const ELO: Metric = Metric {
    id: "elo",
    title: "Elo",
    unit: "Elo points",
    digits: 0,
    formula: "r += K (score - 1 / (1 + 10^((opponent - r) / 400))) after each match, in the order of the plan; with n seats, K / (n - 1) for each pair of seats",
    source: "A. Elo, The Rating of Chessplayers, 1978",
    params: &[
        ParamDef::new("k", "32", Takes::Number, "maximum rating change per match"),
        ParamDef::new("start", "1500", Takes::Number, "initial rating"),
    ],
    of: elo,
    ..Metric::DEFAULT
};

fn elo(rows: &Rows, args: &Args) -> Option<Value> {
    let settings = Elo { start: args.number("start"), k: args.number("k") };
    rated(rows, &format!("elo {args}"), |rows| after(rows, settings))
}

/// Returns each agent's rating after the matches of `rows`, and the number of its matches.
pub(super) fn after(rows: &Rows, settings: Elo) -> Vec<Option<Measurement>> {
    let (players, games) = (rows.agents().len(), rows.games());
    let ratings = elo_of(players, &games, settings);
    ratings
        .into_iter()
        .zip(count_games(players, &games))
        .map(|(r, n)| (n > 0).then(|| Measurement::plain(r, n)))
        .collect()
}
