//! Queries about hands: flags, corrections, shanten, and invalid queries.

mod fans;

use serde_json::json;

use super::*;

fn ask(question: Value) -> std::result::Result<Value, Issue> {
    load("mcr_mahjong").unwrap().analyze(&question)
}

fn tiles_of(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

/// Returns the names of the fans of a hand; `more` holds additional query fields.
fn fans_of(hand: &str, win: &str, more: Value) -> Vec<String> {
    let mut question = json!({ "hand": tiles_of(hand), "win": win });
    for (name, value) in more.as_object().unwrap() {
        question[name] = value.clone();
    }
    let answer = ask(question).unwrap();
    answer["fans"].as_array().unwrap().iter().map(|f| f[2].as_str().unwrap().to_owned()).collect()
}

const PLAIN: &str = "W1 W2 W3 B4 B5 B6 T7 T8 T9 W5 W5 B7 B8";

#[test]
fn each_flag_of_query_adds_the_expected_fan() {
    let has = |more: Value, name: &str| fans_of(PLAIN, "B9", more).iter().any(|f| f == name);
    for (flags, name) in [
        (json!({ "self_drawn": true }), "Fully Concealed Hand"),
        (json!({}), "Concealed Hand"),
        (json!({ "self_drawn": true, "wall_last": true }), "Last Tile Draw"),
        (json!({ "wall_last": true }), "Last Tile Claim"),
        (json!({ "fourth_tile": true }), "Last Tile"),
        (json!({ "about_kong": true }), "Robbing the Kong"),
        (json!({ "flowers": 3 }), "Flower Tiles"),
    ] {
        assert!(has(flags.clone(), name), "{flags} {name}");
        assert!(flags == json!({}) || !has(json!({}), name), "{name}");
    }
    let kong = json!({ "pack": [["GANG", "F1", 0]], "self_drawn": true, "about_kong": true });
    let fans = fans_of("W1 W2 W3 B4 B5 B6 W5 W5 B7 B8", "B9", kong);
    assert!(fans.contains(&"Out with Replacement Tile".to_owned()), "{fans:?}");
    let winds = |seat: u8| json!({ "pack": [["PENG", "F2", 1]], "seat_wind": seat, "prevalent_wind": 1 - seat });
    for (seat, name) in [(1, "Seat Wind"), (0, "Prevalent Wind")] {
        let fans = fans_of("W1 W2 W3 B4 B5 B6 W5 W5 B7 B8", "B9", winds(seat));
        assert!(fans.contains(&name.to_owned()), "{fans:?}");
    }
}

#[test]
fn impossible_flags_of_query_are_corrected() {
    let corrected = |hand: &str, win: &str, more: Value| {
        let mut question = json!({ "hand": tiles_of(hand), "win": win });
        for (name, value) in more.as_object().unwrap() {
            question[name] = value.clone();
        }
        ask(question).unwrap()["corrected"].clone()
    };
    // The hand holds another copy of the winning tile, so the tile is not the last of its kind.
    let pair = "W1 W2 W3 B4 B5 B6 T7 T8 T9 W5 B7 B8 B9";
    assert_eq!(corrected(pair, "W5", json!({ "fourth_tile": true })), json!(["fourth_tile"]));
    // The hand's pung holds the other three copies, so the winning tile is the last of its kind.
    let pung = json!({ "pack": [["PENG", "B9", 1]] });
    assert_eq!(corrected("W1 W2 W3 B4 B5 B6 W5 W5 B7 B8", "B9", pung), json!(["fourth_tile"]));
    // A replacement requires a kong.
    let drawn = json!({ "self_drawn": true, "about_kong": true });
    assert_eq!(corrected(PLAIN, "B9", drawn), json!(["about_kong"]));
    // A robbed tile is the fourth of its kind, so the hand cannot hold another copy.
    assert_eq!(corrected(pair, "W5", json!({ "about_kong": true })), json!(["about_kong"]));
    assert_eq!(corrected(PLAIN, "B9", json!({ "about_kong": true })), Value::Null);
}

#[test]
fn invalid_queries_are_refused_with_path() {
    let hand = tiles_of(PLAIN);
    let with = |field: &str, value: Value| {
        let mut question = json!({ "hand": hand, "win": "B9" });
        question[field] = value;
        question
    };
    let of_ten = tiles_of("W1 W2 W3 B4 B5 B6 W5 W5 B7 B8");
    let meld = |meld: Value| json!({ "hand": of_ten, "pack": [meld] });
    for (question, path, word) in [
        (json!([]), "", "object, got a list"),
        (json!({ "win": "W1" }), "/hand", "missing"),
        (json!({ "hand": "W1" }), "/hand", "a list, got a text"),
        (json!({ "hand": tiles_of("W1 W1 W1 W1 W1 W2 W3 W4 W5 W6 W7 W8 W9") }), "/hand/4", "five W1"),
        (json!({ "hand": hand[1..] }), "/hand", "got 12"),
        (with("hand", json!(["X1"])), "/hand", "got 1"),
        (with("hand", json!(hand.iter().map(|_| "W0").collect::<Vec<_>>())), "/hand/0", "\"W0\" is not a tile"),
        (with("win", json!("H1")), "/win", "not a tile"),
        (with("win", json!(7)), "/win", "7 is not a tile"),
        (with("self_drawn", json!("yes")), "/self_drawn", "expected true or false"),
        (with("flowers", json!(9)), "/flowers", "expected an integer from 0 to 8"),
        (with("seat_wind", json!(4)), "/seat_wind", "expected an integer from 0 to 3"),
        (with("edition", json!("1998")), "/edition", "expected `oracle` or `strict98`"),
        (with("selfdrawn", json!(true)), "/selfdrawn", "did you mean self_drawn"),
        (meld(json!(["CHI", "F2", 1])), "/pack/0/1", "not the middle tile"),
        (meld(json!(["CHI", "W9", 1])), "/pack/0/1", "not the middle tile"),
        (meld(json!(["CHI", "W5", 0])), "/pack/0/2", "expected 1 to 3"),
        (meld(json!(["PUNG", "W5", 1])), "/pack/0/0", "expected CHI, PENG or GANG"),
        (meld(json!(["GANG", "W5", 1])), "/hand/6", "five W5"),
        (meld(json!("GANG")), "/pack/0", "a list of three"),
        (json!({ "hand": ["W1"], "pack": [1, 2, 3, 4, 5] }), "/pack", "4 melds, got 5"),
    ] {
        let issue = ask(question.clone()).expect_err(&question.to_string());
        assert!(issue.path == path && issue.message.contains(word), "{question}: {issue:?}");
        assert!(issue.allowed.is_some(), "{question}: {issue:?}");
    }
}

#[test]
fn total_points_depend_on_exclusions_and_edition() {
    let total = |hand: &str, win: &str, more: Value| {
        let mut question = json!({ "hand": tiles_of(hand), "win": win });
        for (name, value) in more.as_object().unwrap() {
            question[name] = value.clone();
        }
        ask(question).unwrap()["flowerless"].clone()
    };
    // Thirteen Orphans is worth 88 points, and Self-Drawn adds 1.
    let orphans = "W1 W9 B1 B9 T1 T9 F1 F2 F3 F4 J1 J2 J3";
    assert_eq!(total(orphans, "J3", json!({ "self_drawn": true })), 89);
    assert_eq!(total(orphans, "J3", json!({})), 88);
    // Nine Gates, won with the 5 of a chow: All Chows, Tile Hog and fans of the chows may be added, never Full Flush.
    let gates = fans_of("W1 W1 W1 W2 W3 W4 W5 W6 W7 W8 W9 W9 W9", "W5", json!({}));
    assert!(gates.contains(&"Nine Gates".to_owned()) && !gates.contains(&"Full Flush".to_owned()), "{gates:?}");
    // The editions differ in the points for a melded and a concealed kong.
    let kongs = json!({ "pack": [["GANG", "W1", 1], ["GANG", "B9", 0]] });
    let mut strict = kongs.clone();
    strict["edition"] = "strict98".into();
    let hand = "W4 W5 W6 T5 T5 T6 T7";
    let [oracle, strict] = [kongs, strict].map(|more| total(hand, "T8", more).as_u64().unwrap());
    assert_eq!(oracle, strict + 2);
}

#[test]
fn losing_hand_is_answered_with_shanten() {
    let answer = ask(json!({ "hand": tiles_of(PLAIN), "win": "F1" })).unwrap();
    assert_eq!((&answer["win"], &answer["shanten"]), (&json!(false), &json!(0)));
    assert_eq!(answer["useful"], json!(["B3", "B6", "B9"]));
    assert_eq!(answer["forms"]["regular"], json!([0, ["B3", "B6", "B9"]]));
    assert_eq!(answer["forms"].as_object().unwrap().len(), 5);
}

/// Distances from the table equal those of a brute-force search over all sets.
#[test]
fn shanten_distances_agree_with_brute_force_search() {
    let mut rng = Stream::from_text("mahjong distances");
    // All sets and pairs, each as the list of its tiles.
    let sets: Vec<Vec<usize>> = (0..KINDS)
        .map(|t| vec![t, t, t])
        .chain((0..KINDS).filter(|&t| tiles::chow_middle(t as Tile)).map(|t| vec![t - 1, t, t + 1]))
        .collect();
    fn lacking(hand: &mut [i8; KINDS], set: &[usize]) -> u8 {
        set.iter().fold(0, |n, &t| {
            hand[t] -= 1;
            n + u8::from(hand[t] < 0)
        })
    }
    for _ in 0..40 {
        // Hands of four standing tiles and three melds need a set and a pair.
        let mut all: Vec<Tile> = tiles::list(&[COPIES; KINDS]).collect();
        let kinds = 1 + rng.below(KINDS);
        all.retain(|&t| usize::from(t) < kinds.max(2));
        rng.shuffle(&mut all);
        let hand = tiles::counts(all.into_iter().take(4));
        let mut least = u8::MAX;
        for set in &sets {
            for pair in 0..KINDS {
                let mut left = hand.map(|n| n as i8);
                least = least.min(lacking(&mut left, set) + lacking(&mut left, &[pair, pair]));
            }
        }
        assert_eq!(shanten::Form::Regular.distance(&hand, 3), least, "{}", tiles::names(tiles::list(&hand)));
    }
}

/// Expands groups of tiles such as `W123 F11` into tile names.
fn short(text: &str) -> Vec<String> {
    let group = |group: &str| {
        let (letter, ranks) = group.split_at(1);
        ranks.chars().map(|rank| format!("{letter}{rank}")).collect::<Vec<_>>()
    };
    text.split_whitespace().flat_map(group).collect()
}

/// Returns the query for a row of [`FANS`](fans::FANS).
fn question(line: &str) -> Value {
    let parts: Vec<&str> = line.split('|').map(str::trim).collect();
    let [melds, hand, last] = parts[..] else { return question(&format!("|{line}")) };
    let meld = |text: &str| {
        let (kind, tile) = text.split_once(':').unwrap();
        match kind {
            "C" => json!(["CHI", tile, 1]),
            "P" => json!(["PENG", tile, 1]),
            kind => json!(["GANG", tile, u8::from(kind == "G")]),
        }
    };
    let pack: Vec<Value> = melds.split_whitespace().map(meld).collect();
    let (win, flags) = last.split_once(' ').unwrap_or((last, ""));
    let mut question = json!({ "pack": pack, "hand": short(hand), "win": win });
    for flag in flags.split_whitespace() {
        let number = || flag[1..].parse::<u8>().unwrap().into();
        let (field, value): (&str, Value) = match &flag[..1] {
            "d" => ("self_drawn", true.into()),
            "4" => ("fourth_tile", true.into()),
            "k" => ("about_kong", true.into()),
            "l" => ("wall_last", true.into()),
            "f" => ("flowers", number()),
            "s" => ("seat_wind", number()),
            _ => ("prevalent_wind", number()),
        };
        question[field] = value;
    }
    question
}

#[test]
fn each_fan_applies_only_to_its_example_hand() {
    let has = |line: &str, fan: &str| {
        let answer = ask(question(line)).unwrap_or_else(|issue| panic!("{line}: {issue:?}"));
        answer["fans"].as_array().is_some_and(|fans| fans.iter().any(|f| f[2] == fan))
    };
    let names: Vec<&str> = fans::FANS.iter().map(|row| row.0).collect();
    let all: Vec<&str> = super::fans::FANS[1..82].iter().map(|row| row.name).collect();
    assert_eq!(names, all);
    for &(fan, hit, miss) in fans::FANS {
        assert!(has(hit, fan), "{fan} is not in {hit}");
        assert!(!has(miss, fan), "{fan} is in {miss}");
    }
}

/// Returns the fans of a row's hand before and after exclusions.
fn both(line: &str) -> [Vec<usize>; 2] {
    let q = question(line);
    let read = |v: &Value| tiles::read(v.as_str().unwrap()).unwrap();
    let meld = |v: &Value| Meld {
        kind: match v[0].as_str().unwrap() {
            "CHI" => MeldKind::Chi,
            "PENG" => MeldKind::Peng,
            _ if v[2] == 0 => MeldKind::Angang,
            _ => MeldKind::Gang,
        },
        tile: read(&v[1]),
    };
    let melds: Vec<Meld> = q["pack"].as_array().unwrap().iter().map(meld).collect();
    let standing = tiles::counts(q["hand"].as_array().unwrap().iter().map(read));
    let flag = |name: &str| q[name] == json!(true);
    let wind = |name: &str| q[name].as_u64().unwrap_or(0) as u8;
    let flags = Flags {
        self_drawn: flag("self_drawn"),
        fourth_tile: flag("fourth_tile"),
        about_kong: flag("about_kong"),
        wall_last: flag("wall_last"),
        seat_wind: wind("seat_wind"),
        prevalent_wind: wind("prevalent_wind"),
        flowers: 0,
    };
    let mut hand = Hand::new(&melds, standing, read(&q["win"]), flags);
    hand.correct();
    let numbers = |score: Option<Score>| score.map(|s| s.numbers().map(|n| n.0).collect()).unwrap_or_default();
    [numbers(hand.all_fans()), numbers(hand.score(Edition::Oracle))]
}

/// For each exclusion in the table, some hand counts the excluding fan without the excluded fan, and no hand counts
/// both fans. If both fans can apply to one hand, some hand has both before exclusions.
#[test]
fn each_exclusion_removes_a_fan() {
    use super::super::fans::FANS as TABLE;
    let lines = fans::FANS.iter().flat_map(|row| [row.1, row.2]).chain(fans::BOTH.iter().copied());
    let hands: Vec<[Vec<usize>; 2]> = lines.map(both).collect();
    let mut apart = Vec::new();
    for (fan, row) in TABLE.iter().enumerate() {
        for &out in row.excludes {
            let names = (row.name, TABLE[out].name);
            assert!(hands.iter().any(|[_, counted]| counted.contains(&fan) && !counted.contains(&out)), "{names:?}");
            assert!(!hands.iter().any(|[_, counted]| counted.contains(&fan) && counted.contains(&out)), "{names:?}");
            let held =
                |[all, counted]: &[Vec<usize>; 2]| all.contains(&fan) && all.contains(&out) && counted.contains(&fan);
            if !hands.iter().any(held) {
                apart.push(names);
            }
        }
    }
    assert_eq!(apart, fans::NEVER_TOGETHER);
}
