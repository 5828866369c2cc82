//! Comparison of combinations with a second implementation, positions for each rule, and probabilities of
//! determinizations.

use std::collections::{BTreeMap, BTreeSet};

use ludex_env::dyn_state::DynState;
use ludex_protocol::Move;

use super::cards::{card, read, set};
use super::*;
use crate::load;

fn rules(rules: Rules) -> FightTheLandlord {
    FightTheLandlord::new(Params { rules }).unwrap()
}

/// Classifies a Botzone combination by the written rules. Returns its kind, its length, its number of wings, and the
/// lowest rank of its main part.
fn plain(counts: cards::Counts, per_four: usize) -> Option<(&'static str, usize, usize, usize)> {
    let with = |n: u8| (0..RANKS).filter(|&r| count(counts, r) == n).collect::<Vec<_>>();
    let [ones, twos, threes, fours] = [1, 2, 3, 4].map(with);
    let chain = |ranks: &[usize]| ranks.windows(2).all(|w| w[0] + 1 == w[1]) && ranks.last().is_some_and(|&r| r < 12);
    let sizes = (ones.len(), twos.len(), threes.len(), fours.len());
    Some(match sizes {
        (1, 0, 0, 0) => ("single", 1, 0, ones[0]),
        (2, 0, 0, 0) if ones == [13, 14] => ("rocket", 1, 0, 13),
        (n @ 5.., 0, 0, 0) if chain(&ones) => ("straight", n, 0, ones[0]),
        (0, 1, 0, 0) => ("pair", 1, 0, twos[0]),
        (0, n @ 3.., 0, 0) if chain(&twos) => ("pairs", n, 0, twos[0]),
        (0, 0, 1, 0) | (1, 0, 1, 0) | (0, 1, 1, 0) => ("trio", 1, sizes.0 + 2 * sizes.1, threes[0]),
        (0, 0, n @ 2.., 0) if chain(&threes) => ("plane", n, 0, threes[0]),
        (m, 0, n @ 2.., 0) if chain(&threes) && m == n => ("plane1", n, m, threes[0]),
        (0, m, n @ 2.., 0) if chain(&threes) && m == n => ("plane2", n, m, threes[0]),
        (0, 0, 0, 1) => ("bomb", 1, 0, fours[0]),
        (2, 0, 0, 1) => ("four1", 1, 2, fours[0]),
        (0, 2, 0, 1) => ("four2", 1, 2, fours[0]),
        (0, 0, 0, n @ 2..) if chain(&fours) => ("shuttle", n, 0, fours[0]),
        (m, 0, 0, n @ 2..) if chain(&fours) && m == n * per_four => ("shuttle1", n, m, fours[0]),
        (0, m, 0, n @ 2..) if chain(&fours) && m == n * per_four => ("shuttle2", n, m, fours[0]),
        _ => return None,
    })
}

fn plainly_beats(a: (&str, usize, usize, usize), b: (&str, usize, usize, usize)) -> bool {
    match (a.0, b.0) {
        (_, "rocket") => false,
        ("rocket", _) => true,
        ("bomb", other) if other != "bomb" => true,
        _ => (a.0, a.1, a.2) == (b.0, b.1, b.2) && a.3 > b.3,
    }
}

#[test]
fn each_combination_has_one_id() {
    for (rules, ids) in [(Rules::Botzone, 21_425), (Rules::Botzone2, 34_327), (Rules::DouDizhu, 26_057)] {
        let plays = Plays::of(rules);
        assert_eq!(plays.ids(), ids, "{rules:?}");
        let mut seen = BTreeSet::new();
        for a in FIRST..ids {
            let counts = plays.get(a).unwrap().counts;
            assert!((0..RANKS).all(|r| count(counts, r) <= cards::most(r)), "{rules:?} {a}");
            if rules != Rules::DouDizhu {
                assert!(seen.insert(counts), "{rules:?}: {a} has the same cards as another id");
                assert!(plain(counts, 1 + usize::from(rules == Rules::Botzone2)).is_some(), "{rules:?} {a}");
            }
        }
        assert!(plays.get(ids).is_none() && plays.get(3).is_none() && plays.get(Action::MAX).is_none());
    }
}

