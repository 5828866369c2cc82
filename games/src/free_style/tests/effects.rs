//! Effects, each tested on an explicit board.

use serde_json::json;

use super::*;

fn placing(effects: Value, setup: Value) -> Rules {
    rules(
        json!({ "kinds": [{ "id": "s" }, { "id": "v", "values": { "min": 1, "max": 9, "unique": false, "sum_max": null } }],
        "actions": [{ "do": "place", "kind": "s", "by": { "0": "all", "1": "all" } },
            { "do": "place", "kind": "v", "by": { "0": "all", "1": "all" } }],
        "effects": effects, "setup": setup }),
    )
}

/// Returns a setup of pieces of kind `s`: `o` are the cells of seat 0, `x` those of seat 1.
fn stones(o: &[&str], x: &[&str]) -> Value {
    let one = |owner: u8, at: &&str| json!({ "owner": owner, "kind": "s", "at": at });
    o.iter().map(|at| one(0, at)).chain(x.iter().map(|at| one(1, at))).collect()
}

#[test]
fn effect_flips_neighbors_of_selected_owners() {
    let setup = stones(&["c2", "d4"], &["c4", "d3", "b2"]);
    for (cells, who, rows) in [
        ("adj4", "opp", [". . . . .", ". . o o .", ". . o o .", ". x o . .", ". . . . ."]),
        ("adj4", "own", [". . . . .", ". . x o .", ". . o x .", ". x x . .", ". . . . ."]),
        ("adj4", "both", [". . . . .", ". . o o .", ". . o o .", ". x x . .", ". . . . ."]),
        ("adj8", "opp", [". . . . .", ". . o o .", ". . o o .", ". o o . .", ". . . . ."]),
        ("adj8", "both", [". . . . .", ". . o x .", ". . o o .", ". o x . .", ". . . . ."]),
    ] {
        let r = placing(json!([{ "on": "place", "cells": cells, "who": who, "then": "flip" }]), setup.clone());
        board_is(&after(&r, &["s:c3"]), rows);
    }
}

#[test]
fn sandwich_needs_own_piece_at_far_end() {
    let setup = stones(&["a1", "e3", "c5"], &["b1", "c1", "d3", "b2", "c4"]);
    let eight = placing(json!([{ "on": "place", "cells": "sandwich8", "who": "opp", "then": "flip" }]), setup.clone());
    board_is(&after(&eight, &["s:c3"]), [". . o . .", ". . o . .", ". . o o o", ". o . . .", "o x x . ."]);
    board_is(&after(&eight, &["s:d1"]), [". . o . .", ". . x . .", ". . . x o", ". x . . .", "o o o o ."]);
    let four = placing(json!([{ "on": "place", "cells": "sandwich4", "who": "opp", "then": "remove" }]), setup);
    let s = after(&four, &["s:c3"]);
    board_is(&s, [". . o . .", ". . . . .", ". . o . o", ". x . . .", "o x x . ."]);
    assert_eq!(s.captured, [2, 0]);
    board_is(&after(&four, &["s:e1"]), [". . o . .", ". . x . .", ". . . x o", ". x . . .", "o x x . o"]);
}

#[test]
fn effect_on_rest_of_line_spares_the_placed_piece() {
    let setup = stones(&["a3", "b3", "c1", "c2", "d4", "e3"], &[]);
    let r = placing(json!([{ "on": "place", "cells": "line_rest", "who": "own", "then": "remove" }]), setup);
    // The row a3 to e3 is interrupted at d3. a3 to c3 and c1 to c3 are lines of three pieces; c3 and d4 are only two
    // pieces.
    let s = after(&r, &["s:c3"]);
    board_is(&s, [". . . . .", ". . . o .", ". . o . o", ". . . . .", ". . . . ."]);
    assert_eq!(s.captured, [0, 0], "own pieces are not captures");
    board_is(&after(&r, &["s:a1"]), [". . . . .", ". . . o .", "o o . . o", ". . o . .", "o . o . ."]);
}

