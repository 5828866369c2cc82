//! Glicko-2 (M. Glickman, "Example of the Glicko-2 system", 2013, <http://www.glicko.net/glicko/glicko2.pdf>).

use std::f64::consts::PI;

/// Points per unit of the internal scale: `400 / ln 10`.
const POINTS: f64 = 173.717_792_761_247_4;

/// System constant: limits the change of the volatility. The paper suggests 0.3 to 1.2.
const TAU: f64 = 0.5;

/// Tolerance of the search for the volatility.
const EXACT: f64 = 1e-6;

/// Maximum number of steps of the search for the volatility. Usually five are enough.
const STEPS: usize = 100;

/// Estimate of an agent's strength.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GlickoSkill {
    /// Rating in Elo points.
    pub rating: f64,
    /// Standard deviation of the rating, in points.
    pub deviation: f64,
    /// Expected change of the strength per period, on the internal scale.
    pub volatility: f64,
}

impl GlickoSkill {
    /// Returns the skill after a rating period with `games`. Each game is given as (opponent's skill before the period,
    /// score), where the score is 1 for a win, 1/2 for a draw and 0 for a loss.
    pub fn after_games(self, games: &[(GlickoSkill, f64)]) -> Self {
        if games.is_empty() {
            return GlickoSkill { deviation: self.deviation.hypot(self.volatility * POINTS), ..self };
        }
        let phi = self.deviation / POINTS;
        let (mut information, mut surprise) = (0.0, 0.0);
        for (other, score) in games {
            let g = 1.0 / (1.0 + 3.0 * (other.deviation / POINTS / PI).powi(2)).sqrt();
            let expected = 1.0 / (1.0 + (-g * (self.rating - other.rating) / POINTS).exp());
            information += g * g * expected * (1.0 - expected);
            surprise += g * (score - expected);
        }
        // The bound keeps v finite: the information of games against far stronger or weaker opponents can round to 0.
        let v = 1.0 / information.max(1e-12);
        let sigma = volatility(self.volatility, phi, v, v * surprise);
        let rested = phi * phi + sigma * sigma;
        let after = 1.0 / (1.0 / rested + 1.0 / v);
        GlickoSkill {
            rating: self.rating + POINTS * after * surprise,
            deviation: POINTS * after.sqrt(),
            volatility: sigma,
        }
    }
}

/// Returns the new volatility by the Illinois algorithm (step 5 of the paper).
fn volatility(sigma: f64, phi: f64, v: f64, delta: f64) -> f64 {
    let a = (sigma * sigma).ln();
    let f = |x: f64| {
        let e = x.exp();
        let d = phi * phi + v + e;
        e * (delta * delta - d) / (2.0 * d * d) - (x - a) / (TAU * TAU)
    };
    let (mut low, mut high) = (a, (delta * delta - phi * phi - v).ln());
    if delta * delta <= phi * phi + v {
        let below = (1..STEPS).map(|k| a - k as f64 * TAU).find(|&x| f(x) >= 0.0);
        high = below.unwrap_or(a);
    }
    let (mut f_low, mut f_high) = (f(low), f(high));
    for _ in 0..STEPS {
        if (high - low).abs() <= EXACT {
            break;
        }
        let next = low + (low - high) * f_low / (f_high - f_low);
        let f_next = f(next);
        if f_next * f_high <= 0.0 {
            (low, f_low) = (high, f_high);
        } else {
            f_low /= 2.0;
        }
        (high, f_high) = (next, f_next);
    }
    (low / 2.0).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skill(rating: f64, deviation: f64) -> GlickoSkill {
        GlickoSkill { rating, deviation, volatility: 0.06 }
    }

    /// Uses the rounded intermediate values that the paper prints.
    #[test]
    fn skill_equals_the_example_in_the_paper() {
        let games = [(skill(1400.0, 30.0), 1.0), (skill(1550.0, 100.0), 0.0), (skill(1700.0, 300.0), 0.0)];
        let after = skill(1500.0, 200.0).after_games(&games);
        let near = |value: f64, printed: f64, within: f64| assert!((value - printed).abs() < within, "{after:?}");
        near(after.rating, 1464.06, 0.01);
        near(after.deviation, 151.52, 0.01);
        near(after.volatility, 0.05999, 0.00001);
        // A period without a game consists of step 6 of the paper only.
        let rested = skill(1500.0, 200.0).after_games(&[]);
        assert_eq!(format!("{:.4}", rested.deviation), "200.2714");
    }

    #[test]
    fn skill_stays_finite_after_extreme_results() {
        for (mine, other, score) in [(0.0, 1e6, 0.0), (0.0, 1e6, 1.0), (1e4, 0.0, 0.0), (0.0, 0.0, 1.0)] {
            let mut agent = skill(mine, 350.0);
            for _ in 0..200 {
                agent = agent.after_games(&[(skill(other, 0.0), score), (skill(other, 0.0), score)]);
                let all = [agent.rating, agent.deviation, agent.volatility];
                assert!(all.iter().all(|x| x.is_finite()) && agent.deviation > 0.0, "{agent:?}");
            }
        }
    }
}
