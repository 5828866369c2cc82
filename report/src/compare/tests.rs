use super::*;

fn near(a: f64, b: f64, within: f64) {
    assert!((a - b).abs() <= within, "{a} is not {b}");
}

#[test]
fn paired_interval_agrees_with_student_1908() {
    // Hours of sleep gained, second drug minus first (Student 1908, after Cushny and Peebles): mean 1.58, and with R's
    // `t.test(paired = TRUE)` the interval from 0.7001142 to 2.4598858.
    let gained = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
    let values: Vec<(usize, f64)> = gained.into_iter().enumerate().collect();
    let mean = clustered(&values).unwrap();
    near(mean.value, 1.58, 1e-12);
    // t = 4.0621
    near(mean.value / mean.error, 4.0621, 5e-5);
    let interval = mean.interval().unwrap();
    near(interval.low, 0.700_114_2, 1e-6);
    near(interval.high, 2.459_885_8, 1e-6);
    // R: p-value = 0.002833.
    near(difference(&values).unwrap().p.unwrap(), 0.002_833, 5e-7);
}

#[test]
fn duplicate_values_in_a_block_do_not_narrow_the_interval() {
    let single: Vec<(usize, f64)> = [1.0, 0.0, -0.5, 1.0].into_iter().enumerate().collect();
    let twice: Vec<(usize, f64)> = single.iter().flat_map(|&v| [v, v]).collect();
    // A duplicated result does not make the evidence stronger.
    assert_eq!(clustered(&single), clustered(&twice));
    let apart: Vec<(usize, f64)> = twice.iter().map(|v| v.1).enumerate().collect();
    assert!(clustered(&apart).unwrap().error < clustered(&single).unwrap().error);
    // Opposite differences within a block cancel out, so all blocks have the mean 0.
    let swapped: Vec<(usize, f64)> = (0..4).flat_map(|k| [(k, 1.0), (k, -1.0)]).collect();
    assert_eq!(clustered(&swapped).unwrap().interval(), None);
    assert_eq!(clustered::<u8>(&[]), None);
    assert_eq!(clustered(&[(0, 1.0), (0, 0.0)]).unwrap().interval(), None);
}

#[test]
fn mcnemar_test_agrees_with_published_examples() {
    // Bentur et al. (2009), as in Fagerland, Lydersen and Laake (2013), table 1: 1, 1, 7, 12; exact p = 0.0703.
    let table = |both, first, second, neither| {
        let cells = [(both, (true, true)), (first, (true, false)), (second, (false, true)), (neither, (false, false))];
        mcnemar(cells.into_iter().flat_map(|(n, cell)| std::iter::repeat_n(cell, n)))
    };
    let got = table(1, 1, 7, 12);
    assert_eq!((got.both, got.first, got.second, got.neither), (1, 1, 7, 12));
    near(got.p, 0.0703, 5e-5);
    near(got.p, 18.0 / 256.0, 1e-12);
    assert_eq!(table(5, 0, 0, 3).p, 1.0);
    near(table(0, 3, 3, 0).p, 1.0, 1e-12);
    near(table(0, 6, 0, 0).p, 2.0 / 64.0, 1e-12);
    // 2^-n is far below the smallest double here.
    let many = table(0, 1000, 1000, 0).p;
    near(many, 1.0, 1e-9);
    assert!(table(0, 900, 1100, 0).p < 1e-4);
}

fn side(game: &str, other: &str, seat: usize, seed: u64, score: f64) -> ComparedMatch {
    let mut seats = vec![Some(other.to_owned()); 2];
    seats[seat] = None;
    ComparedMatch { part: "p".into(), game: game.into(), seats, seed, score: Some(score), payoff: 2.0 * score - 1.0 }
}

