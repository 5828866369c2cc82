//! Paired comparison of two agents: their results on the same seeds, on the same seats, against the same opponents.
//!
//! Two matches with equal settings, one of each agent, are a **pair**. Both have the same luck of seed and seat, which
//! cancels out of the difference. Each [`ComparedMatch`] is a match of one agent.
//!
//! **Difference.** The mean of the differences `d` of the pairs. Pairs on one seed are not independent trials (the same
//! cards with seats swapped, the same deal against several opponents), so they form a block, and the standard error is
//! cluster-robust: with `n` pairs in `G` blocks, `se^2 = G / (G - 1) * sum over blocks of (sum of (d - mean))^2 / n^2`
//! (K.-Y. Liang and S. L. Zeger, "Longitudinal data analysis using generalized linear models", Biometrika 73, 1986,
//! with the usual small-sample factor). The 95 % interval is `mean +- t * se`, `t` the 0.975 quantile of Student's
//! distribution with `G - 1` degrees of freedom. With one pair in each block this is the paired t interval (Student,
//! "The probable error of a mean", Biometrika 6, 1908). The interval is absent for fewer than two blocks, or if all
//! blocks agree: equal results in a sample do not prove that the true variance is zero.
//!
//! **McNemar.** The test uses the pairs that only one agent won. If both are equally strong, each such pair is a coin
//! toss. `p` is exact and two-sided, `min(1, 2 * P(X <= min(b, c)))` with `X` binomial over `b + c` tosses (Q. McNemar,
//! Psychometrika 12, 1947; the exact form as in M. W. Fagerland, S. Lydersen and P. Laake, BMC Medical Research
//! Methodology 13:91, 2013). The test treats pairs as independent, so `p` is a little too small in large blocks.
//!
//! **Several games.** Each game has a `p`: McNemar's or, in games without winners, the `p` of the t test of the
//! returns. The more games are compared, the likelier is a small `p` by chance. `holm` corrects for that: if the agents
//! are equal in all games, the probability that any game's `holm` is at most 0.05 is at most 0.05, for any dependence
//! between the games. With the `m` values sorted, it is `max over j <= i of min(1, (m - j + 1) p_j)`, j from 1 (S.
//! Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6, 1979).
//!
//! **Needed.** Number of blocks that detect a difference of [`power::REPORTED`] points with the power [`power::POWER`]
//! (see [`power`]). Further blocks are assumed to vary like the played blocks, or like independent matches if the
//! played blocks have no spread.
//!
//! **Unpaired.** Without pairs, the difference of the two means with `se^2 = se_a^2 + se_b^2` and Welch's degrees of
//! freedom, rounded down (B. L. Welch, Biometrika 34, 1947). Luck does not cancel out of this difference, so the
//! interval is wider.

use std::collections::{BTreeMap, BTreeSet};

use ludex_protocol::record::Outcome;
use ludex_referee::VerifiedRecord;
use ludex_referee::distribution::{student_95, student_p};
use ludex_referee::outcome::is_competitive;
use ludex_referee::rating::table::Interval;
use ludex_referee::relation::pearson;
use serde::Serialize;

use crate::power;

/// Match of one agent, with the agent's result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComparedMatch {
    pub part: String,
    pub game: String,
    /// Opponent on each seat; `None` on seats of the agent itself.
    pub seats: Vec<Option<String>>,
    pub seed: u64,
    /// Score: 1 for a win, 1/2 for a draw, 0 for a loss; `None` if the game has no winners.
    pub score: Option<f64>,
    /// Return of the agent, as a mean over its seats.
    pub payoff: f64,
}

impl ComparedMatch {
    /// Returns a verified match from the view of an agent. `None` if the agent has no seat or all seats, or if the record
    /// has no seed.
    pub fn of(game: &VerifiedRecord, part: &str, agent: &str) -> Option<ComparedMatch> {
        let record = game.record();
        let footer = &record.footer;
        let seats = &record.header.seats;
        let own: Vec<usize> = (0..seats.len()).filter(|&k| seats[k].name == agent).collect();
        if own.is_empty() || own.len() == seats.len() {
            return None;
        }
        let opponent = |k: usize| {
            let seat = &seats[k];
            (!own.contains(&k)).then(|| seat.spec.clone().unwrap_or_else(|| seat.name.clone()))
        };
        let score = |k: &usize| match footer.outcome.get(*k)? {
            Outcome::Win => Some(1.0),
            Outcome::Draw => Some(0.5),
            Outcome::Loss => Some(0.0),
            Outcome::None => None,
        };
        let mean = |all: Vec<f64>| all.iter().sum::<f64>() / all.len() as f64;
        // Only competitive games have scores.
        let scores: Option<Vec<f64>> = own.iter().map(score).collect();
        let scores = scores.filter(|_| is_competitive(&**game.game()));
        Some(ComparedMatch {
            part: part.to_owned(),
            game: game.spec().string.clone(),
            seats: (0..seats.len()).map(opponent).collect(),
            seed: game.seed()?,
            score: scores.map(mean),
            payoff: mean(own.iter().map(|&k| footer.returns.get(k).copied().unwrap_or_default()).collect()),
        })
    }
}

