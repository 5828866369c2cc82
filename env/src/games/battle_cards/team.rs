//! Teams: what they are, what they cost, and random ones.

use arrayvec::ArrayVec;

use super::MOST;
use super::cards::{CARDS, GOLD_COST, KINDS, of_side};
use crate::draw::Stream;
use crate::game::Seat;

/// A card of a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    /// Its place among the eleven of its side.
    pub kind: u8,
    /// Whether it is gold.
    pub gold: bool,
}

/// A team, and whom it attacks first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Team {
    /// The cards from left to right.
    pub cards: ArrayVec<Piece, MOST>,
    /// The other side's cards by number, the most wanted first; [`KINDS`] is its summon.
    pub priority: ArrayVec<u8, { KINDS + 1 }>,
}

/// What a card costs.
pub fn cost(side: Seat, piece: Piece) -> u32 {
    CARDS[usize::from(of_side(side, piece.kind))].cost * if piece.gold { GOLD_COST } else { 1 }
}

/// A random team without priorities: names equally likely, 15 of 100 gold, until one does not fit the budget or there are
/// seven. Teams that leave more than 3/20 of the budget are drawn again, as long as they cost less than 17.
pub fn random(side: Seat, budget: u32, rng: &mut Stream) -> Team {
    let least = 17.min(budget * 17 / 20);
    loop {
        let (mut team, mut spent) = (Team::default(), 0);
        while !team.cards.is_full() {
            let piece = Piece { kind: rng.below(KINDS) as u8, gold: rng.below(100) < 15 };
            if spent + cost(side, piece) > budget {
                break;
            }
            spent += cost(side, piece);
            team.cards.push(piece);
        }
        if spent >= least {
            return team;
        }
    }
}
