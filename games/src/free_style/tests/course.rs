//! Complete games, and the order of events within a ply.

use serde_json::json;

use super::super::position::Why;
use super::*;

const WON: fn(u8) -> Option<Winner> = |seat| Some(Winner::Seat(seat));

#[test]
fn four_in_line_wins_under_f0() {
    let f0 = Rules::built_in(0);
    let mut s = after(f0, &["c3", "a1", "c2", "a2", "b3", "a3"]);
    board_is(&s, [". . . . .", ". . . . .", "x o o . .", "x . o . .", "x . . . ."]);
    assert_eq!(winner(&s), None);
    go(f0, &mut s, "d3");
    assert_eq!(winner(&s), None, "three and a gap do not make four");
    go(f0, &mut s, "a4");
    board_is(&s, [". . . . .", "x . . . .", "x o o o .", "x . o . .", "x . . . ."]);
    assert_eq!((winner(&s), s.over.map(|o| o.why), s.ply), (WON(1), Some(Why::Line), 8));
}

#[test]
fn full_board_is_a_draw_under_f0() {
    let f0 = Rules::built_in(0);
    let o = ["a1", "b1", "c1", "d2", "e2", "a3", "b3", "d4", "e4", "c3", "a5", "b5", "c5"];
    let x = ["d1", "e1", "a2", "b2", "c2", "d3", "e3", "a4", "b4", "c4", "d5", "e5"];
    let mut s = BoardState::start(f0, 0);
    for k in 0..25 {
        assert_eq!(winner(&s), None);
        go(f0, &mut s, if k % 2 == 0 { o[k / 2] } else { x[k / 2] });
    }
    board_is(&s, ["o o o x x", "x x x o o", "o o o x x", "x x x o o", "o o o x x"]);
    assert_eq!((winner(&s), s.over.map(|e| e.why)), (Some(Winner::Draw), Some(Why::PlyCap)));
}

/// The expected boards come from an independent implementation.
#[test]
fn neighbors_flip_until_board_is_full_under_f1() {
    let f1 = Rules::built_in(1);
    let plies = "b2 b4 c5 e3 b1 a2 a5 a3 e2 d3 e5 c3 d1 d2 b5 d5 a1 c1 a4 e4 b3 e1 c4 d4 c2";
    let mut s = BoardState::start(f1, 0);
    for (k, p) in plies.split(' ').enumerate() {
        go(f1, &mut s, p);
        match k + 1 {
            4 => board_is(&s, [". . o . .", ". x . . .", ". . . . x", ". o . . .", ". . . . ."]),
            9 => board_is(&s, ["o . o . .", ". x . . .", "x . . . o", "o o . . o", ". o . . ."]),
            16 => board_is(&s, ["x o o x x", ". o . . .", "x . x x x", "o o . x x", ". o . x ."]),
            _ => {}
        }
    }
    board_is(&s, ["o o x o o", "o x x x o", "x o o o o", "x o o o o", "o o o x x"]);
    assert_eq!((winner(&s), s.over.map(|e| e.why)), (WON(0), Some(Why::Full)));
    assert_eq!(score::points(f1, &s), [17, 8]);
}

use super::super::score;

#[test]
fn hidden_number_rows_are_compared_under_f2() {
    let f2 = Rules::built_in(2);
    let mut s = after(f2, &["a1=5", "e1=4", "a2=3", "e2=4"]);
    board_is(&s, [". . . . .", ". . . . .", ". . . . .", "o3 . . . x4", "o5 . . . x4"]);
    assert!(may(f2, &s, 0, "a3=7") && !may(f2, &s, 0, "a3=8"), "the sum may be 15 at most");
    assert!(!may(f2, &s, 0, "b3=0"), "seat 0 may place in column a only");
    for p in ["a3=3", "e3=3", "a4=4", "e4=0", "a5=0"] {
        go(f2, &mut s, p);
    }
    assert_eq!(winner(&s), None);
    let mut other = s;
    go(f2, &mut s, "e5=4");
    assert_eq!((winner(&s), score::points(f2, &s)), (Some(Winner::Draw), [2, 2]));
    go(f2, &mut other, "e5=0");
    assert_eq!((winner(&other), score::points(f2, &other)), (WON(0), [2, 1]));
    assert_eq!((other.over.map(|o| o.why), other.ply), (Some(Why::SupplyOut), 10));
}

#[test]
fn only_zero_is_legal_when_sum_is_used_up() {
    let f2 = Rules::built_in(2);
    let s = after(f2, &["a1=15", "e1=15"]);
    assert_eq!(legal(f2, &s, 0), ["a2=0", "a3=0", "a4=0", "a5=0"]);
    let r = rules(json!({ "kinds": [{ "id": "s", "values": { "min": 2, "max": 9, "unique": false, "sum_max": 10 } }],
        "end": [{ "if": "stuck", "then": "lose" }] }));
    let s = after(&r, &["a1=9", "b1=2"]);
    assert_eq!((winner(&s), s.over.map(|o| o.why)), (WON(1), Some(Why::Stuck)), "the sum allows 1, the minimum is 2");
}

