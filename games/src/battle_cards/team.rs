//! Teams: contents, price and random generation.

use arrayvec::ArrayVec;
use ludex_env::draw::Stream;
use ludex_env::game::Seat;

use super::cards::{CARDS, GOLD_COST, KINDS, of_side};

/// Maximum number of cards in a team.
pub const MOST: usize = 7;

/// A card of a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    /// Index among the eleven cards of the side.
    pub kind: u8,
    /// True for a gold card.
    pub gold: bool,
}

/// A team and the order in which it attacks enemy cards.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Team {
    /// The cards from left to right.
    pub cards: ArrayVec<Piece, MOST>,
    /// Indexes of enemy cards, the most preferred target first; [`KINDS`] is the summoned creature.
    pub priority: ArrayVec<u8, { KINDS + 1 }>,
}

/// Returns the price of a card.
pub fn cost(side: Seat, piece: Piece) -> u32 {
    CARDS[usize::from(of_side(side, piece.kind))].cost * if piece.gold { GOLD_COST } else { 1 }
}

/// Draws a random team without priorities. Cards are drawn uniformly, 15 % of them gold, until the team has seven or
/// the next exceeds the budget. A team is redrawn if it costs less than 17 and leaves over 3/20 of the budget unspent.
pub fn random(side: Seat, budget: u32, rng: &mut Stream) -> Team {
    let least = 17.min(budget * 17 / 20);
    loop {
        let mut team = Team::default();
        fill(side, budget, &mut team, rng);
        if total(side, &team) >= least {
            return team;
        }
    }
}

/// Returns the price of a team.
pub fn total(side: Seat, team: &Team) -> u32 {
    team.cards.iter().map(|&piece| cost(side, piece)).sum()
}

/// Adds random cards until the next card would exceed the budget or the team has seven cards.
fn fill(side: Seat, budget: u32, team: &mut Team, rng: &mut Stream) {
    let mut spent = total(side, team);
    while !team.cards.is_full() {
        let piece = Piece { kind: rng.below(KINDS) as u8, gold: rng.below(100) < 15 };
        spent += cost(side, piece);
        if spent > budget {
            break;
        }
        team.cards.push(piece);
    }
}

/// Returns a random variation of the team: two cards swapped, a new priority list, or one or two cards replaced.
pub fn vary(side: Seat, budget: u32, team: &Team, rng: &mut Stream) -> Team {
    let mut new = team.clone();
    let place = |team: &Team, rng: &mut Stream| rng.below(team.cards.len().max(1));
    match rng.below(4) {
        0 if !new.cards.is_empty() => {
            let (a, b) = (place(&new, rng), place(&new, rng));
            new.cards.swap(a, b);
        }
        1 => {
            let kind = rng.below(KINDS + 1) as u8;
            match new.priority.iter().position(|&other| other == kind) {
                Some(at) => drop(new.priority.remove(at)),
                None => new.priority.insert(0, kind),
            }
        }
        _ => {
            for _ in 0..1 + rng.below(2) {
                let at = place(&new, rng);
                _ = new.cards.pop_at(at);
            }
            fill(side, budget, &mut new, rng);
        }
    }
    if new.cards.is_empty() { team.clone() } else { new }
}
