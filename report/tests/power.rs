//! Coverage of intervals, power of plans, and error rates of tests, by simulation: blocks of two matches are drawn from
//! known distributions.
//!
//! `LUDEX_TEST_SCALE=10 cargo test --release -p ludex-report --test power -- --nocapture` prints the tables of
//! docs/ratings.md, with 5,000 runs in each line.

use ludex_env::Stream;
use ludex_env::check::scaled;
use ludex_referee::rating::PlayedGame;
use ludex_referee::rating::anchored::{Anchored, Rating, anchored};
use ludex_referee::rating::table::Z95;
use ludex_report::compare::clustered;
use ludex_report::power::{self, POINTS_OF_SCORE, SequentialTest, Sprt, SprtDecision, expected_score, stopping_width};
use rayon::prelude::*;

/// Number of simulated runs per table row at scale 1.
const RUNS: u64 = 500;
/// Number of blocks between two checks of `ludex evaluate --stop-at-ci`.
const ROUNDS: usize = 4;
/// Sampling step: the interval of the report is computed for every `RESAMPLED`-th simulated run.
const RESAMPLED: u64 = 5;

/// Distribution of blocks: the probabilities of 0, 1/2, 1, 3/2 and 2 points in the two matches of a block. Includes the
/// ladder's share of draws between agents of equal strength.
#[derive(Clone, Copy)]
struct Blocks {
    what: &'static str,
    chances: [f64; 5],
    draws: f64,
}

/// Creates blocks of two independent matches.
fn independent_blocks(what: &'static str, win: f64, draw: f64) -> Blocks {
    let [l, d, w] = [1.0 - win - draw, draw, win];
    Blocks { what, chances: [l * l, 2.0 * l * d, d * d + 2.0 * l * w, 2.0 * d * w, w * w], draws: draw }
}

/// Creates blocks in which the seed or the seat decides most matches: most blocks are one win and one loss.
fn split(what: &'static str, even: f64, lead: f64) -> Blocks {
    let rest = (1.0 - even) / 2.0;
    Blocks { what, chances: [rest - lead, 0.0, even, 0.0, rest + lead], draws: 0.0 }
}

impl Blocks {
    fn draw(&self, rng: &mut Stream) -> f64 {
        let mut left = rng.unit();
        let point = self.chances.iter().position(|chance| {
            left -= chance;
            left < 0.0
        });
        point.unwrap_or(4) as f64 / 4.0
    }

    fn mean(&self) -> f64 {
        self.chances.iter().zip(0..).map(|(chance, k)| chance * f64::from(k) / 4.0).sum()
    }

    fn deviation(&self) -> f64 {
        let mean = self.mean();
        self.chances.iter().zip(0..).map(|(chance, k)| chance * (f64::from(k) / 4.0 - mean).powi(2)).sum::<f64>().sqrt()
    }

    /// Returns the true rating: the rating at which the model expects the mean score of the distribution.
    fn rating(&self) -> f64 {
        let nu = 2.0 * self.draws / (1.0 - self.draws);
        let score = |theta: f64| {
            let (win, loss) = ((theta / 2.0).exp(), (-theta / 2.0).exp());
            (win + nu / 2.0) / (win + loss + nu)
        };
        let (mut low, mut high) = (-20.0, 20.0);
        for _ in 0..80 {
            let middle = f64::midpoint(low, high);
            if score(middle) < self.mean() { low = middle } else { high = middle }
        }
        400.0 / std::f64::consts::LN_10 * 2.0 / (2.0 + nu) * low
    }

    /// Returns the rating of an agent from its scores in blocks against an opponent with the constant rating 0.
    fn rate(&self, scores: &[f64], resamples: usize, seed: u64) -> Rating {
        let matches = |(k, score): (usize, &f64)| {
            // The first match takes the points that the second leaves: one point of two matches is a win and a loss, or
            // two draws if the distribution has draws.
            let points = 2.0 * score;
            let first = if points == 1.0 && self.draws > 0.0 { 0.5 } else { points.min(1.0) };
            let (first, second) = if points == 0.5 { (0.0, 0.5) } else { (first, points - first) };
            [first, second].map(|score| PlayedGame { pair: Some(k), ..PlayedGame::two(1, 0, score) })
        };
        let games: Vec<PlayedGame> = scores.iter().enumerate().flat_map(matches).collect();
        let settings = Anchored { fixed: vec![(0, 0.0)], draws: Some(self.draws), resamples, seed };
        anchored(2, &games, &settings).players[1].expect("a rating")
    }
}

