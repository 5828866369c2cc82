//! Normalized relative advantage.

use super::{Args, Measurement, Metric, ParamDef, Takes, Value};
use crate::rows::Rows;

/// Value of `(sum f(A) - sum f(B)) / (sum |f(A)| + sum |f(B)|)` over the matches of A against B; 0 if the denominator
/// is 0.
///
/// `form = win`: f is 1 for a win, -1 for a loss, 0 for a draw, so draws drop out. `form = reward`: f is the return, or
/// the mean return of an agent on several seats. `mode = summed` divides by `|sum f(A)| + |sum f(B)|`, which requires
/// nonnegative rewards.
pub const NRA: Metric = Metric {
    id: "nra",
    title: "NRA",
    unit: "-1 to 1",
    formula: "(sum f(A) - sum f(B)) / (sum |f(A)| + sum |f(B)|) over matches of agent A against opponents B; win: f = 1 (win), -1 (loss) or 0 (draw); reward: f = return; summed: the denominator is |sum f(A)| + |sum f(B)|; 0 / 0 is 0",
    source: "GTBench",
    params: &[
        ParamDef::new("form", "win", Takes::Words(&["win", "reward"]), "definition of f"),
        ParamDef::new("mode", "per_match", Takes::Words(&["per_match", "summed"]), "operands of the absolute values"),
    ],
    of: nra,
    ..Metric::DEFAULT
};

fn nra(rows: &Rows, args: &Args) -> Option<Value> {
    let mut pairs = Vec::new();
    for (game, own) in rows.own_matches() {
        if own.len() == game.players.len() {
            continue;
        }
        if args.is("form", "win") {
            let f = 2.0 * game.points(&own) - 1.0;
            pairs.push((f, -f));
            continue;
        }
        let mean = |own_side: bool| {
            let side = (0..game.players.len()).filter(|seat| own.contains(seat) == own_side);
            let paid: Option<Vec<f64>> = side.map(|seat| game.seats[seat].payoff).collect();
            paid.map(|paid| paid.iter().sum::<f64>() / paid.len() as f64)
        };
        pairs.extend(mean(true).zip(mean(false)));
    }
    let n = pairs.len() as u64;
    (n > 0).then(|| Value::Number(Measurement::plain(advantage(&pairs, args.is("mode", "summed")), n)))
}

fn advantage(pairs: &[(f64, f64)], summed: bool) -> f64 {
    let (a, b) = pairs.iter().fold((0.0, 0.0), |(a, b), pair| (a + pair.0, b + pair.1));
    let size = if summed { a.abs() + b.abs() } else { pairs.iter().map(|(a, b)| a.abs() + b.abs()).sum() };
    if size > 0.0 { (a - b) / size } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advantage_equals_hand_computed_values() {
        // Three wins, one loss, one draw: (3 - 1) / (3 + 1).
        let fights = [1.0, 1.0, 1.0, -1.0, 0.0].map(|f| (f, -f));
        assert_eq!(advantage(&fights, false), 0.5);
        // Rewards 5 to 5, 10 to 0, 1 to 1: (16 - 6) / 22; both modes agree if nothing is negative.
        let paid = [(5.0, 5.0), (10.0, 0.0), (1.0, 1.0)];
        assert_eq!(advantage(&paid, false), 10.0 / 22.0);
        assert_eq!(advantage(&paid, true), 10.0 / 22.0);
        // The summed form of wins and losses is always -1 or 1.
        assert_eq!(advantage(&fights, true), 1.0);
        assert_eq!(advantage(&[(0.0, 0.0)], false), 0.0);
    }
}
