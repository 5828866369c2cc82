//! Poker compared with other programs: 20,000 pairs of seven-card hands of phevaluator and treys, and 400 games of
//! RLCard's no-limit hold'em, which LLMArena uses.

use ludex_env::{Move, ToMove, Viewer};
use ludex_games::cards::{Hand, cards, strength::category};
use ludex_games::load;
use ludex_tests::data::document;
use serde_json::{Value, json};

/// Checks the winner, the categories of two hands, and the order of all hands by the oracle's rank (1 is best).
#[test]
fn hand_ranks_equal_phevaluator() {
    let data = document("oracles/poker7");
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

/// Checks the winner of a showdown as computed by `ludex games analyze`.
#[test]
fn showdown_winners_equal_phevaluator() {
    let game = load("texas_holdem").unwrap();
    for v in document("oracles/poker7")["vectors"].as_array().unwrap().iter().take(2_000) {
        let answer = game.analyze(&json!({ "board": v[0], "hands": [v[1], v[2]] })).unwrap();
        let winners = [json!([0]), json!([1]), json!([0, 1])][v[3].as_u64().unwrap() as usize].clone();
        assert_eq!(answer, json!({ "winners": winners, "categories": [v[6], v[7]] }), "{v}");
    }
}

/// Checks legal actions, chips and payoffs of RLCard's games under the preset `llmarena`.
#[test]
fn holdem_games_equal_rlcard() {
    let game = load("texas_holdem(preset=llmarena)").unwrap();
    let mut moves = 0;
    for g in document("oracles/rlcard_holdem")["games"].as_array().unwrap() {
        let number = |v: &Value| v.as_u64().unwrap();
        let first = (number(&g["dealer"]) + 1) % 2;
        let names =
            |v: &Value| v.as_array().unwrap().iter().map(|c| c.as_str().unwrap().to_owned()).collect::<Vec<_>>();
        let hands = [first, 1 - first].into_iter().flat_map(|seat| names(&g["hands"][seat as usize]));
        let deals = hands.chain(names(&g["board"])).map(|card| format!("Deal {card}"));
        let mut deals = std::iter::once(format!("First p{first}")).chain(deals);
        let mut theirs = g["moves"].as_array().unwrap().iter();
        let mut s = game.start();
        loop {
            match s.turn() {
                ToMove::Chance => {
                    let text = deals.next().unwrap_or_else(|| panic!("no card is left in {g}"));
                    let a = s.read_outcome(&Move::Text(text)).unwrap();
                    s.play_chance(a).unwrap();
                }
                ToMove::Seat(seat) => {
                    let m = theirs.next().unwrap_or_else(|| panic!("no move is left in {g}"));
                    assert_eq!(seat as u64, number(&m[0]), "{g}");
                    assert_eq!(json!(s.legal_list(seat)), m[1], "{m} in {g}");
                    assert_eq!(s.view(Viewer::Public).value()["spent"], m[3], "{m} in {g}");
                    s.play(seat, number(&m[2]) as u32).unwrap();
                    moves += 1;
                }
                _ => break,
            }
        }
        // After a fold, RLCard may continue to deal. After an all-in, both programs deal the whole board.
        assert!(theirs.next().is_none(), "{g}");
        assert_eq!(json!(s.returns()), g["payoffs"], "{g}");
    }
    assert_eq!(moves, 2_479);
}