/// Returns the tolerance below a nominal value: 0.01, plus the random error of a share measured over `runs` runs.
fn slack(nominal: f64, runs: u64) -> f64 {
    0.01 + 4.0 * (nominal * (1.0 - nominal) / runs as f64).sqrt()
}

fn stream(what: &str, run: u64) -> Stream {
    Stream::from_text(&format!("power:{what}:{run}"))
}

/// Result of a run that stopped because its interval was narrow enough.
struct Stopped {
    blocks: usize,
    /// True if the rating plus or minus the requested width covers the true rating.
    holds: bool,
    /// True if the interval of the report covers the true rating; `None` if not computed.
    reported: Option<bool>,
}

/// Returns true if the interval of the report covers the true rating.
fn reported(blocks: &Blocks, scores: &[f64], seed: u64) -> bool {
    let interval = blocks.rate(scores, 1000, seed).interval.expect("an interval");
    (interval.low..=interval.high).contains(&blocks.rating())
}

fn stopped(blocks: &Blocks, ci: f64, run: u64) -> Stopped {
    let (mut rng, mut scores) = (stream(blocks.what, run), Vec::new());
    let truth = blocks.rating();
    loop {
        scores.extend((0..ROUNDS).map(|_| blocks.draw(&mut rng)));
        let now = blocks.rate(&scores, 0, 0);
        let width = now.error.and_then(|error| stopping_width(error, now.blocks));
        if width.is_some_and(|width| width <= ci) {
            let reported = run.is_multiple_of(RESAMPLED).then(|| reported(blocks, &scores, run));
            return Stopped { blocks: scores.len(), holds: (now.rating - truth).abs() <= ci, reported };
        }
    }
}

/// Simulates a run that stops when the plain normal interval is narrow enough; the first check is at four blocks.
/// Returns true if the final interval covers the true rating.
fn plain(blocks: &Blocks, ci: f64, run: u64) -> bool {
    let (mut rng, mut scores) = (stream(blocks.what, run), Vec::new());
    loop {
        scores.extend((0..ROUNDS).map(|_| blocks.draw(&mut rng)));
        let n = scores.len() as f64;
        let mean = scores.iter().sum::<f64>() / n;
        let variance = scores.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let slope = 4.0 * mean * (1.0 - mean) / POINTS_OF_SCORE;
        if slope > 0.0 && Z95 * (variance / n).sqrt() / slope <= ci {
            return (blocks.rate(&scores, 0, 0).rating - blocks.rating()).abs() <= ci;
        }
    }
}

fn share(hits: usize, of: u64) -> f64 {
    hits as f64 / of as f64
}

#[test]
fn intervals_cover_the_true_rating_if_runs_stop_at_a_target_width() {
    let runs = scaled(RUNS);
    let kinds = [
        independent_blocks("equals, independent matches", 0.5, 0.0),
        independent_blocks("85 % of the matches won", 0.85, 0.0),
        independent_blocks("six draws of ten, 55 % of the points", 0.25, 0.6),
        split("luck: four blocks of five are won and lost", 0.8, 0.02),
        split("nine blocks of ten are won and lost", 0.9, 0.03),
        split("luck that stays with the agent in a block", 0.1, 0.05),
    ];
    println!(
        "| blocks | asked for | mean number | rating ± asked | plain rule | interval of the report | the same, fixed number |"
    );
    for blocks in kinds {
        for ci in [100.0, 50.0] {
            let all: Vec<Stopped> = (0..runs).into_par_iter().map(|run| stopped(&blocks, ci, run)).collect();
            let plain = (0..runs).into_par_iter().filter(|&run| plain(&blocks, ci, run)).count();
            let mean = all.iter().map(|s| s.blocks as f64).sum::<f64>() / runs as f64;
            let holds = share(all.iter().filter(|s| s.holds).count(), runs);
            let reports: Vec<bool> = all.iter().filter_map(|s| s.reported).collect();
            let reported = share(reports.iter().filter(|held| **held).count(), reports.len() as u64);
            let plain = share(plain, runs);
            // Reference without early stopping: with few blocks, bootstrap intervals cover too rarely even then.
            let some = reports.len() as u64;
            let fixed = (0..some).into_par_iter().filter(|&run| {
                let mut rng = stream("fixed", run);
                let scores: Vec<f64> = (0..mean.round() as u64).map(|_| blocks.draw(&mut rng)).collect();
                self::reported(&blocks, &scores, run)
            });
            let fixed = share(fixed.count(), some);
            println!(
                "| {} | ±{ci:.0} | {mean:.1} | {holds:.4} | {plain:.4} | {reported:.3} | {fixed:.3} |",
                blocks.what
            );
            assert!(holds >= 0.95 - slack(0.95, runs), "{}, {ci}: {holds}", blocks.what);
            assert!(reported >= fixed - 0.01 - 2.0 * slack(fixed.min(0.95), some), "{}, {ci}: {reported}", blocks.what);
        }
    }
}