/// Returns all subsets of a hand as rank counts.
fn parts(hand: cards::Counts) -> Vec<cards::Counts> {
    (0..RANKS).fold(vec![0], |all, r| {
        let some = (0..=count(hand, r)).map(|n| cards::of_rank(r, n));
        some.flat_map(|n| all.iter().map(move |&part| part + n).collect::<Vec<_>>()).collect()
    })
}

#[test]
fn legal_moves_agree_with_second_implementation() {
    let mut rng = Stream::from_text("landlord moves");
    for (rules, per_four) in [(Rules::Botzone, 1), (Rules::Botzone2, 2)] {
        let plays = Plays::of(rules);
        let mut rare = BTreeSet::new();
        for k in 0..60 {
            // Hands with few ranks contain planes and shuttles.
            let ranks = 4 + k % 8;
            let from = rng.below(RANKS - ranks);
            let mut pool: Vec<u8> = cards::numbers(DECK).collect();
            pool.retain(|&n| (from..from + ranks).contains(&(usize::from(n) / 4)) || n > 51);
            rng.shuffle(&mut pool);
            pool.truncate(if k % 3 == 0 { 20 } else { 13 });
            let hand = set(&pool);
            let all: BTreeMap<_, _> =
                parts(counts(hand)).into_iter().filter_map(|c| plain(c, per_four).map(|p| (c, p))).collect();
            rare.extend(all.values().map(|p| p.0));
            let mut found = Vec::new();
            plays.find(hand, None, &mut found);
            assert!(found.windows(2).all(|w| w[0] < w[1]));
            let ours: BTreeSet<_> = found.iter().map(|&a| plays.get(a).unwrap().counts).collect();
            assert_eq!(ours, all.keys().copied().collect(), "{rules:?} {}", cards::ranks_text(counts(hand), &SHORT));
            for _ in 0..30 {
                let top = FIRST + rng.below(plays.ids() as usize - 4) as Action;
                let top = plays.get(if rng.below(2) == 0 { top } else { found[rng.below(found.len())] }).unwrap();
                let what = plain(top.counts, per_four).unwrap();
                let higher = all.iter().filter(|(_, p)| plainly_beats(**p, what)).map(|(c, _)| *c);
                let mut found = Vec::new();
                plays.find(hand, Some(top), &mut found);
                assert!(found.windows(2).all(|w| w[0] < w[1]));
                let ours: BTreeSet<_> = found.iter().map(|&a| plays.get(a).unwrap().counts).collect();
                assert_eq!(ours, higher.collect(), "{rules:?} {what:?}");
            }
        }
        let kinds = ["plane1", "plane2", "four1", "four2", "shuttle", "shuttle1", "shuttle2", "rocket"];
        assert!(kinds.iter().all(|k| rare.contains(k)), "{rare:?}");
    }
}

#[test]
fn names_and_ids_agree_with_openspiel() {
    let game = rules(Rules::DouDizhu);
    let names = [
        (0, "Pass"),
        (3, "Bid 3"),
        (17, "(BWJ)"),
        (23, "789TJ"),
        (137, "3338"),
        (458, "AAA22"),
        (1_014, "888999-62"),
        (1_465, "KKKAAA-6(BWJ)"),
        (23_599, "QQQKKK-3344"),
        (26_043, "3333"),
        (26_056, "(BWJ)(CJ)"),
    ];
    for (a, name) in names {
        assert_eq!(game.name(a), name);
    }
    // The same cards may form two planes, which differ by name.
    let both: Vec<String> = game.plays.with_cards(read("333444555666").unwrap()).map(|a| game.name(a)).collect();
    assert_eq!(both, ["333444555666", "333444555-666", "444555666-333"]);
}

