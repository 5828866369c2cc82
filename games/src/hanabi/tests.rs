use ludex_env::{GameRef, Mark, MarkValue};

use super::*;
use crate::load;

fn table(text: &str) -> GameRef {
    load(text).unwrap()
}

fn game(params: Params) -> Hanabi {
    Hanabi::new(params).unwrap()
}

/// Returns the position after these cards are dealt as the first hands.
fn dealt(game: &Hanabi, cards: &str) -> State {
    let mut s = game.start();
    for card in cards.split(' ') {
        let (color, rank) = (LETTERS.find(&card[..1]).unwrap(), card[1..].parse::<usize>().unwrap());
        assert_eq!(game.to_move(&s), ToMove::Chance);
        game.play_unchecked(&mut s, (color * game.ranks + rank - 1) as Action);
    }
    s
}

fn play(game: &Hanabi, s: &mut State, text: &str) {
    let ToMove::Seat(seat) = game.to_move(s) else { panic!("expected a seat to move") };
    let mut legal = Vec::new();
    game.legal(s, seat, &mut legal);
    let view = game.view(s, Viewer::Seat(seat));
    let a = game.parse(&view, seat, &legal, text).unwrap_or_else(|| panic!("{text} is not legal"));
    game.play_unchecked(s, a);
}

fn why(game: &Hanabi, s: &State, seat: usize, m: Move) -> String {
    let a = game.id(m).unwrap();
    assert!(!game.is_legal(s, seat, a));
    game.why_not(s, seat, a)
}

const TEN: &str = "R1 R2 Y1 Y2 G1 W1 W1 W2 B1 B5";

#[test]
fn array_sizes_equal_sizes_in_hanabi_learning_environment() {
    for (n, actions, cells) in [(2, 20, 658), (3, 30, 956), (4, 38, 1041), (5, 48, 1280)] {
        let spec = table(&format!("hanabi(players={n})")).spec().clone();
        assert_eq!((spec.actions, spec.views.tensor.unwrap()["observation"].len()), (actions, cells));
    }
}

#[test]
fn illegal_moves_are_refused_with_reason() {
    let g = game(Params::default());
    let mut s = dealt(&g, TEN);
    assert!(why(&g, &s, 0, Move::Discard(0)).contains("all 8 information tokens"));
    assert!(why(&g, &s, 0, Move::Color(1, 0)).contains("p1 holds no red card"));
    assert!(why(&g, &s, 0, Move::Rank(1, 2)).contains("p1 holds no card of rank 3"));
    for _ in 0..4 {
        play(&g, &mut s, "tell white");
        play(&g, &mut s, "tell red");
    }
    assert!(why(&g, &s, 0, Move::Color(1, 3)).contains("no information token"));
    play(&g, &mut s, "discard 4");
    assert_eq!((s.information, g.to_move(&s)), (1, ToMove::Chance));
}

#[test]
fn hints_update_every_card() {
    let g = game(Params::default());
    let mut s = dealt(&g, TEN);
    play(&g, &mut s, "tell p1 1");
    let hand = &g.view(&s, Viewer::Seat(1)).hands[1];
    let told: Vec<(Option<u8>, &str)> = hand.iter().map(|c| (c.rank, c.ranks.as_str())).collect();
    assert_eq!(told, [(Some(1), "1"), (Some(1), "1"), (None, "2345"), (Some(1), "1"), (None, "2345")]);
    assert!(hand.iter().all(|c| c.card.is_none() && c.color.is_none() && c.colors == "RYGWB"));
    assert_eq!(g.view(&s, Viewer::Seat(0)).hands[1][4].card.as_deref(), Some("B5"));
}

#[test]
fn losing_last_life_scores_zero() {
    let g = game(Params { max_life_tokens: 1, ..Params::default() });
    let mut s = dealt(&g, TEN);
    let mut r = [0.0; 2];
    play(&g, &mut s, "play 0");
    g.returns(&s, &mut r);
    assert_eq!(r, [1.0, 1.0]);
    g.play_unchecked(&mut s, 0);
    play(&g, &mut s, "play 4");
    g.returns(&s, &mut r);
    assert_eq!((g.to_move(&s), r), (ToMove::Over, [0.0, 0.0]));
}

