//! Fight the landlord compared with independent programs. For 500 hands, `data/oracles/landlord.json.gz` lists the
//! plays that both rlcard 1.2.0 and Botzone's judge allow, and those that only Botzone's judge allows. Games of
//! OpenSpiel are in `vectors.rs`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use ludex_games::load;
use ludex_tests::data::document;

/// Returns the entries of a list as text. An entry that is itself a list is replaced by its first element.
fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(|entry| entry.as_str().or_else(|| entry[0].as_str()))
}

#[test]
fn legal_plays_equal_botzone() {
    let data = document("oracles/landlord");
    let game = load("fight_the_landlord").unwrap();
    let (mut hands, mut plays) = (0, 0);
    for v in data["vectors"].as_array().unwrap() {
        let answer = game.analyze(&json!({ "hand": v["hand"], "previous": v["prev"] })).unwrap();
        let ours: Vec<&str> = texts(&answer["plays"]).collect();
        let theirs: BTreeSet<&str> = texts(&v["common"]).chain(texts(&v["only_botzone"])).collect();
        assert_eq!(ours.len() as u64, v["n_botzone"].as_u64().unwrap(), "{} on {}", v["hand"], v["prev"]);
        assert_eq!(ours.iter().copied().collect::<BTreeSet<_>>(), theirs, "{} on {}", v["hand"], v["prev"]);
        assert_eq!(answer["can_pass"], v["can_pass"], "{} on {}", v["hand"], v["prev"]);
        hands += 1;
        plays += ours.len();
    }
    assert_eq!(hands, 500);
    assert!(plays > 10_000, "{plays}");
}
