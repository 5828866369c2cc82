use super::*;

#[track_caller]
fn near(got: f64, want: f64, within: f64) {
    assert!((got - want).abs() <= within, "{got} is not {want} +- {within}");
}

#[test]
fn needed_blocks_equal_hand_computed_values() {
    // Half the width needs four times the blocks.
    assert_eq!(blocks_like(60.0, 50, 30.0), Some(200));
    assert_eq!(blocks_like(30.0, 50, 30.0), Some(50));
    assert_eq!(blocks_like(10.0, 4, 300.0), Some(2));
    // Width: 1.96^2 * 100^2 / 30^2 = 42.7. Difference: (1.960 + 0.842)^2 = 7.849, and 7.849 * 100^2 / 30^2 = 87.2.
    assert_eq!((blocks_for_width(100.0, 30.0), blocks_for_difference(100.0, 30.0, 0.8)), (Some(43), Some(88)));
    // Lachin: power 0.9 takes (1.960 + 1.282)^2 = 10.507 instead of 7.849.
    assert_eq!(blocks_for_difference(100.0, 30.0, 0.9), Some(117));
    near(deviation_of(Z95 * 20.0, 25), 100.0, 1e-9);
    near(deviation_of_difference(100.0, 100.0, 0.5), 100.0, 1e-9);
    near(deviation_of_difference(3.0, 4.0, 0.0), 5.0, 1e-9);
}

#[test]
fn invalid_input_has_no_block_count() {
    for bad in [0.0, -30.0, f64::NAN, f64::INFINITY] {
        assert_eq!((blocks_like(50.0, 10, bad), blocks_for_width(100.0, bad)), (None, None));
        assert_eq!(blocks_for_difference(100.0, bad, 0.8), None);
    }
    for power in [0.0, 0.02, 1.0, 1.5] {
        assert_eq!(blocks_for_difference(100.0, 30.0, power), None);
    }
    assert_eq!(blocks_like(50.0, 0, 30.0), None);
}

#[test]
fn shared_variance_reduces_needed_blocks() {
    let got = designs(100.0, 2.0, 0.5, 30.0, 0.8).unwrap();
    // The difference has twice the variance of one agent, and pairing removes half: 87.2 blocks, as for one agent.
    assert_eq!(got.meeting, Amount { blocks: 88, matches: 176 });
    assert_eq!(got.paired, Amount { blocks: 88, matches: 176 });
    assert_eq!(got.unpaired, Amount { blocks: 175, matches: 350 });
    // Even fully correlated agents need some blocks.
    assert_eq!(designs(100.0, 2.0, 1.0, 30.0, 0.8).unwrap().paired.blocks, 18);
    assert_eq!(designs(100.0, 2.0, 0.5, 30.0, 1.0), None);
}

#[test]
fn prior_depends_on_seats_and_draws_of_the_game() {
    let of = |game: &str| prior(&*ludex_games::load(game).unwrap());
    // Two seats and no draws: the deviation is 1/2 for a match, and 1/2 / sqrt(2) for a block of two matches.
    let pig = of("pig").unwrap();
    near(pig.deviation, POINTS_OF_SCORE * 0.5 / 2f64.sqrt(), 1e-9);
    // Draws reduce the variance.
    let drawn = of("tic_tac_toe").unwrap();
    assert!(drawn.draws > 0.0 && drawn.deviation < pig.deviation, "{drawn:?}");
    assert_eq!(of("kuhn_poker(players=3)").unwrap().matches, 3);
    assert_eq!(of("hanabi"), None);
}

#[test]
fn no_run_stops_before_the_first_check() {
    assert_eq!(stopping_width(1.0, FIRST_LOOK - 1), None);
    // Student's quantile for seven degrees of freedom is 2.365.
    near(stopping_width(10.0, 8).unwrap(), 23.65, 0.01);
}

fn test_of(text: &str, counts: [u64; 5]) -> SequentialTest {
    let mut test = SequentialTest::new(text.parse().unwrap(), 2);
    for (k, n) in counts.into_iter().enumerate() {
        (0..n).for_each(|_| test.add(k as f64 / 4.0));
    }
    test
}

