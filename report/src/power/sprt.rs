//! Generalized sequential probability ratio test (SPRT), which may be evaluated after every block.
//!
//! Two agents meet in blocks. The test decides between two hypotheses: the first agent is `elo0` or `elo1` points
//! better than the second. After each block, it compares the likelihoods of the results under both. A block of two
//! matches has five possible scores (0, 1/4, 1/2, 3/4, 1), so the seats and the luck of a seed, which make the matches
//! of a block depend on each other, are in the model. The distribution over these scores is not known. Each hypothesis
//! uses the maximum-likelihood distribution with the mean `s = 1 / (1 + 10^(-elo / 400))`:
//! `p_i = n_i / (n (1 + x (a_i - s)))` for the `n_i` blocks with the score `a_i`, with the root `x` of
//! `sum of n_i (a_i - s) / (1 + x (a_i - s)) = 0`. The logarithm of the ratio of the likelihoods is
//! `LLR = sum of n_i ln((1 + x_0 (a_i - s_0)) / (1 + x_1 (a_i - s_1)))`. The test ends for `elo1` at
//! `LLR >= ln((1 - beta) / alpha)` and for `elo0` at `LLR <= ln(beta / (1 - alpha))`.
//!
//! Sources: A. Wald, "Sequential tests of statistical hypotheses", Annals of Mathematical Statistics 16, 1945 (the
//! bounds); X. Li, J. Liu and Z. Ying, "Generalized sequential probability ratio test for separate families of
//! hypotheses", Sequential Analysis 33, 2014 (unknown distributions). Stockfish's fishtest tests its patches in this
//! way (`LLRcalc.py`). Like fishtest, this module counts unobserved scores as a thousandth of a block, so that both
//! means are always possible.
//!
//! `alpha` bounds the probability of accepting `elo1` if the first agent is at most `elo0` points better. `beta` bounds
//! the probability of accepting `elo0` if the first agent is at least `elo1` points better. The last block overshoots a
//! bound, so the true probabilities are slightly smaller.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// Number of blocks that an unobserved score counts as.
const UNSEEN: f64 = 1e-3;

/// Hypotheses and error probabilities of a test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sprt {
    /// Smaller difference, in points: the first agent's rating minus the second's.
    pub elo0: f64,
    /// Greater difference, in points.
    pub elo1: f64,
    /// Probability of accepting `elo1` if `elo0` is true.
    pub alpha: f64,
    /// Probability of accepting `elo0` if `elo1` is true.
    pub beta: f64,
}

impl FromStr for Sprt {
    type Err = String;

    /// Parses `elo0=0 elo1=30`, with `alpha` and `beta` defaulting to 0.05; parts are separated by blanks or commas.
    fn from_str(text: &str) -> Result<Self, String> {
        let (mut elo0, mut elo1, mut alpha, mut beta) = (None, None, 0.05, 0.05);
        for part in text.split([' ', ',']).filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let number = value.parse().ok().filter(|x: &f64| x.is_finite());
            let number =
                number.ok_or_else(|| format!("expected NAME=NUMBER, got {part:?}; example: elo0=0 elo1=30"))?;
            match name {
                "elo0" => elo0 = Some(number),
                "elo1" => elo1 = Some(number),
                "alpha" => alpha = number,
                "beta" => beta = number,
                _ => return Err(format!("unknown name {name:?}; allowed: elo0, elo1, alpha, beta")),
            }
        }
        let (Some(elo0), Some(elo1)) = (elo0, elo1) else {
            return Err("expected elo0 and elo1, for example elo0=0 elo1=30".to_owned());
        };
        if elo0 >= elo1 {
            return Err(format!("expected elo0 below elo1, got {elo0} and {elo1}"));
        }
        if elo0.abs().max(elo1.abs()) > 2000.0 {
            return Err(format!("expected elo0 and elo1 between -2000 and 2000, got {elo0} and {elo1}"));
        }
        if [alpha, beta].iter().any(|p| !(*p > 0.0 && *p < 0.5)) {
            return Err(format!("expected alpha and beta above 0 and below 0.5, got {alpha} and {beta}"));
        }
        Ok(Sprt { elo0, elo1, alpha, beta })
    }
}

impl fmt::Display for Sprt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sprt { elo0, elo1, alpha, beta } = self;
        write!(f, "elo0={elo0} elo1={elo1} alpha={alpha} beta={beta}")
    }
}

impl Sprt {
    /// Returns the bounds of the log-likelihood ratio: the test accepts `elo0` at the first bound and `elo1` at the
    /// second.
    pub fn bounds(&self) -> [f64; 2] {
        [(self.beta / (1.0 - self.alpha)).ln(), ((1.0 - self.beta) / self.alpha).ln()]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SprtDecision {
    Elo0,
    Elo1,
}

#[derive(Clone, Debug)]
pub struct SequentialTest {
    sprt: Sprt,
    /// Number of blocks for each score, from 0 to 1 in equal steps.
    counts: Vec<u64>,
}

impl SequentialTest {
    /// Creates a test; a block has `matches` matches, at least 1.
    pub fn new(sprt: Sprt, matches: usize) -> Self {
        SequentialTest { sprt, counts: vec![0; 2 * matches.max(1) + 1] }
    }

    /// Adds a block with the first agent's share of the points, from 0 to 1.
    pub fn add(&mut self, score: f64) {
        let steps = self.counts.len() - 1;
        self.counts[(score.clamp(0.0, 1.0) * steps as f64).round() as usize] += 1;
    }

    /// Returns the number of blocks so far.
    pub fn blocks(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the log-likelihood ratio.
    pub fn llr(&self) -> f64 {
        let of = |elo: f64| {
            let mean = expected_score(elo);
            let x = self.tilt(mean);
            self.scores().map(|(n, a)| n * (x * (a - mean)).ln_1p()).sum::<f64>()
        };
        if self.blocks() == 0 { 0.0 } else { of(self.sprt.elo0) - of(self.sprt.elo1) }
    }

    /// Returns the decision; `None` if further blocks are needed.
    pub fn decision(&self) -> Option<SprtDecision> {
        let ([low, high], llr) = (self.sprt.bounds(), self.llr());
        if llr >= high {
            return Some(SprtDecision::Elo1);
        }
        (llr <= low).then_some(SprtDecision::Elo0)
    }

    /// Returns each score with its number of blocks.
    fn scores(&self) -> impl Iterator<Item = (f64, f64)> {
        let steps = (self.counts.len() - 1) as f64;
        self.counts.iter().enumerate().map(move |(k, &n)| (if n == 0 { UNSEEN } else { n as f64 }, k as f64 / steps))
    }

    /// Returns the root `x` of the sum in the module documentation for a mean, by bisection. Between the ends of the
    /// search interval, the sum falls from infinity to minus infinity.
    fn tilt(&self, mean: f64) -> f64 {
        let (mut low, mut high) = (-1.0 / (1.0 - mean), 1.0 / mean);
        for _ in 0..60 {
            let x = f64::midpoint(low, high);
            let sum: f64 = self.scores().map(|(n, a)| n * (a - mean) / (1.0 + x * (a - mean))).sum();
            if sum > 0.0 { low = x } else { high = x }
        }
        f64::midpoint(low, high)
    }
}

/// Returns the expected score of an agent that is `elo` points better: `1 / (1 + 10^(-elo / 400))`.
pub fn expected_score(elo: f64) -> f64 {
    1.0 / (1.0 + 10f64.powf(-elo / 400.0))
}
