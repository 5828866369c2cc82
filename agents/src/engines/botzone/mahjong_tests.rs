//! Replays of mahjong matches in Botzone's messages: `tests/data/botzone/mcr_mahjong.jsonl`, one generated match per
//! line.
//!
//! A judge with full information writes the requests of each step as Botzone does. The codec must produce the same
//! requests from one seat's view and history. `LUDEX_REGENERATE=1` rewrites the file.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use ludex_env::{Action, AgentKey, DynState, GameRef, MoveRequest, Mover, ObservedMove, Seat, Stream, Viewer};
use ludex_games::load;
use ludex_games::mcr_mahjong::ids::{self, Doing};
use ludex_games::mcr_mahjong::tiles::{self, Tile};
use ludex_games::mcr_mahjong::{Outcome, Phase, View};
use serde_json::{Value, json};

use super::mcr_mahjong::CODEC;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/botzone/mcr_mahjong.jsonl");

/// Events that the replays must cover.
const WANTED: [&str; 13] = [
    "CHI low",
    "CHI middle",
    "CHI high",
    "PENG",
    "GANG",
    "concealed GANG",
    "BUGANG",
    "robbed",
    "two HU",
    "overridden CHI",
    "overridden PENG",
    "drawn",
    "false HU",
];

/// Match in progress, with the history of each seat.
struct Table {
    state: Box<dyn DynState>,
    past: [Vec<ObservedMove>; 4],
    revealed: [HashSet<String>; 4],
}

impl Table {
    /// Starts a match after the deal. `wall` contains the tiles in the order in which they are drawn.
    fn new(game: &GameRef, wall: &[Tile]) -> Table {
        let mut table = Table { state: game.start(), past: Default::default(), revealed: Default::default() };
        for &tile in wall {
            table.hear(Mover::Chance, tile.into());
            table.state.play_chance(tile.into()).unwrap();
            table.reveal();
        }
        table
    }

    fn hear(&mut self, by: Mover, a: Action) {
        for (seat, past) in self.past.iter_mut().enumerate() {
            let seen = self.state.seen(Viewer::Seat(seat), by, a);
            past.extend(seen.text.map(|text| ObservedMove { by, action: seen.action, text, reveals: Vec::new() }));
        }
    }

    fn reveal(&mut self) {
        for seat in 0..4 {
            for (text, _) in self.state.reveals(Viewer::Seat(seat)) {
                if self.revealed[seat].insert(text.clone())
                    && let Some(last) = self.past[seat].last_mut()
                {
                    last.reveals.push(text);
                }
            }
        }
    }

    fn play(&mut self, seat: Seat, a: Action) {
        self.hear(Mover::Seat(seat), a);
        self.state.play(seat, a).unwrap();
        self.reveal();
    }

    fn play_joint(&mut self, joint: &[Option<Action>; 4]) {
        for (seat, a) in joint.iter().enumerate() {
            a.iter().for_each(|&a| self.hear(Mover::Seat(seat), a));
        }
        let heard: Vec<_> = joint.iter().map(|a| a.map(ludex_env::ParsedMove::Action)).collect();
        self.state.play_joint(&heard).unwrap();
        self.reveal();
    }

    fn view(&self, seat: Seat) -> View {
        self.state.view(Viewer::Seat(seat)).as_any().downcast_ref::<View>().unwrap().clone()
    }
}

/// Function that returns the response of the seat to move.
type Respond<'a> = dyn FnMut(&Table, Seat) -> String + 'a;

