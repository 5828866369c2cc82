use ludex_games::load;

use super::*;

fn spec(game: &str, agents: &[(u32, u32, &str)]) -> Spec {
    let mut spec = load(game).unwrap().spec().clone();
    let rung = |&(level, bot, agent): &(u32, u32, &str)| Anchor {
        level,
        bot,
        agent: agent.into(),
        rating: None,
        low: None,
        high: None,
    };
    spec.anchors = agents.iter().map(rung).collect();
    spec
}

const THREE: &[(u32, u32, &str)] = &[(0, 1, "random"), (1, 1, "x"), (1, 2, "y"), (2, 1, "z")];

/// Returns `n` units of all pairings. `of(pairing, episode, unit)` gives the return of each seat.
fn units(ladder: &AnchorLadder, n: u64, of: impl Fn(usize, &Planned, u64) -> Vec<f64>) -> Vec<Vec<Returns>> {
    let unit = |k, u| ladder.plan(k, u).iter().map(|planned| of(k, planned, u)).collect();
    (0..ladder.pairings()).map(|k| (0..n).map(|u| unit(k, u)).collect()).collect()
}

#[test]
fn every_bot_meets_all_bots_of_the_level_below() {
    let ladder = AnchorLadder::new(&spec("tic_tac_toe", THREE), Unit::Episode);
    let named: Vec<[&str; 2]> = (0..ladder.pairings()).map(|k| ladder.agents_of(k)).collect();
    assert_eq!(named, [["x", "random"], ["y", "random"], ["z", "x"], ["z", "y"]]);
    let seats: Vec<_> = ladder.plan(2, 5).into_iter().map(|p| (p.pair, p.turn, p.seats)).collect();
    assert_eq!(seats, [(5, 0, vec![3, 1]), (5, 1, vec![1, 3])]);
}

#[test]
fn lone_bot_meets_copies_in_duplicates_of_three_seat_games() {
    let ladder = AnchorLadder::new(&spec("fight_the_landlord", &THREE[..2]), Unit::Duplicate(2));
    let seats: Vec<_> = ladder.plan(0, 1).into_iter().map(|p| (p.pair, p.seats)).collect();
    let one = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 0]];
    assert_eq!(seats, [2, 3].map(|seed| one.map(|s| (seed, s.to_vec()))).concat());
    assert_eq!(ladder.episodes(), 12);
}

#[test]
fn each_bot_sits_twice_in_duplicates_of_four_seat_games() {
    let ladder = AnchorLadder::new(&spec("mcr_mahjong", &THREE[..2]), Unit::Duplicate(2));
    let seats: Vec<_> = ladder.plan(0, 1).into_iter().map(|p| (p.pair, p.seats)).collect();
    let both = [[1, 0, 1, 0], [0, 1, 0, 1]];
    assert_eq!(seats, [2, 3].map(|seed| both.map(|s| (seed, s.to_vec()))).concat());
    // The side with more points over both seatings wins the unit.
    let of = |_: usize, p: &Planned, _: u64| if p.turn == 0 { vec![30.0, -8.0, -8.0, -14.0] } else { vec![0.0; 4] };
    let rows = ladder.measure(&units(&ladder, 10, of)).0;
    assert_eq!(rows[1].found.map(|f| f[0]), Some(1.0));
}

#[test]
fn score_of_a_ladder_bot_counts_episodes_or_duplicates() {
    // The first agent wins as first player, and draws or loses as second.
    let of = |_: usize, p: &Planned, u: u64| match (p.turn, u % 2) {
        (0, _) => vec![1.0, -1.0],
        (_, 0) => vec![0.0, 0.0],
        _ => vec![1.0, -1.0],
    };
    let single = AnchorLadder::new(&spec("tic_tac_toe", &THREE[..2]), Unit::Episode);
    let rows = single.measure(&units(&single, 40, of)).0;
    assert_eq!(rows[0].found, None);
    assert_eq!(rows[1].found.map(|f| f[0]), Some((40.0 + 10.0) / 80.0));
    assert_eq!(rows[0].anchor.rating, Some(0.0));
    assert!(rows[1].anchor.rating.unwrap() > 20.0 && rows[1].anchor.low < rows[1].anchor.high);
    // The agent gets 1 and 0 on the first seed of a unit, and 1 and -1 on the second: a positive sum, so a win.
    let double = AnchorLadder::new(&spec("tic_tac_toe", &THREE[..2]), Unit::Duplicate(2));
    let rows = double.measure(&units(&double, 40, |k, p, _| of(k, p, p.pair))).0;
    assert_eq!(rows[1].found.map(|f| f[0]), Some(1.0));
    let rating = rows[1].anchor.rating.unwrap();
    assert!((rating - 88.7).abs() < 2.0, "400 log10(0.625 / 0.375), on the scale of episodes: {rating}");
}

#[test]
fn anchors_are_measured_by_mean_return_against_fixed_opponents() {
    let ladder = AnchorLadder::new(&spec("iterated_prisoners_dilemma", &THREE[..2]), Unit::Field(&["f", "g"]));
    assert_eq!(ladder.agents(), ["random", "x", "f", "g"]);
    // `x` gets 4 with f and 2 with g, and slightly more on every second seed; `random` gets 1 less than `x`.
    let of = |k: usize, p: &Planned, u: u64| {
        let own = [3.0, 1.0, 4.0, 2.0][k] + 0.1 * (u % 2) as f64;
        if p.turn == 0 { vec![own, 9.0] } else { vec![9.0, own] }
    };
    let rows = ladder.measure(&units(&ladder, 100, of)).0;
    let [value, low, high] = rows[1].found.unwrap();
    assert!((value - 3.05).abs() < 1e-9 && low > 3.03 && high < 3.07, "{value} {low} {high}");
    assert!((rows[0].found.unwrap()[0] - 2.05).abs() < 1e-9 && rows[1].anchor.rating.is_none());
    assert!(ladder.rungs_out_of_range(&rows).is_empty());
    let same = ladder.measure(&units(&ladder, 100, |k, p, u| of(k % 2, p, u))).0;
    assert_eq!(ladder.rungs_out_of_range(&same).len(), 1);
}

#[test]
fn levels_out_of_range_are_listed() {
    let ladder = AnchorLadder::new(&spec("tic_tac_toe", THREE), Unit::Episode);
    let always =
        ladder.measure(&units(&ladder, 10, |_, p, _| if p.turn == 0 { vec![1.0, -1.0] } else { vec![-1.0, 1.0] })).0;
    let out_of_range = ladder.rungs_out_of_range(&always);
    assert_eq!(out_of_range.len(), 2, "the highest level may win all: {out_of_range:?}");
    let even = ladder.measure(&units(&ladder, 10, |_, _, _| vec![0.0, 0.0])).0;
    assert_eq!(ladder.rungs_out_of_range(&even).len(), 3);
}