#[test]
fn each_seat_has_one_turn_after_last_card() {
    let g = game(Params { colors: 1, hand_size: Some(4), players: 2, ..Params::default() });
    let mut s = dealt(&g, "R1 R1 R2 R2 R1 R3 R3 R4");
    assert_eq!(g.view(&s, Viewer::Public).turns_left, None);
    play(&g, &mut s, "play 0");
    g.play_unchecked(&mut s, 3);
    play(&g, &mut s, "tell 1");
    play(&g, &mut s, "play 2");
    g.play_unchecked(&mut s, 4);
    for left in [2, 1] {
        assert_eq!(g.view(&s, Viewer::Public).turns_left, Some(left));
        assert_ne!(g.to_move(&s), ToMove::Over);
        play(&g, &mut s, "tell 4");
    }
    assert_eq!(g.to_move(&s), ToMove::Over);
}

#[test]
fn completed_firework_restores_token() {
    let g = game(Params { ranks: 2, hand_size: Some(2), ..Params::default() });
    let mut s = dealt(&g, "R1 R2 Y1 Y2");
    play(&g, &mut s, "tell 1");
    play(&g, &mut s, "tell 1");
    assert_eq!(s.information, 6);
    play(&g, &mut s, "play 0");
    g.play_unchecked(&mut s, 0);
    play(&g, &mut s, "tell red");
    play(&g, &mut s, "play 0");
    assert_eq!((s.information, s.fireworks[0]), (6, 2));
}

/// The hand has one card, which is known to be a 1. The probability of a color is proportional to its number of unseen
/// copies.
#[test]
fn sampled_cards_follow_unseen_copies() {
    let g = game(Params { hand_size: Some(2), colors: 2, ..Params::default() });
    let mut s = dealt(&g, "R1 R2 R1 Y4");
    play(&g, &mut s, "tell 1");
    let view = g.view(&s, Viewer::Seat(1));
    let mut rng = Stream::from_text("hanabi worlds");
    let mut red = 0;
    for _ in 0..4_000 {
        let w = g.sample_world(&view, &mut rng);
        let hand = w.hands[1].cards();
        assert!(hand[0].card.is_multiple_of(5) && !hand[1].card.is_multiple_of(5));
        red += u32::from(hand[0].card == 0);
    }
    // Two red and three yellow cards of rank 1 are unseen.
    assert!((1_480..1_720).contains(&red), "{red}");
}

/// Two cards are known to be yellow or a 1. All deals that match these hints are equally likely.
#[test]
fn sampled_hands_are_uniform_over_deals() {
    let g = game(Params { hand_size: Some(2), colors: 2, ranks: 2, ..Params::default() });
    // The deck is R1 R1 R1 R2 Y1 Y1 Y1 Y2; seat 0 sees R1 R1, so R1 R2 Y1 Y1 Y1 Y2 are left for its two cards.
    let mut s = dealt(&g, "Y1 Y2 R1 R1");
    play(&g, &mut s, "tell 1");
    play(&g, &mut s, "tell yellow");
    play(&g, &mut s, "tell 1");
    play(&g, &mut s, "tell 2");
    let view = g.view(&s, Viewer::Seat(0));
    assert_eq!(view.hands[0].iter().map(|c| c.ranks.clone()).collect::<Vec<_>>(), ["1", "2"]);
    let mut s = dealt(&g, "Y1 Y2 R1 R1");
    s.information = 0;
    s.hands[0].cards[0] = HandCard { card: NO_CARD, colors: 0b10, ranks: 0b11, color: 2, rank: 0 };
    s.hands[0].cards[1] = HandCard { card: NO_CARD, colors: 0b11, ranks: 0b01, color: 0, rank: 1 };
    let view = g.view(&s, Viewer::Seat(0));
    let mut rng = Stream::from_text("whole deals");
    let mut count = std::collections::BTreeMap::new();
    for _ in 0..6_000 {
        let w = g.sample_world(&view, &mut rng);
        *count.entry([w.hands[0].cards[0].card, w.hands[0].cards[1].card]).or_insert(0u32) += 1;
    }
    // First Y1 (three ways), then R1 or one of two Y1; or first Y2, then R1 or one of three Y1: 3, 6, 1 and 3 of 13.
    let wanted = [([2, 0], 3), ([2, 2], 6), ([3, 0], 1), ([3, 2], 3)];
    assert_eq!(count.keys().copied().collect::<Vec<_>>(), wanted.map(|w| w.0));
    for (deal, ways) in wanted {
        let (got, mean) = (count[&deal], 6_000 * ways / 13);
        assert!(got.abs_diff(mean) < 150, "{deal:?}: {got}, not about {mean}");
    }
}