#[test]
fn setup_pieces_use_up_unique_numbers() {
    let r = rules(
        json!({ "kinds": [{ "id": "s", "supply": 2, "values": { "min": 1, "max": 3, "unique": true, "sum_max": 5 } }],
        "setup": [{ "owner": 0, "kind": "s", "at": "a1", "value": 2 }] }),
    );
    let s = BoardState::start(&r, 0);
    assert!(may(&r, &s, 0, "b1=1") && may(&r, &s, 0, "b1=3") && !may(&r, &s, 0, "b1=2"), "2 is used by the setup");
    let s = after(&r, &["b1=1", "c1=2"]);
    assert!(!may(&r, &s, 0, "d1=3"), "2 + 1 + 3 is more than 5");
    assert!(!may(&r, &s, 0, "c1=1"), "the cell is taken");
}

#[test]
fn pieces_of_setup_do_not_use_up_supply() {
    let r = rules(json!({ "kinds": [{ "id": "s", "supply": 1 }], "setup": [{ "owner": 0, "kind": "s", "at": "a1" }],
        "end": [{ "if": "supply_out", "then": "score" }], "score": [{ "per": "piece", "pts": 1 }] }));
    let mut s = after(&r, &["b1"]);
    assert_eq!((winner(&s), legal(&r, &s, 1).len()), (None, 23), "only seat 0 has used up its supply");
    go(&r, &mut s, "e5");
    assert_eq!((winner(&s), s.over.map(|o| o.why)), (WON(0), Some(Why::SupplyOut)));
    // `supply_out` never applies if a kind has no supply limit.
    let r = rules(json!({ "kinds": [{ "id": "s", "supply": 1 }, { "id": "t" }], "actions": [
        { "do": "place", "kind": "s", "by": { "0": "all", "1": "all" } },
        { "do": "place", "kind": "t", "by": { "0": "all", "1": "all" } }],
        "end": [{ "if": "supply_out", "then": "score" }] }));
    assert_eq!(winner(&after(&r, &["s:b1", "s:b2"])), None);
}

#[test]
fn first_placement_needs_no_own_neighbor() {
    for (near, cells) in
        [("own4", vec!["b3", "c2", "c4", "d3"]), ("own8", vec!["b2", "b3", "b4", "c2", "c4", "d2", "d3", "d4"])]
    {
        let r = rules(
            json!({ "actions": [{ "do": "place", "kind": "s", "by": { "0": "all", "1": "all" }, "near": near }] }),
        );
        let s = BoardState::start(&r, 0);
        assert_eq!(legal(&r, &s, 0).len(), 25);
        let mut s = after(&r, &["c3"]);
        assert_eq!(legal(&r, &s, 1).len(), 24, "seat 1 has no piece yet");
        go(&r, &mut s, "a1");
        let mut found = legal(&r, &s, 0);
        found.sort();
        assert_eq!(found, cells);
    }
}

#[test]
fn placements_respect_distance_to_opposing_and_own_pieces() {
    let r = |near: &str| {
        rules(json!({ "actions": [{ "do": "place", "kind": "s", "by": { "0": "all", "1": "all" }, "near": near }] }))
    };
    let opp4 = r("opp4");
    assert_eq!(legal(&opp4, &BoardState::start(&opp4, 0), 0).len(), 25);
    assert_eq!(legal(&opp4, &after(&opp4, &["a1"]), 1), ["b1", "a2"]);
    let opp8 = r("opp8");
    assert_eq!(legal(&opp8, &after(&opp8, &["a1"]), 1), ["b1", "a2", "b2"]);
    let away = r("away4");
    let s = after(&away, &["c3", "a1"]);
    assert!(
        !may(&away, &s, 0, "c4") && may(&away, &s, 0, "b2") && may(&away, &s, 0, "b1"),
        "only own pieces matter: b1 is next to an opposing piece"
    );
    assert_eq!(legal(&away, &s, 0).len(), 19);
}

#[test]
fn zones_restrict_placements_of_each_seat() {
    let r = rules(json!({ "zones": { "mine": ["c3", "b2"] },
        "actions": [{ "do": "place", "kind": "s", "by": { "0": "mine", "1": "corner" } }] }));
    let s = BoardState::start(&r, 0);
    assert_eq!((legal(&r, &s, 0), legal(&r, &s, 1)), (vec!["b2".to_owned(), "c3".into()], vec![]));
    assert_eq!(legal(&r, &after(&r, &["c3"]), 1), ["a1", "e1", "a5", "e5"]);
}