/// Result of McNemar's test. Only a score of 1 counts as a win.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct McNemar {
    /// Pairs won by both agents.
    pub both: u64,
    /// Pairs won by the first agent only.
    pub first: u64,
    /// Pairs won by the second agent only.
    pub second: u64,
    /// Pairs won by neither agent.
    pub neither: u64,
    /// Two-sided exact p value: the probability of a split at least this uneven if both agents have equal strength.
    pub p: f64,
}

/// Comparison over a set of pairs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparisonRow {
    /// Game string, or `all`.
    pub game: String,
    /// Parts of the suite that the pairs belong to, in alphabetical order; empty for matches without a suite.
    pub parts: Vec<String>,
    pub pairs: usize,
    /// Number of blocks, each on one seed.
    pub blocks: usize,
    /// Mean score of each agent, over pairs with scores.
    pub scores: Option<[f64; 2]>,
    /// Mean difference of scores, the first minus the second.
    pub score: Option<Difference>,
    /// Mean difference of returns; only for a single game, because each game has its own unit.
    pub payoff: Option<Difference>,
    /// McNemar's test over pairs with scores.
    pub mcnemar: Option<McNemar>,
    /// Probability of a difference at least as large as the observed difference, if both agents have equal strength:
    /// McNemar's `p`, or the `p` of the returns in games without scores.
    pub p: Option<f64>,
    /// Value of `p` after correction for the number of games; absent in the row for all games.
    pub holm: Option<f64>,
    /// Number of blocks needed to detect a difference of [`power::REPORTED`] points; absent in games without scores.
    pub needed: Option<u64>,
}

/// Mean difference with its interval, if the interval can be computed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    pub value: f64,
    /// Lower end of the 95 % interval.
    pub low: Option<f64>,
    /// Upper end of the 95 % interval.
    pub high: Option<f64>,
    /// Two-sided p value of the t test that corresponds to the interval.
    pub p: Option<f64>,
    /// Reason for a missing interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<NoInterval>,
}

impl Difference {
    /// Limits the interval to the range of differences of scores, -1 to 1.
    fn of_scores(self) -> Difference {
        let limit = |end: Option<f64>| end.map(|end| end.clamp(-1.0, 1.0));
        Difference { low: limit(self.low), high: limit(self.high), ..self }
    }
}

/// Reason for a missing interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NoInterval {
    /// Only one block, from which a variance cannot be estimated.
    OneBlock,
    /// No differences between blocks. The true variance may still be greater than zero.
    NoSpread,
}

/// Comparison of two agents.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Comparison by game, in alphabetical order.
    pub games: Vec<ComparisonRow>,
    /// Comparison over all pairs.
    pub all: ComparisonRow,
    /// Number of excluded matches without a partner, of the first and of the second agent.
    pub unpaired: [usize; 2],
    /// Numbers of excluded matches, of the first and of the second agent, by part, game and opponents.
    pub excluded: BTreeMap<String, [usize; 2]>,
    /// Unpaired differences in the games that both agents played; empty if there are pairs.
    pub fallback: Vec<Unpaired>,
}

/// Unpaired difference in one game.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unpaired {
    pub game: String,
    /// Number of matches with a score, of the first and of the second agent.
    pub matches: [usize; 2],
    pub scores: [f64; 2],
    /// Difference of the mean scores.
    pub score: Difference,
}