#[test]
fn bomb_beats_rocket_under_openspiel_rules_only() {
    for (rules, beaten) in [(Rules::Botzone, 0), (Rules::Botzone2, 0), (Rules::DouDizhu, 13)] {
        let plays = Plays::of(rules);
        let rocket = plays.get(plays.ids() - 1).unwrap();
        let mut found = Vec::new();
        plays.find(DECK, Some(rocket), &mut found);
        assert_eq!(found.len(), beaten, "{rules:?}");
        assert!((FIRST..plays.ids()).all(|a| found.contains(&a) == plays.beats(plays.get(a).unwrap(), rocket)));
    }
}

/// Returns 51 card numbers in the order of the deal, so that each seat gets 17 cards of the given ranks.
fn order(hands: [&str; SEATS]) -> Vec<u8> {
    let mut left = DECK;
    let hands = hands.map(|hand| {
        let cards = lowest(left, read(hand).unwrap());
        left &= !cards;
        cards::numbers(cards).collect::<Vec<u8>>()
    });
    (0..51).map(|k| hands[k % SEATS][k / SEATS]).collect()
}

/// Returns a game in which `HANDS` are dealt. In an auction, p1 bids first.
fn dealt(text: &str) -> Box<dyn DynState> {
    let mut s = load(text).unwrap().start();
    let auction = text == "dou_dizhu";
    if auction {
        s.play_chance(1).unwrap();
    }
    let names = if auction { &LONG } else { &SHORT };
    for number in order(HANDS) {
        let a = s.read_outcome(&Move::Text(format!("Deal {}", cards::card_text(number, names)))).unwrap();
        s.play_chance(a).unwrap();
    }
    s
}

const HANDS: [&str; SEATS] = ["33334444555566667", "7778888999TTTJJJ9", "TJQQQQKKKKAAAA222"];

fn play(s: &mut dyn DynState, moves: &str) {
    for text in moves.split_whitespace() {
        let ToMove::Seat(seat) = s.turn() else { panic!("expected a seat to move before {text}") };
        match s.parse_move(seat, &Move::Text(text.to_owned())) {
            Ok(ludex_env::ParsedMove::Action(a)) => s.play(seat, a).unwrap(),
            other => panic!("{text}: {other:?}"),
        }
    }
}

fn refusal(s: &dyn DynState, text: &str) -> String {
    let ToMove::Seat(seat) = s.turn() else { panic!("expected a seat to move before {text}") };
    s.parse_move(seat, &Move::Text(text.to_owned())).err().unwrap().message
}

/// Moves in which p0 plays all its cards and the other seats pass.
const ALONE: &str = "3333444455556666 pass pass BR pass pass 7 pass pass 2";
/// Moves in which p0 leads and p1 plays all its cards.
const AFTER_ONE: &str = "3 pass 2 pass 8888 pass pass 9999 pass pass TTT7 pass pass JJJ7 pass pass 7";

#[test]
fn combinations_earn_points_under_botzone_rules() {
    // A space shuttle of four ranks is worth 20, the rocket 16, a single card 1.
    let mut s = dealt("fight_the_landlord");
    play(&mut *s, ALONE);
    assert_eq!((s.turn(), s.returns()), (ToMove::Over, vec![2.0 + 38.0 / 100.0, 0.0, 0.0]));
    // p1 earns 10 + 10 + 4 + 4 + 1 points and p2 earns 1. Each farmer gets the mean of both.
    let mut s = dealt("fight_the_landlord");
    play(&mut *s, AFTER_ONE);
    let farmer = (2.0 + 29.0 / 100.0 + (2.0 + 1.0 / 100.0)) / 2.0;
    assert_eq!((s.turn(), s.returns()), (ToMove::Over, vec![0.01, farmer, farmer]));
}