/// Plays a match. Returns the match as a line of the replay file, and the events that occurred.
fn judge(quan: u8, wall: &[Tile], respond: &mut Respond<'_>) -> (Value, BTreeSet<&'static str>) {
    let wind = ["east", "south", "west", "north"][usize::from(quan)];
    let game = load(&format!("mcr_mahjong(errors=botzone,prevalent={wind})")).unwrap();
    let mut table = Table::new(&game, wall);
    let mut rounds = Vec::new();
    let mut seen = BTreeSet::new();
    let pass = || [(); 4].map(|()| "PASS".to_owned());
    let mut round = |requests: [String; 4], responses: [String; 4]| {
        rounds.push(json!({ "requests": requests, "responses": responses }));
    };
    round([0, 1, 2, 3].map(|p| format!("0 {p} {quan}")), pass());
    let hand =
        |p: usize| wall[34 * p + 21..34 * (p + 1)].iter().rev().map(|&t| tiles::name(t)).collect::<Vec<_>>().join(" ");
    round([0, 1, 2, 3].map(|p| format!("1 0 0 0 0 {}", hand(p))), pass());
    loop {
        let view = table.view(0);
        if view.phase == Phase::Over {
            break;
        }
        assert_eq!(view.phase, Phase::Turn);
        let p = table.state.turn().seat().unwrap();
        let drawn = table.view(p).drawn.unwrap().0;
        let request = |q: usize| if q == p { format!("2 {}", tiles::name(drawn)) } else { format!("3 {p} DRAW") };
        let mut responses = pass();
        responses[p] = respond(&table, p);
        let mut said = format!("3 {p} {}", responses[p]);
        let a = table.action(p, &responses[p]);
        round([0, 1, 2, 3].map(request), responses);
        table.play(p, a);
        match ids::reading(a) {
            Doing::Gang(_) => {
                seen.insert("concealed GANG");
                round([0, 1, 2, 3].map(|_| format!("3 {p} GANG")), pass());
                continue;
            }
            Doing::Bugang(_) => {
                seen.insert("BUGANG");
            }
            _ => {}
        }
        // A discard or a promoted kong, and all that follows until the next draw.
        while matches!(table.view(0).phase, Phase::Claim | Phase::Kong) {
            let (mut responses, mut joint) = (pass(), [None; 4]);
            let offered = table.view(0).offer.unwrap();
            for q in (0..4).filter(|&q| q != usize::from(offered.seat)) {
                responses[q] = respond(&table, q);
                joint[q] = Some(table.action(q, &responses[q]));
            }
            round([0, 1, 2, 3].map(|_| said.clone()), responses.clone());
            table.play_joint(&joint);
            note(&joint, &table.view(0), &mut seen);
            let after = table.view(0);
            let winner = after.discards.last().and_then(|d| d.claimed_by).map(usize::from).filter(|_| !offered.kong);
            let Some(q) = winner else { continue };
            if after.phase == Phase::Turn {
                round([0, 1, 2, 3].map(|_| format!("3 {q} GANG")), pass());
                continue;
            }
            // The response to the claim also contains the discard.
            assert_eq!(table.talk(q).0.last(), Some(&said));
            said = format!("3 {q} {}", responses[q]);
            let a = table.action(q, &responses[q]);
            table.play(q, a);
        }
    }
    let last = &table.view(0).results[0];
    match last.outcome {
        Outcome::False => seen.insert("false HU"),
        Outcome::Robbed => seen.insert("robbed"),
        Outcome::Drawn => seen.insert("drawn"),
        _ => false,
    };
    let walltiles = wall.iter().map(|&t| tiles::name(t)).collect::<Vec<_>>().join(" ");
    (json!({ "quan": quan, "walltiles": walltiles, "rounds": rounds, "scores": last.scores }), seen)
}

/// Adds the events of a joint turn to `seen`.
fn note(joint: &[Option<Action>; 4], after: &View, seen: &mut BTreeSet<&'static str>) {
    let all: Vec<Doing> = joint.iter().flatten().map(|&a| ids::reading(a)).collect();
    let count = |of: Doing| all.iter().filter(|d| **d == of).count();
    let hu = count(Doing::Hu);
    let (chi, peng) = (all.iter().any(|d| matches!(d, Doing::Chi(_))), count(Doing::Peng) > 0);
    let gang = all.iter().any(|d| matches!(d, Doing::Gang(_)));
    let mut add = |holds: bool, what: &'static str| seen.extend(holds.then_some(what));
    add(hu > 1, "two HU");
    add(chi && (peng || gang || hu > 0), "overridden CHI");
    add(peng && hu > 0, "overridden PENG");
    add(peng && hu == 0, "PENG");
    add(gang && hu == 0, "GANG");
    if hu == 0 && !peng && !gang && after.phase == Phase::Discard {
        for (place, what) in ["CHI low", "CHI middle", "CHI high"].into_iter().enumerate() {
            add(all.contains(&Doing::Chi(place as u8)), what);
        }
    }
}

impl Table {
    /// Parses a seat's response as an action, using the codec.
    fn action(&self, seat: Seat, response: &str) -> Action {
        let legal = self.state.legal_list(seat);
        let ask = MoveRequest::on_state(&*self.state, seat, 0, &legal, AgentKey::Own(&[0; 32]))
            .with_history(&self.past[seat]);
        (CODEC.read)(&ask, &json!(response))
            .unwrap_or_else(|| panic!("{response} of {seat}: {}", self.state.view(Viewer::Seat(seat)).text()))
    }

