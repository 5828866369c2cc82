use super::*;

fn repeat(a: usize, b: usize, score: f64, n: usize) -> Vec<PlayedGame> {
    (0..n).map(|_| PlayedGame::two(a, b, score)).collect()
}

fn quick(fixed: &[(usize, f64)]) -> Anchored {
    Anchored { fixed: fixed.to_vec(), resamples: 0, ..Anchored::default() }
}

fn values(r: &Ratings) -> Vec<f64> {
    r.players.iter().map(|p| p.unwrap().rating).collect()
}

#[track_caller]
fn near(got: f64, want: f64, within: f64) {
    assert!((got - want).abs() <= within, "{got} is not {want} +- {within}");
}

#[test]
fn ratings_of_two_players_equal_hand_computed_values() {
    // 30 wins and 10 losses, plus half a win and half a loss: 400 log10(30.5 / 10.5), which is 185.2.
    let games = [repeat(1, 0, 1.0, 30), repeat(1, 0, 0.0, 10)].concat();
    let r = anchored(2, &games, &quick(&[(0, 0.0)]));
    near(values(&r)[1], 400.0 * (30.5f64 / 10.5).log10(), 1e-6);
    assert_eq!((values(&r)[0], r.draws), (0.0, 0.0));
    assert!(r.players[0].unwrap().fixed && r.players[1].unwrap().anchored);
    // A different anchor value shifts all ratings.
    near(values(&anchored(2, &games, &quick(&[(0, 700.0)])))[1], 700.0 + 400.0 * (30.5f64 / 10.5).log10(), 1e-6);
}

#[test]
fn ratings_with_draws_equal_hand_computed_values() {
    // The model fits three counts exactly: theta = ln(w / l), nu = d / sqrt(w l).
    let games = [repeat(1, 0, 1.0, 50), repeat(1, 0, 0.5, 25), repeat(1, 0, 0.0, 25)].concat();
    let r = anchored(2, &games, &quick(&[(0, 0.0)]));
    let (w, l, d) = (50.5f64, 25.5f64, 25.0);
    let nu = d / (w * l).sqrt();
    near(r.draws, nu / (2.0 + nu), 1e-5);
    near(values(&r)[1], 400.0 * (w / l).log10() * 2.0 / (2.0 + nu), 1e-2);
    // Plain Elo for a score of 62.5 % agrees within two points.
    near(values(&r)[1], 400.0 * (0.625f64 / 0.375).log10(), 2.0);
}

#[test]
fn perfect_scores_have_finite_ratings_and_intervals() {
    let games = repeat(1, 0, 1.0, 20);
    let r = anchored(2, &games, &Anchored { fixed: vec![(0, 0.0)], resamples: 10_000, seed: 1, ..Anchored::default() });
    let p = r.players[1].unwrap();
    near(p.rating, 400.0 * (20.5f64 / 0.5).log10(), 1e-6);
    // Jeffreys' interval for 20 of 20: the win rate is Beta(20.5, 0.5), whose 2.5 % quantile is 0.8827.
    let i = p.interval.unwrap();
    near(i.low, 400.0 * (0.8827f64 / 0.1173).log10(), 25.0);
    assert!(i.high > 1200.0 && i.high.is_finite(), "{i:?}");
    // With losses only, the rating is the negative of the rating with wins only.
    let lost = anchored(2, &repeat(1, 0, 0.0, 20), &quick(&[(0, 0.0)]));
    near(values(&lost)[1], -p.rating, 1e-6);
    // Only draws.
    let level = anchored(2, &repeat(1, 0, 0.5, 20), &quick(&[(0, 0.0)]));
    near(values(&level)[1], 0.0, 1e-6);
    assert!(level.draws > 0.9 && level.draws < 1.0);
}

