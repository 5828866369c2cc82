//! Glicko-2.

use super::{Args, Measurement, Metric, ParamDef, Takes, Value, rated};
use crate::rating::glicko::GlickoSkill;
use crate::rating::table::Z95;
use crate::rows::Rows;

/// Rating after all matches of the part. A rating period is a cycle or, with `period = match`, a match.
pub const GLICKO2: Metric = Metric {
    id: "glicko2",
    title: "Glicko-2",
    unit: "Elo points",
    digits: 0,
    formula: "Glicko-2 with tau = 0.5 over rating periods; all matches of a period are rated together, with the opponents' skills before the period; +- 1.96 deviations",
    source: "M. Glickman, Example of the Glicko-2 system, 2013",
    params: &[
        ParamDef::new("of", "rating", Takes::Words(&["rating", "deviation", "volatility"]), "reported quantity"),
        ParamDef::new("period", "cycle", Takes::Words(&["cycle", "match"]), "rating period"),
        ParamDef::new("start", "1500", Takes::Number, "initial rating"),
        ParamDef::new("deviation", "350", Takes::Number, "initial deviation"),
        ParamDef::new("volatility", "0.06", Takes::Number, "initial volatility"),
    ],
    of: glicko2,
    planned: true,
    ..Metric::DEFAULT
};

fn glicko2(rows: &Rows, args: &Args) -> Option<Value> {
    rated(rows, &format!("glicko2 {args}"), |rows| {
        let start = GlickoSkill {
            rating: args.number("start"),
            deviation: args.number("deviation"),
            volatility: args.number("volatility"),
        };
        let (mut skills, mut played) = (vec![start; rows.agents().len()], vec![0; rows.agents().len()]);
        let cycles = rows.cycles().into_iter().map(|cycle| rows.of_cycle(cycle).games());
        let periods: Vec<Vec<_>> = match args.is("period", "match") {
            true => cycles.flatten().map(|game| vec![game]).collect(),
            false => cycles.collect(),
        };
        for period in periods {
            let mut games: Vec<Vec<(GlickoSkill, f64)>> = vec![Vec::new(); skills.len()];
            for duel in period.iter().flat_map(|game| game.duels()) {
                games[duel.a].push((skills[duel.b], duel.score));
                games[duel.b].push((skills[duel.a], 1.0 - duel.score));
            }
            for (player, games) in games.iter().enumerate() {
                skills[player] = skills[player].after_games(games);
                played[player] += games.len() as u64;
            }
        }
        let value = |skill: &GlickoSkill, n: u64| match args.text("of") {
            "deviation" => Measurement::plain(skill.deviation, n),
            "volatility" => Measurement::plain(skill.volatility, n),
            _ => {
                let half = Z95 * skill.deviation;
                Measurement { value: skill.rating, low: Some(skill.rating - half), high: Some(skill.rating + half), n }
            }
        };
        skills.iter().zip(played).map(|(skill, n)| (n > 0).then(|| value(skill, n))).collect()
    })
}
