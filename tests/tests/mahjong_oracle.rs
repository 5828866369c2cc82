//! International mahjong against PyMahjongGB 1.4.0: the fans of 3,000 hands (`data/oracles/mcr_fans.json.gz`), and shanten and useful tiles
//! of 500 (`data/oracles/mcr_shanten.json.gz`), through the question that `ludex analyze` asks.

use std::collections::BTreeSet;

use ludex_env::{GameRef, load};
use ludex_tests::data::document;
use serde_json::{Value, json};

/// The fields of a question.
const FIELDS: [&str; 10] = [
    "pack",
    "hand",
    "win",
    "flowers",
    "self_drawn",
    "fourth_tile",
    "about_kong",
    "wall_last",
    "seat_wind",
    "prevalent_wind",
];

fn ask(game: &GameRef, v: &Value, edition: &str) -> Value {
    let fields = FIELDS.iter().filter_map(|f| Some(((*f).to_owned(), v.get(*f)?.clone())));
    let mut question = Value::Object(fields.collect());
    question["edition"] = edition.into();
    game.analyze(&question).unwrap_or_else(|issue| panic!("{question}: {issue:?}"))
}

/// Names that are spelt otherwise there.
fn ours(name: &str) -> &str {
    match name {
        "All Five" => "All Fives",
        "Robbing The Kong" => "Robbing the Kong",
        "Two Dragons Pungs" => "Two Dragon Pungs",
        other => other,
    }
}

/// Points, count and name of each fan, in one order.
fn fans(list: &Value) -> Vec<(u64, u64, &str)> {
    let fan = |f: &'_ Value| (f[0].as_u64().unwrap(), f[1].as_u64().unwrap());
    let mut all: Vec<_> = list
        .as_array()
        .into_iter()
        .flatten()
        .map(|f| {
            let (points, count) = fan(f);
            (points, count, ours(f[2].as_str().unwrap()))
        })
        .collect();
    all.sort_unstable();
    all
}

#[test]
fn fans_are_those_of_the_oracle() {
    let game = load("mcr_mahjong").unwrap();
    let (mut wins, mut others) = (0, 0);
    for v in document("oracles/mcr_fans")["vectors"].as_array().unwrap() {
        let answer = ask(&game, v, "oracle");
        assert_eq!(answer["win"], v["win_ok"], "{v}");
        if v["win_ok"] == json!(true) {
            assert_eq!(fans(&answer["fans"]), fans(&v["fans"]), "{v}");
            assert_eq!(answer["total"], v["total"], "{v}");
            wins += 1;
        } else {
            assert!(answer["shanten"].as_i64().unwrap() >= 0, "{v}: {answer}");
            others += 1;
        }
    }
    assert_eq!((wins, others), (2_819, 181));
}

/// The strict edition differs where its three points say so, and nowhere else.
#[test]
fn the_strict_edition_differs_where_it_should() {
    let game = load("mcr_mahjong").unwrap();
    let mut differing = 0;
    for v in document("oracles/mcr_fans")["vectors"].as_array().unwrap() {
        let [oracle, strict] = ["oracle", "strict98"].map(|edition| ask(&game, v, edition));
        let has = |name: &str| fans(&oracle["fans"]).iter().any(|f| f.2 == name);
        let voids = ["Big Three Dragons", "Little Three Dragons", "Quadruple Chow", "Four Pure Shifted Pungs"];
        let voids = voids.iter().chain(&["Four Pure Shifted Chows", "Big Three Winds"]).any(|f| has(f));
        let mixed = has("Concealed Kong and Melded Kong");
        let pungs = has("All Terminals") && has("Triple Pung");
        let should = mixed || pungs || voids && has("One Voided Suit");
        assert_eq!(oracle != strict, should, "{v}: {oracle} {strict}");
        let tagged = |tag: &str| v["variant"].as_array().unwrap().iter().any(|t| t == tag);
        assert!(!mixed || tagged("mixed_kong_5"), "{v}");
        assert!(!(voids && has("One Voided Suit")) || tagged("voided_suit_strict98"), "{v}");
        differing += usize::from(should);
    }
    assert_eq!(differing, STRICT);
}

/// How many hands of the file differ.
const STRICT: usize = 190;

#[test]
fn shanten_is_that_of_the_oracle() {
    let game = load("mcr_mahjong").unwrap();
    let tiles = |list: &Value| -> BTreeSet<String> {
        list.as_array().unwrap().iter().map(|t| t.as_str().unwrap().to_owned()).collect()
    };
    let forms = ["regular", "seven_pairs", "thirteen_orphans", "honors_knitted", "knitted_straight"];
    let mut hands = 0;
    for v in document("oracles/mcr_shanten")["vectors"].as_array().unwrap() {
        let answer = game.analyze(&json!({ "pack": v["pack"], "hand": v["hand"] })).unwrap();
        assert_eq!(answer["shanten"], v["shanten"], "{v}");
        let mut useful = BTreeSet::new();
        for form in forms {
            let (ours, theirs) = (&answer["forms"][form], &v[form]);
            assert_eq!(ours.is_null(), theirs.is_null(), "{form} of {v}");
            if theirs.is_null() {
                continue;
            }
            assert_eq!((&ours[0], tiles(&ours[1])), (&theirs[0], tiles(&theirs[1])), "{form} of {v}");
            if theirs[0] == v["shanten"] {
                useful.extend(tiles(&theirs[1]));
            }
        }
        assert_eq!(tiles(&answer["useful"]), useful, "{v}");
        hands += 1;
    }
    assert_eq!(hands, 500);
}