#[test]
fn bombs_rocket_and_spring_double_stake() {
    let returns = |moves: &str| {
        let mut s = dealt("fight_the_landlord(preset=botzone2)");
        play(&mut *s, "2 pass pass");
        play(&mut *s, moves);
        assert_eq!(s.turn(), ToMove::Over);
        s.returns()
    };
    // The rocket doubles, and so does the spring: the farmers played nothing. A space shuttle is not a bomb.
    assert_eq!(returns(ALONE), [16.0, -8.0, -8.0]);
    // Two bombs double, and so does the spring: the landlord played only its first combination.
    assert_eq!(returns(AFTER_ONE), [-32.0, 16.0, 16.0]);
    // A bomb and the rocket double. All seats have played, so the spring does not count.
    let all = "3 pass 2 pass 8888 pass BR pass pass 444455556666 pass pass 3337 pass pass 2";
    assert_eq!(returns(all), [16.0, -8.0, -8.0]);
}

#[test]
fn bidding_lasts_a_single_round_under_botzone_rules() {
    let landlord = |bids: &str| {
        let mut s = dealt("fight_the_landlord(preset=botzone2)");
        play(&mut *s, bids);
        let v = s.view(Viewer::Public).value();
        (v["landlord"].as_u64(), v["stake"].as_u64(), s.turn())
    };
    assert_eq!(landlord("pass pass"), (None, None, ToMove::Seat(2)));
    assert_eq!(landlord("pass pass pass"), (Some(0), Some(1), ToMove::Seat(0)));
    assert_eq!(landlord("1 2 pass"), (Some(1), Some(2), ToMove::Seat(1)));
    assert_eq!(landlord("3"), (Some(0), Some(3), ToMove::Seat(0)));
    let mut s = dealt("fight_the_landlord(preset=botzone2)");
    play(&mut *s, "2");
    assert_eq!(s.legal_list(1), [0, 3]);
    assert_eq!(refusal(&*s, "1"), "expected a bid of 3 or a pass, got \"1\"");
}

#[test]
fn bidding_continues_until_two_passes_under_openspiel_rules() {
    let mut s = dealt("dou_dizhu");
    // Card 1 of the deal is face up, so p1 bids first.
    assert_eq!(s.turn(), ToMove::Seat(1));
    play(&mut *s, "pass 1 pass 2 pass");
    assert_eq!((s.turn(), s.legal_list(0)), (ToMove::Seat(0), vec![0, 3]));
    let mut unbid = dealt("dou_dizhu");
    play(&mut *unbid, "pass pass pass");
    assert_eq!((unbid.turn(), unbid.returns()), (ToMove::Over, vec![0.0; 3]));
    play(&mut *s, "pass");
    assert_eq!(s.turn(), ToMove::Seat(1));
    assert_eq!(s.view(Viewer::Public).value()["landlord"], 1);
}

