//! Negotiation, views and game laws.

use ludex_env::GameRef;
use ludex_env::check::{self, scaled};
use ludex_env::draw::Stream;
use ludex_env::dyn_state::DynState;
use ludex_env::game::{EventView, Marks, ParsedMove, ToMove, Viewer};
use ludex_protocol::Move;
use ludex_protocol::record::RefusedMove;
use serde_json::json;

use super::super::sample;

fn load(text: &str) -> GameRef {
    crate::load(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn with(rules: &serde_json::Value) -> GameRef {
    crate::load_with("free_style", &serde_json::Map::from_iter([("rules".to_owned(), rules.clone())])).unwrap()
}

fn lawful(game: &GameRef, episodes: u64) {
    if let Err(faults) = check::game(game, 0..scaled(episodes)) {
        panic!("{}: {}", game.spec().string, faults.join("\n"));
    }
}

#[test]
fn builtin_rules_obey_game_laws() {
    ["free_style(rules=F0)", "free_style(rules=F1)", "free_style(rules=F2)"]
        .iter()
        .for_each(|text| lawful(&load(text), 6));
}

#[test]
fn negotiation_obeys_game_laws() {
    lawful(&load("free_style"), 3);
    lawful(&load("free_style(messages=2,first=1,fallback=F2)"), 6);
}

#[test]
fn sampled_rules_obey_game_laws() {
    let mut rng = Stream::from_text("ludex.v1:free_style:laws");
    let (mut hidden, mut together) = (0, 0);
    for _ in 0..scaled(40) {
        let rules = sample::valid(&mut rng);
        hidden += u32::from(rules.document.hidden.values || rules.document.hidden.pieces);
        together += u32::from(rules.together());
        lawful(&with(&rules.canonical), 1);
    }
    assert!(scaled(40) < 40 || hidden > 3 && together > 3, "{hidden} {together}");
}

#[test]
fn rules_with_hidden_pieces_obey_game_laws() {
    let rules = json!({ "fsr": 1, "name": "dark", "board": 5, "ply_cap": 40, "kinds": [{ "id": "s" }],
        "actions": [{ "do": "place", "kind": "s", "by": { "0": "all", "1": "all" } }, { "do": "pass", "when": "stuck" }],
        "hidden": { "pieces": true }, "end": [{ "if": "line", "len": 4, "then": "win" }] });
    lawful(&with(&rules), 12);
}

#[test]
fn rules_that_reveal_numbers_on_contact_obey_game_laws() {
    let rules = json!({ "fsr": 1, "name": "ranks", "board": 5, "ply_cap": 60, "first": "random",
        "kinds": [{ "id": "s", "values": { "min": 1, "max": 6, "unique": true, "sum_max": null }, "supply": 4 }],
        "actions": [{ "do": "place", "kind": "s", "by": { "0": "row2", "1": "row4" } },
            { "do": "move", "kind": "s", "steps": "king", "onto": "empty_or_opp_lower" }],
        "hidden": { "values": true, "reveal": "contact" },
        "end": [{ "if": "eliminated", "then": "win" }, { "if": "stuck", "then": "lose" }], "score": [{ "per": "capture", "pts": 1 }] });
    lawful(&with(&rules), 12);
}

fn say(s: &mut dyn DynState, seat: usize, given: serde_json::Value) -> Result<(), ludex_env::Refusal> {
    match s.parse_move(seat, &Move::Document(given))? {
        ParsedMove::Action(a) => s.play(seat, a),
        ParsedMove::Document(said) => s.play_document(seat, &said),
    }
}

#[test]
fn agreed_rules_are_played() {
    let game = load("free_style");
    let mut s = game.start();
    assert_eq!(s.legal_list(0), [0, 1, 2, 4]);
    let refused = say(&mut *s, 0, json!({ "act": "accept", "hash": "c440f6a5" })).unwrap_err();
    assert_eq!(refused.issues[0].path, "/hash");
    let mut rules = super::Rules::built_in(0).canonical.clone();
    rules["end"][0]["len"] = 3.into();
    rules["first"] = "author".into();
    say(&mut *s, 0, json!({ "act": "counter", "rules": rules, "say": "three  in line" })).unwrap();
    assert_eq!(s.view(Viewer::Public).value()["messages"][0]["act"], "propose", "no proposal was open");
    assert_eq!(s.view(Viewer::Public).value()["messages"][0]["say"], "three in line");
    let stale = say(&mut *s, 1, json!({ "act": "accept", "hash": "c440f6a5" })).unwrap_err();
    assert_eq!(stale.issues[0].code.as_deref(), Some("reference"));
    assert!(say(&mut *s, 1, json!({ "act": "counter" })).is_err(), "the field rules is missing");
    s.play(1, 1).unwrap();
    say(&mut *s, 0, json!({ "act": "reject" })).unwrap();
    let hash = s.view(Viewer::Seat(1)).value()["open"][0].clone();
    say(&mut *s, 1, json!({ "act": "accept", "hash": hash, "say": "yes" })).unwrap();
    let view = s.view(Viewer::Public).value();
    assert_eq!(
        (&view["agreed"], &view["author"], &view["phase"], s.turn()),
        (&json!(true), &json!(0), &json!("play"), ToMove::Seat(0))
    );
    assert!(s.parse_move(0, &Move::Text("c9".into())).is_err());
    assert_eq!(
        s.parse_move(0, &Move::Text("I play {\"move\": \"C3\"}.".into())),
        s.parse_move(0, &Move::Text("c3".into()))
    );
    for (seat, m) in [(0, "a1"), (1, "e1"), (0, "a2"), (1, "e2"), (0, "a3")] {
        let Ok(ParsedMove::Action(a)) = s.parse_move(seat, &Move::Text(m.into())) else { panic!("{m}") };
        s.play(seat, a).unwrap();
    }
    assert_eq!((s.turn(), s.returns()), (ToMove::Over, vec![1.0, -1.0]));
}

#[test]
fn chance_draws_rules_if_seats_do_not_agree() {
    let game = load("free_style(messages=3)");
    let mut s = game.start();
    [(0, 0), (1, 4), (0, 4)].into_iter().for_each(|(seat, a)| s.play(seat, a).unwrap());
    assert_eq!(s.turn(), ToMove::Chance);
    s.play_chance(2).unwrap();
    assert_eq!(s.view(Viewer::Public).value()["rules"]["name"], "hidden numbers");
    assert_eq!(s.turn(), ToMove::Seat(1), "seat 0 counts as the author, and seat 1 moves first");
    let game = load("free_style(messages=2,fallback=F1)");
    let mut s = game.start();
    s.play(0, 1).unwrap();
    assert_eq!(s.legal_list(1), [3, 4], "the last message may only accept or reject");
    let late = say(&mut *s, 1, json!({ "act": "counter", "rules": super::Rules::built_in(2).canonical })).unwrap_err();
    assert_eq!(late.issues[0].code.as_deref(), Some("last_message"));
    s.play(1, 4).unwrap();
    assert_eq!(s.view(Viewer::Public).value()["rules"]["name"], "turncoats");
}

#[test]
fn message_without_say_field_parses_as_action_id() {
    let s = load("free_style").start();
    let heard = |v| s.parse_move(0, &Move::Document(v));
    assert_eq!(
        heard(json!({ "act": "propose", "rules": super::Rules::built_in(1).canonical })),
        Ok(ParsedMove::Action(1))
    );
    assert_eq!(heard(json!({ "act": "reject" })), Ok(ParsedMove::Action(4)));
    assert!(matches!(heard(json!({ "act": "reject", "say": "no" })), Ok(ParsedMove::Document(_))));
    let long = vec!["word"; 121].join(" ");
    assert_eq!(heard(json!({ "act": "reject", "say": long })).unwrap_err().issues[0].code.as_deref(), Some("too_long"));
    for code in ["reference", "hidden"] {
        let mut rules = super::Rules::built_in(2).canonical.clone();
        match code {
            "reference" => rules["actions"][0]["kind"] = "zz".into(),
            _ => rules["effects"] = json!([{ "on": "place", "cells": "adj4", "who": "opp", "then": "flip" }]),
        }
        let refused = heard(json!({ "act": "propose", "rules": rules })).unwrap_err();
        assert!(
            refused.issues.iter().any(|i| i.code.as_deref() == Some(code) && i.path.starts_with("/rules/")),
            "{refused:?}"
        );
    }
}

#[test]
fn hidden_numbers_are_visible_to_owner_only() {
    let game = load("free_style(rules=F2)");
    let mut s = game.start();
    assert_eq!(s.turn(), ToMove::Seat(1));
    let a = |s: &dyn DynState, seat, text: &str| match s.parse_move(seat, &Move::Text(text.into())) {
        Ok(ParsedMove::Action(a)) => a,
        other => panic!("{text}: {other:?}"),
    };
    let placed = a(&*s, 1, "e3=7");
    let by = ludex_env::Mover::Seat(1);
    assert_eq!(s.seen(Viewer::Seat(1), by, placed), EventView { action: Some(placed), text: Some("e3=7".into()) });
    for who in [Viewer::Seat(0), Viewer::Public] {
        assert_eq!(s.seen(who, by, placed), EventView { action: None, text: Some("e3=?".into()) });
    }
    s.play(1, placed).unwrap();
    assert_eq!(s.view(Viewer::Seat(0)).value()["board"][14]["value"], serde_json::Value::Null);
    assert_eq!(s.view(Viewer::Seat(1)).value()["board"][14]["value"], 7);
    let text = s.view(Viewer::Seat(0)).text();
    assert!(text.contains("e3=?") && !text.contains("e3=7") && !text.contains("B7"), "{text}");
}

#[test]
fn error_identifies_the_invalid_parameter() {
    for text in
        ["free_style(rules=F3)", "free_style(messages=1)", "free_style(first=2)", "free_style(rules={\"fsr\":1})"]
    {
        let e = crate::load(text).err().unwrap_or_else(|| panic!("{text} was accepted"));
        assert!(e.name.is_some(), "{e:?}");
    }
}

#[test]
fn analysis_returns_verdict() {
    let game = load("free_style");
    let out = game.analyze(&super::Rules::built_in(2).canonical).unwrap();
    assert_eq!((&out["valid"], &out["hash"]), (&json!(true), &json!("84fbd700")));
    assert!(out["playouts"]["mean_plies"].as_f64().unwrap() > 9.0);
    let out = game.analyze(&json!({ "fsr": 1 })).unwrap();
    assert_eq!((&out["valid"], &out["issues"][0]["code"]), (&json!(false), &json!("schema")));
}

#[test]
fn state_size_stays_small() {
    assert!(size_of::<super::super::State>() <= 1_024, "{}", size_of::<super::super::State>());
}

/// Two hidden numbers with a sum of at most 3 can be ten different pairs, which must occur equally often.
#[test]
fn hidden_numbers_are_drawn_uniformly() {
    let rules = json!({ "fsr": 1, "name": "u", "board": 5, "ply_cap": 10, "first": "seat0",
        "kinds": [{ "id": "n", "values": { "min": 0, "max": 3, "unique": false, "sum_max": 3 }, "supply": 5 }],
        "actions": [{ "do": "place", "kind": "n", "by": { "0": "cola", "1": "cole" } }], "hidden": { "values": true },
        "end": [{ "if": "supply_out", "then": "score" }], "score": [{ "per": "value", "pts": 1 }] });
    let game = with(&rules);
    let mut s = game.start();
    for (seat, m) in [(0, "a1=1"), (1, "e1=0"), (0, "a2=2"), (1, "e2=0")] {
        let Ok(ParsedMove::Action(a)) = s.parse_move(seat, &Move::Text(m.into())) else { panic!("{m}") };
        s.play(seat, a).unwrap();
    }
    let mut rng = Stream::from_text("uniform");
    let mut counts = std::collections::BTreeMap::new();
    for _ in 0..10_000 {
        let world = s.view(Viewer::Seat(1)).world(&mut rng);
        let board = world.view(Viewer::Seat(0)).value()["board"].clone();
        *counts.entry((board[0]["value"].as_u64(), board[5]["value"].as_u64())).or_insert(0u32) += 1;
    }
    assert_eq!(counts.len(), 10);
    let chi: f64 = counts.values().map(|&n| (f64::from(n) - 1_000.0).powi(2) / 1_000.0).sum();
    assert!(chi < 27.9, "chi-square {chi} of 9 degrees is beyond 0.999: {counts:?}");
}

#[test]
fn invalid_documents_are_refused_with_path() {
    let refused = |s: &dyn DynState, seat: usize, given: serde_json::Value| -> Vec<String> {
        let refused = s.parse_move(seat, &Move::Document(given.clone())).expect_err("it is refused");
        let told = |i: &ludex_protocol::error::Issue| !i.message.is_empty() && (i.got.is_some() || i.allowed.is_some());
        assert!(!refused.issues.is_empty() && refused.issues.iter().all(told), "{given}: {:?}", refused.issues);
        refused.issues.into_iter().map(|i| i.path).collect()
    };
    let mut s = load("free_style").start();
    let f1 = super::Rules::built_in(1).canonical.clone();
    assert!(refused(&*s, 0, json!({ "move": "c3" })).contains(&"/act".to_owned()));
    assert_eq!(refused(&*s, 0, json!({ "act": "propose" })), ["/rules"]);
    assert_eq!(refused(&*s, 0, json!({ "act": "accept", "hash": "c440f6a5" })), ["/hash"], "no proposal is open");
    assert_eq!(refused(&*s, 0, json!({ "act": "reject", "rules": f1 })), ["/rules"]);
    assert_eq!(refused(&*s, 0, json!({ "act": "reject", "hash": "c440f6a5" })), ["/hash"]);
    let flawed = json!({ "act": "propose", "say": "word ".repeat(121), "rules": { "fsr": 1, "name": "x", "board": 5,
        "ply_cap": 9, "kinds": [{ "id": "s" }], "actions": [{ "do": "place", "kind": "t", "by": { "0": "x", "1": "all" } }] } });
    assert_eq!(
        refused(&*s, 0, flawed),
        ["/rules/actions/0/by/0", "/rules/actions/0/kind", "/rules/end", "/say"],
        "all issues of the document, in order"
    );
    // A new proposal replaces the first proposal, whose hash is then stale.
    s.play(0, 1).unwrap();
    s.play(1, 4).unwrap();
    s.play(0, 0).unwrap();
    assert_eq!(refused(&*s, 1, json!({ "act": "accept", "hash": "c440f6a5" })), ["/hash"]);
    assert_eq!(refused(&*s, 1, json!({ "act": "counter", "say": "other rules" })), ["/rules"]);
    s.play(1, 3).unwrap();
    let seat = s.turn().seats().iter().next().unwrap();
    assert!(refused(&*s, seat, json!({ "act": "reject" })).contains(&"/move".to_owned()));
    for wrong in ["z9", "c3=1", "a1-a2", "pass", ""] {
        assert_eq!(refused(&*s, seat, json!({ "move": wrong })), ["/move"], "{wrong}");
    }
    assert_eq!(refused(&*s, seat, json!({ "move": { "move": "c3" } })), ["/move"]);
}

#[test]
fn negotiation_marks_are_counted() {
    let game = load("free_style");
    let mut s = game.start();
    let mut step = |seat: usize, a: u32| -> Vec<serde_json::Value> {
        let before = s.boxed();
        s.play(seat, a).unwrap();
        let mut out = Marks::all();
        before.marks(&[], &*s, &mut out);
        out.take().iter().map(|m| json!([m.seat, m.name, m.value])).collect()
    };
    assert_eq!(step(0, 0), Vec::<serde_json::Value>::new(), "no proposal was open");
    // The rules line4 and turncoats differ in the name (1), an effect (6 values), an end (2 and 5 values), and a score
    // (3 values).
    assert_eq!(step(1, 1), [json!([1, "edit_distance", 1.0 + 7.0 + 5.0 + 4.0])]);
    assert_eq!(step(0, 4), Vec::<serde_json::Value>::new());
    assert_eq!(step(1, 4), Vec::<serde_json::Value>::new());
    let of = |seat: u8, messages: f64, own: f64| {
        let marks = [("messages", json!(messages)), ("agreed", json!(1.0)), ("own_proposal_won", json!(own))];
        let more = [("clauses", json!(4.0)), ("rule_hash", json!("c440f6a5"))];
        marks.into_iter().chain(more).map(move |(name, value)| json!([seat, name, value]))
    };
    assert_eq!(step(0, 3), of(0, 3.0, 0.0).chain(of(1, 2.0, 1.0)).collect::<Vec<_>>());
}

#[test]
fn issues_of_refused_messages_are_counted() {
    let s = load("free_style").start();
    let refusal = s.parse_move(0, &Move::Document(json!({ "act": "counter", "say": "other rules" }))).unwrap_err();
    let attempt = |issues| RefusedMove {
        action: None,
        text: None,
        document: None,
        code: refusal.code,
        issues,
        ms: 0,
        notes: None,
    };
    let mut out = Marks::all();
    let twice = [attempt(refusal.issues.clone()), attempt([&refusal.issues[..], &refusal.issues].concat())];
    s.tried(0, &twice, &mut out);
    let found: Vec<_> = out.take().iter().map(|m| json!([m.seat, m.name, m.value])).collect();
    assert_eq!(found, [json!([0, "validity_errors", 3.0 * refusal.issues.len() as f64])]);
    // In play without a negotiation, refused moves add no mark.
    load("free_style(rules=F0)").start().tried(0, &twice, &mut out);
    assert!(out.take().is_empty());
}

#[test]
fn view_text_lists_only_legal_acts_for_last_message() {
    let mut s = load("free_style(messages=2)").start();
    let text = |s: &dyn DynState, seat| s.view(Viewer::Seat(seat)).text();
    assert!(text(&*s, 0).contains("`propose F2`") && !text(&*s, 0).contains("`accept`, `reject`"));
    s.play(0, 0).unwrap();
    let last = text(&*s, 1);
    assert!(last.contains("This is the last message. It may only be `accept` or `reject`."), "{last}");
    assert!(!last.contains("propose F"), "{last}");
}
