//! Two agents compared match by match: who did better on the same seed, on the same seats, against the same opponents.
//!
//! Two matches under equal terms, one of each agent, are a **pair**: the luck of the seed and of the seat is the same
//! in both and cancels out of the difference. This module does not read files: a [`Side`] says which match an agent
//! played and how it did.
//!
//! **Difference.** The mean of the differences `d` of the pairs. Pairs on one seed are not independent trials (the same
//! cards with seats swapped, the same deal against several opponents), so they form a block, and the standard error is
//! that for clusters: with `n` pairs in `G` blocks, `se^2 = G / (G - 1) * sum over blocks of (sum of (d - mean))^2 /
//! n^2`
//! (K.-Y. Liang and S. L. Zeger, "Longitudinal data analysis using generalized linear models", Biometrika 73, 1986, with the
//! usual small-sample factor). The 95 % interval is `mean +- t * se`, `t` the 0.975 quantile of Student's distribution with
//! `G - 1` degrees of freedom. With one pair in each block this is the paired t interval (Student, "The probable error of a
//! mean", Biometrika 6, 1908). There is no interval for fewer than two blocks, or if all blocks agree: that no spread
//! was seen does not prove that there is none.
//!
//! **McNemar.** Some pairs were won by one agent only: the test asks how they are divided. If both are equally strong,
//! each such pair is the toss of a coin. `p` is exact and two-sided, `min(1, 2 * P(X <= min(b, c)))` with `X` binomial
//! over `b + c` tosses
//! (Q. McNemar, Psychometrika 12, 1947; the exact form as in M. W. Fagerland, S. Lydersen and P. Laake, BMC Medical Research
//! Methodology 13:91, 2013). It treats pairs as independent; if blocks are large, `p` is therefore a little too small.
//!
//! **Unpaired.** If there are no pairs: the difference of the two means with `se^2 = se_a^2 + se_b^2` and Welch's
//! degrees of
//! freedom, rounded down (B. L. Welch, Biometrika 34, 1947). Luck does not cancel out here: the interval is wider.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::rating::table::Interval;

/// A match of one agent, and how it did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    /// Part of the suite.
    pub part: String,
    /// Game string.
    pub game: String,
    /// Who sat on each seat: `None` is the agent itself.
    pub seats: Vec<Option<String>>,
    /// The seed.
    pub seed: u64,
    /// 1 for a win, 1/2 for a draw, 0 for a loss; `None` if the game has no winners.
    pub score: Option<f64>,
    /// The agent's return, mean over its seats.
    pub payoff: f64,
}

/// Wins of pairs: only scores of 1 are wins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct McNemar {
    /// Won by both.
    pub both: u64,
    /// Won by the first only.
    pub first: u64,
    /// Won by the second only.
    pub second: u64,
    /// Won by neither.
    pub neither: u64,
    /// Exact two-sided probability of a split at least as uneven, if both are equally strong.
    pub p: f64,
}

/// The comparison over some pairs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparisonRow {
    /// Game string, or `all`.
    pub game: String,
    /// Pairs.
    pub pairs: usize,
    /// Blocks that they form, each on one seed.
    pub blocks: usize,
    /// Mean score of each agent, over pairs with scores.
    pub scores: Option<[f64; 2]>,
    /// Mean difference of scores, the first minus the second.
    pub score: Option<Difference>,
    /// Mean difference of returns; only over a single game, because each game has its own unit.
    pub payoff: Option<Difference>,
    /// Who won, over pairs with scores.
    pub mcnemar: Option<McNemar>,
}

/// A mean difference with its interval, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The estimate.
    pub value: f64,
    /// Lower end, 95 %.
    pub low: Option<f64>,
    /// Upper end, 95 %.
    pub high: Option<f64>,
}

/// Two agents.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// By game, in the order of names.
    pub games: Vec<ComparisonRow>,
    /// Over all pairs.
    pub all: ComparisonRow,
    /// How many matches of the first and of the second have no partner and are left out.
    pub unpaired: [usize; 2],
    /// These matches by part, game and opponents: how many of the first, and of the second.
    pub left_out: BTreeMap<String, [usize; 2]>,
    /// If there are no pairs: the plain difference in games that both have played.
    pub fallback: Vec<Unpaired>,
}

/// The plain difference in one game.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unpaired {
    /// Game string.
    pub game: String,
    /// Matches with a score, of the first and of the second.
    pub matches: [usize; 2],
    /// Mean scores.
    pub scores: [f64; 2],
    /// Their difference.
    pub score: Difference,
}