fn mover(steps: serde_json::Value, range: u8, forward: bool, onto: &str, setup: serde_json::Value) -> Rules {
    rules(
        json!({ "kinds": [{ "id": "s" }, { "id": "v", "values": { "min": 0, "max": 9, "unique": false, "sum_max": null } }],
        "actions": [{ "do": "move", "kind": "s", "steps": steps, "range": range, "forward_only": forward, "onto": onto },
            { "do": "move", "kind": "v", "steps": steps, "range": range, "forward_only": forward, "onto": onto }],
        "setup": setup }),
    )
}

#[test]
fn slides_stop_before_pieces() {
    let setup = json!([{ "owner": 0, "kind": "s", "at": "a1" }, { "owner": 0, "kind": "s", "at": "a4" },
        { "owner": 1, "kind": "s", "at": "c1" }]);
    let r = mover(json!("orth"), 3, false, "empty_or_opp_any", setup.clone());
    let s = BoardState::start(&r, 0);
    let of_a1 = |r: &Rules| legal(r, &s, 0).into_iter().filter(|m| m.starts_with("a1")).collect::<Vec<_>>();
    assert_eq!(of_a1(&r), ["a1-b1", "a1-c1", "a1-a2", "a1-a3"]);
    assert_eq!(of_a1(&mover(json!("orth"), 1, false, "empty", setup.clone())), ["a1-b1", "a1-a2"]);
    assert_eq!(of_a1(&mover(json!("diag"), 4, false, "empty", setup.clone())), ["a1-b2", "a1-c3", "a1-d4", "a1-e5"]);
    assert_eq!(of_a1(&mover(json!("king"), 2, true, "empty", setup.clone())), ["a1-a2", "a1-b2", "a1-a3", "a1-c3"]);
    assert_eq!(of_a1(&mover(json!("orth"), 4, false, "opp_any", setup)), ["a1-c1"]);
}

#[test]
fn leaps_pass_over_pieces_and_repeat_within_range() {
    let setup = json!([{ "owner": 0, "kind": "s", "at": "a1" }, { "owner": 0, "kind": "s", "at": "b1" },
        { "owner": 1, "kind": "s", "at": "e5" }]);
    let r = mover(json!("knight"), 1, false, "empty", setup.clone());
    let of = |r: &Rules, at: &str| {
        legal(r, &BoardState::start(r, 0), 0).into_iter().filter(|m| m.starts_with(at)).collect::<Vec<_>>()
    };
    assert_eq!(of(&r, "a1"), ["a1-c2", "a1-b3"]);
    let r = mover(json!("knight"), 2, false, "empty_or_opp_any", setup.clone());
    assert_eq!(of(&r, "a1"), ["a1-c2", "a1-b3", "a1-e3", "a1-c5"]);
    let r = mover(json!([[0, 2], [1, 0], [-1, 0]]), 2, true, "empty", setup.clone());
    assert_eq!(of(&r, "a1"), ["a1-a2", "a1-a3"], "forward only: away from row 1");
    assert_eq!(legal(&r, &after(&r, &["a1-a2"]), 1), ["e5-e3", "e5-e4"]);
}

#[test]
fn move_condition_limits_capturable_numbers() {
    let setup = |own: u8, other: u8| {
        json!([{ "owner": 0, "kind": "v", "at": "c3", "value": own }, { "owner": 1, "kind": "v", "at": "c4", "value": other },
            { "owner": 1, "kind": "s", "at": "d3" }])
    };
    for (onto, own, other, takes) in [
        ("opp_lower", 5, 4, true),
        ("opp_lower", 5, 5, false),
        ("opp_lower_eq", 5, 5, true),
        ("opp_lower_eq", 5, 6, false),
        ("empty_or_opp_lower", 3, 2, true),
        ("empty_or_opp_lower_eq", 3, 3, true),
        ("empty_or_opp_lower_eq", 2, 3, false),
    ] {
        let r = mover(json!("orth"), 1, false, onto, setup(own, other));
        let s = BoardState::start(&r, 0);
        assert_eq!(may(&r, &s, 0, "c3-c4"), takes, "{onto} {own} {other}");
        assert!(!may(&r, &s, 0, "c3-d3"), "a piece without a number is not compared");
        assert_eq!(may(&r, &s, 0, "c3-b3"), onto.starts_with("empty"), "{onto}");
    }
    let r = mover(json!("orth"), 1, false, "opp_lower", setup(5, 4));
    let s = after(&r, &["c3-c4"]);
    assert_eq!((s.captured, s.pieces[1].count_ones()), ([1, 0], 1));
}

