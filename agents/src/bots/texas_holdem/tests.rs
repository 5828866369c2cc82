use ludex_env::Stream;
use ludex_games::cards::{Card, Equity, cards};
use ludex_games::load;

use super::hand_equity::{self, Deck};
use super::spot::TableFacts;

fn deck(game: &str) -> Deck {
    Deck::of(&TableFacts::of(&load(game).unwrap()).unwrap())
}

fn parse_cards(text: &str) -> Vec<Card> {
    cards(text).unwrap()
}

#[test]
fn preflop_equities_agree_with_published_tables() {
    let deck = deck("texas_holdem");
    assert_eq!(deck.held.len(), 1326);
    let all = hand_equity::preflop(&deck);
    // Published equities against a random hand.
    for (hand, known) in [("As Ad", 0.852), ("Ks Kd", 0.824), ("As Ks", 0.670), ("7s 2d", 0.346), ("3s 2d", 0.323)] {
        let e = all[deck.place(&parse_cards(hand)).unwrap()];
        assert!((e - known).abs() < 0.03, "{hand}: {e}, not {known}");
        let drawn = hand_equity::sampled(&deck, &parse_cards(hand), &[], 1, 3_000, &mut Stream::from_text(hand));
        assert!((drawn - known).abs() < 0.04, "{hand}: {drawn}, not {known}");
    }
}

#[test]
fn sampled_equity_approximates_exact_equity() {
    let (deck, hole, board) = (deck("texas_holdem"), parse_cards("Ah Kh"), parse_cards("7h 2h Qs 3c"));
    let mut exact = (0.0, 0.0);
    for a in 0..52u8 {
        for b in a + 1..52 {
            if [a, b].iter().all(|c| !hole.contains(c) && !board.contains(c)) {
                exact.0 += Equity::exact(&[hole.clone(), vec![a, b]], &board).shares()[0];
                exact.1 += 1.0;
            }
        }
    }
    let drawn = hand_equity::sampled(&deck, &hole, &board, 1, 4_000, &mut Stream::from_text("samples"));
    assert!((drawn - exact.0 / exact.1).abs() < 0.03, "{drawn} {exact:?}");
}

#[test]
fn nuts_beat_every_hand() {
    let deck = deck("texas_holdem");
    let board = parse_cards("Ts Js Qs 2d 2h");
    assert_eq!(hand_equity::beaten(&deck, &parse_cards("As Ks"), &board), 1.0);
    let field = hand_equity::HandEquity::new(&deck, &parse_cards("As Ks"), &board, &[], &mut Stream::from_text("nuts"));
    assert_eq!(field.equity(&[field.possible.clone(), field.possible.clone()]), 1.0);
}
