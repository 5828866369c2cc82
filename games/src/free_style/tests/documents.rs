//! Rule documents: canonical form, hash and validation.

use sha2::{Digest as _, Sha256};

use super::super::document::{self, Document, canonical};
use super::super::sample;
use super::*;

#[test]
fn builtin_rules_have_stored_canonical_form_and_hash() {
    for (k, hash, wanted) in [
        (0, "180ab998", include_str!("f0.json")),
        (1, "c440f6a5", include_str!("f1.json")),
        (2, "84fbd700", include_str!("f2.json")),
    ] {
        let r = Rules::built_in(k);
        assert_eq!((canonical(&r.canonical).as_str(), r.hash.as_str()), (wanted.trim(), hash));
        assert_eq!(r.canonical.to_string(), wanted.trim(), "the keys of the value are in canonical order");
        let verdict = validate::verdict(&r.canonical);
        assert_eq!((verdict.issues, verdict.warnings), (vec![], vec![]), "F{k}");
    }
}

#[test]
fn canonical_form_is_stable_and_hash_ignores_name() {
    let text = include_str!("f1.json");
    let mut value: Value = serde_json::from_str(text).unwrap();
    value["name"] = "another".into();
    let again = Rules::of(serde_json::from_value(value.clone()).unwrap()).unwrap();
    assert_eq!((again.hash.as_str(), &again.canonical), ("c440f6a5", &value));
}

#[test]
fn hash_covers_canonical_form() {
    let mut rng = ludex_env::draw::Stream::from_text("hashes");
    let zones = [
        ("z", "plain"),
        ("\u{e9}t\u{e9}", "an accent"),
        ("\u{10000}", "a pair"),
        ("\u{ffff}", "after a pair"),
        ("\"\\\u{1}", "\u{7f}"),
    ];
    for k in 0..200 {
        let mut rules = sample::valid(&mut rng).document;
        rules.zones.extend(zones[..k % 6].iter().map(|(name, _)| ((*name).to_owned(), Vec::new())));
        rules.name = zones[k % 5].1.to_owned();
        let mut value = rules.value();
        let hash = document::hash(&value);
        value.as_object_mut().unwrap().remove("name");
        assert_eq!(hash, hex::encode(&Sha256::digest(canonical(&value))[..4]), "{value}");
    }
}

#[test]
fn canonical_form_contains_defaults() {
    let short = json!({ "fsr": 1, "name": "x", "board": 5, "ply_cap": 9, "kinds": [{ "id": "s" }],
        "actions": [{ "do": "move", "kind": "s", "steps": [[2, 1]], "onto": "empty" }, { "do": "pass", "when": "always" }],
        "effects": [{ "on": "move", "cells": "adj4", "who": "own", "then": "flip" }],
        "end": [{ "if": "line", "len": 3, "then": "win" }, { "if": "eliminated", "then": "win" }],
        "score": [{ "per": "piece", "pts": 1 }, { "per": "col_compare", "cells": { "0": "all", "1": "all" }, "pts": 1 }] });
    let document: Document = serde_json::from_value(short).unwrap();
    let value = document.value();
    assert_eq!(value["actions"][0]["range"], 1);
    assert_eq!(value["actions"][0]["forward_only"], false);
    assert_eq!(value["actions"][1], json!({ "do": "pass", "when": "always" }));
    assert_eq!(
        value["effects"][0],
        json!({ "on": "move", "cells": "adj4", "who": "own", "if": null, "then": "flip", "n": null })
    );
    assert_eq!(
        value["end"],
        json!([{ "if": "line", "len": 3, "exact": false, "dirs": "all", "then": "win" }, { "if": "eliminated", "then": "win" }])
    );
    assert_eq!(value["score"][0], json!({ "per": "piece", "len": null, "pts": 1 }));
    assert_eq!(value["score"][1], json!({ "per": "col_compare", "cells": { "0": "all", "1": "all" }, "pts": 1 }));
    assert_eq!((&value["first"], &value["tie"], &value["setup"]), (&json!("other"), &json!("draw"), &json!([])));
}

/// Returns the rules F1 with the given fields replaced.
fn f1(more: Value) -> Value {
    let mut value = Rules::built_in(1).canonical.clone();
    value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    value
}

