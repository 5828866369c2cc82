//! Tests of rule documents and of play under them, with explicit boards.

mod course;
mod documents;
mod effects;
mod game;
mod sampled;
mod summary;

use ludex_env::game::Action;
use serde_json::{Value, json};

use super::ids;
use super::legal;
use super::position::{BoardState, GameEnd, NONE, Winner};
use super::rules::Rules;
use super::validate;
use super::{board, words};

/// The rules of the semantics (Qi Town, section 6.2) and their special cases, each with the names of its tests.
const BULLETS: [(&str, &[&str]); 16] = [
    (
        "order",
        &[
            "end_conditions_are_checked_for_mover_first",
            "effects_apply_in_order_to_pieces_selected_before_first_effect",
            "board_is_scored_at_limit_of_plies",
        ],
    ),
    (
        "placing",
        &[
            "setup_pieces_use_up_unique_numbers",
            "zones_restrict_placements_of_each_seat",
            "pieces_of_setup_do_not_use_up_supply",
        ],
    ),
    ("near", &["first_placement_needs_no_own_neighbor", "placements_respect_distance_to_opposing_and_own_pieces"]),
    ("sum_max at its limit", &["only_zero_is_legal_when_sum_is_used_up", "setup_pieces_use_up_unique_numbers"]),
    (
        "moving",
        &[
            "slides_stop_before_pieces",
            "leaps_pass_over_pieces_and_repeat_within_range",
            "first_matching_move_action_decides_capture",
        ],
    ),
    ("onto", &["move_condition_limits_capturable_numbers", "failed_capture_uses_ply_and_reveals_both_numbers"]),
    (
        "effects",
        &[
            "effect_flips_neighbors_of_selected_owners",
            "sandwich_needs_own_piece_at_far_end",
            "effect_on_rest_of_line_spares_the_placed_piece",
            "effect_conditions_compare_numbers_of_pieces",
        ],
    ),
    ("numbers under effects", &["changed_numbers_stay_in_range_of_kind", "original_number_stays_used_after_effect"]),
    ("line", &["line_condition_respects_exact_length_and_directions", "line_completed_by_flip_wins_for_opponent"]),
    ("supply_out", &["pieces_of_setup_do_not_use_up_supply", "end_conditions_are_checked_for_mover_first"]),
    (
        "other ends",
        &[
            "reaching_zone_or_eliminating_all_pieces_ends_game",
            "seat_without_action_loses_draws_or_scores_as_configured",
            "neighbors_flip_until_board_is_full_under_f1",
        ],
    ),
    (
        "score",
        &[
            "scoring_rules_add_points",
            "territory_counts_regions_next_to_one_side_only",
            "only_opposing_pieces_taken_in_own_plies_count_as_captures",
        ],
    ),
    ("tie", &["ties_are_broken_as_configured", "full_board_is_a_draw_under_f0"]),
    (
        "contact",
        &[
            "contact_reveals_numbers_before_effects_remove_pieces",
            "failed_capture_uses_ply_and_reveals_both_numbers",
            "revealed_piece_stays_revealed_after_move",
        ],
    ),
    ("hidden", &["placement_on_hidden_piece_uses_ply_but_not_turn", "hidden_numbers_are_visible_to_owner_only"]),
    (
        "simultaneous",
        &[
            "simultaneous_placements_on_one_cell_fail",
            "simultaneous_moves_swap_collide_or_escape",
            "simultaneous_end_conditions_are_checked_for_both_seats",
            "simultaneous_effects_start_from_same_board",
        ],
    ),
];

#[test]
fn each_rule_of_semantics_has_at_least_two_tests() {
    let all =
        [include_str!("tests/course.rs"), include_str!("tests/effects.rs"), include_str!("tests/game.rs")].concat();
    for (bullet, tests) in BULLETS {
        assert!(tests.len() >= 2, "{bullet}");
        for test in tests {
            assert!(all.contains(&format!("#[test]\nfn {test}() {{")), "{bullet}: missing test {test}");
        }
    }
}

/// Compiles a minimal document with the given fields replaced, without validation.
fn rules(more: Value) -> Rules {
    let mut doc = json!({ "fsr": 1, "name": "test", "board": 5, "ply_cap": 60, "kinds": [{ "id": "s" }],
        "actions": [{ "do": "place", "kind": "s", "by": { "0": "all", "1": "all" } }] });
    let (Some(all), Some(fields)) = (doc.as_object_mut(), more.as_object()) else { panic!("an object") };
    all.extend(fields.clone());
    Rules::of(serde_json::from_value(doc).expect("a document")).expect("names that exist")
}

/// Returns the position after the given plies. A simultaneous ply is written `a1 & b1`.
fn after(rules: &Rules, plies: &[&str]) -> BoardState {
    let mut s = BoardState::start(rules, 0);
    plies.iter().for_each(|p| go(rules, &mut s, p));
    s
}

/// Plays one ply and asserts that it is legal.
fn go(rules: &Rules, s: &mut BoardState, text: &str) {
    let read = |s: &BoardState, seat: usize, text: &str| {
        let a = words::read(rules, text).unwrap_or_else(|| panic!("{text:?} is an action"));
        assert!(legal::is_legal(rules, s, seat, a), "{text} is legal for seat {seat} on\n{}", board_text(s));
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
    legal::is_legal(rules, s, seat, words::read(rules, text).expect("an action"))
}

/// Formats the board from row 5 down to row 1: `.` for an empty cell, `o` (seat 0) or `x` (seat 1) with the number of
/// the piece.
fn board_text(s: &BoardState) -> String {
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
    assert_eq!(board_text(s), rows.join("\n"));
}

fn winner(s: &BoardState) -> Option<Winner> {
    s.over.map(|o: GameEnd| o.winner)
}
