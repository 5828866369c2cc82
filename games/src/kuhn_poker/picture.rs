//! Pictures of a position.

use ludex_env::game::Game as _;
use ludex_env::picture::Picture;

use super::{KuhnPoker, View};
use crate::picture::table::{CardTable, Face, Player};

pub(super) fn picture(view: &View) -> Picture {
    let n = view.chips.len().max(1);
    let player = |(p, chips): (usize, &u8)| {
        let own = view.card.filter(|_| view.seat.map(usize::from) == Some(p));
        let card = own.or_else(|| view.shown.get(p).copied().flatten());
        let hidden = if p < usize::from(view.dealt) { Face::Down } else { Face::Missing };
        let moves = view.bets.chars().skip(p).step_by(n).map(|c| if c == 'b' { "bet" } else { "pass" });
        Player {
            name: name(view, p),
            cards: vec![card.map_or(hidden, |card| Face::Plain(card.to_string()))],
            chips: chips.to_string(),
            note: moves.collect::<Vec<_>>().join(", "),
            acts: view.to_move.map(usize::from) == Some(p),
            out: false,
        }
    };
    let pot: u32 = view.chips.iter().map(|&c| u32::from(c)).sum();
    let status = match (view.to_move, view.winner) {
        (Some(p), _) => format!("p{p} to move"),
        (None, Some(p)) => format!("p{p} takes the pot"),
        (None, None) => "cards are dealt".to_owned(),
    };
    let players = view.chips.iter().enumerate().map(player).collect();
    CardTable { board: Vec::new(), pot: format!("Pot {pot}"), players, status }.picture(KuhnPoker::INFO.title)
}

fn name(view: &View, p: usize) -> String {
    if view.seat.map(usize::from) == Some(p) { format!("p{p} (you)") } else { format!("p{p}") }
}