#[test]
fn matches_without_a_partner_are_listed() {
    let a = [
        side("g", "x", 0, 1, 1.0),
        side("g", "x", 1, 1, 1.0),
        side("g", "x", 0, 2, 0.5),
        side("g", "y", 0, 1, 1.0),
        side("h", "x", 0, 1, 0.0),
    ];
    let b =
        [side("h", "x", 0, 1, 1.0), side("g", "x", 1, 1, 0.0), side("g", "x", 0, 1, 1.0), side("g", "x", 0, 3, 1.0)];
    let got = compare(&a, &b);
    assert_eq!((got.all.pairs, got.all.blocks, got.unpaired), (3, 2, [2, 1]));
    let left: Vec<_> = got.excluded.iter().map(|(what, n)| (what.as_str(), *n)).collect();
    assert_eq!(left, [("p: g against x", [1, 1]), ("p: g against y", [1, 0])]);
    let g = &got.games[0];
    assert_eq!((g.game.as_str(), g.pairs, g.blocks, g.scores), ("g", 2, 1, Some([1.0, 0.5])));
    let why = Some(NoInterval::OneBlock);
    assert_eq!(g.score, Some(Difference { value: 0.5, low: None, high: None, p: None, why }));
    assert_eq!(g.parts, ["p"]);
    assert_eq!(g.payoff.unwrap().value, 1.0);
    let wins = g.mcnemar.unwrap();
    assert_eq!((wins.both, wins.first, wins.second), (1, 1, 0));
    // Returns of different games have no common unit.
    assert_eq!(got.all.payoff, None);
    // The differences are 0 and 1 in game `g`, and -1 in game `h`.
    assert_eq!(got.all.score.unwrap().value, 0.0);
    assert!(got.fallback.is_empty());
    // The order of the second agent's matches does not matter; swapping the agents changes the sign.
    let turned = compare(&b, &a);
    assert_eq!((turned.unpaired, turned.games[0].score.unwrap().value), ([1, 2], -0.5));
}

#[test]
fn match_is_paired_only_once() {
    let a = [side("g", "x", 0, 1, 1.0), side("g", "x", 0, 1, 0.0)];
    let b = [side("g", "x", 0, 1, 0.0)];
    let got = compare(&a, &b);
    assert_eq!((got.all.pairs, got.unpaired, got.all.score.unwrap().value), (1, [1, 0], 1.0));
}

#[test]
fn holm_correction_applies_to_p_values_of_several_games() {
    // R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") is 0.03 0.06 0.06 0.02.
    let got = holm(&[0.01, 0.04, 0.03, 0.005]);
    for (got, want) in got.into_iter().zip([0.03, 0.06, 0.06, 0.02]) {
        near(got, want, 1e-12);
    }
    assert_eq!(holm(&[0.4, 0.9]), [0.8, 0.9]);
    assert_eq!(holm(&[]), Vec::<f64>::new());
    // The first agent alone wins six matches of `g`; both agents win all matches of `h`.
    let of = |game: &str, score: f64| (0..6).map(move |seed| side(game, "x", 0, seed, score)).collect::<Vec<_>>();
    let got = compare(&[of("g", 1.0), of("h", 1.0)].concat(), &[of("g", 0.0), of("h", 1.0)].concat());
    let [g, h] = &got.games[..] else { panic!() };
    near(g.p.unwrap(), 2.0 / 64.0, 1e-12);
    near(g.holm.unwrap(), 4.0 / 64.0, 1e-12);
    assert_eq!((h.p, h.holm, got.all.holm), (Some(1.0), Some(1.0), None));
    assert_eq!(g.score.unwrap().why, Some(NoInterval::NoSpread));
    // A single game needs no correction.
    let one = compare(&of("g", 1.0), &of("g", 0.0));
    assert_eq!(one.games[0].p, one.games[0].holm);
}