#[test]
fn each_issue_has_its_code_and_path() {
    let all = json!({ "0": "all", "1": "all" });
    let place = |kind: &str| json!({ "do": "place", "kind": kind, "by": all });
    let numbers = |min: u8, max: u8, unique: bool, sum: Option<u16>, supply: Option<u8>| json!([{ "id": "s", "supply": supply, "values": { "min": min, "max": max, "unique": unique, "sum_max": sum } }]);
    let line = json!([{ "if": "line", "len": 3, "then": "win" }]);
    for (code, path, value) in [
        ("schema", "/ply_cap", f1(json!({ "ply_cap": 0 }))),
        ("schema", "", f1(json!({ "speed": 1 }))),
        ("schema", "/tie", f1(json!({ "tie": "third" }))),
        (
            "schema",
            "/effects/0/n",
            f1(json!({ "effects": [{ "on": "place", "cells": "adj4", "who": "own", "then": "add" }] })),
        ),
        ("schema", "/score/0/len", f1(json!({ "score": [{ "per": "line", "pts": 1 }] }))),
        ("schema", "/actions/0/do", f1(json!({ "actions": [{ "do": "fly", "kind": "s" }] }))),
        (
            "schema",
            "/actions/0/near",
            f1(json!({ "actions": [{ "do": "place", "kind": "s", "by": all, "near": "far" }] })),
        ),
        ("schema", "/actions/0", f1(json!({ "actions": [{ "do": "pass", "when": "always", "kind": "s" }] }))),
        ("schema", "/end/0/len", f1(json!({ "end": [{ "if": "line", "len": 7, "then": "win" }] }))),
        ("schema", "/score/0/pts", f1(json!({ "score": [{ "per": "piece", "pts": 1_000 }] }))),
        (
            "size",
            "/kinds",
            f1(json!({ "kinds": [{ "id": "s" }, { "id": "a" }, { "id": "b" }, { "id": "c" }, { "id": "d" }] })),
        ),
        ("size", "", f1(json!({ "zones": { "z": vec!["a1"; 1_000] } }))),
        ("reference", "/actions/0/kind", f1(json!({ "actions": [place("t")] }))),
        (
            "reference",
            "/actions/0/by/1",
            f1(json!({ "actions": [{ "do": "place", "kind": "s", "by": { "0": "all", "1": "here" } }] })),
        ),
        ("reference", "/kinds/1/id", f1(json!({ "kinds": [{ "id": "s" }, { "id": "s" }] }))),
        ("reference", "/zones/row1", f1(json!({ "zones": { "row1": ["a1"] } }))),
        (
            "reference",
            "/setup/1/at",
            f1(json!({ "setup": [{ "owner": 0, "kind": "s", "at": "a1" }, { "owner": 1, "kind": "s", "at": "a1" }] })),
        ),
        (
            "opening",
            "/actions",
            f1(json!({ "actions": [{ "do": "move", "kind": "s", "steps": "orth", "onto": "empty" }] })),
        ),
        ("supply", "/end/0", f1(json!({ "end": [{ "if": "supply_out", "then": "score" }] }))),
        (
            "supply",
            "/kinds/0/supply",
            f1(
                json!({ "kinds": [{ "id": "s", "supply": 6 }], "actions": [{ "do": "place", "kind": "s", "by": { "0": "row1", "1": "row5" } }] }),
            ),
        ),
        ("sum", "/kinds/0/values/min", f1(json!({ "kinds": numbers(5, 2, false, None, None) }))),
        ("sum", "/kinds/0/values/sum_max", f1(json!({ "kinds": numbers(3, 9, false, Some(8), Some(3)) }))),
        ("sum", "/kinds/0/values", f1(json!({ "kinds": numbers(3, 5, true, None, Some(4)) }))),
        (
            "sum",
            "/setup/0/value",
            f1(
                json!({ "kinds": numbers(3, 5, false, None, None), "setup": [{ "owner": 0, "kind": "s", "at": "a1" }] }),
            ),
        ),
        ("decisive", "/end", f1(json!({ "score": [] }))),
        ("decisive", "", f1(json!({ "score": [{ "per": "territory4", "pts": 1 }] }))),
        (
            "stuck",
            "/end",
            f1(json!({ "actions": [{ "do": "place", "kind": "s", "by": { "0": "row1", "1": "row5" } }] })),
        ),
        ("unbalanced", "", f1(json!({ "effects": [], "end": [{ "if": "pieces_ge", "n": 1, "then": "win" }] }))),
        ("hidden", "/effects/0", f1(json!({ "hidden": { "values": true } }))),
        ("hidden", "/effects/0", f1(json!({ "hidden": { "pieces": true } }))),
        ("hidden", "/mode", f1(json!({ "hidden": { "pieces": true }, "effects": [], "mode": "simultaneous" }))),
        (
            "hidden",
            "/actions/0/near",
            f1(
                json!({ "hidden": { "pieces": true }, "effects": [], "actions": [{ "do": "place", "kind": "s", "by": all, "near": "opp8" }] }),
            ),
        ),
        (
            "hidden",
            "/actions/1/onto",
            f1(json!({ "hidden": { "values": true }, "effects": [], "kinds": numbers(1, 5, false, None, None),
            "actions": [place("s"), { "do": "move", "kind": "s", "steps": "orth", "onto": "opp_lower" }], "end": line })),
        ),
    ] {
        let verdict = validate::verdict(&value);
        let found: Vec<(&str, &str)> =
            verdict.issues.iter().map(|f| (f.code.as_deref().unwrap_or(""), f.path.as_str())).collect();
        assert!(found.contains(&(code, path)), "{code} {path}: {:?}", verdict.issues);
        assert!(verdict.issues.iter().all(|f| !f.message.is_empty() && f.got.is_some() && f.allowed.is_some()));
    }
}