#[test]
fn first_matching_move_action_decides_capture() {
    let two = |first: &str, second: &str| {
        rules(json!({ "kinds": [{ "id": "v", "values": { "min": 0, "max": 9, "unique": false, "sum_max": null } }],
            "hidden": { "values": true, "reveal": "contact" },
            "actions": [{ "do": "move", "kind": "v", "steps": "orth", "onto": first }, { "do": "move", "kind": "v", "steps": "king", "onto": second },
                { "do": "place", "kind": "v", "by": { "0": "all", "1": "all" } }] }))
    };
    // The number of c4 is unknown, so both move actions allow the capture. The first of them decides.
    let s = after(&two("opp_lower", "opp_any"), &["c3=1", "c4=5", "c3-c4"]);
    assert_eq!((board_text(&s).contains("o1"), s.captured), (true, [0, 0]));
    let s = after(&two("opp_any", "opp_lower"), &["c3=1", "c4=5", "c3-c4"]);
    assert_eq!(s.captured, [1, 0]);
}

#[test]
fn failed_capture_uses_ply_and_reveals_both_numbers() {
    let r =
        rules(json!({ "kinds": [{ "id": "v", "values": { "min": 0, "max": 9, "unique": false, "sum_max": null } }],
        "hidden": { "values": true, "reveal": "contact" },
        "actions": [{ "do": "place", "kind": "v", "by": { "0": "all", "1": "all" } },
            { "do": "move", "kind": "v", "steps": "orth", "onto": "empty_or_opp_lower" }] }));
    let mut s = after(&r, &["c3=4", "c4=7"]);
    assert!(!s.is_known_to(&r, Some(0), 17) && s.is_known_to(&r, Some(1), 17) && !s.is_known_to(&r, None, 17));
    go(&r, &mut s, "c3-c4");
    board_is(&s, [". . . . .", ". . x7 . .", ". . o4 . .", ". . . . .", ". . . . ."]);
    assert_eq!((s.contact[0], s.ply, s.mover), (Some((4, 7)), 3, 1));
    assert!(s.is_known_to(&r, Some(0), 17) && s.is_known_to(&r, Some(1), 12) && s.is_known_to(&r, None, 12));
    assert!(may(&r, &s, 1, "c4-c3"));
    go(&r, &mut s, "a1=0");
    assert!(!may(&r, &s, 0, "c3-c4"), "seat 0 now knows that the number is not lower");
    go(&r, &mut s, "b1=9");
    assert_eq!(s.contact, [None; 2], "contact covers the last ply only");
    // Without a comparison, contact still reveals numbers, and the capture succeeds.
    go(&r, &mut s, "c4-c3");
    board_is(&s, [". . . . .", ". . . . .", ". . x7 . .", ". . . . .", "x0 o9 . . ."]);
}

#[test]
fn contact_reveals_numbers_before_effects_remove_pieces() {
    let r =
        rules(json!({ "kinds": [{ "id": "v", "values": { "min": 0, "max": 9, "unique": false, "sum_max": null } }],
        "hidden": { "values": true, "reveal": "contact" },
        "actions": [{ "do": "place", "kind": "v", "by": { "0": "all", "1": "all" } },
            { "do": "move", "kind": "v", "steps": "orth", "onto": "empty_or_opp_any" }],
        "effects": [{ "on": "move", "cells": "adj4", "who": "opp", "then": "remove" }] }));
    let s = after(&r, &["c3=4", "c4=7", "a1=0", "d4=9", "c3-c4"]);
    // c4 is captured on contact; the effect then removes d4, whose number was never revealed.
    board_is(&s, [". . . . .", ". . o4 . .", ". . . . .", ". . . . .", "o0 . . . ."]);
    assert_eq!((s.contact[0], s.captured), (Some((4, 7)), [2, 0]));
    assert!(s.is_known_to(&r, Some(1), 17) && s.shown == 1 << 17, "only the piece that made contact is shown");
}

#[test]
fn revealed_piece_stays_revealed_after_move() {
    let r =
        rules(json!({ "kinds": [{ "id": "v", "values": { "min": 0, "max": 9, "unique": false, "sum_max": null } }],
        "hidden": { "values": true, "reveal": "contact" },
        "actions": [{ "do": "place", "kind": "v", "by": { "0": "all", "1": "all" } },
            { "do": "move", "kind": "v", "steps": "orth", "onto": "empty_or_opp_lower" }] }));
    let s = after(&r, &["c3=4", "c4=2", "c3-c4", "e5=1", "c4-c5", "d5=3"]);
    assert!(s.is_known_to(&r, Some(1), 22) && !s.is_known_to(&r, Some(0), 24));
    // A piece placed on the cell of an earlier revealed piece is hidden.
    let s = after(&r, &["c3=4", "c4=2", "c3-c4", "e5=1", "c4-c5", "c4=3"]);
    assert!(!s.is_known_to(&r, Some(0), 17));
}