/// Runs an SPRT to its end, and returns the decision and the number of blocks.
fn tested(sprt: Sprt, blocks: &Blocks, run: u64) -> (SprtDecision, u64) {
    let (mut rng, mut test) = (stream(blocks.what, run), SequentialTest::new(sprt, 2));
    loop {
        test.add(blocks.draw(&mut rng));
        if let Some(decision) = test.decision() {
            return (decision, test.blocks());
        }
    }
}

#[test]
fn sprt_error_rates_are_within_alpha_and_beta() {
    let runs = scaled(RUNS);
    type Kind = (&'static str, fn(f64) -> Blocks);
    let kinds: [Kind; 3] = [
        ("independent matches", |s| independent_blocks("independent", s, 0.0)),
        ("six draws of ten", |s| independent_blocks("draws", s - 0.3, 0.6)),
        ("luck: four blocks of five are won and lost", |s| split("luck", 0.8, s - 0.5)),
    ];
    println!(
        "| blocks | test | elo0 is true: accepts elo1 | blocks, mean | elo1 is true: accepts elo0 | blocks, mean |"
    );
    for (what, of) in kinds {
        for text in ["elo0=0 elo1=30", "elo0=0 elo1=60", "elo0=-30 elo1=30 alpha=0.1 beta=0.1"] {
            let sprt: Sprt = text.parse().unwrap();
            let under = |elo: f64, wrong: SprtDecision| {
                let blocks = of(expected_score(elo));
                let all: Vec<_> = (0..runs).into_par_iter().map(|run| tested(sprt, &blocks, run)).collect();
                let errors = share(all.iter().filter(|(decision, _)| *decision == wrong).count(), runs);
                (errors, all.iter().map(|(_, n)| *n as f64).sum::<f64>() / runs as f64)
            };
            let (alpha, first) = under(sprt.elo0, SprtDecision::Elo1);
            let (beta, second) = under(sprt.elo1, SprtDecision::Elo0);
            println!("| {what} | {text} | {alpha:.4} | {first:.0} | {beta:.4} | {second:.0} |");
            assert!(alpha <= sprt.alpha + slack(sprt.alpha, runs), "{what}, {text}: {alpha}");
            assert!(beta <= sprt.beta + slack(sprt.beta, runs), "{what}, {text}: {beta}");
        }
    }
}

#[test]
fn planned_blocks_reach_the_requested_width_and_power() {
    let runs = scaled(RUNS);
    println!("| blocks | for ±30 | mean half width | for 30 points, power 0.8 | found |");
    for of in [(|s| independent_blocks("independent", s, 0.0)) as fn(f64) -> Blocks, |s| split("luck", 0.8, s - 0.5)] {
        let equals = of(0.5);
        let n = power::blocks_for_width(POINTS_OF_SCORE * equals.deviation(), 30.0).unwrap();
        let widths: Vec<f64> = (0..runs.min(200))
            .into_par_iter()
            .map(|run| {
                let mut rng = stream(equals.what, run);
                let scores: Vec<f64> = (0..n).map(|_| equals.draw(&mut rng)).collect();
                let interval = equals.rate(&scores, 200, run).interval.expect("an interval");
                (interval.high - interval.low) / 2.0
            })
            .collect();
        let width = widths.iter().sum::<f64>() / widths.len() as f64;
        let better = of(expected_score(30.0));
        let needed = power::blocks_for_difference(POINTS_OF_SCORE * better.deviation(), 30.0, 0.8).unwrap();
        let found = (0..runs).into_par_iter().filter(|&run| {
            let mut rng = stream(better.what, run);
            let gains: Vec<(u64, f64)> = (0..needed).map(|k| (k, better.draw(&mut rng) - 0.5)).collect();
            clustered(&gains).and_then(|mean| mean.interval()).is_some_and(|i| i.low > 0.0 || i.high < 0.0)
        });
        let found = share(found.count(), runs);
        println!("| {} | {n} | {width:.1} | {needed} | {found:.3} |", equals.what);
        assert!((width - 30.0).abs() < 1.5, "{}: {width}", equals.what);
        assert!((found - 0.8).abs() <= slack(0.8, runs), "{}: {found}", equals.what);
    }
}
