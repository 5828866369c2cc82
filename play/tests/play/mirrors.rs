//! Benefit of mirror matches: measurements of an agent with and without the mirror match as a control variate. The
//! seeds are fixed. `cargo test -p ludex-play --test play mirrors -- --nocapture` prints the table of docs/ratings.md.

use ludex_play::local::{Participant, block_key, play_match, setup};
use ludex_referee::metric::{MEAN_RETURN, MIRRORED_RETURN, Measurement, Metric};
use ludex_referee::read::Source;
use ludex_referee::result::GameResult;
use ludex_referee::rows::{MetricMatch, ResultTable, RowAgent, RowPart, Rows};
use ludex_referee::schedule::Seeds;
use ludex_referee::{VerifiedRecord, Verifier};

/// Number of matches per measurement of the mean return.
const MATCHES: u64 = 100;

/// Pairing to measure, with the expected variance reduction.
struct Case {
    game: &'static str,
    agent: &'static str,
    anchor: &'static str,
    /// Number of measurements of the mean.
    means: u64,
    /// Minimum expected factor by which mirror matches reduce the variance of the mean return.
    gain: f64,
}

/// Plays the matches of one measurement and returns each result with the agent's seat. Each match has its own seed and
/// a mirror match on that seed; the agent's seat alternates.
fn played(case: &Case, mean: u64) -> Vec<(GameResult, usize)> {
    let game = ludex_games::load(case.game).unwrap();
    let seated = |text: &str| Participant::new(text, &game).unwrap();
    let (agent, anchor, seeds, verifier) =
        (seated(case.agent), seated(case.anchor), Seeds::Open(20), Verifier::new(ludex_games::builtin()));
    let one = |k: u64| {
        let (seed, seat) = (seeds.of(mean * MATCHES + k), (k % 2) as usize);
        let mirror = ludex_play::play(&game, [case.anchor, case.anchor], seed).unwrap();
        assert_eq!(mirror.failure, None);
        let players = if seat == 0 { [&agent, &anchor] } else { [&anchor, &agent] };
        let mut terms = setup(&game, &players, seed, &block_key(&game, &players, seed), 0, None);
        terms.mirror = mirror.record.footer.returns;
        let played = play_match(terms, &players, Default::default());
        assert_eq!(played.failure, None);
        let line = played.record.to_line().unwrap();
        (verifier.verify_line(&line, Source::default()).map(VerifiedRecord::into_result).unwrap(), seat)
    };
    (0..MATCHES).map(one).collect()
}

/// Measures a metric of agent 0, given the agent's seat in each match.
fn measured(metric: Metric, games: &[(GameResult, usize)]) -> Measurement {
    let agent = |name: &str| RowAgent { name: name.to_owned(), candidate: true };
    let players = |seat: usize| if seat == 0 { vec![0, 1] } else { vec![1, 0] };
    let rows = Rows::new(ResultTable {
        agents: ["agent", "anchor"].map(agent).to_vec(),
        parts: vec![RowPart::of_game("part", games[0].0.game())],
        matches: games.iter().map(|(game, seat)| MetricMatch::of(game, 0, players(*seat))).collect(),
        ..ResultTable::default()
    });
    metric.usual(&rows.of_agent(0)).unwrap()
}

/// Returns the mean of some numbers and the standard error of the mean.
fn mean(of: &[f64]) -> (f64, f64) {
    let n = of.len() as f64;
    let mean = of.iter().sum::<f64>() / n;
    (mean, (of.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt())
}

/// Returns the half-width of the confidence interval.
fn half(of: &Measurement) -> f64 {
    (of.high.unwrap() - of.low.unwrap()) / 2.0
}

#[test]
fn mirror_matches_reduce_variance_without_bias() {
    let case = |game, agent, anchor, means, gain| Case { game, agent, anchor, means, gain };
    println!(
        "| game | agent | anchor | mean return | bias | standard error of the bias | gain | inside the interval |"
    );
    for case in [
        case("kuhn_poker", "random", "equilibrium", 200, 3.5),
        case("kuhn_poker", "cfr rounds=4", "equilibrium", 200, 6.0),
        case("leduc_poker", "random", "equilibrium", 100, 1.2),
        case("leduc_poker", "leduc_honest", "equilibrium", 100, 2.2),
        case("texas_holdem", "pot_odds slips=0.2", "pot_odds", 30, 1.6),
        case("texas_holdem", "hand_strength", "pot_odds", 30, 1.7),
    ] {
        let both: Vec<(Measurement, Measurement)> = (0..case.means)
            .map(|mean| {
                let games = played(&case, mean);
                (measured(MEAN_RETURN, &games), measured(MIRRORED_RETURN, &games))
            })
            .collect();
        let (truth, _) = mean(&both.iter().map(|(plain, _)| plain.value).collect::<Vec<_>>());
        // The mean without mirrors is unbiased, so the difference of both means is the bias of the mirrored mean.
        let (bias, error) =
            mean(&both.iter().map(|(plain, mirrored)| mirrored.value - plain.value).collect::<Vec<_>>());
        let squares = |of: &dyn Fn(&(Measurement, Measurement)) -> f64| both.iter().map(|b| of(b).powi(2)).sum::<f64>();
        let gain = squares(&|b| half(&b.0)) / squares(&|b| half(&b.1));
        let (best, _) = mean(&both.iter().map(|(_, mirrored)| mirrored.value).collect::<Vec<_>>());
        let inside = both.iter().filter(|(_, m)| (m.value - best).abs() <= half(m)).count() as f64 / both.len() as f64;
        println!(
            "| {} | `{}` | `{}` | {truth:.3} | {bias:+.4} | {error:.4} | {gain:.2} | {:.0} % |",
            case.game,
            case.agent,
            case.anchor,
            100.0 * inside
        );
        assert!(bias.abs() <= 3.0 * error, "{}: bias {bias}, error {error}", case.game);
        assert!(gain > case.gain, "{}: gain {gain}", case.game);
        assert!(inside > 0.85, "{}: {inside} of the intervals hold the mean", case.game);
    }
}