/// Compares two agents by their matches under equal terms.
pub fn compare(first: &[Side], second: &[Side]) -> Comparison {
    let mut partners: BTreeMap<Terms, Vec<&Side>> = BTreeMap::new();
    second.iter().rev().for_each(|side| partners.entry(Terms::of(side)).or_default().push(side));
    let mut left_out: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    let mut pairs = Vec::new();
    for side in first {
        match partners.get_mut(&Terms::of(side)).and_then(Vec::pop) {
            Some(partner) => pairs.push((side, partner)),
            None => left_out.entry(label(side)).or_default()[0] += 1,
        }
    }
    for side in partners.values().flatten() {
        left_out.entry(label(side)).or_default()[1] += 1;
    }
    let games: BTreeSet<&str> = pairs.iter().map(|(a, _)| a.game.as_str()).collect();
    let of =
        |game: &&str| row(game, &pairs.iter().copied().filter(|(a, _)| a.game == **game).collect::<Vec<_>>(), true);
    let one = games.len() == 1;
    Comparison {
        games: games.iter().map(of).collect(),
        all: row("all", &pairs, one),
        unpaired: [0, 1].map(|k| left_out.values().map(|n| n[k]).sum()),
        left_out,
        fallback: if pairs.is_empty() { fallback(first, second) } else { Vec::new() },
    }
}

/// What must be equal in a pair.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Terms<'a>(&'a str, &'a str, &'a [Option<String>], u64);

impl<'a> Terms<'a> {
    fn of(side: &'a Side) -> Self {
        Terms(&side.part, &side.game, &side.seats, side.seed)
    }
}

/// `part: game against a, b`.
fn label(side: &Side) -> String {
    let others: Vec<&str> = side.seats.iter().flatten().map(String::as_str).collect();
    format!("{}: {} against {}", side.part, side.game, others.join(", "))
}

fn row(game: &str, pairs: &[(&Side, &Side)], payoffs: bool) -> ComparisonRow {
    let block = |a: &Side| (a.part.clone(), a.game.clone(), a.seed);
    let blocks: BTreeSet<_> = pairs.iter().map(|(a, _)| block(a)).collect();
    let scored: Vec<_> = pairs.iter().filter_map(|(a, b)| Some((*a, a.score?, b.score?))).collect();
    let mean = |which: fn(&(&Side, f64, f64)) -> f64| scored.iter().map(which).sum::<f64>() / scored.len() as f64;
    let payoff: Vec<_> = pairs.iter().map(|(a, b)| (block(a), a.payoff - b.payoff)).collect();
    ComparisonRow {
        game: game.to_owned(),
        pairs: pairs.len(),
        blocks: blocks.len(),
        scores: (!scored.is_empty()).then(|| [mean(|s| s.1), mean(|s| s.2)]),
        score: difference(&scored.iter().map(|(a, x, y)| (block(a), x - y)).collect::<Vec<_>>()),
        payoff: difference(&payoff).filter(|_| payoffs),
        mcnemar: (!scored.is_empty()).then(|| mcnemar(scored.iter().map(|&(_, x, y)| (x == 1.0, y == 1.0)))),
    }
}

/// The mean of `values` with its interval for blocks; `None` without values.
fn difference<B: Ord>(values: &[(B, f64)]) -> Option<Difference> {
    let mean = clustered(values)?;
    let interval = mean.interval();
    Some(Difference { value: mean.value, low: interval.map(|i| i.low), high: interval.map(|i| i.high) })
}

/// A mean over blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The mean of the values.
    pub value: f64,
    /// Its standard error; 0 if all blocks agree or there is only one.
    pub error: f64,
    /// Blocks.
    pub blocks: usize,
}

impl Mean {
    /// The 95 % interval of Student's distribution; `None` without spread between blocks.
    pub fn interval(&self) -> Option<Interval> {
        if self.error <= 0.0 || self.blocks < 2 {
            return None;
        }
        let half = student_95(self.blocks as u32 - 1) * self.error;
        Some(Interval { value: self.value, low: self.value - half, high: self.value + half })
    }
}