    /// Returns all requests of a seat and all its responses except the last, as produced by the codec.
    fn talk(&self, seat: Seat) -> (Vec<String>, Vec<String>) {
        let legal = self.state.legal_list(seat);
        let ask = MoveRequest::on_state(&*self.state, seat, 0, &legal, AgentKey::Own(&[0; 32]))
            .with_history(&self.past[seat]);
        let talk = (CODEC.talk)(&ask).unwrap();
        let text = |v: &Value| v.as_str().unwrap().to_owned();
        let requests = talk.turns.iter().map(|t| &t.request).chain([&talk.now]).map(text).collect();
        (requests, talk.turns.iter().map(|t| text(&t.response)).collect())
    }
}

/// Returns the response for an action, including a discard if Botzone requires one.
fn words(table: &Table, seat: Seat, a: Action) -> String {
    let view = table.view(seat);
    let text = table.state.view(Viewer::Seat(seat)).action_text(seat, a);
    let used: Vec<Tile> = match ids::reading(a) {
        Doing::Gang(_) if view.phase == Phase::Claim => return "GANG".into(),
        Doing::Peng => vec![view.offer.unwrap().tile.0; 2],
        Doing::Chi(place) => {
            let offer = view.offer.unwrap().tile.0;
            let middle = ids::middle(offer, place).unwrap();
            (middle - 1..=middle + 1).filter(|&t| t != offer).collect()
        }
        _ => return text,
    };
    let mut hand: Vec<Tile> = view.hand.iter().map(|k| k.0).collect();
    for tile in used {
        let at = hand.iter().position(|&t| t == tile).unwrap();
        hand.remove(at);
    }
    format!("{text} {}", tiles::name(hand[hand.len() / 2]))
}

/// Builds a wall from which each seat draws the given tiles first; the other tiles follow.
fn wall(first: [&str; 4]) -> Vec<Tile> {
    let own = first.map(|list| list.split_whitespace().map(|t| tiles::read(t).unwrap()).collect::<Vec<_>>());
    let mut left = [tiles::COPIES; tiles::KINDS];
    own.iter().flatten().for_each(|&t| left[usize::from(t)] -= 1);
    let mut rest: Vec<Tile> = tiles::list(&left).collect();
    Stream::from_text("ludex.v1:test:botzone wall").shuffle(&mut rest);
    let mut rest = rest.into_iter();
    let whole = own.map(|mut own| {
        own.extend(rest.by_ref().take(34 - own.len()));
        own.reverse();
        own
    });
    whole.concat()
}

/// Returns the tiles of thirteen orphans without the white dragon; `twice` occurs two times.
fn orphans(twice: &str) -> String {
    format!("W1 W9 B1 B9 T1 T9 F1 F2 F3 F4 J1 J2 {twice}")
}