#[test]
fn number_of_needed_blocks_depends_on_the_variance() {
    let sides = |score: fn(u64) -> f64| (0..40).map(|k| side("g", "x", 0, k, score(k))).collect::<Vec<_>>();
    // Repeating differences of 1, 0, 0 and -1: a variance of 20 / 39.
    let got = compare(&sides(|k| f64::from(u8::from(k % 4 == 0))), &sides(|k| f64::from(u8::from(k % 4 == 3))));
    let score = power::expected_score(30.0) - 0.5;
    let by_hand = 7.848_88 * (20.0 / 39.0) / (score * score);
    near(got.all.needed.unwrap() as f64, by_hand, 1.0);
    // Without spread, as independent matches: a variance of 1/2 for one pair in each block.
    let same = compare(&sides(|_| 1.0), &sides(|_| 1.0));
    near(same.all.needed.unwrap() as f64, 7.848_88 * 0.5 / (score * score), 1.0);
    assert_eq!(same.all.blocks, 40);
}

#[test]
fn correlation_uses_common_blocks_of_both_agents() {
    let sides = |score: fn(u64) -> f64| (0..12).map(|k| side("g", "x", 0, k, score(k))).collect::<Vec<_>>();
    let odd = sides(|k| (k % 2) as f64);
    near(correlation(&odd, &odd).unwrap(), 1.0, 1e-12);
    near(correlation(&odd, &sides(|k| ((k + 1) % 2) as f64)).unwrap(), -1.0, 1e-12);
    near(correlation(&odd, &sides(|k| (k / 2 % 2) as f64)).unwrap(), 0.0, 1e-12);
    assert_eq!((correlation(&odd, &sides(|_| 0.5)), correlation(&odd[..2], &odd)), (None, None));
}

#[test]
fn games_without_winners_are_compared_by_returns() {
    let of = |seed, payoff| ComparedMatch { score: None, payoff, ..side("g", "x", 0, seed, 0.0) };
    let got = compare(&[of(1, 3.0), of(2, 5.0)], &[of(1, 1.0), of(2, 4.0)]);
    assert_eq!((got.all.score, got.all.mcnemar, got.all.scores), (None, None, None));
    assert_eq!(got.all.payoff.unwrap().value, 1.5);
    // The p comes from the t test: 1.5 / 0.5 = 3 with one degree of freedom, 1 - 2 atan(3) / pi.
    near(got.games[0].p.unwrap(), 1.0 - 2.0 * 3f64.atan() / std::f64::consts::PI, 1e-9);
    assert_eq!((got.games[0].holm, got.all.needed), (got.games[0].p, None));
}

#[test]
fn comparison_without_pairs_uses_unpaired_differences() {
    let a: Vec<ComparedMatch> = (0..8).map(|k| side("g", "x", 0, k, f64::from(u8::from(k % 4 != 0)))).collect();
    let b: Vec<ComparedMatch> = (8..16).map(|k| side("g", "x", 0, k, f64::from(u8::from(k % 2 == 0)))).collect();
    let got = compare(&a, &b);
    assert_eq!((got.all.pairs, got.unpaired, got.all.score), (0, [8, 8], None));
    let plain = &got.fallback[0];
    assert_eq!((plain.matches, plain.scores, plain.score.value), ([8, 8], [0.75, 0.5], 0.25));
    assert!(plain.score.low.unwrap() < 0.0 && plain.score.high.unwrap() > 0.5);
}

#[test]
fn welch_interval_agrees_with_a_published_example() {
    // R's `sleep` taken as two groups: t = -1.8608, df = 17.776 (here 17), 95 percent -3.3654832 to 0.2054832.
    let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
    let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
    let mean = |all: [f64; 10]| clustered(&all.into_iter().enumerate().collect::<Vec<_>>()).unwrap();
    let (a, b) = (mean(first), mean(second));
    let got = welch(a, b);
    near(got.value / a.error.hypot(b.error), -1.8608, 5e-5);
    // Slightly wider, since the degrees of freedom are rounded down.
    let (low, high) = (got.low.unwrap(), got.high.unwrap());
    assert!((-3.3755..=-3.3654).contains(&low) && (0.2054..=0.2155).contains(&high), "{got:?}");
}