#[test]
fn sprt_ends_at_its_bounds() {
    let sprt: Sprt = "elo0=0 elo1=30".parse().unwrap();
    // ln(0.95 / 0.05) = 2.944.
    near(sprt.bounds()[1], 2.944_439, 1e-6);
    near(sprt.bounds()[0], -2.944_439, 1e-6);
    assert_eq!((test_of("elo0=0 elo1=30", [0; 5]).llr(), test_of("elo0=0 elo1=30", [0; 5]).decision()), (0.0, None));
    // Two won pairs are not enough, although they have no variance.
    assert_eq!(test_of("elo0=0 elo1=30", [0, 0, 0, 0, 2]).decision(), None);
    assert_eq!(test_of("elo0=0 elo1=30", [10, 20, 40, 60, 40]).decision(), Some(SprtDecision::Elo1));
    assert_eq!(test_of("elo0=0 elo1=30", [40, 60, 40, 20, 10]).decision(), Some(SprtDecision::Elo0));
    // Exchanging the agents changes all signs.
    let (a, b) = (test_of("elo0=0 elo1=30", [9, 20, 33, 25, 14]), test_of("elo0=-30 elo1=0", [14, 25, 33, 20, 9]));
    near(a.llr(), -b.llr(), 1e-9);
}

#[test]
fn likelihood_ratios_agree_with_published_tests() {
    // Two tests of chess engines, with the values of fastchess's own tests: -3.07 and -4.98, to a hundredth.
    near(test_of("elo0=0.5 elo1=2.5", [223, 9863, 21_279, 10_037, 246]).llr(), -3.07, 0.03);
    near(test_of("elo0=0 elo1=2", [871, 26_175, 55_983, 26_678, 821]).llr(), -4.98, 0.05);
    // Values from the distributions themselves, computed independently; their sums and means were checked.
    near(test_of("elo0=0 elo1=30", [10, 20, 40, 60, 40]).llr(), 8.783_091, 1e-5);
    near(test_of("elo0=0 elo1=30", [0, 0, 0, 0, 2]).llr(), 0.165_405, 1e-5);
}

#[test]
fn likelihood_ratio_of_many_blocks_agrees_with_the_normal_approximation() {
    // n (s1 - s0) (2 mean - s0 - s1) / (2 variance), the first term of the LLR.
    let test = test_of("elo0=0 elo1=5", [2000, 5000, 10_000, 5400, 2200]);
    let (n, counts) = (test.blocks() as f64, [2000.0, 5000.0, 10_000.0, 5400.0, 2200.0]);
    let mean = counts.iter().zip(0..).map(|(c, k)| c * f64::from(k) / 4.0).sum::<f64>() / n;
    let variance = counts.iter().zip(0..).map(|(c, k)| c * (f64::from(k) / 4.0 - mean).powi(2)).sum::<f64>() / n;
    let (s0, s1) = (expected_score(0.0), expected_score(5.0));
    let approximation = n * (s1 - s0) * (2.0 * mean - s0 - s1) / (2.0 * variance);
    near(test.llr(), approximation, 0.02 * approximation.abs());
}

#[test]
fn sprt_settings_parse_from_text() {
    let sprt: Sprt = "elo0=-5, elo1=5 alpha=0.1 beta=0.2".parse().unwrap();
    assert_eq!((sprt.elo0, sprt.elo1, sprt.alpha, sprt.beta), (-5.0, 5.0, 0.1, 0.2));
    assert_eq!(sprt.to_string().parse(), Ok(sprt));
    for (bad, why) in [
        ("", "expected elo0 and elo1, for example"),
        ("elo0=0", "expected elo0 and elo1, for example"),
        ("elo0=0 elo1=0", "expected elo0 below elo1"),
        ("elo0=0 elo1=x", "expected NAME=NUMBER, got \"elo1=x\""),
        ("elo0=0 elo1=NaN", "expected NAME=NUMBER"),
        ("elo0=0 elo1=9000", "between -2000 and 2000"),
        ("elo0=0 elo1=30 alpha=0", "above 0 and below 0.5"),
        ("elo0=0 elo1=30 beta=0.5", "above 0 and below 0.5"),
        ("elo0=0 elo2=30", "unknown name \"elo2\""),
    ] {
        let said = bad.parse::<Sprt>().unwrap_err();
        assert!(said.contains(why), "{bad}: {said}");
    }
}
