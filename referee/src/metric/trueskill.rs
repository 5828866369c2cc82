//! TrueSkill.

use super::{Args, Measurement, Metric, ParamDef, Takes, Value, count_games, rated};
use crate::rating::trueskill::Skills;
use crate::rows::Rows;

/// Skill after all matches of the part in the order of the plan, for two players, free-for-alls and teams.
///
/// `change` is the largest change of the mean skill in the agent's last `over` matches. Runs use it to detect
/// convergence.
///
/// Source: R. Herbrich, T. Minka, T. Graepel, 2006, with the constants of the Python package.
pub const TRUESKILL: Metric = Metric {
    id: "trueskill",
    title: "TrueSkill",
    digits: 2,
    formula: "mu after all matches in the order of the plan: start 25, sigma 25/3, beta 25/6, tau 25/300, draw probability 0.10; allied seats are a team; conservative is mu - 3 sigma; change is the largest |change of mu| in the last `over` matches",
    source: "R. Herbrich, T. Minka, T. Graepel, TrueSkill, NIPS 2006",
    params: &[
        ParamDef::new("of", "mu", Takes::Words(&["mu", "sigma", "conservative", "change"]), "reported quantity"),
        ParamDef::new("over", "10", Takes::Whole, "number of last matches for change"),
    ],
    of: trueskill,
    ..Metric::DEFAULT
};

fn trueskill(rows: &Rows, args: &Args) -> Option<Value> {
    rated(rows, &format!("trueskill {args}"), |rows| {
        let (players, games) = (rows.agents().len(), rows.games());
        let mut skills = Skills::new(players);
        let mut changes: Vec<Vec<f64>> = vec![Vec::new(); players];
        for game in &games {
            let before: Vec<f64> = game.seats.iter().map(|&player| skills.of(player).mu).collect();
            skills.play(game);
            for (&player, before) in game.seats.iter().zip(before) {
                changes[player].push((skills.of(player).mu - before).abs());
            }
        }
        let value = |player: usize| {
            let skill = skills.of(player);
            match args.text("of") {
                "sigma" => skill.sigma,
                "conservative" => skill.mu - 3.0 * skill.sigma,
                "change" => changes[player].iter().rev().take(args.whole("over") as usize).copied().fold(0.0, f64::max),
                _ => skill.mu,
            }
        };
        count_games(players, &games)
            .into_iter()
            .enumerate()
            .map(|(k, n)| (n > 0).then(|| Measurement::plain(value(k), n)))
            .collect()
    })
}