/// The mean of values that come in blocks, each with its block; `None` without values.
pub fn clustered<B: Ord>(values: &[(B, f64)]) -> Option<Mean> {
    let n = values.len() as f64;
    if values.is_empty() {
        return None;
    }
    let value = values.iter().map(|v| v.1).sum::<f64>() / n;
    let mut sums: BTreeMap<&B, f64> = BTreeMap::new();
    values.iter().for_each(|(block, x)| *sums.entry(block).or_default() += x - value);
    let blocks = sums.len();
    if blocks < 2 {
        return Some(Mean { value, error: 0.0, blocks });
    }
    let squares: f64 = sums.values().map(|s| s * s).sum();
    let error = (blocks as f64 / (blocks as f64 - 1.0) * squares).sqrt() / n;
    // Sums of equal numbers may leave a trace of rounding, which is not spread.
    let error = if error < 1e-12 * (1.0 + value.abs()) { 0.0 } else { error };
    Some(Mean { value, error, blocks })
}

/// McNemar's exact test over pairs: whether the first won, and the second.
pub fn mcnemar(pairs: impl IntoIterator<Item = (bool, bool)>) -> McNemar {
    let mut out = McNemar::default();
    for (first, second) in pairs {
        *match (first, second) {
            (true, true) => &mut out.both,
            (true, false) => &mut out.first,
            (false, true) => &mut out.second,
            (false, false) => &mut out.neither,
        } += 1;
    }
    let n = out.first + out.second;
    // Logarithms, as 2^-n is below every double for n > 1074.
    let mut term = -(n as f64) * std::f64::consts::LN_2;
    let mut tail = 0.0;
    for k in 0..=out.first.min(out.second) {
        tail += term.exp();
        term += ((n - k) as f64).ln() - ((k + 1) as f64).ln();
    }
    out.p = (2.0 * tail).min(1.0);
    out
}

/// The plain difference in every game of both.
fn fallback(first: &[Side], second: &[Side]) -> Vec<Unpaired> {
    let scored = |sides: &[Side], game: &str| -> Vec<((String, u64), f64)> {
        let of = sides.iter().filter(|s| s.game == game);
        of.filter_map(|s| Some(((s.part.clone(), s.seed), s.score?))).collect()
    };
    let games: BTreeSet<&str> = first.iter().map(|s| s.game.as_str()).collect();
    let compared = games.into_iter().filter_map(|game| {
        let (a, b) = (scored(first, game), scored(second, game));
        let (x, y) = (clustered(&a)?, clustered(&b)?);
        let matches = [a.len(), b.len()];
        Some(Unpaired { game: game.to_owned(), matches, scores: [x.value, y.value], score: welch(x, y) })
    });
    compared.collect()
}

/// The difference of two independent means.
pub fn welch(a: Mean, b: Mean) -> Difference {
    let value = a.value - b.value;
    let part = |m: Mean| m.error * m.error;
    let variance = part(a) + part(b);
    if variance <= 0.0 || a.blocks < 2 || b.blocks < 2 {
        return Difference { value, low: None, high: None };
    }
    let freedom = |m: Mean| part(m) * part(m) / (m.blocks as f64 - 1.0);
    let freedom = (variance * variance / (freedom(a) + freedom(b))).floor().clamp(1.0, f64::from(u32::MAX)) as u32;
    let half = student_95(freedom) * variance.sqrt();
    Difference { value, low: Some(value - half), high: Some(value + half) }
}

/// The 0.975 quantile of Student's distribution with `freedom` degrees of freedom, by bisection.
///
/// # Panics
/// If `freedom` is 0.
pub fn student_95(freedom: u32) -> f64 {
    assert!(freedom > 0, "Student's distribution has a degree of freedom");
    // Above this, the quantile equals that of the normal distribution to four decimals, and the series is long.
    if freedom > 50_000 {
        return crate::rating::table::Z95;
    }
    let (mut low, mut high) = (0.0, 20.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if within(middle, freedom) < 0.95 { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// The probability that Student's variable lies within `-t..t`: Abramowitz and Stegun, 26.7.3 and 26.7.4.
fn within(t: f64, freedom: u32) -> f64 {
    let theta = (t / f64::from(freedom).sqrt()).atan();
    let (sine, cosine) = theta.sin_cos();
    let odd = freedom % 2 == 1;
    // Terms of cosines with falling powers, times the ratio of even to odd numbers, or of odd to even ones.
    let mut term = if odd { cosine } else { 1.0 };
    let mut sum = if freedom == 1 { 0.0 } else { term };
    let mut k = if odd { 2.0 } else { 1.0 };
    while k + 2.0 < f64::from(freedom) {
        term *= cosine * cosine * k / (k + 1.0);
        sum += term;
        k += 2.0;
    }
    if odd { (theta + sine * sum) * std::f64::consts::FRAC_2_PI } else { sine * sum }
}

#[cfg(test)]
mod tests;
