//! Poker hands against phevaluator and treys: 20,000 pairs of hands of seven cards.

use std::path::Path;

use ludex_env::cards::{Hand, cards, strength::category};
use ludex_env::load;
use serde_json::{Value, json};

fn oracle() -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/oracles/poker7.json.gz");
    serde_json::from_reader(flate2::read::GzDecoder::new(std::fs::File::open(file).unwrap())).unwrap()
}

/// The winner, both categories, and the order of all hands by the oracle's rank (1 the best).
#[test]
fn phevaluator_hands() {
    let data = oracle();
    let mut by_rank = std::collections::BTreeMap::new();
    let mut pairs = 0;
    for v in data["vectors"].as_array().unwrap() {
        let text = |i: usize| v[i].as_str().unwrap();
        let board: Hand = cards(text(0)).unwrap().into_iter().collect();
        let strengths = [1, 2].map(|i| (board + cards(text(i)).unwrap().into_iter().collect::<Hand>()).strength());
        for (k, s) in strengths.into_iter().enumerate() {
            assert_eq!(category(s), text(6 + k), "{v}");
            assert_eq!(*by_rank.entry(v[4 + k].as_u64().unwrap()).or_insert(s), s, "{v}");
        }
        let winner = match strengths[0].cmp(&strengths[1]) {
            std::cmp::Ordering::Greater => 0,
            std::cmp::Ordering::Less => 1,
            std::cmp::Ordering::Equal => 2,
        };
        assert_eq!(winner, v[3].as_u64().unwrap(), "{v}");
        pairs += 1;
    }
    assert_eq!(pairs, 20_000);
    let ours: Vec<u16> = by_rank.into_values().collect();
    assert!(ours.len() > 3_000 && ours.windows(2).all(|w| w[0] > w[1]));
}

/// The same through the question that `ludex analyze` asks.
#[test]
fn phevaluator_questions() {
    let game = load("texas_holdem").unwrap();
    for v in oracle()["vectors"].as_array().unwrap().iter().take(2_000) {
        let answer = game.analyze(&json!({ "board": v[0], "hands": [v[1], v[2]] })).unwrap();
        let winners = [json!([0]), json!([1]), json!([0, 1])][v[3].as_u64().unwrap() as usize].clone();
        assert_eq!(answer, json!({ "winners": winners, "categories": [v[6], v[7]] }), "{v}");
    }
}