#[test]
fn all_issues_are_reported_together() {
    let value = f1(
        json!({ "hidden": { "values": true }, "score": [], "actions": [{ "do": "place", "kind": "t", "by": { "0": "x", "1": "all" } }] }),
    );
    let verdict = validate::verdict(&value);
    let codes: Vec<&str> = verdict.issues.iter().map(|f| f.code.as_deref().unwrap_or("")).collect();
    assert_eq!(codes, ["reference", "reference", "hidden", "decisive"]);
    let value = f1(json!({ "ply_cap": 0, "tie": "x", "board": 6 }));
    assert_eq!(validate::verdict(&value).issues.len(), 3);
}

#[test]
fn document_with_warnings_is_valid() {
    // With a cap of 3 plies, the seat that moves first places two pieces and the other seat one.
    let value = f1(json!({ "ply_cap": 3, "effects": [], "end": [] }));
    let verdict = validate::verdict(&value);
    let codes: Vec<&str> =
        verdict.issues.iter().chain(&verdict.warnings).map(|f| f.code.as_deref().unwrap_or("")).collect();
    assert_eq!(codes, ["unbalanced", "capped"], "the seat that moves first always has one more piece");
    let value = f1(json!({ "ply_cap": 12 }));
    let verdict = validate::verdict(&value);
    assert_eq!(verdict.warnings.iter().map(|f| f.code.as_deref().unwrap_or("")).collect::<Vec<_>>(), ["capped"]);
    assert!(verdict.into_rules().is_ok());
}

#[test]
fn verdict_is_deterministic() {
    let value = f1(json!({ "first": "random" }));
    let [a, b] = [validate::verdict(&value), validate::verdict(&value)].map(|v| v.playouts.unwrap());
    assert_eq!(a, b);
    assert_eq!(a.wins[0] + a.wins[1] + a.draws, 200);
}

#[test]
fn mirrored_rules_are_symmetric() {
    let symmetric = |value: &Value| validate::symmetric(&serde_json::from_value(value.clone()).unwrap());
    assert!(symmetric(&Rules::built_in(1).canonical));
    assert!(!symmetric(&Rules::built_in(2).canonical), "column a is not column e");
    let homes = json!({ "actions": [{ "do": "place", "kind": "s", "by": { "0": "home0", "1": "home1" } }] });
    assert!(symmetric(&f1(homes)));
    let uneven = json!({ "setup": [{ "owner": 0, "kind": "s", "at": "a1" }] });
    assert!(!symmetric(&f1(uneven)));
}

#[test]
fn summary_of_f2_mentions_each_clause() {
    let text = Rules::built_in(2).summary();
    for part in ["from 0 to 15", "at most 15", "column a", "column e", "hidden", "10 plies", "row", "1 point"] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
}
