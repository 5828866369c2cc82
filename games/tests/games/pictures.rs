//! Comparison of pictures with `tests/data/pictures.jsonl.gz`, which holds one JSON document per picture. Each game has
//! pictures of the start, the middle and the end of a random episode. All pictures must also be well-formed XML with a
//! title and a description.
//!
//! After an intended change, run `tests/run --bless` and inspect the changed pictures.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use ludex_env::picture::MOST_BYTES;
use ludex_env::{Action, DynState, GameRef, Outcomes, Picture, Seat, Stream, ToMove, Viewer, check};
use ludex_protocol::spec::Information;
use serde_json::{Value, json};

const SEED: &str = "ludex pictures";

/// Plays one random step. Returns the seat and the action if exactly one seat acted.
fn step(s: &mut dyn DynState, rng: &mut Stream) -> Option<(Seat, Action)> {
    match s.turn() {
        ToMove::Over => None,
        ToMove::Chance => {
            let mut outcomes = Outcomes::new();
            s.chance(&mut outcomes);
            s.play_unchecked(rng.pick(&outcomes).unwrap());
            None
        }
        ToMove::Seat(seat) => {
            let a = s.random_action(seat, rng);
            s.play_unchecked(a);
            Some((seat, a))
        }
        ToMove::Simultaneous(set) => {
            let n = s.spec().players as usize;
            let joint: Vec<Action> = (0..n).map(|p| if set.has(p) { s.random_action(p, rng) } else { 0 }).collect();
            s.play_together_unchecked(&joint);
            None
        }
    }
}

/// Returns the picture for `who` after `plies` random steps, with the last move highlighted.
fn after(game: &GameRef, plies: usize, who: Option<Viewer>) -> Picture {
    let mut rng = Stream::from_text(SEED);
    let mut s = game.start();
    let mut last = None;
    for _ in 0..plies {
        let before = s.boxed();
        if let Some((seat, a)) = step(&mut *s, &mut rng) {
            last = before.view(Viewer::Seat(seat)).gesture(seat, a);
        }
    }
    let who = who.unwrap_or_else(|| s.turn().seats().iter().next().map_or(Viewer::Seat(0), Viewer::Seat));
    let mut picture = s.view(who).picture(who);
    if let Some(gesture) = last.filter(|_| game.spec().information == Information::Perfect) {
        picture.mark_last(&gesture.0);
    }
    picture
}

fn length(game: &GameRef) -> usize {
    let mut rng = Stream::from_text(SEED);
    let mut s = game.start();
    let mut plies = 0;
    while s.turn() != ToMove::Over && plies < 2_000 {
        step(&mut *s, &mut rng);
        plies += 1;
    }
    plies
}

/// Returns pictures of the first, the middle and the last position in which a seat acts.
fn pictures(id: &str) -> Vec<(String, Picture)> {
    let game = ludex_games::load(id).unwrap();
    let plies = length(&game);
    let mut first = 0;
    let mut s = game.start();
    let mut rng = Stream::from_text(SEED);
    while s.turn() == ToMove::Chance {
        step(&mut *s, &mut rng);
        first += 1;
    }
    vec![
        (format!("{id} start"), after(&game, first, None)),
        (format!("{id} middle"), after(&game, usize::midpoint(first, plies), None)),
        (format!("{id} end"), after(&game, plies, Some(Viewer::Public))),
    ]
}

fn path() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/pictures.jsonl.gz"))
}

fn stored_pictures() -> BTreeMap<String, String> {
    let mut text = String::new();
    let Ok(file) = std::fs::File::open(path()) else { return BTreeMap::new() };
    GzDecoder::new(file).read_to_string(&mut text).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|v| (v["name"].as_str().unwrap().to_owned(), v["svg"].as_str().unwrap().to_owned())).collect()
}

#[test]
fn pictures_equal_stored_files() {
    let now: Vec<(String, Picture)> = ludex_games::games().iter().flat_map(|entry| pictures(entry.info.id)).collect();
    if std::env::var_os("LUDEX_REGENERATE").is_some() {
        let mut out = GzEncoder::new(std::fs::File::create(path()).unwrap(), Compression::best());
        for (name, picture) in &now {
            writeln!(out, "{}", json!({ "name": name, "svg": picture.svg })).unwrap();
        }
        out.finish().unwrap();
    }
    let then = stored_pictures();
    let changed = now.iter().filter(|(name, picture)| then.get(name) != Some(&picture.svg));
    let changed: Vec<&str> = changed.map(|(name, _)| name.as_str()).collect();
    assert!(changed.is_empty(), "changed: {changed:?}\nif intended, run tests/run --bless and inspect the pictures");
    assert_eq!(then.len(), now.len());
}

