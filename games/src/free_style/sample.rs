//! Random documents that cover every clause of the format, for proposals of test agents and for tests of the validator.

use ludex_env::draw::Stream;
use serde_json::{Map, Value, json};

use super::rules::Rules;
use super::validate;

/// Draws a document that the validator accepts. After 20 refused documents, returns a built-in one.
pub(super) fn valid(rng: &mut Stream) -> Rules {
    let drawn = (0..20).find_map(|_| validate::verdict(&document(rng)).into_rules().ok());
    drawn.unwrap_or_else(|| {
        let rules = Rules::built_in(rng.below(3));
        validate::judge(&rules.canonical).into_rules().unwrap_or_else(|_| unreachable!("built-in rules are valid"))
    })
}

fn one<'a>(rng: &mut Stream, of: &[&'a str]) -> &'a str {
    of[rng.below(of.len())]
}

/// Returns true with a probability of 1 in `n`.
fn rare(rng: &mut Stream, n: usize) -> bool {
    rng.below(n) == 0
}

/// Draws a document that matches the schema. The validator may still refuse it.
pub(super) fn document(rng: &mut Stream) -> Value {
    let hidden_pieces = rare(rng, 7);
    let hidden_values = rare(rng, 4);
    let contact = rare(rng, 2);
    let kinds: Vec<Kind> = (0..1 + rng.below(5) / 2)
        .map(|k| {
            let values = (hidden_values || rare(rng, 2)).then(|| {
                let min = rng.below(3) as u8;
                (min, min + 3 + rng.below(8) as u8)
            });
            (["s", "n", "p"][k].to_owned(), values, rare(rng, 2))
        })
        .collect();
    let supply = rare(rng, 2);
    let mut doc = Map::new();
    doc.insert("fsr".into(), 1.into());
    doc.insert("name".into(), format!("{} {}", one(rng, &["red", "old", "wild", "calm"]), rng.below(1_000)).into());
    doc.insert("board".into(), 5.into());
    doc.insert("first".into(), one(rng, &["author", "other", "seat0", "random"]).into());
    doc.insert("ply_cap".into(), (12 + rng.below(60)).into());
    let together = !hidden_pieces && rare(rng, 4);
    doc.insert("mode".into(), if together { "simultaneous" } else { "alternate" }.into());
    let list = kinds.iter().map(|(id, values, unique)| {
        let values = values.map(|(min, max)| {
            let sum = if rare(rng, 2) { json!(u16::from(max) * 4) } else { Value::Null };
            json!({ "min": min, "max": max, "unique": unique, "sum_max": sum })
        });
        let supply = if supply || values.is_some() && rare(rng, 2) { json!(2 + rng.below(3)) } else { Value::Null };
        json!({ "id": id, "values": values, "supply": supply })
    });
    doc.insert("kinds".into(), list.collect::<Vec<_>>().into());
    doc.insert(
        "zones".into(),
        json!({ "low": ["a1", "b2", "c3", "d2", "e1"], "high": ["a5", "b4", "c3", "d4", "e5"] }),
    );
    let setup = !hidden_pieces && rare(rng, 2);
    if setup {
        doc.insert("setup".into(), pieces(rng, &kinds));
    }
    let moves = setup || rare(rng, 2);
    let comparing = !hidden_values || contact;
    doc.insert("actions".into(), actions(rng, &kinds, hidden_pieces, moves, comparing));
    if !hidden_pieces && rare(rng, 2) {
        doc.insert("effects".into(), (0..1 + rng.below(2)).map(|_| effect(rng, hidden_values, moves)).collect());
    }
    let reveal = if contact { "contact" } else { "end" };
    doc.insert("hidden".into(), json!({ "values": hidden_values, "pieces": hidden_pieces, "reveal": reveal }));
    doc.insert("end".into(), ends(rng, supply));
    doc.insert("score".into(), (0..rng.below(4)).map(|_| score(rng)).collect());
    doc.insert("tie".into(), one(rng, &["draw", "second", "first", "fewer_pieces"]).into());
    Value::Object(doc)
}

/// A piece kind: name, range of numbers, and true if each number may be used only once.
type Kind = (String, Option<(u8, u8)>, bool);
type Kinds = [Kind];

/// Draws pieces for the home rows. Each piece stands opposite an opposing piece of the same kind.
fn pieces(rng: &mut Stream, kinds: &Kinds) -> Value {
    let mut out = Vec::new();
    for (column, letter) in ["a", "b", "c", "d", "e"].into_iter().enumerate() {
        let (id, values, unique) = &kinds[rng.below(kinds.len())];
        if *unique || rare(rng, 3) {
            continue;
        }
        for owner in 0..2 {
            let at = format!("{letter}{}", 1 + 4 * owner);
            let value = values.map(|(min, max)| min + column as u8 % (max - min + 1));
            let mut piece = json!({ "owner": owner, "kind": id, "at": at });
            if let Some(value) = value {
                piece["value"] = value.into();
            }
            out.push(piece);
        }
    }
    out.into()
}