/// Compares two agents by pairs of matches with equal settings.
pub fn compare(first: &[ComparedMatch], second: &[ComparedMatch]) -> Comparison {
    let mut partners: BTreeMap<Terms, Vec<&ComparedMatch>> = BTreeMap::new();
    second.iter().rev().for_each(|side| partners.entry(Terms::of(side)).or_default().push(side));
    let mut excluded: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    let mut pairs = Vec::new();
    for side in first {
        match partners.get_mut(&Terms::of(side)).and_then(Vec::pop) {
            Some(partner) => pairs.push((side, partner)),
            None => excluded.entry(label(side)).or_default()[0] += 1,
        }
    }
    for side in partners.values().flatten() {
        excluded.entry(label(side)).or_default()[1] += 1;
    }
    let games: BTreeSet<&str> = pairs.iter().map(|(a, _)| a.game.as_str()).collect();
    let of =
        |game: &&str| row(game, &pairs.iter().copied().filter(|(a, _)| a.game == **game).collect::<Vec<_>>(), true);
    let one = games.len() == 1;
    // Returns of several games have no common unit, so only scores are compared.
    let scored: Vec<_> = pairs.iter().copied().filter(|(a, b)| one || a.score.is_some() && b.score.is_some()).collect();
    let mut games: Vec<ComparisonRow> = games.iter().map(of).collect();
    let corrected = holm(&games.iter().filter_map(|row| row.p).collect::<Vec<_>>());
    games.iter_mut().filter(|row| row.p.is_some()).zip(corrected).for_each(|(row, p)| row.holm = Some(p));
    Comparison {
        games,
        all: row("all", &scored, one),
        unpaired: [0, 1].map(|k| excluded.values().map(|n| n[k]).sum()),
        excluded,
        fallback: if pairs.is_empty() { fallback(first, second) } else { Vec::new() },
    }
}

/// Settings that must be equal in a pair.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Terms<'a>(&'a str, &'a str, &'a [Option<String>], u64);

impl<'a> Terms<'a> {
    fn of(side: &'a ComparedMatch) -> Self {
        Terms(&side.part, &side.game, &side.seats, side.seed)
    }
}

/// Formats `part: game against a, b`.
fn label(side: &ComparedMatch) -> String {
    let others: Vec<&str> = side.seats.iter().flatten().map(String::as_str).collect();
    format!("{}: {} against {}", side.part, side.game, others.join(", "))
}

fn row(game: &str, pairs: &[(&ComparedMatch, &ComparedMatch)], payoffs: bool) -> ComparisonRow {
    let block = |a: &ComparedMatch| (a.part.clone(), a.game.clone(), a.seed);
    let blocks: BTreeSet<_> = pairs.iter().map(|(a, _)| block(a)).collect();
    let parts: BTreeSet<&str> = pairs.iter().map(|(a, _)| a.part.as_str()).filter(|part| !part.is_empty()).collect();
    let scored: Vec<_> = pairs.iter().filter_map(|(a, b)| Some((*a, a.score?, b.score?))).collect();
    let mean =
        |which: fn(&(&ComparedMatch, f64, f64)) -> f64| scored.iter().map(which).sum::<f64>() / scored.len() as f64;
    let payoff: Vec<_> = pairs.iter().map(|(a, b)| (block(a), a.payoff - b.payoff)).collect();
    let score: Vec<_> = scored.iter().map(|(a, x, y)| (block(a), x - y)).collect();
    let mcnemar = (!scored.is_empty()).then(|| mcnemar(scored.iter().map(|&(_, x, y)| (x == 1.0, y == 1.0))));
    let payoff = difference(&payoff).filter(|_| payoffs);
    ComparisonRow {
        game: game.to_owned(),
        parts: parts.into_iter().map(str::to_owned).collect(),
        pairs: pairs.len(),
        blocks: blocks.len(),
        scores: (!scored.is_empty()).then(|| [mean(|s| s.1), mean(|s| s.2)]),
        score: difference(&score).map(Difference::of_scores),
        payoff,
        mcnemar,
        p: mcnemar.map_or_else(|| payoff.and_then(|d| d.p), |m| Some(m.p)),
        holm: None,
        needed: clustered(&score).and_then(|mean| needed(mean, score.len())),
    }
}

/// Returns the mean of `values`, given as (block, value), with an interval clustered by block; `None` without values.
fn difference<B: Ord>(values: &[(B, f64)]) -> Option<Difference> {
    let mean = clustered(values)?;
    let Some(Interval { value, low, high }) = mean.interval() else {
        let why = if mean.blocks < 2 { NoInterval::OneBlock } else { NoInterval::NoSpread };
        return Some(Difference { value: mean.value, low: None, high: None, p: None, why: Some(why) });
    };
    let p = student_p(mean.value / mean.error, mean.blocks as u32 - 1);
    Some(Difference { value, low: Some(low), high: Some(high), p: Some(p), why: None })
}

/// Returns the number of blocks needed to detect a difference of [`power::REPORTED`] points between agents of nearly
/// equal strength.
fn needed(mean: Mean, pairs: usize) -> Option<u64> {
    let blocks = mean.blocks as f64;
    // Used if the sample shows no variance: scores have a variance of at most 1/4, so differences of two independent
    // scores have at most 1/2, and a block averages `pairs / blocks` differences.
    let unseen = (0.5 * blocks / pairs as f64).sqrt();
    let deviation = if mean.error > 0.0 { mean.error * blocks.sqrt() } else { unseen };
    power::blocks_for_difference(deviation, power::expected_score(power::REPORTED) - 0.5, power::POWER)
}

