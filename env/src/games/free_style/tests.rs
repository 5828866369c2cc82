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
use super::position::{NONE, Over, Play, Winner};
use super::rules::Rules;
use super::validate;
use super::{board, words};
use crate::game::Action;

/// The rules of a document, valid or not; its fields are merged into a smallest one.
fn rules(more: Value) -> Rules {
    let mut doc = json!({ "fsr": 1, "name": "test", "board": 5, "ply_cap": 60, "kinds": [{ "id": "s" }],
        "actions": [{ "do": "place", "kind": "s", "by": { "0": "all", "1": "all" } }] });
    let (Some(all), Some(fields)) = (doc.as_object_mut(), more.as_object()) else { panic!("an object") };
    all.extend(fields.clone());
    Rules::of(serde_json::from_value(doc).expect("a document")).expect("names that exist")
}

/// A position after these plies; a joint ply is written `a1 & b1`.
fn after(rules: &Rules, plies: &[&str]) -> Play {
    let mut s = Play::start(rules, 0);
    plies.iter().for_each(|p| go(rules, &mut s, p));
    s
}

/// Plays a ply, which must be legal.
fn go(rules: &Rules, s: &mut Play, text: &str) {
    let read = |s: &Play, seat: usize, text: &str| {
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

fn legal(rules: &Rules, s: &Play, seat: usize) -> Vec<String> {
    let mut out: Vec<Action> = Vec::new();
    legal::actions(rules, s, seat, &mut out);
    out.into_iter().map(|a| words::name(rules, a)).collect()
}

fn may(rules: &Rules, s: &Play, seat: usize, text: &str) -> bool {
    legal::is(rules, s, seat, words::read(rules, text).expect("an action"))
}

/// The board from row 5 down: `.` for an empty cell, `o` and `x` for pieces of the seats, with their numbers.
fn shown(s: &Play) -> String {
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

fn board_is(s: &Play, rows: [&str; 5]) {
    assert_eq!(shown(s), rows.join("\n"));
}

fn winner(s: &Play) -> Option<Winner> {
    s.over.map(|o: Over| o.winner)
}
