//! Walls, turns, claims, scoring and observed events.

mod hands;
mod marks;
mod play;

use ludex_env::draw::Draw;

use super::state::NONE;
use super::*;
use crate::load;

/// Loads a game string.
fn rules(text: &str) -> McrMahjong {
    let game = load(text).unwrap();
    McrMahjong::new(serde_json::from_value(game.spec().params.clone().into()).unwrap()).unwrap()
}

/// Plays chance from a seed until a seat is to move or the match has ended.
fn deal(game: &McrMahjong, s: &mut State, draw: &mut Draw) {
    let mut outcomes = Outcomes::new();
    while game.to_move(s) == ToMove::Chance {
        outcomes.clear();
        game.chance(s, &mut outcomes);
        game.play_unchecked(s, draw.pick(&outcomes).unwrap());
    }
}

/// Returns a position with the walls `named` and east as the prevalent wind. Each wall lists its tiles in the order of
/// draws, starting with the first hand. Incomplete walls are filled with the remaining tiles.
fn walls(game: &McrMahjong, named: [&str; SEATS]) -> State {
    let named = named.map(|text| text.split_whitespace().map(|t| tiles::read(t).unwrap()).collect::<Vec<Tile>>());
    let mut left = [COPIES; KINDS];
    for &t in named.iter().flatten() {
        left[usize::from(t)] -= 1;
    }
    let mut rest: Vec<Tile> = tiles::list(&left).collect();
    let mut s = game.start();
    let mut order = [NONE; state::TILES];
    for (p, wall) in named.iter().enumerate() {
        for k in 0..state::OWN_WALL {
            let tile = wall.get(k).copied().unwrap_or_else(|| rest.pop().unwrap());
            order[state::OWN_WALL * p + state::OWN_WALL - 1 - k] = tile;
        }
    }
    order.iter().for_each(|&t| game.play_unchecked(&mut s, t.into()));
    if game.to_move(&s) == ToMove::Chance {
        game.play_unchecked(&mut s, 0);
    }
    s
}

/// Plays moves such as `PLAY W1`; `DRAWN` discards the drawn tile. Simultaneous replies are separated by `/`, starting
/// with the seat after the discarder. Each move must be legal.
fn play(game: &McrMahjong, s: &mut State, moves: &[&str]) {
    for text in moves {
        let read = |seat: Seat, text: &str| {
            let view = game.view(s, Viewer::Seat(seat));
            let mut legal = Vec::new();
            game.legal(s, seat, &mut legal);
            game.parse(&view, seat, &legal, text)
                .unwrap_or_else(|| panic!("{text} of {seat}: {}", game.why_not_text(s, seat, text)))
        };
        match game.to_move(s) {
            ToMove::Seat(seat) => {
                let a = if *text == "DRAWN" { game.default_action(s, seat) } else { read(seat, text) };
                game.play_unchecked(s, a);
            }
            ToMove::Simultaneous(_) => {
                let mut joint = [0; SEATS];
                for (p, word) in state::others(s.seat).into_iter().zip(text.split('/')) {
                    joint[p] = read(p, word);
                }
                game.play_together_unchecked(s, &joint);
            }
            other => panic!("{other:?} before {text}"),
        }
    }
}

/// Returns the texts of the events that `who` sees on reaching a position.
fn news(game: &McrMahjong, s: &State, who: Viewer) -> Vec<String> {
    game.reveals(s, who).into_iter().map(|(text, _)| text).collect()
}

fn legal(game: &McrMahjong, s: &State, seat: Seat) -> Vec<String> {
    let view = game.view(s, Viewer::Seat(seat));
    let mut all = Vec::new();
    game.legal(s, seat, &mut all);
    all.into_iter().map(|a| game.action_text(&view, seat, a)).collect()
}