#[test]
fn placement_on_hidden_piece_uses_ply_but_not_turn() {
    let r = rules(json!({ "hidden": { "pieces": true }, "kinds": [{ "id": "s", "supply": 3 }],
        "end": [{ "if": "line", "len": 3, "then": "win" }] }));
    let mut s = after(&r, &["c3"]);
    assert!(may(&r, &s, 1, "c3"), "seat 1 does not know about the piece on c3");
    go(&r, &mut s, "c3");
    assert_eq!((s.ply, s.mover, s.placed[1][0], s.bumped), (2, 1, 0, [0, 1 << 12]));
    assert!(!may(&r, &s, 1, "c3"), "seat 1 now knows about the piece on c3");
    go(&r, &mut s, "c4");
    assert_eq!((s.ply, s.mover), (3, 0));
    assert!(may(&r, &s, 0, "c4"));
    assert!(s.sees(&r, Some(1), 1) && !s.sees(&r, Some(0), 1) && !s.sees(&r, None, 0));
}

#[test]
fn end_conditions_are_checked_for_mover_first() {
    // The mover's line loses, the opponent's line wins: the mover's conditions are checked first.
    let two = |first: serde_json::Value, second: serde_json::Value| rules(json!({ "end": [first, second] }));
    let (row, many) =
        (json!({ "if": "line", "len": 3, "then": "lose" }), json!({ "if": "pieces_ge", "n": 3, "then": "win" }));
    let plies = ["a1", "a5", "b1", "b5", "c1"];
    assert_eq!(winner(&after(&two(row.clone(), many.clone()), &plies)), WON(1), "the line is first in the list");
    assert_eq!(winner(&after(&two(many, row), &plies)), WON(0), "pieces_ge is first in the list");
    // `full` and `supply_out` are checked together with the mover's conditions.
    let r =
        rules(json!({ "kinds": [{ "id": "s", "supply": 1 }], "score": [{ "per": "piece", "pts": 1 }], "tie": "second",
        "effects": [{ "on": "place", "cells": "adj4", "who": "opp", "then": "flip" }],
        "end": [{ "if": "pieces_ge", "n": 2, "then": "win" }, { "if": "supply_out", "then": "score" }] }));
    let s = after(&r, &["a1", "a2"]);
    assert_eq!((winner(&s), s.over.map(|o| o.why)), (WON(1), Some(Why::PiecesGe)));
    assert_eq!(after(&r, &["a1", "e5"]).over.map(|o| (o.why, o.winner)), Some((Why::SupplyOut, Winner::Seat(1))));
}

#[test]
fn line_condition_respects_exact_length_and_directions() {
    let r = |end: serde_json::Value| rules(json!({ "end": [end] }));
    let exact = r(json!({ "if": "line", "len": 3, "exact": true, "then": "win" }));
    assert_eq!(winner(&after(&exact, &["a1", "a5", "b1", "b5", "d1", "e5", "c1"])), None, "four in a row");
    assert_eq!(winner(&after(&exact, &["a1", "a5", "b1", "b5", "c1"])), WON(0));
    let diagonal = r(json!({ "if": "line", "len": 3, "dirs": "diag", "then": "win" }));
    assert_eq!(winner(&after(&diagonal, &["a1", "a5", "b1", "b5", "c1", "c5"])), None);
    assert_eq!(winner(&after(&diagonal, &["a1", "a5", "b2", "b5", "c3"])), WON(0));
    let straight = r(json!({ "if": "line", "len": 3, "dirs": "orth", "then": "lose" }));
    assert_eq!(winner(&after(&straight, &["a1", "a5", "b2", "b5", "c3"])), None);
    assert_eq!(winner(&after(&straight, &["a1", "a5", "a2", "b5", "a3"])), WON(1));
}

#[test]
fn line_completed_by_flip_wins_for_opponent() {
    let r = rules(json!({ "effects": [{ "on": "place", "cells": "adj4", "who": "both", "then": "flip" }],
        "end": [{ "if": "line", "len": 3, "dirs": "orth", "then": "win" }] }));
    // o plays in the middle of a row: its own stone below flips and completes a row of three for x.
    let mut s = after(&r, &["b2", "a1", "d3", "c1", "e5", "e3"]);
    board_is(&s, [". . . . o", ". . . . .", ". . . x x", ". o . . .", "x . x . ."]);
    go(&r, &mut s, "a5");
    go(&r, &mut s, "b1");
    board_is(&s, ["o . . . o", ". . . . .", ". . . x x", ". x . . .", "o x o . ."]);
    // Both seats' pieces flip: each adjacent piece changes sides.
    let r = rules(json!({ "effects": [{ "on": "place", "cells": "adj4", "who": "both", "then": "flip" }],
        "setup": [{ "owner": 1, "kind": "s", "at": "a1" }, { "owner": 0, "kind": "s", "at": "b1" }, { "owner": 1, "kind": "s", "at": "c1" },
            { "owner": 0, "kind": "s", "at": "e1" }],
        "end": [{ "if": "line", "len": 3, "then": "win" }] }));
    let s = after(&r, &["b2"]);
    assert_eq!((winner(&s), s.over.map(|o| o.why)), (WON(1), Some(Why::Line)));
}

