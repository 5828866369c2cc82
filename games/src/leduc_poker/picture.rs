//! Pictures of a position.

use ludex_env::game::Game as _;
use ludex_env::picture::Picture;

use super::{LeducPoker, View};
use crate::picture::table::{CardTable, Face, Player};

pub(super) fn picture(view: &View) -> Picture {
    let face = |card: u8| Face::Plain(card.to_string());
    let player = |(p, chips): (usize, &u8)| {
        let me = view.seat.map(usize::from) == Some(p);
        let card = view.card.filter(|_| me).or_else(|| view.shown.get(p).copied().flatten());
        let hidden = if p < usize::from(view.dealt) { Face::Down } else { Face::Missing };
        let won = view.winners.iter().any(|&w| usize::from(w) == p);
        Player {
            name: if me { format!("p{p} (you)") } else { format!("p{p}") },
            cards: vec![card.map_or(hidden, face)],
            chips: chips.to_string(),
            note: if won { "wins".to_owned() } else { String::new() },
            acts: view.to_move.map(usize::from) == Some(p),
            out: view.folded.iter().any(|&f| usize::from(f) == p),
        }
    };
    let pot: u32 = view.chips.iter().map(|&c| u32::from(c)).sum();
    let winners: Vec<String> = view.winners.iter().map(|p| format!("p{p}")).collect();
    let status = match (view.to_move, winners.len()) {
        (Some(p), _) => format!("p{p} to move"),
        (None, 0) => "cards are dealt".to_owned(),
        (None, 1) => format!("{} takes the pot", winners[0]),
        (None, _) => format!("{} share the pot", winners.join(", ")),
    };
    let players = view.chips.iter().enumerate().map(player).collect();
    let board = vec![view.board.map_or(Face::Missing, face)];
    CardTable { board, pot: format!("Pot {pot}"), players, status }.picture(LeducPoker::INFO.title)
}