/// Generates matches that cover all events: three constructed matches, then random matches that add new events.
fn write() -> String {
    let mut lines = Vec::new();
    let mut seen = BTreeSet::new();
    let mut add = |(line, new): (Value, BTreeSet<&'static str>), seen: &mut BTreeSet<&'static str>| {
        if !new.is_subset(seen) {
            seen.extend(new);
            lines.push(format!("{line}\n"));
        }
    };
    // Seat 0 discards the white dragon, for which two other seats wait.
    let two = wall(["W2 W3 W5 W6 W7 B2 B3 B4 B5 T2 T3 T5 T6 J3", &orphans("F1"), &orphans("F2"), ""]);
    let rather = |prefer: &'static [&'static str]| {
        move |table: &Table, seat: Seat| {
            let legal = table.state.legal_list(seat);
            let names: Vec<String> = legal.iter().filter(|&&a| a != ids::HU).map(|&a| words(table, seat, a)).collect();
            let liked = prefer.iter().find_map(|p| names.iter().find(|n| n.starts_with(p)));
            let drawn = table.view(seat).drawn.map(|t| format!("PLAY {}", tiles::name(t.0)));
            liked.cloned().or(drawn).unwrap_or_else(|| names[0].clone())
        }
    };
    let orphans_win = rather(&["PLAY J3"]);
    add(
        judge(1, &two, &mut |table, seat| {
            let offer = table.view(seat).offer.map(|o| tiles::name(o.tile.0));
            if (seat == 1 || seat == 2) && offer.as_deref() == Some("J3") {
                "HU".into()
            } else {
                orphans_win(table, seat)
            }
        }),
        &mut seen,
    );
    // Seat 0 claims the white dragon of seat 3 for a pung, and promotes the pung with the last white dragon, which is
    // robbed by seat 1; a pung of seat 2 is overridden.
    let robbed = wall([
        "W2 W3 W5 W6 W7 B2 B3 B4 B5 T2 T3 J3 J3 T8 J3",
        &orphans("F1"),
        "W2 W3 W5 W6 W7 B2 B3 B4 B5 T2 T3 T5 T6 T8",
        "W4 W4 W8 W8 B6 B6 B7 B7 T4 T4 T7 T7 J3 B8",
    ]);
    let claims = rather(&["PENG", "BUGANG", "PLAY J3", "PLAY T8", "PASS"]);
    add(
        judge(2, &robbed, &mut |table, seat| {
            let view = table.view(seat);
            match view.phase {
                Phase::Kong if seat == 1 => "HU".into(),
                Phase::Claim if seat == 0 && view.offer.as_ref().is_some_and(|o| tiles::name(o.tile.0) == "J3") => {
                    claims(table, seat)
                }
                Phase::Claim => "PASS".into(),
                Phase::Turn if seat == 0 && view.drawn.is_some_and(|t| tiles::name(t.0) != "J3") => "PLAY T8".into(),
                _ => claims(table, seat),
            }
        }),
        &mut seen,
    );
    // Seat 1 declares a false HU on a tile that seat 2 claims for a pung.
    let pung = wall(["W2 W3 W5 W6 W7 B2 B3 B4 B5 T2 T3 J3 T8", "", "J3 J3 W2 W3 W5 W6 W7 B2 B3 B4 B5 T2 T3", ""]);
    add(
        judge(3, &pung, &mut |table, seat| match (table.view(seat).phase, seat) {
            (Phase::Turn, _) => "PLAY J3".into(),
            (_, 1) => "HU".into(),
            (_, 2) => rather(&["PENG"])(table, seat),
            _ => "PASS".into(),
        }),
        &mut seen,
    );
    for seed in 0..4_000 {
        if WANTED.iter().all(|what| seen.contains(what)) {
            break;
        }
        let mut rng = Stream::from_text(&format!("ludex.v1:test:botzone replay {seed}"));
        let mut tiles: Vec<Tile> = tiles::list(&[tiles::COPIES; tiles::KINDS]).collect();
        rng.shuffle(&mut tiles);
        let eager = |table: &Table, seat: Seat| {
            let legal: Vec<Action> = table.state.legal_list(seat).into_iter().filter(|&a| a != ids::HU).collect();
            let claims: Vec<Action> = legal.iter().copied().filter(|&a| a >= ids::GANG).collect();
            let from = if claims.is_empty() || rng.below(4) == 0 { &legal } else { &claims };
            words(table, seat, from[rng.below(from.len())])
        };
        add(judge((seed % 4) as u8, &tiles, &mut { eager }), &mut seen);
    }
    let missing: Vec<&&str> = WANTED.iter().filter(|what| !seen.contains(*what)).collect();
    assert!(missing.is_empty(), "no match has {missing:?}");
    lines.concat()
}

#[test]
fn codec_reproduces_requests_of_each_seat() {
    if std::env::var_os("LUDEX_REGENERATE").is_some() {
        std::fs::create_dir_all(Path::new(FILE).parent().unwrap()).unwrap();
        std::fs::write(FILE, write()).unwrap();
    }
    let text = std::fs::read_to_string(FILE).unwrap();
    let (mut seen, mut compared) = (BTreeSet::new(), 0);
    for line in text.lines() {
        let kept: Value = serde_json::from_str(line).unwrap();
        let wall: Vec<Tile> = kept["walltiles"].as_str().unwrap().split(' ').map(|t| tiles::read(t).unwrap()).collect();
        let rounds = kept["rounds"].as_array().unwrap();
        let column = |field: &str, seat: Seat, n: usize| -> Vec<String> {
            rounds[..n].iter().map(|r| r[field][seat].as_str().unwrap().to_owned()).collect()
        };
        let mut respond = |table: &Table, seat: Seat| {
            let (requests, responses) = table.talk(seat);
            assert_eq!(requests, column("requests", seat, requests.len()), "seat {seat}");
            // The discard after an overridden claim is unknown to the codec.
            for (own, kept) in responses.iter().zip(column("responses", seat, responses.len())) {
                assert!(*own == kept || kept.starts_with(&format!("{own} ")), "seat {seat}: {own}, {kept}");
            }
            compared += requests.len();
            rounds[requests.len() - 1]["responses"][seat].as_str().unwrap().to_owned()
        };
        let (again, new) = judge(kept["quan"].as_u64().unwrap() as u8, &wall, &mut respond);
        assert_eq!(again, kept);
        seen.extend(new);
    }
    assert_eq!(seen, BTreeSet::from(WANTED));
    assert!(compared > 1_000, "{compared} requests");
}
