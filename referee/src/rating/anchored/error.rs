//! Standard errors of ratings, used by stopping rules.
//!
//! The games of a block depend on each other, so the error is cluster-robust: with the gradient `g_b` of a block
//! at the estimated ratings, and H the negative second derivative of the log-likelihood,
//! `V = H^-1 (G / (G - 1) sum of g_b g_b^T) H^-1` for `G` blocks (K.-Y. Liang and S. L. Zeger, Biometrika 73, 1986).
//! The prior's half win and half loss vary as in the bootstrap: Gamma(1/2), with the variance 1/2.
//!
//! A run that stops when this error is small stops too early if its first blocks happen to have similar results. Chow
//! and Robbins therefore add `1/n` to the observed variance (Y. S. Chow and H. Robbins, "On the asymptotic theory of
//! fixed-width sequential confidence intervals for the mean", Annals of Mathematical Statistics 36, 1965). Instead,
//! this module adds one block with the model's variance for independent games: `H^-1 / G`.

use ndarray::Array1;

use super::{Problem, of_one, substitute};

impl Problem {
    /// Returns the number of blocks and the standard error of theta for each of `players`, which are free players in
    /// ascending order. The error is `None` for fewer than two blocks. `times` is the number of units of each kind.
    pub(super) fn errors(&self, times: &[u32], nu: f64, theta: &[f64], players: &[usize]) -> Vec<(usize, Option<f64>)> {
        let mut place = vec![None; theta.len()];
        players.iter().enumerate().for_each(|(i, &p)| place[p] = Some(i));
        let (_, mut h) = self.derivatives(nu, theta, &place, players.len());
        super::factor(&mut h);
        let leads: Vec<f64> = self.edges.iter().map(|e| of_one(theta[e.a] - theta[e.b], nu).0).collect();
        // Converts values on edges to the gradient of the free players: the first player of an edge gains the value,
        // the second loses it.
        let spread = |values: &mut dyn Iterator<Item = (usize, f64)>| {
            let mut out: Vec<(usize, f64)> = Vec::new();
            for (edge, value) in values {
                let e = &self.edges[edge];
                out.extend([(e.a, value), (e.b, -value)].into_iter().filter_map(|(p, v)| Some((place[p]?, v))));
            }
            out
        };
        let of_kind = |kind: &Vec<(usize, f64)>| {
            spread(&mut kind.iter().map(|&(edge, score)| (edge, sign(score) / 2.0 - leads[edge])))
        };
        let kinds: Vec<Vec<(usize, f64)>> = self.kinds.iter().map(of_kind).collect();
        // Gradient of one prior win or loss of each player.
        let prior = |p: usize, won: bool| {
            let on = |(k, e): (usize, &super::Edge)| {
                let (share, wins) = if e.a == p { (e.share.0, won) } else { (e.share.1, !won) };
                let value = if wins { 0.5 - leads[k] } else { -0.5 - leads[k] };
                (e.a == p || e.b == p).then_some((k, share * value))
            };
            spread(&mut self.edges.iter().enumerate().filter_map(on))
        };
        let priors: Vec<Vec<(usize, f64)>> =
            players.iter().flat_map(|&p| [true, false].map(|won| prior(p, won))).collect();
        let held = players.iter().any(|&p| self.group[p].is_some_and(|group| self.held[group]));
        let error = |i: usize| {
            // Without a fixed player, only the difference from the mean of the players is known.
            let mean = if held { 0.0 } else { 1.0 / players.len() as f64 };
            let mut unit = Array1::from_elem(players.len(), -mean);
            unit[i] += 1.0;
            let inverse = substitute(&h, unit);
            let square = |g: &Vec<(usize, f64)>| g.iter().map(|&(j, v)| inverse[j] * v).sum::<f64>().powi(2);
            let played = |g: &Vec<(usize, f64)>| g.iter().any(|&(j, _)| j == i);
            let own = kinds.iter().zip(times).filter(|(g, _)| played(g));
            let blocks: usize = own.map(|(_, &n)| n as usize).sum();
            let seen: f64 = kinds.iter().zip(times).map(|(g, &n)| f64::from(n) * square(g)).sum();
            let drawn: f64 = priors.iter().map(|g| 0.5 * square(g)).sum();
            let n = blocks as f64;
            let variance = seen * n / (n - 1.0) + drawn + inverse[i] / n;
            (blocks, (blocks > 1 && variance.is_finite()).then(|| variance.sqrt()))
        };
        (0..players.len()).map(error).collect()
    }
}

/// Returns 1 for a win, -1 for a loss, 0 for a draw.
fn sign(score: f64) -> f64 {
    match score {
        s if s > 0.5 => 1.0,
        s if s < 0.5 => -1.0,
        _ => 0.0,
    }
}