#[test]
fn move_notation_variants_parse() {
    let g = game(Params { players: 3, ..Params::default() });
    let s = dealt(&g, "R1 R2 Y1 Y2 G1 W1 W1 W2 B1 B5 R3 R4 R5 G2 G3");
    let view = g.view(&s, Viewer::Seat(0));
    let mut legal = Vec::new();
    g.legal(&s, 0, &mut legal);
    let read = |text: &str| g.parse(&view, 0, &legal, text).map(|a| g.move_text(a));
    let white = Some("(Reveal player +1 color W)".to_owned());
    for text in ["(reveal player +1 color w)", "Reveal +1 W", "tell p1 white", "hint player p1 colour W"] {
        assert_eq!(read(text), white, "{text}");
    }
    assert_eq!(read("tell p2 5"), Some("(Reveal player +2 rank 5)".into()));
    assert_eq!(read("Play 4"), Some("(Play 4)".into()));
    let none = [
        "tell white",
        "tell p0 red",
        "tell p3 red",
        "play 5",
        "play",
        "tell p1 0",
        "tell p1 purple",
        "tell +9 red",
        "discard 0",
    ];
    none.iter().for_each(|text| assert_eq!(read(text), None, "{text}"));
}

#[test]
fn error_identifies_the_invalid_parameter() {
    let name = |params: &str| load(&format!("hanabi({params})")).err().unwrap().name.unwrap();
    for (params, wanted) in [
        ("players=6", "players"),
        ("colors=0", "colors"),
        ("ranks=6", "ranks"),
        ("hand_size=9", "hand_size"),
        ("colors=1,ranks=1", "hand_size"),
        ("max_information_tokens=51", "max_information_tokens"),
        ("max_life_tokens=0", "max_life_tokens"),
        ("observation_type=all", "observation_type"),
    ] {
        assert_eq!(name(params), wanted, "{params}");
    }
    assert_eq!(table("hanabi(seed=7)").spec().hash, table("hanabi").spec().hash);
}

#[test]
fn observation_type_seer_shows_all_cards() {
    let g = table("hanabi(observation_type=seer)");
    let mut s = g.start();
    while s.turn() == ToMove::Chance {
        let mut out = Outcomes::new();
        s.chance(&mut out);
        s.play_chance(out.items()[0].0).unwrap();
    }
    let hands = |who| s.view(who).value()["hands"].clone();
    assert_eq!(hands(Viewer::Seat(0)), hands(Viewer::Public));
    assert!(hands(Viewer::Public)[0][0]["card"].is_string());
    assert!(!s.legal_list(0).is_empty());
}

#[test]
fn marks_record_type_and_risk_of_moves() {
    let g = game(Params::default());
    let mut s = dealt(&g, TEN);
    for (text, word, risk) in
        [("tell white", "reveal", 0.0), ("tell rank 1", "reveal", 0.0), ("discard 4", "discard", 5.0)]
    {
        let (before, seat) = (s, g.to_move(&s).seat().unwrap());
        play(&g, &mut s, text);
        let mut joint = vec![None; 2];
        joint[seat] = Some(ParsedMove::Action(s.moves().last().unwrap().action.into()));
        let mut out = Marks::all();
        g.marks(&before, &joint, &s, &mut out);
        let found: Vec<_> = out.take().into_iter().map(|m| (m.seat, m.name, m.value)).collect();
        let wanted = [(seat, "action", MarkValue::Word(word)), (seat, "risk", MarkValue::Number(risk))];
        assert_eq!(found, wanted, "{text}");
    }
    // A deal emits no marks. Then p1 plays a card.
    let mut out = Marks::all();
    g.marks(&s, &[], &s, &mut out);
    assert!(out.take().is_empty());
    g.play_unchecked(&mut s, 0);
    let a = g.id(Move::Play(0)).unwrap();
    g.marks(&s, &[None, Some(ParsedMove::Action(a))], &s, &mut out);
    assert_eq!(out.take()[1], Mark { seat: 1, name: "risk", value: MarkValue::Number(10.0) });
}