/// Returns the first fault of a picture as an XML document, or `None`.
fn flaw(picture: &Picture) -> Option<String> {
    let document = match roxmltree::Document::parse(&picture.svg) {
        Ok(document) => document,
        Err(e) => return Some(e.to_string()),
    };
    let root = document.root_element();
    let word = |tag: &str| root.children().find(|n| n.has_tag_name(tag) || n.tag_name().name() == tag)?.text();
    let size = format!("0 0 {} {}", picture.width, picture.height);
    if picture.svg.len() > MOST_BYTES {
        return Some(format!("{} bytes", picture.svg.len()));
    }
    if word("title").is_none_or(str::is_empty) || word("desc").is_none_or(str::is_empty) {
        return Some("no title or no desc".to_owned());
    }
    if root.attribute("viewBox") != Some(size.as_str()) {
        return Some(format!("viewBox {:?}", root.attribute("viewBox")));
    }
    let ids = document.descendants().any(|n| n.attribute("id").is_some());
    let scripts =
        document.descendants().any(|n| matches!(n.tag_name().name(), "script" | "image" | "foreignObject" | "a"));
    (ids || scripts).then(|| "an id, a script or a reference".to_owned())
}

#[test]
fn pictures_are_well_formed_in_random_play() {
    let mut rng = Stream::from_text("documents");
    for string in ludex_games::games().iter().map(|entry| entry.info.id).chain(MORE.iter().copied()) {
        let game = ludex_games::load(string).unwrap();
        for _ in 0..check::scaled(1) {
            let mut s = game.start();
            for ply in 0..2_000 {
                if ply % 17 == 0 || s.turn() == ToMove::Over {
                    let seats = (0..s.spec().players as Seat).map(Viewer::Seat);
                    for who in seats.chain([Viewer::Public]) {
                        let fault = flaw(&s.view(who).picture(who));
                        assert_eq!(fault, None, "{string}, ply {ply}, {who:?}");
                    }
                }
                if s.turn() == ToMove::Over {
                    break;
                }
                step(&mut *s, &mut rng);
            }
        }
    }
}

/// Game strings with the largest boards and the most seats.
const MORE: &[&str] = &[
    "gomoku(size=19)",
    "breakthrough(rows=4,columns=26)",
    "breakthrough(rows=64,columns=2)",
    "connect_four(rows=16,columns=3)",
    "go(board_size=9)",
    "nim(pile_sizes=[255,255,255,255,255,255,255,255,255,255,255,255,255,255,255,255])",
    "nim(pile_sizes=[10,10,10,10,10,10,10,10,10,10,10,10,10,10,10,10])",
    "kuhn_poker(players=10)",
    "leduc_poker(players=10)",
    "liars_dice(players=6,numdice=5,dice_sides=8)",
    "first_sealed_auction(players=10,max_value=3)",
    "pig(players=10,winscore=8)",
    "hanabi(players=5)",
    "undercover(players=10,undercovers=3,guesses=true)",
    "texas_holdem(numPlayers=10,blind=0 0 0 0 0 0 0 0 0 0,stack=9 1 30 5 8 70 2 9 4 50,bettingAbstraction=fullgame)",
];

#[test]
fn castling_and_promotion_have_gestures() {
    let game = ludex_games::load("chess(fen=r3k3/6P1/8/8/8/8/8/R3K2R w KQq - 0 1)").unwrap();
    let s = game.start();
    let ToMove::Seat(seat) = s.turn() else { panic!("expected a seat to move") };
    let view = s.view(Viewer::Seat(seat));
    let of = |name: &str| {
        let a = view.parse(seat, &s.legal_list(seat), name).unwrap_or_else(|| panic!("{name} is legal"));
        view.gesture(seat, a).unwrap().0
    };
    assert_eq!(of("O-O"), ["e1", "g1"]);
    assert_eq!(of("O-O-O"), ["e1", "c1"]);
    assert_eq!([of("g8=Q+"), of("g8=N")], [["g7", "g8"], ["g7", "g8"]]);
}