/// Corrects p values for the number of tests by Holm's method. The output has the order of the input.
pub fn holm(all: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by(|&a, &b| all[a].total_cmp(&all[b]));
    let mut out = vec![0.0; all.len()];
    let mut least = 0.0f64;
    for (rank, &k) in order.iter().enumerate() {
        least = least.max((all.len() - rank) as f64 * all[k]).min(1.0);
        out[k] = least;
    }
    out
}

/// Returns Pearson's correlation of the mean scores of two agents over blocks that both agents played with equal
/// settings. `None` for fewer than three blocks, or if an agent has equal scores in all blocks.
pub fn correlation(first: &[ComparedMatch], second: &[ComparedMatch]) -> Option<f64> {
    let means = |sides: &[ComparedMatch]| {
        let mut blocks: BTreeMap<(String, String, u64), (f64, f64)> = BTreeMap::new();
        for side in sides {
            let Some(score) = side.score else { continue };
            let sum = blocks.entry((side.part.clone(), side.game.clone(), side.seed)).or_default();
            *sum = (sum.0 + score, sum.1 + 1.0);
        }
        blocks
    };
    let (a, b) = (means(first), means(second));
    let both: Vec<(f64, f64)> =
        a.iter().filter_map(|(block, x)| Some((x.0 / x.1, b.get(block).map(|y| y.0 / y.1)?))).collect();
    if both.len() > 2 { pearson(&both) } else { None }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    pub value: f64,
    /// Standard error; 0 for a single block, or if all blocks have equal means.
    pub error: f64,
    pub blocks: usize,
}

impl Mean {
    /// Returns the 95 % interval by Student's distribution; `None` if there are fewer than two blocks, or if all blocks
    /// have equal means.
    pub fn interval(&self) -> Option<Interval> {
        if self.error <= 0.0 || self.blocks < 2 {
            return None;
        }
        let half = student_95(self.blocks as u32 - 1) * self.error;
        Some(Interval { value: self.value, low: self.value - half, high: self.value + half })
    }
}

/// Returns the mean of `values`, given as (block, value), with a standard error clustered by block; `None` if empty.
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
    // A tiny error comes from rounding in sums of equal numbers, so it counts as 0.
    let error = if error < 1e-12 * (1.0 + value.abs()) { 0.0 } else { error };
    Some(Mean { value, error, blocks })
}

/// Runs McNemar's exact test over pairs, given as (first agent won, second agent won).
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
    // Sum logarithms, because 2^-n underflows a double for n > 1074.
    let mut term = -(n as f64) * std::f64::consts::LN_2;
    let mut tail = 0.0;
    for k in 0..=out.first.min(out.second) {
        tail += term.exp();
        term += ((n - k) as f64).ln() - ((k + 1) as f64).ln();
    }
    out.p = (2.0 * tail).min(1.0);
    out
}

/// Returns the unpaired difference in every game that both agents played.
fn fallback(first: &[ComparedMatch], second: &[ComparedMatch]) -> Vec<Unpaired> {
    let scored = |sides: &[ComparedMatch], game: &str| -> Vec<((String, u64), f64)> {
        let of = sides.iter().filter(|s| s.game == game);
        of.filter_map(|s| Some(((s.part.clone(), s.seed), s.score?))).collect()
    };
    let games: BTreeSet<&str> = first.iter().map(|s| s.game.as_str()).collect();
    let compared = games.into_iter().filter_map(|game| {
        let (a, b) = (scored(first, game), scored(second, game));
        let (x, y) = (clustered(&a)?, clustered(&b)?);
        let matches = [a.len(), b.len()];
        Some(Unpaired { game: game.to_owned(), matches, scores: [x.value, y.value], score: welch(x, y).of_scores() })
    });
    compared.collect()
}

/// Returns the difference of two independent means.
pub fn welch(a: Mean, b: Mean) -> Difference {
    let value = a.value - b.value;
    let part = |m: Mean| m.error * m.error;
    let variance = part(a) + part(b);
    if variance <= 0.0 || a.blocks < 2 || b.blocks < 2 {
        let why = if a.blocks.min(b.blocks) < 2 { NoInterval::OneBlock } else { NoInterval::NoSpread };
        return Difference { value, low: None, high: None, p: None, why: Some(why) };
    }
    let freedom = |m: Mean| part(m) * part(m) / (m.blocks as f64 - 1.0);
    let freedom = (variance * variance / (freedom(a) + freedom(b))).floor().clamp(1.0, f64::from(u32::MAX)) as u32;
    let half = student_95(freedom) * variance.sqrt();
    let p = Some(student_p(value / variance.sqrt(), freedom));
    Difference { value, low: Some(value - half), high: Some(value + half), p, why: None }
}

#[cfg(test)]
mod tests;
