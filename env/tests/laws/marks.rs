//! What the rules count is explained: every mark of a random episode stands in the game's list, and who asks for some marks
//! gets these alone.

use std::collections::BTreeSet;

use ludex_env::{Draw, DynState, GameRef, Heard, Mark, Marks, Outcomes, Stream, Turn, load};

/// Steps after which an episode is cut, and episodes of each game.
const STEPS: usize = 150;
const EPISODES: u64 = 2;

/// What a seat does: a document now and then, where there are some.
fn answer(s: &dyn DynState, seat: usize, rng: &mut Stream) -> Heard {
    let said = if rng.below(2) == 0 { s.sample(seat, rng) } else { None };
    let said = said.and_then(|said| s.read(seat, &ludex_env::Move::Document(said)).ok());
    said.unwrap_or_else(|| Heard::Action(s.random_action(seat, rng)))
}

/// Plays the next step at random; its moves by seat.
fn step(s: &mut dyn DynState, draw: &mut Draw, rng: &mut Stream) -> Vec<Option<Heard>> {
    let turn = s.turn();
    let joint: Vec<Option<Heard>> =
        (0..s.spec().players as usize).map(|seat| turn.seats().has(seat).then(|| answer(s, seat, rng))).collect();
    match turn {
        Turn::Chance => {
            let mut outcomes = Outcomes::new();
            s.chance(&mut outcomes);
            s.play_chance(draw.pick(&outcomes).unwrap()).unwrap();
        }
        Turn::Seat(seat) => match joint[seat].as_ref().unwrap() {
            Heard::Action(a) => s.play(seat, *a).unwrap(),
            Heard::Said(said) => s.play_said(seat, said).unwrap(),
        },
        _ => s.play_joint(&joint).unwrap(),
    }
    joint
}

/// Calls `each` with every step of random episodes: before, moves, after.
fn steps(game: &GameRef, mut each: impl FnMut(&dyn DynState, &[Option<Heard>], &dyn DynState)) {
    for episode in 0..EPISODES {
        let mut rng = Stream::named(&format!("marks of {} {episode}", game.id()));
        let (mut s, mut draw) = (game.start(), Draw::new(game.id(), 11, episode));
        for _ in 0..STEPS {
            if s.turn() == Turn::Over {
                break;
            }
            let before = s.boxed();
            let joint = step(&mut *s, &mut draw, &mut rng);
            each(&*before, &joint, &*s);
        }
    }
}

fn taken(mut out: Marks, before: &dyn DynState, joint: &[Option<Heard>], after: &dyn DynState) -> Vec<Mark> {
    (0..joint.len()).filter(|&seat| joint[seat].is_some()).for_each(|seat| before.tried(seat, &[], &mut out));
    before.marks(joint, after, &mut out);
    out.take()
}

/// Games whose marks are shown with another preset, as the defaults are too long or have fewer of them.
const OTHERS: &[(&str, &str)] = &[
    ("undercover", "undercover(preset=llmarena_guess)"),
    ("go", "go(board_size=3)"),
    ("gomoku", "gomoku(size=5)"),
    ("negotiation", "negotiation(instance=1 0 0;1 1 1;1 1 1;10)"),
    ("bargaining", "bargaining(instance=1 0 0;3 0 0;1 0 0)"),
    ("tower_defense", "tower_defense(preset=advgamebench)"),
    ("battle_cards", "battle_cards(preset=advgamebench)"),
    ("elemental_duel", "elemental_duel(preset=advgamebench)"),
];

#[test]
fn every_mark_is_explained_and_nearly_all_are_counted() {
    // These need a hand that is won, or a strategy that comes back.
    let rare = ["total", "fan", "fan_points", "hand_score", "won_by"];
    for entry in ludex_env::games() {
        let other = OTHERS.iter().find(|(id, _)| *id == entry.id).map_or(entry.id, |(_, string)| string);
        let game = load(other).unwrap();
        let docs = game.marks_docs();
        let names: BTreeSet<&str> = docs.iter().map(|d| d.name).collect();
        assert_eq!(names.len(), docs.len(), "{}: a mark has two rows", entry.id);
        // A cell of a table holds no bar and no line break.
        let cells = docs.iter().flat_map(|d| [d.name, d.unit, d.formula, d.source]);
        cells.for_each(|cell| assert!(!cell.is_empty() && !cell.contains(['|', '\n']), "{}: {cell:?}", entry.id));
        let cheap: BTreeSet<String> = names.iter().filter(|n| **n != "equity").map(|n| (*n).to_owned()).collect();
        let mut seen = BTreeSet::new();
        steps(&game, |before, joint, after| {
            let out = if entry.id == "texas_holdem" { Marks::named(&cheap) } else { Marks::all() };
            for mark in taken(out, before, joint, after) {
                assert!(names.contains(mark.name), "{}: {mark:?} is not explained", entry.id);
                assert!(mark.seat < game.spec().players as usize, "{}: {mark:?}", entry.id);
                seen.insert(mark.name);
            }
        });
        let missing: Vec<&&str> = names.iter().filter(|n| !seen.contains(*n) && !rare.contains(n)).collect();
        assert!(missing.is_empty() || missing == [&"equity"], "{}: {missing:?} never came", entry.id);
    }
}

/// Each mark asked for alone is what it is among all.
#[test]
fn what_is_wanted_does_not_change_it() {
    for id in ["connect_four", "fight_the_landlord", "tower_defense", "undercover", "iterated_prisoners_dilemma"] {
        let game = load(id).unwrap();
        steps(&game, |before, joint, after| {
            let all = taken(Marks::all(), before, joint, after);
            for doc in game.marks_docs() {
                let name = BTreeSet::from([doc.name.to_owned()]);
                let wanted: Vec<Mark> = all.iter().filter(|m| m.name == doc.name).cloned().collect();
                assert_eq!(taken(Marks::named(&name), before, joint, after), wanted, "{id}: {}", doc.name);
            }
            assert!(taken(Marks::named(&BTreeSet::new()), before, joint, after).is_empty());
        });
    }
}