#[test]
fn reaching_zone_or_eliminating_all_pieces_ends_game() {
    let setup = json!([{ "owner": 0, "kind": "s", "at": "c4" }, { "owner": 1, "kind": "s", "at": "c2" }]);
    let ends = json!([{ "if": "reach", "zone": { "0": "home1", "1": "home0" }, "then": "win" }, { "if": "eliminated", "then": "win" }]);
    let walk = json!([{ "do": "move", "kind": "s", "steps": "orth", "range": 2, "onto": "empty_or_opp_any" }]);
    let r = rules(json!({ "actions": walk, "setup": setup, "end": ends }));
    let s = after(&r, &["c4-c5"]);
    assert_eq!((winner(&s), s.over.map(|o| o.why)), (WON(0), Some(Why::Reach)));
    let s = after(&r, &["c4-c3", "c2-c3"]);
    assert_eq!((winner(&s), s.over.map(|o| o.why)), (WON(1), Some(Why::Eliminated)));
    // A seat is not eliminated if it has pieces left to place, or if it never had a piece.
    let both = json!([{ "do": "move", "kind": "s", "steps": "orth", "range": 2, "onto": "empty_or_opp_any" },
        { "do": "place", "kind": "s", "by": { "0": "all", "1": "all" } }]);
    let r = rules(json!({ "actions": both, "setup": setup, "end": [{ "if": "eliminated", "then": "win" }] }));
    assert_eq!(winner(&after(&r, &["c4-c2"])), None);
    let r = rules(json!({ "kinds": [{ "id": "s", "supply": 1 }], "end": [{ "if": "eliminated", "then": "win" }] }));
    assert_eq!(winner(&after(&r, &["c3"])), None);
}

#[test]
fn seat_without_action_loses_draws_or_scores_as_configured() {
    // Seat 1 may place on c3 only, and seat 0 occupies that cell.
    let r = |more: serde_json::Value| {
        let mut doc = json!({ "actions": [{ "do": "place", "kind": "s", "by": { "0": "all", "1": "centre" } }],
            "score": [{ "per": "piece", "pts": 1 }] });
        doc.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        rules(doc)
    };
    let over = |rules: &Rules| after(rules, &["c3"]).over.map(|o| (o.winner, o.why, o.scored));
    let stuck = |then: &str| r(json!({ "end": [{ "if": "stuck", "then": then }] }));
    assert_eq!(over(&stuck("lose")), Some((Winner::Seat(0), Why::Stuck, false)));
    assert_eq!(over(&stuck("draw")), Some((Winner::Draw, Why::Stuck, false)));
    assert_eq!(over(&stuck("score")), Some((Winner::Seat(0), Why::Stuck, true)));
    assert_eq!(over(&r(json!({}))), Some((Winner::Seat(0), Why::NoAction, true)), "no rule covers this");
    let pass = |when: &str| json!([{ "do": "place", "kind": "s", "by": { "0": "all", "1": "centre" } }, { "do": "pass", "when": when }]);
    let r2 = r(json!({ "actions": pass("stuck") }));
    let s = after(&r2, &["c3"]);
    assert_eq!((legal(&r2, &s, 1), winner(&s)), (vec!["pass".to_owned()], None));
    assert_eq!(legal(&r2, &after(&r2, &["c3", "pass"]), 0).len(), 24, "a seat with another action may not pass");
    // A `stuck` end condition takes effect before the seat can pass.
    let r3 = r(json!({ "actions": pass("stuck"), "end": [{ "if": "stuck", "then": "lose" }] }));
    assert_eq!(over(&r3), Some((Winner::Seat(0), Why::Stuck, false)));
    let r4 = r(json!({ "actions": pass("always") }));
    assert!(may(&r4, &BoardState::start(&r4, 0), 0, "pass"));
}

#[test]
fn board_is_scored_at_limit_of_plies() {
    let r = rules(json!({ "ply_cap": 3, "score": [{ "per": "piece", "pts": 1 }] }));
    let s = after(&r, &["a1", "a2", "a3"]);
    assert_eq!((winner(&s), s.over.map(|o| o.why), s.ply), (WON(0), Some(Why::PlyCap), 3));
    // An end condition that is met on the last ply takes precedence over the ply cap.
    let r = rules(json!({ "ply_cap": 3, "end": [{ "if": "pieces_ge", "n": 2, "then": "win" }] }));
    assert_eq!(after(&r, &["a1", "a2", "a3"]).over.map(|o| o.why), Some(Why::PiecesGe));
}