#[test]
fn players_that_lost_or_won_all_games_have_bounds() {
    let games = [repeat(1, 0, 1.0, 3), repeat(2, 0, 0.0, 1), repeat(3, 0, 0.5, 2), repeat(1, 2, 1.0, 1)].concat();
    let players = anchored(5, &games, &quick(&[(0, 0.0)])).players;
    let bounds: Vec<Option<Bound>> = players.iter().map(|rating| rating.and_then(|r| r.bound)).collect();
    assert_eq!(bounds, [None, Some(Bound::Above), Some(Bound::Below), None, None]);
}

/// Draws results from the model: every two players meet `pairs` times on each side.
fn simulate(strength: &[f64], draws: f64, pairs: usize, seed: u64) -> Vec<PlayedGame> {
    let nu = 2.0 * draws / (1.0 - draws);
    let mut rng = Stream::from_text(&format!("simulate:{seed}"));
    let mut games = Vec::new();
    for a in 0..strength.len() {
        for b in a + 1..strength.len() {
            for k in 0..pairs {
                for (a, b) in [(a, b), (b, a)] {
                    let d = (strength[a] - strength[b]) / scale(nu);
                    let (win, loss) = ((d / 2.0).exp(), (-d / 2.0).exp());
                    let u = rng.unit() * (win + loss + nu);
                    let score = if u < win { 1.0 } else { if u < win + loss { 0.0 } else { 0.5 } };
                    let pair = Some(1000 * (a.min(b) * strength.len() + a.max(b)) + k);
                    games.push(PlayedGame { pair, ..PlayedGame::two(a, b, score) });
                }
            }
        }
    }
    games
}

#[test]
fn estimates_recover_known_strengths() {
    let truth = [0.0, 150.0, 310.0, 450.0, 520.0];
    for (draws, seed) in [(0.0, 1), (0.3, 2), (0.7, 3)] {
        let r = anchored(5, &simulate(&truth, draws, 800, seed), &quick(&[(0, 0.0)]));
        near(r.draws, draws, 0.02);
        for (got, want) in values(&r).iter().zip(truth) {
            near(*got, want, 30.0);
        }
    }
}

#[test]
fn ratings_of_anchors_remain_fixed() {
    let truth = [0.0, 200.0, 400.0, 300.0];
    let games = simulate(&truth, 0.4, 600, 9);
    let r = anchored(4, &games, &quick(&[(0, 0.0), (2, 400.0)]));
    assert_eq!((values(&r)[0], values(&r)[2]), (0.0, 400.0));
    near(values(&r)[1], 200.0, 25.0);
    near(values(&r)[3], 300.0, 25.0);
}

#[test]
fn intervals_cover_true_ratings() {
    let truth = [0.0, 120.0, 260.0];
    let (mut inside, mut all) = (0, 0);
    for seed in 0..60 {
        let settings = Anchored { fixed: vec![(0, 0.0)], resamples: 200, seed, ..Anchored::default() };
        let r = anchored(3, &simulate(&truth, 0.2, 40, 100 + seed), &settings);
        for (player, truth) in r.players.iter().zip(truth).skip(1) {
            let i = player.unwrap().interval.unwrap();
            all += 1;
            inside += usize::from(i.low <= truth && truth <= i.high);
            assert!(i.low < i.value && i.value < i.high);
        }
    }
    // The expected number is 114 of 120, with a standard deviation of 2.4; 104 is four standard deviations below.
    assert!(inside >= 104, "{inside} of {all}");
}

#[test]
fn same_seed_gives_the_same_interval() {
    let games = simulate(&[0.0, 100.0], 0.1, 30, 5);
    let rate =
        |seed| anchored(2, &games, &Anchored { fixed: vec![(0, 0.0)], resamples: 100, seed, ..Anchored::default() });
    assert_eq!(rate(3), rate(3));
    assert_ne!(rate(3), rate(4));
}