const ZONES: &[(&str, &str)] = &[
    ("all", "all"),
    ("all", "all"),
    ("all", "all"),
    ("home0", "home1"),
    ("low", "high"),
    ("edge", "edge"),
    ("row2", "row4"),
    ("cola", "cole"),
    ("colb", "cold"),
    ("corner", "corner"),
    ("centre", "centre"),
    ("row1", "row5"),
    ("row3", "row3"),
    ("colc", "colc"),
];

fn zones(rng: &mut Stream) -> Value {
    let (a, b) = ZONES[rng.below(ZONES.len())];
    json!({ "0": a, "1": b })
}

fn actions(rng: &mut Stream, kinds: &Kinds, hidden_pieces: bool, moves: bool, comparing: bool) -> Value {
    let mut out = Vec::new();
    for (id, values, _) in kinds {
        if !moves || rare(rng, 2) || hidden_pieces {
            let near = if hidden_pieces {
                one(rng, &["any", "own4", "own8", "away4"])
            } else {
                one(rng, &["any", "any", "own4", "own8", "opp4", "opp8", "away4"])
            };
            let by = if rare(rng, 3) { zones(rng) } else { json!({ "0": "all", "1": "all" }) };
            out.push(json!({ "do": "place", "kind": id, "by": by, "near": near }));
        }
        if moves && !hidden_pieces {
            let steps = match rng.below(6) {
                0 => json!([[1, 0], [-1, 0], [0, 2], [0, -2]]),
                k => json!(["orth", "diag", "king", "knight", "king"][k - 1]),
            };
            let onto = if values.is_some() && comparing {
                one(
                    rng,
                    &[
                        "empty",
                        "opp_any",
                        "opp_lower",
                        "opp_lower_eq",
                        "empty_or_opp_any",
                        "empty_or_opp_lower",
                        "empty_or_opp_lower_eq",
                    ],
                )
            } else {
                one(rng, &["empty", "opp_any", "empty_or_opp_any"])
            };
            let (range, forward) = (1 + rng.below(4), rare(rng, 3));
            out.push(
                json!({ "do": "move", "kind": id, "steps": steps, "range": range, "forward_only": forward, "onto": onto }),
            );
        }
    }
    out.push(json!({ "do": "pass", "when": one(rng, &["never", "stuck", "stuck", "always"]) }));
    out.into()
}

fn effect(rng: &mut Stream, hidden: bool, moves: bool) -> Value {
    let on = if moves && rare(rng, 2) { "move" } else { "place" };
    let cells = one(rng, &["adj4", "adj8", "sandwich8", "sandwich4", "line_rest"]);
    let who = one(rng, &["opp", "own", "both"]);
    let cond = [None, None, Some("lower"), Some("higher"), Some("equal"), Some("sum10")][rng.below(6)];
    let then = one(rng, &["flip", "flip", "remove", "add", "sub"]);
    if hidden {
        return json!({ "on": on, "cells": cells, "who": who, "then": "remove" });
    }
    let n = matches!(then, "add" | "sub").then(|| 1 + rng.below(3));
    json!({ "on": on, "cells": cells, "who": who, "if": cond, "then": then, "n": n })
}

fn ends(rng: &mut Stream, supply: bool) -> Value {
    let mut out = Vec::new();
    for kind in 0..7 {
        if !rare(rng, 3) {
            continue;
        }
        out.push(match kind {
            0 => json!({ "if": "line", "len": 3 + rng.below(3), "exact": rare(rng, 3),
                "dirs": one(rng, &["orth", "diag", "all"]), "then": one(rng, &["win", "win", "lose"]) }),
            1 => json!({ "if": "reach", "zone": { "0": "home1", "1": "home0" }, "then": "win" }),
            2 => json!({ "if": "eliminated", "then": "win" }),
            3 => json!({ "if": "stuck", "then": one(rng, &["lose", "score", "draw"]) }),
            4 => json!({ "if": "pieces_ge", "n": 5 + rng.below(8), "then": "win" }),
            5 => json!({ "if": "full", "then": "score" }),
            _ if supply => json!({ "if": "supply_out", "then": "score" }),
            _ => continue,
        });
    }
    out.into()
}

fn score(rng: &mut Stream) -> Value {
    let per =
        one(rng, &["piece", "value", "territory4", "largest_group4", "capture", "line", "row_compare", "col_compare"]);
    let pts = 1 + rng.below(3);
    match per {
        "line" => json!({ "per": per, "len": 2 + rng.below(3), "pts": pts }),
        "row_compare" | "col_compare" => json!({ "per": per, "cells": { "0": "all", "1": "all" }, "pts": pts }),
        _ => json!({ "per": per, "pts": pts }),
    }
}