#[test]
fn ties_are_broken_as_configured() {
    let r = |tie: &str| rules(json!({ "ply_cap": 3, "tie": tie }));
    let of = |tie: &str| winner(&after(&r(tie), &["a1", "a2", "a3"]));
    assert_eq!(
        [of("draw"), of("first"), of("second"), of("fewer_pieces")],
        [Some(Winner::Draw), WON(0), WON(1), WON(1)]
    );
    let even = rules(json!({ "ply_cap": 2, "tie": "fewer_pieces" }));
    assert_eq!(winner(&after(&even, &["a1", "a2"])), Some(Winner::Draw));
}

#[test]
fn scoring_rules_add_points() {
    let setup = json!([{ "owner": 0, "kind": "v", "at": "a1", "value": 3 }, { "owner": 0, "kind": "v", "at": "b1", "value": 4 },
        { "owner": 0, "kind": "v", "at": "c1", "value": 1 }, { "owner": 0, "kind": "s", "at": "b3" },
        { "owner": 1, "kind": "v", "at": "a2", "value": 9 }, { "owner": 1, "kind": "v", "at": "c2", "value": 6 },
        { "owner": 1, "kind": "s", "at": "b2" }, { "owner": 1, "kind": "s", "at": "e5" }]);
    let kinds =
        json!([{ "id": "s" }, { "id": "v", "values": { "min": 0, "max": 9, "unique": false, "sum_max": null } }]);
    let points = |score: serde_json::Value| {
        let r = rules(json!({ "kinds": kinds, "setup": setup, "score": [score] }));
        score::points(&r, &BoardState::start(&r, 0))
    };
    let both = json!({ "0": "all", "1": "all" });
    assert_eq!(points(json!({ "per": "piece", "pts": 2 })), [8, 8]);
    assert_eq!(points(json!({ "per": "value", "pts": 1 })), [8, 15]);
    assert_eq!(points(json!({ "per": "largest_group4", "pts": 1 })), [3, 3]);
    assert_eq!(points(json!({ "per": "territory4", "pts": 1 })), [0, 0], "the only region touches both sides");
    assert_eq!(points(json!({ "per": "line", "len": 2, "pts": 1 })), [2, 2]);
    assert_eq!(points(json!({ "per": "line", "len": 3, "pts": 5 })), [5, 5]);
    assert_eq!(points(json!({ "per": "row_compare", "cells": both, "pts": 1 })), [1, 1]);
    assert_eq!(points(json!({ "per": "col_compare", "cells": both, "pts": 1 })), [1, 2]);
    let zones = json!({ "0": "cola", "1": "colc" });
    assert_eq!(
        points(json!({ "per": "row_compare", "cells": zones, "pts": 1 })),
        [1, 1],
        "3 against 0, and 0 against 6"
    );
    assert_eq!(points(json!({ "per": "capture", "pts": 1 })), [0, 0]);
}

#[test]
fn territory_counts_regions_next_to_one_side_only() {
    let setup = json!([{ "owner": 0, "kind": "s", "at": "a2" }, { "owner": 0, "kind": "s", "at": "b1" },
        { "owner": 1, "kind": "s", "at": "d5" }, { "owner": 1, "kind": "s", "at": "d4" }, { "owner": 1, "kind": "s", "at": "e3" }]);
    let r = rules(json!({ "setup": setup, "score": [{ "per": "territory4", "pts": 1 }] }));
    assert_eq!(score::points(&r, &BoardState::start(&r, 0)), [1, 2]);
    let r = rules(json!({ "score": [{ "per": "territory4", "pts": 1 }] }));
    assert_eq!(score::points(&r, &BoardState::start(&r, 0)), [0, 0], "a region that touches nothing has no owner");
    assert_eq!(score::points(&r, &after(&r, &["c3"])), [24, 0]);
}

#[test]
fn only_opposing_pieces_taken_in_own_plies_count_as_captures() {
    let setup = json!([{ "owner": 0, "kind": "s", "at": "a1" }, { "owner": 1, "kind": "s", "at": "a2" },
        { "owner": 1, "kind": "s", "at": "b3" }, { "owner": 0, "kind": "s", "at": "a3" }, { "owner": 0, "kind": "s", "at": "e1" },
        { "owner": 1, "kind": "s", "at": "e5" }]);
    let r = rules(json!({ "setup": setup, "score": [{ "per": "capture", "pts": 1 }],
        "actions": [{ "do": "move", "kind": "s", "steps": "orth", "onto": "empty_or_opp_any" }],
        "effects": [{ "on": "move", "cells": "adj8", "who": "both", "then": "remove" }] }));
    // a1 captures a2, then the effect removes a3 (own) and b3 (opposing): two captures.
    let s = after(&r, &["a1-a2"]);
    board_is(&s, [". . . . x", ". . . . .", ". . . . .", "o . . . .", ". . . . o"]);
    assert_eq!((s.captured, score::points(&r, &s)), ([2, 0], [2, 0]));
    let flips = rules(json!({ "score": [{ "per": "capture", "pts": 1 }],
        "effects": [{ "on": "place", "cells": "adj4", "who": "opp", "then": "flip" }] }));
    assert_eq!(after(&flips, &["a1", "a2"]).captured, [0, 0], "flips are not captures");
}