#[test]
fn resampling_keeps_both_matches_of_a_pair_together() {
    // The player that moves first always wins, so every pair is 1 : 1. Resampling pairs then varies only the prior.
    let mut games = Vec::new();
    for k in 0..100 {
        games.push(PlayedGame { pair: Some(k), ..PlayedGame::two(0, 1, 1.0) });
        games.push(PlayedGame { pair: Some(k), ..PlayedGame::two(1, 0, 1.0) });
    }
    let settings = Anchored { fixed: vec![(0, 0.0)], resamples: 300, seed: 0, ..Anchored::default() };
    let width = |games: &[PlayedGame]| {
        let i = anchored(2, games, &settings).players[1].unwrap().interval.unwrap();
        i.high - i.low
    };
    let paired = width(&games);
    games.iter_mut().for_each(|g| g.pair = None);
    assert!(paired < 10.0 && width(&games) > 60.0, "{paired} {}", width(&games));
}

#[test]
fn groups_without_an_anchor_have_relative_ratings() {
    // Player 0 (fixed) meets player 1; players 2 and 3 meet only each other; player 4 has no games.
    let games = [repeat(0, 1, 0.5, 4), repeat(2, 3, 1.0, 3), repeat(2, 3, 0.0, 1)].concat();
    let r = anchored(5, &games, &quick(&[(0, 0.0)]));
    let [_, one, two, three, four] = r.players[..] else { panic!() };
    assert!(one.unwrap().anchored && !two.unwrap().anchored && four.is_none());
    near(two.unwrap().rating + three.unwrap().rating, 0.0, 1e-9);
    assert!(two.unwrap().rating > three.unwrap().rating);
}

#[test]
fn player_without_games_has_no_rating() {
    let r = anchored(2, &[], &Anchored { fixed: vec![(0, 0.0)], resamples: 10, seed: 0, ..Anchored::default() });
    assert!(r.players[0].unwrap().fixed && r.players[1].is_none());
}

#[test]
fn equal_points_against_the_same_field_give_equal_ratings() {
    // Davidson's property: 10 wins and 10 losses count as much as 20 draws.
    let games = [
        repeat(1, 0, 1.0, 10),
        repeat(1, 0, 0.0, 10),
        repeat(2, 0, 0.5, 20),
        repeat(3, 0, 1.0, 15),
        repeat(3, 0, 0.0, 5),
    ]
    .concat();
    let v = values(&anchored(4, &games, &quick(&[(0, 0.0)])));
    near(v[1], v[2], 1e-6);
    assert!(v[3] > v[1] + 50.0);
}

#[test]
fn rating_does_not_change_when_players_are_added() {
    // `own`: player 1 against a constant. `others`: player 2 draws all games with the constant; 3 and 4 play too.
    let own = [repeat(1, 0, 1.0, 12), repeat(1, 0, 0.5, 3), repeat(1, 0, 0.0, 5)].concat();
    let others = [repeat(2, 0, 0.5, 40), repeat(3, 4, 1.0, 7), repeat(4, 0, 0.0, 9)].concat();
    let settings = Anchored { fixed: vec![(0, 0.0)], draws: Some(0.2), resamples: 200, seed: 0 };
    let alone = anchored(5, &own, &settings);
    let together = anchored(5, &[own.clone(), others.clone()].concat(), &settings);
    let first = anchored(5, &[others, own].concat(), &settings);
    assert_eq!(alone.players[1], together.players[1]);
    assert_eq!(alone.players[1], first.players[1]);
    assert_eq!((alone.draws, together.draws), (0.2, 0.2));
    assert!(together.players[3].unwrap().anchored && alone.players[3].is_none());
}

/// Returns games of one player against a constant; each element of `blocks` holds the two scores of a block.
fn of_blocks(blocks: &[[f64; 2]]) -> Vec<PlayedGame> {
    let game = |(k, scores): (usize, &[f64; 2])| {
        scores.map(|score| PlayedGame { pair: Some(k), ..PlayedGame::two(1, 0, score) })
    };
    blocks.iter().enumerate().flat_map(game).collect()
}