#[test]
fn illegal_moves_are_explained() {
    let mut s = dealt("fight_the_landlord");
    assert_eq!(refusal(&*s, "pass"), "the seat that leads a trick must not pass");
    assert_eq!(refusal(&*s, "[]"), "the seat that leads a trick must not pass");
    assert_eq!(refusal(&*s, "345"), "345 is not a combination");
    assert_eq!(refusal(&*s, "88"), "\"88\": the hand has no 8");
    assert_eq!(refusal(&*s, "77"), "\"77\": expected 2 cards of rank 7, the hand has 1");
    assert_eq!(refusal(&*s, "33333"), "rank 3: expected at most 4 cards, got 5");
    assert_eq!(refusal(&*s, "3x"), "expected a rank (3456789TJQKA2, or B and R for the jokers), got 'X'");
    assert_eq!(refusal(&*s, "[0, 0]"), "expected different card numbers from 0 to 53, got \"[0, 0]\"");
    assert_eq!(s.play(0, 2).err().unwrap().message, "expected a combination, got a bid: the bidding is over");
    assert_eq!(s.play(0, 55 + 4).err().unwrap().message, "77: expected 2 cards of rank 7, the hand has 1");
    play(&mut *s, "3+444");
    assert_eq!(
        refusal(&*s, "T"),
        "T (a single card) does not beat 3444 (a trio with a single card); allowed: a higher combination of the same \
         kind and length, a bomb, the rocket"
    );
    play(&mut *s, "[28,29,30,19]");
    assert_eq!(s.play(2, 0), Ok(()));
    let v = s.view(Viewer::Public).value();
    // The named cards are replaced by the hand's lowest-numbered cards of the same ranks.
    assert_eq!(v["plays"][1]["cards"], json!([17, 28, 29, 30]));

    let mut s = dealt("dou_dizhu");
    play(&mut *s, "pass pass 3");
    assert_eq!(
        refusal(&*s, "34567"),
        "34567 (a straight): a chain must not start with a rank of which the hand has four cards"
    );
}

#[test]
fn invalid_queries_are_refused() {
    let game = load("fight_the_landlord").unwrap();
    let ask = |hand: &str, previous: &str| game.analyze(&json!({ "hand": hand, "previous": previous }));
    assert_eq!(ask("359K2", "").unwrap(), json!({ "plays": ["2", "3", "5", "9", "K"], "can_pass": false }));
    assert_eq!(ask("k 10 3", "9").unwrap(), json!({ "plays": ["K", "T"], "can_pass": true }));
    assert_eq!(game.analyze(&json!({ "hand": "B" })).unwrap(), json!({ "plays": ["B"], "can_pass": false }));
    let six = |rules: &str| {
        let question = json!({ "hand": "3333444456", "rules": rules });
        game.analyze(&question).unwrap()["plays"].as_array().unwrap().iter().any(|p| p == "3333444456")
    };
    assert!(six("botzone") && !six("botzone2") && !six("dou_dizhu"));
    let flaw = |question: Value| game.analyze(&question).err().unwrap().message;
    assert!(flaw(json!("359K2")).starts_with("expected an object"));
    assert!(flaw(json!({ "previous": "" })).contains("\"hand\" is missing"));
    assert!(flaw(json!({ "hand": 7 })).contains("got 7"));
    assert!(flaw(json!({ "hand": "" })).contains("expected at least one card"));
    assert!(flaw(json!({ "hand": "34x" })).contains("expected a rank"));
    assert!(flaw(json!({ "hand": "33333" })).contains("rank 3: expected at most 4 cards, got 5"));
    assert!(
        flaw(json!({ "hand": "333", "previous": "33" }))
            .contains("rank 3: expected at most 4 cards in hand and previous play together, got 5")
    );
    assert!(flaw(json!({ "hand": "3", "previous": "45" })).contains("45 is not a combination"));
    assert!(flaw(json!({ "hand": "3", "previus": "45" })).contains("unknown field \"previus\""));
    assert!(flaw(json!({ "hand": "3", "rules": "rlcard" })).contains("got \"rlcard\""));
}

#[test]
fn sampled_deals_of_unseen_cards_are_uniform() {
    // Six unseen cards, of which each seat can have only some.
    let pool = [0, 1, 2, 3, 8, 12].map(card);
    let need = [2, 3, 1];
    let barred = [pool[0] | pool[1], pool[2], pool[0] | pool[4]];
    let mut all = BTreeMap::new();
    for code in 0..3usize.pow(6) {
        let to: Vec<usize> = (0..6).map(|k| code / 3usize.pow(k) % 3).collect();
        let mut hands = [0; SEATS];
        to.iter().zip(pool).for_each(|(&p, one)| hands[p] |= one);
        let fits = |p: usize| hands[p].count_ones() as usize == need[p] && hands[p] & barred[p] == 0;
        if (0..SEATS).all(fits) {
            all.insert(hands, 0u32);
        }
    }
    assert!(all.len() > 8, "{}", all.len());
    let mut rng = Stream::from_text("landlord worlds");
    let draws = 2_000 * all.len();
    for _ in 0..draws {
        let hands = world::deal(pool.iter().fold(0, |all, one| all | one), need, barred, &mut rng).unwrap();
        *all.get_mut(&hands).unwrap() += 1;
    }
    let chi: f64 = all.values().map(|&n| (f64::from(n) - 2_000.0) * (f64::from(n) - 2_000.0) / 2_000.0).sum();
    assert!(chi < 3.0 * all.len() as f64, "{chi} {all:?}");
}