#[test]
fn effect_conditions_compare_numbers_of_pieces() {
    let setup = json!([{ "owner": 1, "kind": "v", "at": "b3", "value": 3 }, { "owner": 1, "kind": "v", "at": "d3", "value": 4 },
        { "owner": 1, "kind": "v", "at": "c4", "value": 6 }, { "owner": 1, "kind": "s", "at": "c2" }]);
    for (cond, left) in [("lower", "d3 c4 c2"), ("higher", "b3 d3 c2"), ("equal", "b3 c4 c2"), ("sum10", "b3 d3 c2")] {
        let r = placing(
            json!([{ "on": "place", "cells": "adj4", "who": "opp", "if": cond, "then": "remove" }]),
            setup.clone(),
        );
        let s = after(&r, &["v:c3=4"]);
        let found: Vec<String> = board::cells(s.pieces[1]).map(board::name).collect();
        let mut wanted: Vec<&str> = left.split(' ').collect();
        wanted.sort_by_key(|c| board::cell(c));
        assert_eq!(found, wanted, "{cond}");
        // A piece without a number never satisfies a comparison.
        assert_eq!(after(&r, &["s:c3"]).pieces[1].count_ones(), 4, "{cond}");
    }
}

#[test]
fn changed_numbers_stay_in_range_of_kind() {
    let setup = json!([{ "owner": 1, "kind": "v", "at": "b3", "value": 2 }, { "owner": 0, "kind": "v", "at": "d3", "value": 8 },
        { "owner": 1, "kind": "s", "at": "c2" }]);
    let r = |then: &str, who: &str| {
        placing(json!([{ "on": "place", "cells": "adj4", "who": who, "then": then, "n": 3 }]), setup.clone())
    };
    board_is(&after(&r("add", "both"), &["s:c3"]), [". . . . .", ". . . . .", ". x5 o o9 .", ". . x . .", ". . . . ."]);
    board_is(&after(&r("sub", "both"), &["s:c3"]), [". . . . .", ". . . . .", ". x1 o o5 .", ". . x . .", ". . . . ."]);
    board_is(&after(&r("sub", "own"), &["s:c3"]), [". . . . .", ". . . . .", ". x2 o o5 .", ". . x . .", ". . . . ."]);
}

#[test]
fn effects_apply_in_order_to_pieces_selected_before_first_effect() {
    let setup = stones(&[], &["c2"]);
    let flip = json!({ "on": "place", "cells": "adj4", "who": "opp", "then": "flip" });
    let again = json!({ "on": "place", "cells": "adj8", "who": "opp", "then": "flip" });
    let remove = json!({ "on": "place", "cells": "adj4", "who": "opp", "then": "remove" });
    let own = json!({ "on": "place", "cells": "adj4", "who": "own", "then": "remove" });
    let x = |effects: Value| after(&placing(effects, setup.clone()), &["s:c3"]);
    assert_eq!(x(json!([flip.clone(), again])).owner(7), Some(1), "flipped twice");
    assert_eq!(x(json!([remove.clone(), flip.clone()])).owner(7), None, "a removed piece is skipped");
    assert_eq!(x(json!([flip.clone(), own])).owner(7), Some(0), "the piece was not own before the first effect");
    assert_eq!(x(json!([flip, remove])).captured, [1, 0]);
}

#[test]
fn effects_apply_only_after_their_action() {
    let r = rules(json!({ "actions": [{ "do": "place", "kind": "s", "by": { "0": "all", "1": "all" } },
            { "do": "move", "kind": "s", "steps": "orth", "onto": "empty" }],
        "effects": [{ "on": "move", "cells": "adj4", "who": "opp", "then": "flip" }] }));
    let mut s = after(&r, &["c3", "d3"]);
    assert_eq!(s.pieces[1].count_ones(), 1, "the effect does not apply to placements");
    go(&r, &mut s, "c3-c2");
    assert_eq!(s.pieces[1].count_ones(), 1, "d3 is not next to c2");
    go(&r, &mut s, "e5");
    go(&r, &mut s, "c2-d2");
    assert_eq!(s.pieces[1].count_ones(), 1, "d3 is next to d2 and changed sides");
    assert_eq!(s.owner(13), Some(0));
}

#[test]
fn original_number_stays_used_after_effect() {
    let r = rules(json!({ "kinds": [{ "id": "v", "values": { "min": 1, "max": 9, "unique": true, "sum_max": 12 } }],
        "actions": [{ "do": "place", "kind": "v", "by": { "0": "all", "1": "all" } }],
        "effects": [{ "on": "place", "cells": "adj4", "who": "opp", "then": "add", "n": 5 }] }));
    let s = after(&r, &["c3=2", "c4=1"]);
    assert_eq!(s.value[12], 7);
    assert!(may(&r, &s, 0, "a1=7") && !may(&r, &s, 0, "a1=2"), "2 is used, 7 is not");
    assert_eq!(s.sums[0][0], 2, "the sum ignores changes by effects");
}
