//! Marks of finished hands.

use ludex_env::game::{Mark, MarkValue, Marks};

use super::*;

/// Plays the moves; returns the marks of the last move, and the position after it.
fn marks(game: &McrMahjong, mut s: State, moves: &[&str]) -> (Vec<Mark>, State) {
    let (last, first) = moves.split_last().unwrap();
    play(game, &mut s, first);
    let before = s.clone();
    play(game, &mut s, &[*last]);
    let mut out = Marks::all();
    game.marks(&before, &[], &s, &mut out);
    (out.take(), s)
}

/// Returns the result of the hand for each seat.
fn won_by(all: &[Mark]) -> Vec<&'static str> {
    let word = |m: &Mark| match m.value {
        MarkValue::Word(word) => (m.name == "won_by").then_some(word),
        _ => None,
    };
    all.iter().filter_map(word).collect()
}

fn numbers(all: &[Mark], name: &str) -> Vec<f64> {
    let number = |m: &Mark| match m.value {
        MarkValue::Number(n) => (m.name == name).then_some(n),
        _ => None,
    };
    all.iter().filter_map(number).collect()
}

/// Walls in which east can discard a B5. North wins with it, and west may claim it for a pung.
const HANDS: [&str; SEATS] = [
    "W1 W1 W1 W1 W2 W2 W2 W3 W3 W3 W9 W9 B5 T9",
    "B4 B6 T1 T2 T4 T5 T7 T8 F1 F2 F3 F4 J1",
    "B5 B5 T1 T2 T4 T5 T7 T8 F1 F2 F3 F4 J1 B5",
    "B1 B1 B2 B3 B4 B7 B8 B9 W4 W5 W6 B6 B7",
];
const PASSES: &str = "PASS/PASS/PASS";

#[test]
fn won_hand_is_marked() {
    let game = rules("mcr_mahjong(minimum=1)");
    let (all, s) = marks(&game, walls(&game, HANDS), &["PLAY B5", "PASS/PASS/HU"]);
    assert_eq!(won_by(&all), ["dealt_in", "paid", "paid", "discard"]);
    assert_eq!(numbers(&all, "hand_score"), s.scores.map(f64::from));
    let done = &s.done[0];
    assert_eq!(numbers(&all, "total"), [f64::from(done.points)]);
    assert_eq!(numbers(&all, "fan_points").iter().sum::<f64>(), f64::from(done.points));
    let names = all.iter().filter(|m| m.name == "fan").count();
    assert_eq!(names, done.fans.iter().map(|f| usize::from(f.1)).sum::<usize>());
    assert!(all.iter().filter(|m| matches!(m.name, "total" | "fan" | "fan_points")).all(|m| m.seat == 3));

    let robbed = [
        "PLAY B5",
        "PASS/PENG/PASS",
        "PLAY F4",
        PASSES,
        "DRAWN",
        PASSES,
        "DRAWN",
        PASSES,
        "DRAWN",
        PASSES,
        "BUGANG B5",
        "HU/PASS/PASS",
    ];
    let (all, _) = marks(&game, walls(&game, HANDS), &robbed);
    assert_eq!(won_by(&all), ["paid", "paid", "dealt_in", "robbed"]);

    // North draws the winning B5, which is in its own wall instead of south's.
    let mut drawn = HANDS;
    (drawn[0], drawn[3]) = ("W1 W1 W1 W1 W2 W2 W2 W3 W3 W3 W9 W9 T9", "B1 B1 B2 B3 B4 B7 B8 B9 W4 W5 W6 B6 B7 B5");
    let moves = ["DRAWN", PASSES, "DRAWN", PASSES, "DRAWN", PASSES, "HU"];
    let (all, s) = marks(&game, walls(&game, drawn), &moves);
    assert_eq!(won_by(&all), ["paid", "paid", "paid", "self_draw"]);
    assert_eq!(numbers(&all, "hand_score"), s.scores.map(f64::from));
}

#[test]
fn drawn_hand_is_marked() {
    let game = rules("mcr_mahjong(errors=botzone)");
    let (all, _) = marks(&game, walls(&game, HANDS), &["PLAY B5", "HU/PASS/PASS"]);
    assert_eq!((won_by(&all), numbers(&all, "hand_score")), (vec!["false"; 4], vec![10.0, -30.0, 10.0, 10.0]));
    assert!(all.iter().all(|m| matches!(m.name, "won_by" | "hand_score")), "{all:?}");

    let game = rules("mcr_mahjong");
    let mut s = walls(&game, HANDS);
    let mut all = Vec::new();
    while s.phase != Phase::Over {
        assert!(all.is_empty(), "{all:?}");
        let before = s.clone();
        let word = if s.phase == Phase::Claim { PASSES } else { "DRAWN" };
        play(&game, &mut s, &[word]);
        let mut out = Marks::all();
        game.marks(&before, &[], &s, &mut out);
        all = out.take();
    }
    assert_eq!((won_by(&all), numbers(&all, "hand_score")), (vec!["drawn"; 4], vec![0.0; 4]));
}