#[test]
fn seat_holds_no_lower_suit_of_rank_it_played() {
    let game = rules(Rules::Botzone);
    let mut s = game.start();
    order(HANDS).into_iter().for_each(|number| game.play_unchecked(&mut s, number.into()));
    // p1 plays the seven of diamonds, so p2 can infer that p0 has the seven of hearts.
    for a in [4, 8] {
        assert!(game.is_legal(&s, s.length.into(), a));
        game.play_unchecked(&mut s, a);
    }
    assert_eq!(s.played[1], card(17));
    let view = game.view(&s, Viewer::Seat(2));
    let mut rng = Stream::from_text("landlord suits");
    let (mut spades, draws) = (0, 4_000);
    for _ in 0..draws {
        let w = game.sample_world(&view, &mut rng);
        assert!(w.hands[0] & card(16) != 0);
        spades += u32::from(w.hands[1] & card(18) != 0);
    }
    // p1 has 16 of the other 31 cards that p2 does not see.
    assert!((f64::from(spades) / f64::from(draws) - 16.0 / 31.0).abs() < 0.03, "{spades}");
}

/// p0 leads a 3, which p1 could beat with a 7. p2 plays a 2, which p0 could beat with a bomb or the rocket. Then p1
/// plays after its teammate p2.
#[test]
fn marks_distinguish_forced_and_voluntary_passes() {
    let mut s = dealt("fight_the_landlord");
    let mut told = |text: &str| {
        let (before, seat) = (s.boxed(), s.turn().seat().unwrap());
        let ludex_env::ParsedMove::Action(a) = s.parse_move(seat, &Move::Text(text.to_owned())).unwrap() else {
            panic!("{text}")
        };
        s.play(seat, a).unwrap();
        let mut joint = vec![None; SEATS];
        joint[seat] = Some(ParsedMove::Action(a));
        let mut out = Marks::all();
        before.marks(&joint, &*s, &mut out);
        out.take().iter().map(|m| serde_json::json!([m.seat, m.name, m.value])).collect::<Vec<_>>()
    };
    let wanted = |seat: usize, action: &str, could: f64, after: &str| {
        let marks = [("action", serde_json::json!(action)), ("could_play", could.into()), ("after", after.into())];
        marks.map(|(name, value)| serde_json::json!([seat, name, value])).to_vec()
    };
    assert_eq!(told("3"), wanted(0, "play", 0.0, "lead"));
    assert_eq!(told("pass"), wanted(1, "pass", 1.0, "opponent"));
    assert_eq!(told("2"), wanted(2, "play", 1.0, "opponent"));
    assert_eq!(told("pass"), wanted(0, "pass", 1.0, "opponent"));
    // p1 has four eights. After its pass p2 leads.
    assert_eq!(told("pass"), wanted(1, "pass", 1.0, "team_mate"));
    assert_eq!(told("TJQKA"), wanted(2, "play", 0.0, "lead"));
    // p0 has 3 to 7 and the jokers.
    assert_eq!(told("BR"), wanted(0, "play", 1.0, "opponent"));
    assert_eq!(told("pass"), wanted(1, "pass", 0.0, "opponent"));
}