#[test]
fn standard_errors_equal_hand_computed_values() {
    let blocks = [vec![[1.0, 1.0]; 10], vec![[1.0, 0.0]; 20], vec![[0.0, 0.0]; 10]].concat();
    let got = anchored(2, &of_blocks(&blocks), &Anchored { draws: Some(0.0), ..quick(&[(0, 0.0)]) });
    let rating = got.players[1].unwrap();
    // Equal strength: every game adds 1/4 to H, including the prior's game. Twenty blocks score one point more or less
    // than expected, so the squares sum to 20.
    let h: f64 = 81.0 / 4.0;
    let variance = (20.0 * 40.0 / 39.0 + 0.25) / (h * h) + 1.0 / (40.0 * h);
    near(rating.error.unwrap(), 400.0 / std::f64::consts::LN_10 * variance.sqrt(), 1e-4);
    assert_eq!((rating.blocks, got.players[0].unwrap().blocks, got.players[0].unwrap().error), (40, 0, None));
    // With identical blocks, only the prior and the added block contribute.
    let alike = anchored(2, &of_blocks(&[[1.0, 0.0]; 40]), &quick(&[(0, 0.0)])).players[1].unwrap();
    let variance = 0.25 / (h * h) + 1.0 / (40.0 * h);
    near(alike.error.unwrap(), 400.0 / std::f64::consts::LN_10 * variance.sqrt(), 1e-4);
    // A single block has no error.
    let one = anchored(2, &of_blocks(&[[1.0, 0.0]]), &quick(&[(0, 0.0)])).players[1].unwrap();
    assert_eq!((one.blocks, one.error), (1, None));
    // The difference from the mean is half the difference of the two players. Both add a prior's game.
    let relative = anchored(2, &of_blocks(&blocks), &Anchored { draws: Some(0.0), ..quick(&[]) }).players[1].unwrap();
    let h: f64 = 82.0 / 4.0;
    let variance = ((20.0 * 40.0 / 39.0 + 0.5) / (h * h) + 1.0 / (40.0 * h)) / 4.0;
    near(relative.error.unwrap(), 400.0 / std::f64::consts::LN_10 * variance.sqrt(), 1e-4);
}

#[test]
fn numbers_of_blocks_and_repeated_blocks_give_equal_ratings() {
    let blocks = [[1.0, 1.0], [1.0, 0.0], [0.5, 0.0]];
    let kinds = blocks.map(|scores| (scores.map(|score| Duel { a: 1, b: 0, score }).to_vec(), 12)).to_vec();
    let settings = quick(&[(0, 0.0)]);
    let (counted, listed) =
        (anchored_blocks(2, kinds, &settings), anchored(2, &of_blocks(&blocks.repeat(12)), &settings));
    let [counted, listed] = [counted, listed].map(|ratings| ratings.players[1].unwrap());
    near(counted.rating, listed.rating, 1e-6);
    near(counted.error.unwrap(), listed.error.unwrap(), 1e-6);
    assert_eq!(counted.blocks, 36);
}

#[test]
fn standard_errors_agree_with_the_bootstrap() {
    let truth = [0.0, 150.0, 310.0, 200.0];
    for (draws, seed) in [(0.0, 11), (0.4, 12)] {
        let settings = Anchored { fixed: vec![(0, 0.0)], draws: Some(draws), resamples: 2000, seed };
        let got = anchored(4, &simulate(&truth, draws, 100, seed), &settings);
        for player in &got.players[1..] {
            let (error, interval) = (player.unwrap().error.unwrap(), player.unwrap().interval.unwrap());
            let half = (interval.high - interval.low) / 2.0;
            assert!((1.96 * error / half - 1.0).abs() < 0.1, "{error} {interval:?}");
            assert_eq!(player.unwrap().blocks, 300);
        }
    }
}