fn both(more: serde_json::Value) -> Rules {
    let mut doc = json!({ "mode": "simultaneous", "kinds": [{ "id": "s" }],
        "actions": [{ "do": "move", "kind": "s", "steps": "king", "onto": "empty_or_opp_any" },
            { "do": "place", "kind": "s", "by": { "0": "all", "1": "all" } }] });
    doc.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    rules(doc)
}

#[test]
fn simultaneous_placements_on_one_cell_fail() {
    let r = both(json!({ "kinds": [{ "id": "s", "supply": 2 }] }));
    let mut s = after(&r, &["c3 & c3"]);
    assert_eq!((s.occupied(), s.placed, s.ply), (0, [[0; 4]; 2], 1));
    go(&r, &mut s, "c3 & a1");
    // A move and a placement with the same target cell fail too.
    go(&r, &mut s, "c3-b2 & b2");
    board_is(&s, [". . . . .", ". . . . .", ". . o . .", ". . . . .", "x . . . ."]);
}

#[test]
fn simultaneous_moves_swap_collide_or_escape() {
    let r = both(json!({}));
    let s = after(&r, &["c3 & c4", "c3-c4 & c4-c3"]);
    board_is(&s, [". . . . .", ". . o . .", ". . x . .", ". . . . .", ". . . . ."]);
    assert_eq!(s.captured, [0, 0], "a swap captures nothing");
    let s = after(&r, &["c3 & c5", "c3-c4 & c5-c4"]);
    board_is(&s, [". . x . .", ". . . . .", ". . o . .", ". . . . .", ". . . . ."]);
    let s = after(&r, &["c3 & c4", "c3-c4 & c4-d5"]);
    board_is(&s, [". . . x .", ". . o . .", ". . . . .", ". . . . .", ". . . . ."]);
    assert_eq!(s.captured, [0, 0], "a target that leaves is not captured");
    let s = after(&r, &["c3 & c4", "c3-c4 & a1"]);
    board_is(&s, [". . . . .", ". . o . .", ". . . . .", ". . . . .", "x . . . ."]);
    assert_eq!(s.captured, [1, 0]);
}

#[test]
fn simultaneous_end_conditions_are_checked_for_both_seats() {
    let r = both(json!({ "end": [{ "if": "pieces_ge", "n": 2, "then": "win" }], "tie": "second" }));
    let s = after(&r, &["a1 & b1", "a2 & b2"]);
    assert_eq!(winner(&s), WON(1), "both seats meet the condition, and the tie-break favors seat 1");
    let s = after(&r, &["a1 & b1", "a2 & b1-c1"]);
    assert_eq!(winner(&s), WON(0));
    // A seat without an action does nothing. If neither seat has an action, the board is scored.
    let r = rules(
        json!({ "mode": "simultaneous", "actions": [{ "do": "place", "kind": "s", "by": { "0": "row1", "1": "centre" } }] }),
    );
    let mut s = after(&r, &["a1 & c3"]);
    assert_eq!(s.acts, 0b01);
    go(&r, &mut s, "b1 & -");
    assert_eq!(s.pieces[0], 0b11);
    let r = rules(json!({ "mode": "simultaneous", "end": [{ "if": "stuck", "then": "lose" }],
        "actions": [{ "do": "place", "kind": "s", "by": { "0": "row1", "1": "centre" } }] }));
    assert_eq!(winner(&after(&r, &["a1 & c3"])), WON(0));
}

#[test]
fn simultaneous_effects_start_from_same_board() {
    let r = both(json!({ "effects": [{ "on": "place", "cells": "adj4", "who": "opp", "then": "flip" }] }));
    // Each seat's effect flips the new piece of the other seat: both effects apply to the same board.
    let s = after(&r, &["c3 & c4"]);
    board_is(&s, [". . . . .", ". . o . .", ". . x . .", ". . . . .", ". . . . ."]);
    let r = both(json!({ "effects": [{ "on": "place", "cells": "adj4", "who": "opp", "then": "remove" }] }));
    let s = after(&r, &["c3 & c4"]);
    assert_eq!((s.occupied(), s.captured), (0, [1, 1]));
}
