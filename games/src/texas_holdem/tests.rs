use serde_json::{Value, json};

use ludex_env::{DynState, GameRef, ParsedMove, Stream};
use ludex_protocol::Move;

use super::*;

fn game(params: &str) -> GameRef {
    let name = format!("texas_holdem({params})");
    crate::load(&name).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Deals the named cards in order, then the remaining cards in order of ids, and plays `moves` by their texts.
fn played(params: &str, cards: &str, moves: &[&str]) -> Box<dyn DynState> {
    let mut s = game(params).start();
    let mut cards = cards.split(' ').filter(|c| !c.is_empty());
    let mut moves = moves.iter();
    let mut outcomes = Outcomes::new();
    loop {
        match s.turn() {
            ToMove::Chance => {
                s.chance(&mut outcomes);
                let any = outcomes.items()[0].0;
                let seats = s.outcome_text(any).starts_with("First");
                let card = if seats { None } else { cards.next() };
                let a = card.map_or(any, |c| s.read_outcome(&Move::Text(format!("Deal {c}"))).unwrap());
                s.play_chance(a).unwrap();
            }
            ToMove::Seat(seat) => {
                let Some(text) = moves.next() else { return s };
                let a = s.parse_move(seat, &Move::Text((*text).to_owned())).unwrap_or_else(|e| panic!("{text}: {e}"));
                let ludex_env::ParsedMove::Action(a) = a else { unreachable!() };
                s.play(seat, a).unwrap();
            }
            _ => return s,
        }
    }
}

fn refusal(s: &dyn DynState, text: &str) -> String {
    let ToMove::Seat(seat) = s.turn() else { panic!("expected a seat to move") };
    s.parse_move(seat, &Move::Text(text.to_owned())).unwrap_err().message
}

fn view(s: &dyn DynState, seat: Seat) -> Value {
    s.view(Viewer::Seat(seat)).value()
}

#[test]
fn defaults_and_presets_agree_with_documentation() {
    let spec = |params: &str| game(params).spec().clone();
    let plain = crate::load("texas_holdem").unwrap();
    assert_eq!(plain.spec().hash, spec("preset=hunl_fcpa").hash);
    let openspiel = "universal_poker(betting=nolimit,numPlayers=2,numRounds=4,blind=100 50,firstPlayer=2 1 1 1,numSuits=4,\
                     numRanks=13,numHoleCards=2,numBoardCards=0 3 1 1,stack=20000 20000,bettingAbstraction=fcpa)";
    assert_eq!(crate::load(openspiel).unwrap().spec().hash, plain.spec().hash);
    let small = crate::load("universal_poker").unwrap();
    let s = small.spec();
    assert_eq!((s.actions, s.max_chance, s.max_length, s.max_return), (4, 24, 11, 1200.0));
    let s = spec("preset=hunl_fullgame");
    assert_eq!((s.actions, s.max_length, s.legal), (20_001, 218, LegalForm::Ranges));
    let s = spec("preset=limit");
    assert_eq!((s.actions, s.max_length, s.min_return), (3, 36, -240.0));
    let s = spec("preset=llmarena");
    assert_eq!((s.actions, s.max_return, s.legal), (5, 100.0, LegalForm::Ids));
    let s = spec("preset=botzone");
    assert_eq!((s.actions, s.max_return, s.rewards), (20_002, 4_000.0, RewardModel::Step));
    assert_eq!(spec("numPlayers=10").players, 10);
    let s = crate::load("universal_poker(betting=limit,numPlayers=2,stack=7 7,maxRaises=)").unwrap();
    assert_eq!(s.spec().params.get("stack"), None, "OpenSpiel ignores stacks with limit betting");
}

#[test]
fn error_identifies_the_invalid_parameter() {
    for (params, name) in [
        ("numPlayers=11", "numPlayers"),
        ("numPlayers=1", "numPlayers"),
        ("blind=100", "blind"),
        ("blind=1 2 3", "blind"),
        ("stack=100 20", "stack"),
        ("stack=2000000 20", "stack"),
        ("firstPlayer=3 1 1 1", "firstPlayer"),
        ("firstPlayer=1 1", "firstPlayer"),
        ("raiseSize=1 1 1 1", "raiseSize"),
        ("betting=limit,maxRaises=256 1 1 1", "maxRaises"),
        ("numBoardCards=0 3 1 2", "numBoardCards"),
        ("numRanks=2,numPlayers=4", "numRanks"),
        ("bettingAbstraction=all", "bettingAbstraction"),
        ("bettingAbstraction=botzone,numPlayers=3", "bettingAbstraction"),
        ("hands=0", "hands"),
        ("score=blinds,blind=0 0", "score"),
        ("betting=pot", "betting"),
    ] {
        let e = crate::load(&format!("texas_holdem({params})")).err().unwrap_or_else(|| panic!("{params} was taken"));
        assert_eq!(e.name.as_deref(), Some(name), "{params}: {e}");
    }
    let e = crate::load("universal_poker(boardCards=2c3c4c)").err().unwrap();
    assert_eq!(e.name.as_deref(), Some("boardCards"));
}

#[test]
fn illegal_raises_are_refused_with_bounds() {
    let s = played("preset=hunl_fullgame", "", &[]);
    let ToMove::Seat(1) = s.turn() else { panic!("the button acts first") };
    assert!(s.view(Viewer::Seat(1)).text().ends_with("p1 is to move. A call costs 50. Raises go from 200 to 20000."));
    for text in ["Bet150", "raise to 150", "bet 150", "150"] {
        let why = refusal(&*s, text);
        assert!(why.contains("too small") && why.contains("200") && why.contains("20000"), "{text}: {why}");
    }
    for text in ["Bet20001", "raise 4000000000"] {
        let why = refusal(&*s, text);
        assert!(why.contains("above the stack") && why.contains("20000"), "{text}: {why}");
    }
    assert!(refusal(&*s, "dance").contains("Fold, Call"));
    let s = played("preset=hunl_fullgame", "", &["all in"]);
    assert!(refusal(&*s, "Bet20000").contains("does not exceed"), "{}", refusal(&*s, "Bet20000"));
    assert_eq!(s.legal_list(0), [0, 1]);
    let s = played("", "", &["Call"]);
    assert!(refusal(&*s, "Fold").contains("no bet to call"));
    let s = played("blind=100 50,stack=250 250", "", &[]);
    assert!(refusal(&*s, "pot").contains("the stack is 250"), "{}", refusal(&*s, "pot"));
    // A pot-sized raise of the whole stack is the all-in.
    let s = played("blind=100 50,stack=300 300", "", &[]);
    assert_eq!(s.legal_list(1), [0, 1, 2]);
    assert!(refusal(&*s, "3").contains("Bet is all-in"));
    assert_eq!(s.parse_move(1, &Move::Text("all in".into())), Ok(ludex_env::ParsedMove::Action(2)));
    // Checked play refuses the id of a raise that is too small.
    let mut s = played("preset=hunl_fullgame", "", &[]);
    assert!(s.play(1, 199).unwrap_err().message.contains("at least 200"));
}

#[test]
fn action_notation_variants_parse() {
    let id = |params: &str, text: &str| {
        let s = played(params, "", &[]);
        let ToMove::Seat(seat) = s.turn() else { unreachable!() };
        match s.parse_move(seat, &Move::Text(text.to_owned())) {
            Ok(ludex_env::ParsedMove::Action(a)) => Some(a),
            _ => None,
        }
    };
    for text in ["Call", "call", "CHECK", "c", "check/call", "1", "player=1 move=Call"] {
        assert_eq!(id("", text), Some(1), "{text}");
    }
    assert_eq!((id("", "pot"), id("", "All In"), id("", "raise")), (Some(2), Some(3), Some(2)));
    assert_eq!((id("", "half pot"), id("bettingAbstraction=fchpa", "half pot")), (None, Some(4)));
    let full = "preset=hunl_fullgame";
    assert_eq!((id(full, "raise to 300"), id(full, "all-in"), id(full, "r300")), (Some(300), Some(20_000), Some(300)));
    let arena = "preset=llmarena";
    assert_eq!((id(arena, "Raise Full Pot"), id(arena, "raise half pot")), (Some(3), None));
    let botzone = "preset=botzone";
    assert_eq!((id(botzone, "-1"), id(botzone, "0"), id(botzone, "-2")), (Some(0), Some(1), Some(2)));
    assert_eq!((id(botzone, "150"), id(botzone, "raise 150"), id(botzone, "149")), (Some(152), Some(152), None));
}

/// Three seats are all-in with different stacks. The best of three hands wins the main pot, and the better of two the
/// side pot.
#[test]
fn side_pots_go_to_best_hands() {
    // Position 0 (1,000 chips) has aces, 1 (3,000) kings, 2 (2,000) queens; the board improves no hand.
    let cards = "As Ad Ks Kd Qs Qd 2c 7h 9d 3s Jh";
    let params = "numPlayers=3,blind=50 100 0,stack=1000 3000 2000";
    let s = played(params, cards, &["AllIn", "Call", "Call"]);
    assert_eq!(s.turn(), ToMove::Over);
    assert_eq!(s.returns(), [2_000.0, 0.0, -2_000.0]);
    assert_eq!(view(&*s, 0)["shown"][1], json!(["Ks", "Kd"]));
    // The kings fold: their blind stays in the main pot.
    let s = played(params, cards, &["AllIn", "Call", "Fold"]);
    assert_eq!(s.returns(), [1_100.0, -100.0, -1_000.0]);
    assert_eq!(view(&*s, 1)["shown"][1], Value::Null);
    // Two seats tie and split a pot with a folded blind of 1, so each wins half a chip.
    let calls = ["Call", "Fold", "Call", "Call", "Call", "Call", "Call", "Call", "Call"];
    let s = played("numPlayers=3,blind=1 2 0", "2s 3s As Kd Ac Kh 4c 5d 9h Jd Qs", &calls);
    assert_eq!((s.turn(), s.returns()), (ToMove::Over, vec![-1.0, 0.5, 0.5]));
}

#[test]
fn five_high_straight_is_recognized() {
    let s =
        played("", "As 2d Kc Kd 3h 4c 5s Kh 9d", &["Call", "Call", "Call", "Call", "Call", "Call", "AllIn", "Call"]);
    assert_eq!(s.returns(), [20_000.0, -20_000.0]);
}

#[test]
fn raise_size_in_limit_game_depends_on_round() {
    let s = played("preset=limit", "", &["Bet", "Bet", "Bet"]);
    assert_eq!(s.legal_list(0), [0, 1]);
    assert_eq!(view(&*s, 0)["spent"], json!([30, 40]));
    assert!(refusal(&*s, "Bet").contains("its maximum of raises"));
    let s = played("preset=limit", "", &["Call", "Call", "Call", "Call", "Bet"]);
    assert_eq!(view(&*s, 0)["spent"], json!([30, 10]));
}

#[test]
fn pot_raise_under_rlcard_rules_excludes_call_amount() {
    let s = played("preset=llmarena", "", &[]);
    // Half of the pot of 3 is 1 chip. With the blind of 1, the total of 2 does not exceed the bet to call.
    assert_eq!(s.legal_list(0), [0, 1, 3, 4]);
    let s = played("preset=llmarena", "", &["RaiseFullPot"]);
    assert_eq!(view(&*s, 0)["spent"], json!([4, 2]));
    let s = played("preset=llmarena", "", &["RaiseFullPot", "RaiseHalfPot"]);
    assert_eq!(view(&*s, 0)["spent"], json!([4, 5]));
    let s = played("preset=llmarena", "", &["AllIn"]);
    assert_eq!(s.legal_list(1), [0, 1]);
    // Folding is legal even if a check is free.
    let s = played("preset=llmarena", "", &["Call"]);
    assert_eq!(s.legal_list(1), [0, 1, 2, 3, 4]);
    assert_eq!(s.default_move(1, &mut Stream::from_text("any")), ParsedMove::Action(FOLD));
    let s = played("preset=llmarena", "", &["Call", "Fold"]);
    assert_eq!(s.returns(), [2.0, -2.0]);
}

#[test]
fn minimum_raise_under_botzone_rules_doubles_previous_amount() {
    let bounds = |moves: &[&str]| {
        let s = played("preset=botzone", "", moves);
        let ToMove::Seat(seat) = s.turn() else { unreachable!() };
        view(&*s, seat)["raise"].clone()
    };
    // The small blind of 50 must add at least 150, for a total of 200. All-in has its own number.
    assert_eq!(bounds(&[]), json!([150, 19_949]));
    assert_eq!(bounds(&["150"]), json!([200, 19_899]));
    assert_eq!(bounds(&["150", "200"]), json!([200, 19_799]));
    // After the flop, the minimum raise is 100.
    assert_eq!(bounds(&["0", "0"]), json!([100, 19_899]));
    assert_eq!(bounds(&["0", "0", "100"]), json!([200, 19_899]));
    assert_eq!(bounds(&["-2"]), Value::Null);
    let s = played("preset=botzone", "", &["-2"]);
    assert_eq!(s.legal_list(1), [0, 2]);
    let why = refusal(&*s, "0");
    assert!(why.contains("all-in"), "{why}");
    let drawn = s.view(Viewer::Seat(1)).drawing(Viewer::Public);
    assert!(drawn.contains("A call is not possible") && !drawn.contains("A call costs"), "{drawn}");
    assert!(drawn.contains("\nRound 1 (pre-flop): "), "{drawn}");
    let s = played("preset=botzone", "", &[]);
    let why = refusal(&*s, "149");
    assert!(why.contains("at least 150") && why.contains("19949") && why.contains("-2"), "{why}");
    assert!(refusal(&*s, "19950").contains("-2"));
}

#[test]
fn match_total_is_sum_of_hand_results() {
    let s = played("preset=botzone,hands=3", "", &["-1", "-1"]);
    let v = view(&*s, 0);
    assert_eq!((&v["hand"], &v["total"]), (&json!(3), &json!([0.0, 0.0])));
    assert_eq!(v["positions"], json!([0, 1]));
    assert_eq!(v["past"][1]["positions"], json!([1, 0]));
    assert_eq!(v["past"][1]["won"], json!([50.0, -50.0]));
    assert_eq!(s.returns(), [0.0, 0.0]);
    let s = played("preset=botzone,hands=3", "", &["150", "-1", "-1", "-1"]);
    assert_eq!((s.turn(), view(&*s, 0)["total"].clone()), (ToMove::Over, json!([100.0, -100.0])));
    assert_eq!(s.returns(), [1.0, -1.0]);
    let s = played("preset=botzone,hands=2", "", &["-1", "150", "-1"]);
    assert_eq!(view(&*s, 0)["total"], json!([-150.0, 150.0]));
    assert_eq!(s.returns(), [-1.5, 1.5]);
    assert!(s.view(Viewer::Seat(0)).text().contains("Hand 2 of 2"));
    // A result of less than half a big blind is truncated to 0.
    let s = played("preset=botzone,hands=1,blind=49 100", "", &["-1"]);
    assert_eq!((s.returns(), view(&*s, 0)["total"].clone()), (vec![0.0, 0.0], json!([-49.0, 49.0])));
}

#[test]
fn sampled_cards_are_uniform() {
    let g = TexasHoldem::new(Params {
        num_ranks: 2,
        num_suits: 3,
        num_hole_cards: 1,
        num_board_cards: Some(vec![0; 4]),
        ..Params::default()
    });
    let g = g.unwrap();
    let mut s = g.start();
    [2, 5].into_iter().for_each(|card| g.play_unchecked(&mut s, card));
    let v = g.view(&s, Viewer::Seat(0));
    let mut rng = Stream::from_text("hold'em worlds");
    let mut counts = [0; 6];
    for _ in 0..5_000 {
        counts[usize::from(g.sample_world(&v, &mut rng).now.chips.cards[1])] += 1;
    }
    assert_eq!(counts[2], 0);
    assert!(counts.iter().enumerate().all(|(k, n)| k == 2 || (850..1_150).contains(n)), "{counts:?}");
}

#[test]
fn query_returns_winners_categories_and_equity() {
    let ask = |q: Value| game("").analyze(&q);
    assert_eq!(
        ask(json!({ "board": "Tc 9h Qs 5s 8c", "hands": ["2s 3s", "Kh Kc"] })),
        Ok(json!({ "winners": [1], "categories": ["high_card", "pair"] }))
    );
    let tie = ask(json!({ "board": "TcJcQcKcAc", "hands": [["2s", "3s"], "Kh Kd"] })).unwrap();
    assert_eq!(tie, json!({ "winners": [0, 1], "categories": ["straight_flush", "straight_flush"] }));
    let turn = ask(json!({ "board": "7h 2h Qs 3c", "hands": ["Ah Kh", "7c 7d"] })).unwrap();
    assert_eq!(turn["equity"], json!([7.0 / 44.0, 37.0 / 44.0]));
    assert_eq!(turn["winners"], json!([1]));
    let drawn = |seed: u64| ask(json!({ "hands": ["As Ad", "Ks Kd"], "samples": 20_000, "seed": seed })).unwrap();
    let share = drawn(1)["equity"][0].as_f64().unwrap();
    assert!((share - 0.8264).abs() < 0.02, "{share}");
    assert_eq!(drawn(1), drawn(1));
    assert_ne!(drawn(1), drawn(2));
}

#[test]
fn error_identifies_the_invalid_query_field() {
    let why = |q: Value| game("").analyze(&q).unwrap_err().message;
    let hands = |list: Value| json!({ "board": "Tc 9h Qs", "hands": list });
    for (q, word) in [
        (json!([]), "got []"),
        (json!({ "board": "Tc" }), "got nothing"),
        (hands(json!("Kh Kc")), "got \"Kh Kc\""),
        (hands(json!([])), "got 0"),
        (hands(json!(["Kh"])), "hands/0: expected 2 cards, got 1"),
        (hands(json!(["Kh Kc", "2c 3c 4c"])), "hands/1: expected 2 cards, got 3"),
        (hands(json!(["Kh Kc", 7])), "hands/1: expected cards as text such as \"Tc 9h\", got 7"),
        (hands(json!(["Kh Kc", "Kh 2c"])), "card Kh appears twice"),
        (hands(json!(["Tc Kc"])), "card Tc appears twice"),
        (hands(json!(["Xc Kc"])), "expected a card (a rank of 23456789TJQKA, then a suit of cdhs), got \"Xc\""),
        (json!({ "board": "2c 3c 4c 5c 6c 7c", "hands": ["Kh Kc"] }), "board: expected at most 5 cards, got 6"),
        (json!({ "board": 5, "hands": ["Kh Kc"] }), "board: expected cards as text such as \"Tc 9h\", got 5"),
        (json!({ "boards": "", "hands": ["Kh Kc"] }), "unknown field \"boards\""),
        (json!({ "hands": ["Kh Kc"], "samples": 0 }), "samples: expected an integer from 1 to 100000000, got 0"),
        (json!({ "hands": ["Kh Kc"], "seed": "x" }), "seed: expected an integer"),
    ] {
        let got = why(q.clone());
        assert!(got.contains(word), "{q}: {got}");
    }
}

/// Plays the moves; returns the marks of the last move and of the chance node after the move as (seat, name, value).
fn last_marks(params: &str, cards: &str, moves: &[&str]) -> Vec<(usize, String, Value)> {
    let (last, first) = moves.split_last().unwrap();
    let mut s = played(params, cards, first);
    let (before, seat) = (s.boxed(), s.turn().seat().unwrap());
    let ParsedMove::Action(a) = s.parse_move(seat, &Move::Text((*last).to_owned())).unwrap() else { unreachable!() };
    s.play(seat, a).unwrap();
    let mut joint = vec![None; 2];
    joint[seat] = Some(ParsedMove::Action(a));
    let mut out = Marks::all();
    before.marks(&joint, &*s, &mut out);
    out.take().into_iter().map(|m| (m.seat, m.name.to_owned(), json!(m.value))).collect()
}

fn equity(cards: &str, moves: &[&str]) -> f64 {
    let all = last_marks("preset=hunl_fcpa", cards, moves);
    all.iter().find(|m| m.1 == "equity").unwrap().2.as_f64().unwrap()
}

#[test]
fn decision_marks_record_type_of_move() {
    let word = |params: &str, moves: &[&str]| {
        let all = last_marks(params, "As Ks 2c 7d Qh Jh 5c 6c 9d", moves);
        all.into_iter().find(|m| m.1 == "action").unwrap().2
    };
    // The small blind calls, the big blind checks; then a bet, a raise, a fold.
    assert_eq!(word("", &["Call"]), "call");
    assert_eq!(word("", &["Call", "Call"]), "check");
    assert_eq!(word("", &["Call", "Call", "Bet"]), "raise");
    assert_eq!(word("", &["Call", "Call", "Bet", "Fold"]), "fold");
    assert_eq!(word("", &["AllIn"]), "all_in");
    // Calling an all-in is a call.
    assert_eq!(word("", &["AllIn", "Call"]), "call");
    // A bet of the whole stack, named by its size, is an all-in.
    assert_eq!(word("preset=hunl_fullgame", &["Bet20000"]), "all_in");
    assert_eq!(word("preset=hunl_fullgame", &["Bet400"]), "raise");
    assert_eq!(word("preset=botzonebench", &["-2"]), "all_in");
    assert_eq!(word("preset=llmarena", &["RaiseFullPot"]), "raise");
}

#[test]
fn end_of_hand_emits_marks_for_both_seats() {
    let ends = |params: &str, moves: &[&str]| {
        let all = last_marks(params, "As Ks 2c 7d Qh Jh 5c 6c 9d", moves);
        let of = |name: &str| all.iter().filter(|m| m.1 == name).map(|m| m.2.as_f64().unwrap()).collect::<Vec<_>>();
        (of("hand"), of("folded_hand"))
    };
    assert_eq!(ends("", &["Call"]), (vec![], vec![]));
    // p1 posts the small blind and acts first.
    let mut s = played("", "", &[]);
    let first = s.turn().seat().unwrap();
    s.play(first, FOLD).unwrap();
    let folded = [0, 1].map(|seat| f64::from(u8::from(seat == first))).to_vec();
    assert_eq!(ends("", &["Fold"]), (vec![1.0; 2], folded.clone()));
    // In a match the next hand starts, and the blinds change seats.
    let (hands, gave_up) = ends("hands=3", &["Fold", "Fold"]);
    assert_eq!((hands, gave_up), (vec![2.0; 2], folded.iter().map(|f| 1.0 - f).collect()));
}

/// Seats get two cards each, p0 first. p1 has the small blind and acts first before the flop; p0 acts first after it.
#[test]
fn equities_equal_hand_computed_values() {
    let at_river = &["Call"; 7];
    // Four aces: only a straight flush is better, and this board allows none.
    assert_eq!(equity("As Ah 7c 2d Ad Ac 9s 5h 3d", at_river), 1.0);
    // The board is the best hand: all seats split.
    assert_eq!(equity("2c 3d 7c 2d As Ks Qs Js Ts", at_river), 0.5);
    // 9s 8s on Qs Js Ts 2d 2h is a straight flush to the queen. Only As Ks beats it, one of 990 hands; there are no
    // ties.
    let e = equity("9s 8s 7c 2c Qs Js Ts 2d 2h", at_river);
    assert!((e - 989.0 / 990.0).abs() < 0.0012, "{e}");
    // The random stream depends on the visible cards: equal positions give equal numbers.
    assert_eq!(e, equity("9s 8s 4c 4h Qs Js Ts 2d 2h", at_river));
    // Aces against a random hand before the flop.
    let e = equity("7c 2d As Ah", &["Call"]);
    assert!((e - 0.852).abs() < 0.015, "{e}");
}
