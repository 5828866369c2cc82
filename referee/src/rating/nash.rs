//! Maximum-entropy equilibrium of a symmetric zero-sum game (D. Balduzzi and others, "Re-evaluating evaluation",
//! NeurIPS 2018).
//!
//! The search first follows the path of `p_i (n mu - (A p)_i) = mu` to mu = 0. The path ends in an equilibrium in which
//! each strategy that is not played has a payoff below the value of the game (A. Goldman and A. Tucker, 1956), so this
//! equilibrium plays every strategy that any equilibrium plays. Newton's method then maximizes entropy over the
//! equilibria, with a barrier for the constraints of the strategies that are not played.

use ndarray::{Array1, Array2, Axis, concatenate};

use super::linear::{null_space, solve};

/// Value of mu at which the search along the path stops.
const CLOSE: f64 = 1e-13;

/// Largest payoff difference that is treated as a rounding error.
const TINY: f64 = 1e-9;

/// Maximum number of steps of each search.
const STEPS: usize = 400;

/// Returns the equilibrium of the game `a`, which must be antisymmetric; `None` without strategies, or if the search
/// fails.
pub fn max_entropy_nash(a: &Array2<f64>) -> Option<Array1<f64>> {
    let n = a.nrows();
    let size = a.fold(0.0_f64, |most, x| most.max(x.abs()));
    if n == 0 {
        return None;
    }
    if size <= TINY {
        return Some(Array1::from_elem(n, 1.0 / n as f64));
    }
    let a = a / size;
    let p = central(&a)?;
    let slack = -a.dot(&p);
    let (played, others): (Vec<usize>, Vec<usize>) = (0..n).partition(|&i| p[i] > slack[i].abs());
    let among = |rows: &[usize]| a.select(Axis(0), rows).select(Axis(1), &played);
    // The difference of two equilibria changes neither the payoffs of played strategies nor the total probability.
    let ones = Array2::<f64>::ones((1, played.len()));
    let ways = null_space(concatenate(Axis(0), &[among(&played).view(), ones.view()]).ok()?, TINY);
    let own = p.select(Axis(0), &played);
    let own = spread(&own / own.sum(), &ways, &among(&others));
    let mut out = Array1::<f64>::zeros(n);
    played.iter().zip(own).for_each(|(&k, mass)| out[k] = mass);
    Some(out)
}

/// Follows the path from equal probabilities of all strategies (mu = 1) to mu = 0, and returns the end of the path.
fn central(a: &Array2<f64>) -> Option<Array1<f64>> {
    let n = a.nrows();
    let (mut p, mut mu) = (Array1::from_elem(n, 1.0 / n as f64), 1.0);
    for _ in 0..STEPS {
        let slack = n as f64 * mu - a.dot(&p);
        let right = mu - &p * &slack;
        if right.iter().all(|r| r.abs() <= 0.1 * mu) {
            if mu < CLOSE {
                return Some(p);
            }
            mu *= 0.5;
            continue;
        }
        let step = solve(&(Array2::from_diag(&slack) - a * &p.view().insert_axis(Axis(1))), &right)?;
        let change = -a.dot(&step);
        // The step is shortened so that all probabilities and slacks stay positive.
        let mut part = 1.0;
        for (at, by) in p.iter().zip(&step).chain(slack.iter().zip(&change)) {
            if *by < 0.0 {
                part = f64::min(part, -0.9 * at / by);
            }
        }
        p.scaled_add(part, &step);
    }
    None
}

/// Maximizes the entropy of `p`, which may change only by combinations of the rows of `ways`. No row of `others` may
/// get a positive payoff against the result.
fn spread(mut p: Array1<f64>, ways: &Array2<f64>, others: &Array2<f64>) -> Array1<f64> {
    if ways.is_empty() {
        return p;
    }
    let mut barrier = 1e-2;
    let value = |p: &Array1<f64>, barrier: f64| {
        let slack = -others.dot(p);
        if p.iter().chain(&slack).any(|x| *x <= 0.0) {
            return f64::INFINITY;
        }
        p.mapv(|x| x * x.ln()).sum() - barrier * slack.mapv(f64::ln).sum()
    };
    for _ in 0..STEPS {
        let slack = -others.dot(&p);
        let slope = p.mapv(|x| x.ln() + 1.0) + others.t().dot(&slack.mapv(|s| barrier / s));
        let weights = slack.mapv(|s| barrier / (s * s)).insert_axis(Axis(1));
        let bend = Array2::from_diag(&p.mapv(f64::recip)) + others.t().dot(&(others * &weights));
        let right = -ways.dot(&slope);
        let Some(step) = solve(&ways.dot(&bend).dot(&ways.t()), &right) else { return p };
        let (along, gain) = (ways.t().dot(&step), right.dot(&step));
        let (here, mut part) = (value(&p, barrier), 1.0);
        let moved = |part: f64| &p + &along * part;
        while part > 1e-12 && value(&moved(part), barrier) > here - 1e-4 * part * gain {
            part /= 2.0;
        }
        let done = gain < 1e-20 || part <= 1e-12;
        if !done {
            p = moved(part);
        } else if barrier < 1e-13 || others.is_empty() {
            return p;
        } else {
            barrier *= 0.1;
        }
    }
    p
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[track_caller]
    fn near(a: Array2<f64>, want: &[f64]) {
        let p = max_entropy_nash(&a).unwrap();
        assert!(p.iter().zip(want).all(|(p, want)| (p - want).abs() < 1e-7), "{p:?} is not {want:?}");
    }

    #[test]
    fn equilibria_equal_hand_computed_values() {
        // Rock, paper, scissors with a copy of rock: the copies split the share of rock.
        near(array![[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]], &[1.0 / 3.0; 3]);
        let copied =
            array![[0.0, 0.0, -1.0, 1.0], [0.0, 0.0, -1.0, 1.0], [1.0, 1.0, 0.0, -1.0], [-1.0, -1.0, 1.0, 0.0],];
        near(copied, &[1.0 / 6.0, 1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0]);
        // One strategy beats all other strategies.
        near(array![[0.0, 1.0, 0.5], [-1.0, 0.0, 0.1], [-0.5, -0.1, 0.0]], &[1.0, 0.0, 0.0]);
        // Two equal strategies beat a third.
        near(array![[0.0, 0.0, 1.0], [0.0, 0.0, 0.2], [-1.0, -0.2, 0.0]], &[0.5, 0.5, 0.0]);
        near(Array2::zeros((4, 4)), &[0.25; 4]);
    }

    /// Uses a game in which only one of two equal strategies beats a third strategy, which is not played. If the first
    /// two are played with the probabilities p_0 and p_1, the third has the payoff 0.6 p_0 - 0.2 p_1. The payoff must
    /// not be positive, so p_0 <= 1/4.
    #[test]
    fn equilibrium_gives_no_positive_payoff_to_unplayed_strategies() {
        near(array![[0.0, 0.0, -0.6], [0.0, 0.0, 0.2], [0.6, -0.2, 0.0]], &[0.25, 0.75, 0.0]);
    }
}
