use ludex_env::{Action, Stream};
use ludex_games::fight_the_landlord::Rules;
use ludex_games::fight_the_landlord::cards::{Counts, DECK, RANKS, count, counts, holds, lowest, read};
use ludex_games::fight_the_landlord::combinations::{Kind, Plays};

use super::policy::{KnowledgeLevel, SeatKnowledge, answers, choose};
use super::split::{Combo, Splits, plays};
use super::{bid, playout};

fn hand(text: &str) -> Counts {
    read(text).unwrap()
}

fn random_hand(rng: &mut Stream, n: usize) -> Counts {
    let mut deck: Vec<u8> = (0..54).collect();
    rng.shuffle(&mut deck);
    counts(ludex_games::fight_the_landlord::cards::set(&deck[..n]))
}

/// Returns, by exhaustive search, the minimum number of plays that empty a hand without splitting a bomb.
fn fewest(all: &[Counts], hand: Counts) -> usize {
    if hand == 0 {
        return 0;
    }
    // Some play must take the lowest card.
    let low = hand.trailing_zeros() as usize / 4;
    let fit = all.iter().filter(|&&p| count(p, low) > 0 && holds(hand, p));
    1 + fit.map(|&p| fewest(all, hand - p)).min().unwrap_or(20)
}

#[test]
fn splits_are_complete_legal_and_nearly_minimal() {
    let rules = Plays::of(Rules::Botzone);
    let mut rng = Stream::from_text("splits");
    let mut more = 0;
    for round in 0..60 {
        let hand = random_hand(&mut rng, 4 + round % 6);
        let split = plays(hand);
        assert_eq!(split.iter().map(|c| c.counts).sum::<Counts>(), hand);
        for combo in &split {
            let same = |a: Action| rules.get(a).is_some_and(|p| rules.kind(p) == combo.kind);
            assert!(rules.with_cards(combo.counts).any(same), "{combo:?} is not a play");
        }
        let mut all = Vec::new();
        rules.find(lowest(DECK, hand), None, &mut all);
        let all: Vec<Counts> = all.into_iter().map(|a| rules.get(a).unwrap().counts).collect();
        let least = fewest(&all, hand);
        assert!(split.len() >= least);
        more += split.len() - least;
    }
    assert!(more <= 12, "the splits have {more} plays more than needed over 60 hands");
}

#[test]
fn known_hands_are_split_into_expected_plays() {
    for (text, number) in
        [("34567", 1), ("33344456", 1), ("334455", 1), ("3456789TJQKA", 1), ("BR", 1), ("34567789TJ", 2)]
    {
        assert_eq!(plays(hand(text)).len(), number, "{text}");
    }
    let mut splits = Splits::new();
    assert!(splits.burden(hand("3")) > splits.burden(hand("2")));
    assert!(splits.burden(hand("3333")) < 0 && splits.burden(0) == 0);
    assert_eq!(splits.burden(hand("3456789")), splits.burden(hand("3456789")));
}

#[test]
fn responses_beat_the_preceding_play() {
    let mut rng = Stream::from_text("answers");
    for rules in [Rules::Botzone, Rules::Botzone2] {
        let rules = Plays::of(rules);
        for _ in 0..40 {
            let (mine, theirs) = (random_hand(&mut rng, 17), random_hand(&mut rng, 17));
            for top in plays(theirs) {
                let id = |c: &Combo| rules.with_cards(c.counts).find(|&a| rules.kind(rules.get(a).unwrap()) == c.kind);
                let below = rules.get(id(&top).unwrap()).unwrap();
                for play in answers(mine, &top) {
                    let above = rules.get(id(&play).unwrap()).unwrap();
                    assert!(holds(mine, play.counts) && rules.beats(above, below), "{play:?} on {top:?}");
                }
            }
        }
    }
}

fn knowledge(me: usize, own: &str, held: [u8; 3], top: Option<(Combo, usize)>) -> SeatKnowledge {
    let own = hand(own);
    SeatKnowledge { me, landlord: 0, hand: own, unseen: counts(DECK) - own, held, top }
}

#[test]
fn farmer_cooperates_with_partner() {
    let splits = &mut Splits::new();
    let queen = Combo::of(Kind::Single, 9, 1, 1);
    // A farmer does not beat its partner's queen, but beats the landlord's queen.
    let own = "334455A2";
    assert_eq!(choose(&knowledge(2, own, [5, 5, 8], Some((queen, 1))), KnowledgeLevel::Together, splits), None);
    assert!(choose(&knowledge(2, own, [5, 5, 8], Some((queen, 0))), KnowledgeLevel::Together, splits).is_some());
    assert!(choose(&knowledge(2, own, [5, 5, 8], Some((queen, 1))), KnowledgeLevel::Alone, splits).is_some());
    // A farmer leads a low card if its partner has one card left, but not if the landlord has one card left.
    let lead = choose(&knowledge(1, "3KK", [9, 3, 1], None), KnowledgeLevel::Together, splits).unwrap();
    assert_eq!(lead.counts, hand("3"));
    let lead = choose(&knowledge(2, "3KK", [1, 9, 3], None), KnowledgeLevel::Together, splits).unwrap();
    assert_eq!(lead.counts, hand("KK"));
}

#[test]
fn bid_depends_on_high_cards() {
    assert_eq!(bid(hand("BR2234567899TTKKA"), &[0, 1, 2, 3]), Some(3));
    assert_eq!(bid(hand("33445566788999TJQ"), &[0, 1, 2, 3]), Some(0));
    assert_eq!(bid(hand("BR2234567899TTKKA"), &[0, 3]), Some(3));
}

#[test]
fn playouts_terminate() {
    let mut rng = Stream::from_text("playouts");
    for _ in 0..20 {
        let mut deck: Vec<u8> = (0..54).collect();
        rng.shuffle(&mut deck);
        let cards = |range: std::ops::Range<usize>| counts(ludex_games::fight_the_landlord::cards::set(&deck[range]));
        let mut game = playout::Playout {
            hands: [cards(0..20), cards(20..37), cards(37..54)],
            held: [20, 17, 17],
            landlord: 0,
            to_move: 0,
            top: None,
            bombs: 0,
        };
        let won = game.finish(&mut Splits::new());
        assert_eq!(game.hands[0] == 0, won);
        for p in 0..3 {
            assert_eq!(game.held[p], (0..RANKS).map(|r| count(game.hands[p], r)).sum::<u8>());
        }
    }
}
