//! Checks that every mark emitted in random episodes is documented by its game, and that a request for some marks
//! returns exactly the requested marks.

use std::collections::BTreeSet;

use ludex_env::{Draw, DynState, GameRef, Mark, Marks, Outcomes, ParsedMove, Stream, ToMove};
use ludex_games::load;

/// Maximum number of steps per episode.
const STEPS: usize = 150;
const EPISODES: u64 = 2;

/// Returns a random move of a seat: an action, or a document in about half of the cases if the game accepts one.
fn answer(s: &dyn DynState, seat: usize, rng: &mut Stream) -> ParsedMove {
    let said = if rng.below(2) == 0 { s.sample(seat, rng) } else { None };
    let said = said.and_then(|said| s.parse_move(seat, &ludex_env::Move::Document(said)).ok());
    said.unwrap_or_else(|| ParsedMove::Action(s.random_action(seat, rng)))
}

/// Plays one random step and returns the moves by seat.
fn step(s: &mut dyn DynState, draw: &mut Draw, rng: &mut Stream) -> Vec<Option<ParsedMove>> {
    let turn = s.turn();
    let joint: Vec<Option<ParsedMove>> =
        (0..s.spec().players as usize).map(|seat| turn.seats().has(seat).then(|| answer(s, seat, rng))).collect();
    match turn {
        ToMove::Chance => {
            let mut outcomes = Outcomes::new();
            s.chance(&mut outcomes);
            s.play_chance(draw.pick(&outcomes).unwrap()).unwrap();
        }
        ToMove::Seat(seat) => match joint[seat].as_ref().unwrap() {
            ParsedMove::Action(a) => s.play(seat, *a).unwrap(),
            ParsedMove::Document(said) => s.play_document(seat, said).unwrap(),
        },
        _ => s.play_joint(&joint).unwrap(),
    }
    joint
}

/// Calls `each` with every step of random episodes: the state before, the moves, and the state after.
fn steps(game: &GameRef, mut each: impl FnMut(&dyn DynState, &[Option<ParsedMove>], &dyn DynState)) {
    for episode in 0..EPISODES {
        let mut rng = Stream::from_text(&format!("marks of {} {episode}", game.id()));
        let (mut s, mut draw) = (game.start(), Draw::new(game.id(), 11, episode));
        for _ in 0..STEPS {
            if s.turn() == ToMove::Over {
                break;
            }
            let before = s.boxed();
            let joint = step(&mut *s, &mut draw, &mut rng);
            each(&*before, &joint, &*s);
        }
    }
}

fn collect_marks(
    mut out: Marks,
    before: &dyn DynState,
    joint: &[Option<ParsedMove>],
    after: &dyn DynState,
) -> Vec<Mark> {
    (0..joint.len()).filter(|&seat| joint[seat].is_some()).for_each(|seat| before.tried(seat, &[], &mut out));
    before.marks(joint, after, &mut out);
    out.take()
}

/// Games tested with other parameters, because the default game is too long or has fewer marks.
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
fn emitted_marks_are_documented_and_documented_marks_occur() {
    // These marks need a won hand or a repeated strategy, which are rare in random episodes.
    let rare = ["total", "fan", "fan_points", "hand_score", "won_by"];
    for entry in ludex_games::games() {
        let other = OTHERS.iter().find(|(id, _)| *id == entry.info.id).map_or(entry.info.id, |(_, string)| string);
        let game = load(other).unwrap();
        let docs = game.marks_docs();
        let names: BTreeSet<&str> = docs.iter().map(|d| d.name).collect();
        assert_eq!(names.len(), docs.len(), "{}: two marks have the same name", entry.info.id);
        // A table cell must not contain a bar or a line break.
        let cells = docs.iter().flat_map(|d| [d.name, d.unit, d.formula, d.source]);
        cells.for_each(|cell| assert!(!cell.is_empty() && !cell.contains(['|', '\n']), "{}: {cell:?}", entry.info.id));
        let cheap: BTreeSet<String> = names.iter().filter(|n| **n != "equity").map(|n| (*n).to_owned()).collect();
        let mut seen = BTreeSet::new();
        steps(&game, |before, joint, after| {
            let out = if entry.info.id == "texas_holdem" { Marks::only(&cheap) } else { Marks::all() };
            for mark in collect_marks(out, before, joint, after) {
                assert!(names.contains(mark.name), "{}: {mark:?} is not documented", entry.info.id);
                assert!(mark.seat < game.spec().players as usize, "{}: {mark:?}", entry.info.id);
                seen.insert(mark.name);
            }
        });
        let missing: Vec<&&str> = names.iter().filter(|n| !seen.contains(*n) && !rare.contains(n)).collect();
        assert!(missing.is_empty() || missing == [&"equity"], "{}: {missing:?} never occurred", entry.info.id);
    }
}

/// The value of a mark is the same whether the mark is requested alone or together with all others.
#[test]
fn mark_values_do_not_depend_on_which_marks_are_requested() {
    for id in ["connect_four", "fight_the_landlord", "tower_defense", "undercover", "iterated_prisoners_dilemma"] {
        let game = load(id).unwrap();
        steps(&game, |before, joint, after| {
            let all = collect_marks(Marks::all(), before, joint, after);
            for doc in game.marks_docs() {
                let name = BTreeSet::from([doc.name.to_owned()]);
                let wanted: Vec<Mark> = all.iter().filter(|m| m.name == doc.name).cloned().collect();
                assert_eq!(collect_marks(Marks::only(&name), before, joint, after), wanted, "{id}: {}", doc.name);
            }
            assert!(collect_marks(Marks::only(&BTreeSet::new()), before, joint, after).is_empty());
        });
    }
}
