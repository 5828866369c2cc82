//! Maximum-entropy equilibrium of a symmetric zero-sum game (D. Balduzzi and others, "Re-evaluating evaluation",
//! NeurIPS 2018).
//!
//! The search first follows the path of `p_i (n mu - (A p)_i) = mu` to mu = 0. The path ends in an equilibrium in which
//! every strategy is either played or worse than the value (A. Goldman and A. Tucker, 1956), which identifies the
//! strategies that any equilibrium plays. Newton's method then maximizes entropy over the equilibria, with a barrier
//! for the constraints of the strategies that are not played.

use super::linear::{null_space, solve};

/// Value of mu at which the path ends.
const CLOSE: f64 = 1e-13;

/// Largest payoff difference that counts as noise.
const TINY: f64 = 1e-9;

/// Maximum number of steps of each search.
const STEPS: usize = 400;

/// Returns the equilibrium of the game `a`, which must be antisymmetric; `None` without strategies, or if the search
/// fails.
pub fn max_entropy_nash(a: &[Vec<f64>]) -> Option<Vec<f64>> {
    let n = a.len();
    let size = a.iter().flatten().fold(0.0_f64, |most, x| most.max(x.abs()));
    if n == 0 {
        return None;
    }
    if size <= TINY {
        return Some(vec![1.0 / n as f64; n]);
    }
    let a: Vec<Vec<f64>> = a.iter().map(|row| row.iter().map(|x| x / size).collect()).collect();
    let p = central(&a)?;
    let slack = |p: &[f64], i: usize| -dot(&a[i], p);
    let played: Vec<usize> = (0..n).filter(|&i| p[i] > slack(&p, i).abs()).collect();
    let among = |row: &Vec<f64>| played.iter().map(|&k| row[k]).collect::<Vec<f64>>();
    // Equilibria differ by vectors that change neither the payoff of a played strategy nor the sum.
    let mut equal: Vec<Vec<f64>> = played.iter().map(|&i| among(&a[i])).collect();
    equal.push(vec![1.0; played.len()]);
    let ways = null_space(&equal, played.len(), TINY);
    let others: Vec<Vec<f64>> = (0..n).filter(|i| !played.contains(i)).map(|i| among(&a[i])).collect();
    let mut own: Vec<f64> = played.iter().map(|&k| p[k]).collect();
    let all: f64 = own.iter().sum();
    own.iter_mut().for_each(|x| *x /= all);
    let own = spread(own, &ways, &others);
    let mut out = vec![0.0; n];
    played.iter().zip(own).for_each(|(&k, mass)| out[k] = mass);
    Some(out)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns the end of the path, which starts at equal shares.
fn central(a: &[Vec<f64>]) -> Option<Vec<f64>> {
    let n = a.len();
    let (mut p, mut mu) = (vec![1.0 / n as f64; n], 1.0);
    for _ in 0..STEPS {
        let slack: Vec<f64> = a.iter().map(|row| n as f64 * mu - dot(row, &p)).collect();
        let right: Vec<f64> = (0..n).map(|i| mu - p[i] * slack[i]).collect();
        if right.iter().all(|r| r.abs() <= 0.1 * mu) {
            if mu < CLOSE {
                return Some(p);
            }
            mu *= 0.5;
            continue;
        }
        let row = |i: usize| {
            let of = |j: usize| if i == j { slack[i] } else { 0.0 } - p[i] * a[i][j];
            (0..n).map(of).collect::<Vec<f64>>()
        };
        let step = solve(&(0..n).map(row).collect::<Vec<_>>(), &right)?;
        // Shares and slacks stay positive.
        let mut part = 1.0;
        for i in 0..n {
            let change = -dot(&a[i], &step);
            for (at, by) in [(p[i], step[i]), (slack[i], change)] {
                if by < 0.0 {
                    part = f64::min(part, -0.9 * at / by);
                }
            }
        }
        p.iter_mut().zip(&step).for_each(|(p, by)| *p += part * by);
    }
    None
}

/// Maximizes entropy from `p` along `ways`, so that no row of `others` gets a positive payoff.
fn spread(mut p: Vec<f64>, ways: &[Vec<f64>], others: &[Vec<f64>]) -> Vec<f64> {
    let (k, mut barrier) = (ways.len(), 1e-2);
    if k == 0 {
        return p;
    }
    let value = |p: &[f64], barrier: f64| {
        let slacks = others.iter().map(|row| -dot(row, p));
        if p.iter().any(|x| *x <= 0.0) || slacks.clone().any(|s| s <= 0.0) {
            return f64::INFINITY;
        }
        p.iter().map(|x| x * x.ln()).sum::<f64>() - barrier * slacks.map(f64::ln).sum::<f64>()
    };
    for _ in 0..STEPS {
        let slope: Vec<f64> = (0..p.len())
            .map(|i| p[i].ln() + 1.0 + others.iter().map(|row| barrier * row[i] / -dot(row, &p)).sum::<f64>())
            .collect();
        let bend = |u: &[f64], v: &[f64]| {
            let own: f64 = (0..p.len()).map(|i| u[i] * v[i] / p[i]).sum();
            own + others.iter().map(|row| barrier * dot(row, u) * dot(row, v) / dot(row, &p).powi(2)).sum::<f64>()
        };
        let matrix: Vec<Vec<f64>> = ways.iter().map(|u| ways.iter().map(|v| bend(u, v)).collect()).collect();
        let right: Vec<f64> = ways.iter().map(|u| -dot(u, &slope)).collect();
        let Some(step) = solve(&matrix, &right) else { return p };
        let along: Vec<f64> = (0..p.len()).map(|i| (0..k).map(|w| step[w] * ways[w][i]).sum()).collect();
        let (here, mut part) = (value(&p, barrier), 1.0);
        let moved = |part: f64| p.iter().zip(&along).map(|(p, by)| p + part * by).collect::<Vec<f64>>();
        while part > 1e-12 && value(&moved(part), barrier) > here - 1e-4 * part * dot(&right, &step) {
            part /= 2.0;
        }
        let done = dot(&right, &step) < 1e-20 || part <= 1e-12;
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
    use super::*;

    #[track_caller]
    fn near(a: &[Vec<f64>], want: &[f64]) {
        let p = max_entropy_nash(a).unwrap();
        assert!(p.iter().zip(want).all(|(p, want)| (p - want).abs() < 1e-7), "{p:?} is not {want:?}");
    }

    #[test]
    fn equilibria_match_values_by_hand() {
        // Rock, paper, scissors with a copy of rock: the copies split the share of rock.
        near(&[vec![0.0, -1.0, 1.0], vec![1.0, 0.0, -1.0], vec![-1.0, 1.0, 0.0]], &[1.0 / 3.0; 3]);
        let copied = [
            vec![0.0, 0.0, -1.0, 1.0],
            vec![0.0, 0.0, -1.0, 1.0],
            vec![1.0, 1.0, 0.0, -1.0],
            vec![-1.0, -1.0, 1.0, 0.0],
        ];
        near(&copied, &[1.0 / 6.0, 1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0]);
        // One strategy beats the others.
        near(&[vec![0.0, 1.0, 0.5], vec![-1.0, 0.0, 0.1], vec![-0.5, -0.1, 0.0]], &[1.0, 0.0, 0.0]);
        // Two equal strategies beat a third.
        near(&[vec![0.0, 0.0, 1.0], vec![0.0, 0.0, 0.2], vec![-1.0, -0.2, 0.0]], &[0.5, 0.5, 0.0]);
        near(&vec![vec![0.0; 4]; 4], &[0.25; 4]);
    }

    /// Paper and scissors are equal except for a third strategy that only one of them holds off: the constraint of the
    /// unplayed strategy binds. With p on the first two, the third gets 0.6 p_0 - 0.2 p_1 <= 0, so p_0 <= 1/4.
    #[test]
    fn constraint_of_an_unplayed_strategy_binds() {
        near(&[vec![0.0, 0.0, -0.6], vec![0.0, 0.0, 0.2], vec![0.6, -0.2, 0.0]], &[0.25, 0.75, 0.0]);
    }
}
