//! Pictures of a position.

use ludex_env::game::Game as _;
use ludex_env::picture::Picture;

use super::TexasHoldem;
use super::view::View;
use crate::picture::table::{CardTable, Face, Player};

pub(super) fn picture(game: &TexasHoldem, view: &View) -> Picture {
    let hand = &view.now;
    let holes = usize::from(game.table.hole);
    let dealt = hand.dealt > 0;
    let faces = |names: &[String]| names.iter().map(|name| Face::Named(name.clone())).collect::<Vec<_>>();
    let player = |p: usize| {
        let me = view.seat.map(usize::from) == Some(p);
        let shown = hand.shown.get(p).and_then(Option::as_ref);
        let out = hand.folded.iter().any(|&f| usize::from(f) == p);
        let left = hand.left.get(p).map(|left| format!("{left} left"));
        let won = hand.won.get(p).map(|won| format!("{won:+}"));
        let last = hand.moves.iter().rfind(|m| usize::from(m.seat) == p && m.round == hand.round);
        Player {
            name: [
                format!("p{p}"),
                if me { " (you)".into() } else { String::new() },
                last.map(|m| format!(": {}", m.name)).unwrap_or_default(),
            ]
            .concat(),
            cards: match (me && !hand.hole.is_empty(), shown) {
                (true, _) => faces(&hand.hole),
                (_, Some(names)) => faces(names),
                _ if out => Vec::new(),
                _ => vec![if dealt { Face::Down } else { Face::Missing }; holes],
            },
            chips: hand.spent.get(p).map(u32::to_string).unwrap_or_default(),
            note: won.or(left).unwrap_or_default(),
            acts: hand.to_move.map(usize::from) == Some(p),
            out,
        }
    };
    let mut board = faces(&hand.board);
    board.resize(board.len().max(super::view::cards_of_board(&game.table)), Face::Missing);
    let pot: u64 = hand.spent.iter().map(|&c| u64::from(c)).sum();
    let count = if view.hands > 1 { format!("hand {} of {}: ", view.hand, view.hands) } else { String::new() };
    let status = match (hand.to_move, hand.won.is_empty()) {
        (Some(p), _) => format!("{count}p{p} to move"),
        (None, true) => format!("{count}cards are dealt"),
        (None, false) => {
            let best = hand.won.iter().enumerate().filter(|(_, won)| **won > 0.0);
            let best: Vec<String> = best.map(|(p, won)| format!("p{p} wins {won}")).collect();
            format!("{count}{}", if best.is_empty() { "no winner".to_owned() } else { best.join(", ") })
        }
    };
    let players = (0..game.table.n).map(player).collect();
    CardTable { board, pot: format!("Pot {pot}"), players, status }.picture(TexasHoldem::INFO.title)
}
