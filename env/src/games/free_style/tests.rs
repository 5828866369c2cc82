//! Documents and the course of games under them, on boards that are written out.

mod course;
mod documents;
mod effects;
mod game;
mod sampled;
mod summary;

use serde_json::{Value, json};

use super::ids;
use super::legal;
use super::position::{BoardState, GameEnd, NONE, Winner};
use super::rules::Rules;
use super::validate;
use super::{board, words};
use crate::game::Action;

/// The tests of each bullet of the semantics (Qi Town, section 6.2), and of what is easy to get wrong in it.
const BULLETS: [(&str, &[&str]); 16] = [
    (
        "order",
        &[
            "conditions_are_judged_for_the_mover_first_and_in_order",
            "effects_come_in_order_on_the_first_board",
            "the_cap_scores_the_board",
        ],
    ),
    ("placing", &["unique_numbers_and_setup_count", "zones_bind_each_seat", "supply_counts_what_is_placed_alone"]),
    ("near", &["near_does_not_bind_a_first_placement", "near_asks_for_the_opponent_or_for_distance"]),
    ("sum_max at its limit", &["a_sum_at_its_limit_leaves_nothing_but_zero", "unique_numbers_and_setup_count"]),
    ("moving", &["slides_stop_before_pieces", "leaps_jump_and_repeat", "the_first_action_that_fits_a_move_counts"]),
    ("onto", &["onto_compares_numbers", "a_failed_comparison_uses_the_ply_and_shows_both"]),
    (
        "effects",
        &[
            "neighbours_flip_by_owner",
            "sandwiches_need_an_own_piece_behind",
            "the_rest_of_a_line",
            "conditions_compare_numbers",
        ],
    ),
    (
        "numbers under effects",
        &["numbers_change_within_their_kind", "numbers_that_are_taken_stay_used_when_an_effect_changes_them"],
    ),
    ("line", &["lines_are_exact_or_not_and_have_directions", "a_line_of_the_opponent_after_a_flip_is_the_opponents"]),
    ("supply_out", &["supply_counts_what_is_placed_alone", "conditions_are_judged_for_the_mover_first_and_in_order"]),
    ("other ends", &["reach_and_eliminated", "stuck_has_each_outcome", "f1_turns_neighbours_until_the_board_is_full"]),
    ("score", &["scores_count", "territory_touches_one_side", "captures_are_counted_in_own_plies"]),
    ("tie", &["ties", "f0_with_a_full_board_is_a_draw"]),
    (
        "contact",
        &[
            "contact_shows_numbers_before_effects_remove_pieces",
            "a_failed_comparison_uses_the_ply_and_shows_both",
            "a_piece_that_moves_on_stays_shown",
        ],
    ),
    (
        "hidden",
        &["a_bump_on_a_hidden_piece_counts_and_the_seat_moves_again", "hidden_numbers_are_seen_by_their_owner_alone"],
    ),
    (
        "simultaneous",
        &[
            "together_placements_on_one_cell_fail",
            "together_pieces_swap_collide_and_slip_away",
            "together_ends_are_judged_for_both",
            "together_effects_take_one_board",
        ],
    ),
];

#[test]
fn each_bullet_of_the_semantics_has_two_tests() {
    let all =
        [include_str!("tests/course.rs"), include_str!("tests/effects.rs"), include_str!("tests/game.rs")].concat();
    for (bullet, tests) in BULLETS {
        assert!(tests.len() >= 2, "{bullet}");
        for test in tests {
            assert!(all.contains(&format!("#[test]\nfn {test}() {{")), "{bullet}: there is no test {test}");
        }
    }
}

/// The rules of a document, valid or not; its fields are merged into a smallest one.
fn rules(more: Value) -> Rules {
    let mut doc = json!({ "fsr": 1, "name": "test", "board": 5, "ply_cap": 60, "kinds": [{ "id": "s" }],
        "actions": [{ "do": "place", "kind": "s", "by": { "0": "all", "1": "all" } }] });
    let (Some(all), Some(fields)) = (doc.as_object_mut(), more.as_object()) else { panic!("an object") };
    all.extend(fields.clone());
    Rules::of(serde_json::from_value(doc).expect("a document")).expect("names that exist")
}

/// A position after these plies; a joint ply is written `a1 & b1`.
fn after(rules: &Rules, plies: &[&str]) -> BoardState {
    let mut s = BoardState::start(rules, 0);
    plies.iter().for_each(|p| go(rules, &mut s, p));
    s
}

/// Plays a ply, which must be legal.
fn go(rules: &Rules, s: &mut BoardState, text: &str) {
    let read = |s: &BoardState, seat: usize, text: &str| {
        let a = words::read(rules, text).unwrap_or_else(|| panic!("{text:?} is an action"));
        assert!(legal::is(rules, s, seat, a), "{text} is legal for seat {seat} on\n{}", shown(s));
        a
    };
    if rules.together() {
        let (a, b) = text.split_once(" & ").expect("two actions");
        let one = |seat: usize, text: &str| (text != "-").then(|| read(s, seat, text));
        let joint = [one(0, a), one(1, b)];
        s.step_together(rules, joint);
    } else {
        let a = read(s, s.mover.into(), text);
        s.step(rules, a);
    }
}

fn legal(rules: &Rules, s: &BoardState, seat: usize) -> Vec<String> {
    let mut out: Vec<Action> = Vec::new();
    legal::actions(rules, s, seat, &mut out);
    out.into_iter().map(|a| words::name(rules, a)).collect()
}

fn may(rules: &Rules, s: &BoardState, seat: usize, text: &str) -> bool {
    legal::is(rules, s, seat, words::read(rules, text).expect("an action"))
}

/// The board from row 5 down: `.` for an empty cell, `o` and `x` for pieces of the seats, with their numbers.
fn shown(s: &BoardState) -> String {
    let cell = |c: usize| match s.owner(c) {
        None => ".".to_owned(),
        Some(owner) => {
            let number = if s.value[c] == NONE { String::new() } else { s.value[c].to_string() };
            format!("{}{number}", ["o", "x"][owner])
        }
    };
    let row = |r: usize| (0..5).map(|c| cell(5 * r + c)).collect::<Vec<_>>().join(" ");
    (0..5).rev().map(row).collect::<Vec<_>>().join("\n")
}

fn board_is(s: &BoardState, rows: [&str; 5]) {
    assert_eq!(shown(s), rows.join("\n"));
}

fn winner(s: &BoardState) -> Option<Winner> {
    s.over.map(|o: GameEnd| o.winner)
}
