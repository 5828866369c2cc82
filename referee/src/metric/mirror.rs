//! Mean return with reduced card luck: the mirror of each match serves as a control variate.

use std::collections::HashMap;

use super::{Args, Measurement, Metric, Value};
use crate::rating::table::Z95;
use crate::rows::{Rows, Sample};

/// Mean return over the games that have a mirror, minus the luck estimated from the mirrors.
///
/// In the mirror of a game, the server's agent plays every seat on the same seed. Let `r` be the player's return. Let
/// `c` be the return of the player's seat in the mirror, minus the mean of all seats in the mirror. This mean weights
/// each seat by the number of games that the player played on the seat. The mirror does not depend on the player's
/// seat, so the mean of `c` has the expected value 0. Let `b` be the slope of the regression of `r` on `c`. The mean of
/// `r - b c` has the same expected value as the mean of `r`, and a smaller variance if `r` and `c` are correlated. The
/// interval is that of the regression's value at `c = 0`. For a player that always has the same seat, the result is the
/// plain mean return.
///
/// Source: S. S. Lavenberg and P. D. Welch, "A perspective on the use of control variables to
/// increase the efficiency of Monte Carlo simulations", *Management Science* 27, 1981. Needs at least 4 games.
pub const MIRRORED_RETURN: Metric = Metric {
    id: "mirrored_return",
    title: "Mean return, mirrored",
    unit: "the game's points",
    formula: "mean of r - b c over the games with a mirror match: r the return of the agent's seat, c the seat's return in the mirror match \
              minus the mean over the seats, b = cov(r, c) / var(c); +- 1.96 s sqrt(1/n + mean(c)^2 / S_cc)",
    source: "control variates: Lavenberg and Welch, Management Science 27 (1981)",
    of: mirrored_return,
    ..Metric::DEFAULT
};

/// Minimum number of games: both the slope and the residual variance are estimated.
const LEAST: usize = 4;

/// Returns the spec of the opponent, if the server ran the opponent.
fn agent<'a>(sample: &Sample<'_, 'a>) -> Option<&'a str> {
    let others = sample.game.seats.iter().enumerate().filter(|(seat, _)| *seat != sample.seat);
    others.into_iter().find_map(|(_, seat)| seat.spec.as_deref())
}

fn mirrored_return(rows: &Rows, _: &Args) -> Option<Value> {
    let samples = rows.samples();
    let with: Vec<(&Sample, f64)> = samples
        .iter()
        .filter(|s| s.game.mirror.len() == s.game.seats.len())
        .filter_map(|s| Some((s, s.own().payoff?)))
        .collect();
    if with.len() < LEAST {
        return None;
    }
    // Number of games of the player on each seat, by opponent.
    let mut times: HashMap<Option<&str>, (f64, Vec<f64>)> = HashMap::new();
    for (s, _) in &with {
        let (count, seats) = times.entry(agent(s)).or_insert_with(|| (0.0, vec![0.0; s.game.mirror.len()]));
        *count += 1.0;
        seats[s.seat] += 1.0;
    }
    let pairs: Vec<(f64, f64)> = with
        .iter()
        .map(|(s, r)| {
            let (count, seats) = &times[&agent(s)];
            let usual: f64 = s.game.mirror.iter().zip(seats).map(|(m, times)| m * times / count).sum();
            (*r, s.game.mirror[s.seat] - usual)
        })
        .collect();
    Some(Value::Number(controlled(&pairs)))
}

/// Returns the mean of the first numbers. The second numbers, whose expected value is 0, are the control variate.
fn controlled(pairs: &[(f64, f64)]) -> Measurement {
    let n = pairs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / n;
    let (r, c) = (mean(|p| p.0), mean(|p| p.1));
    let sum = |of: &dyn Fn(f64, f64) -> f64| pairs.iter().map(|p| of(p.0 - r, p.1 - c)).sum::<f64>();
    let (rr, rc, cc) = (sum(&|a, _| a * a), sum(&|a, b| a * b), sum(&|_, b| b * b));
    // Mirrors without variance carry no information, so the slope is 0 and the result is the plain mean.
    let (slope, leverage) = if cc > 0.0 { (rc / cc, c * c / cc) } else { (0.0, 0.0) };
    let value = r - slope * c;
    let spread = (rr - slope * rc).max(0.0) / (n - 2.0);
    let half = Z95 * (spread * (1.0 / n + leverage)).sqrt();
    Measurement { value, low: Some(value - half), high: Some(value + half), n: pairs.len() as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirror_returns_remove_luck_from_the_mean() {
        // The return is a skill of 0.5 plus twice the luck; the mean luck was 1.
        let pairs = [-1.0, 0.0, 2.0, 3.0].map(|luck| (0.5 + 2.0 * luck, luck));
        let measure = controlled(&pairs);
        assert!((measure.value - 0.5).abs() < 1e-12, "{measure:?}");
        assert!(measure.high.unwrap() - measure.low.unwrap() < 1e-6, "{measure:?}");
        assert_eq!(measure.n, 4);
    }

    #[test]
    fn constant_mirror_returns_do_not_change_the_mean() {
        let measure = controlled(&[(1.0, 0.0), (2.0, 0.0), (3.0, 0.0), (6.0, 0.0)]);
        assert_eq!(measure.value, 3.0);
        // s^2 = 14 / (n - 2), half = 1.96 sqrt(s^2 / n).
        let half = Z95 * (14.0_f64 / 2.0 / 4.0).sqrt();
        assert!((measure.high.unwrap() - 3.0 - half).abs() < 1e-12, "{measure:?}");
    }
}
