//! Teams: contents, price and random generation.

use arrayvec::ArrayVec;
use ludex_env::draw::Stream;
use ludex_env::game::Seat;

use super::skills::{ELEMENTS, KINDS, SKILLS};

/// One character of a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    /// Index among the three elements of the side.
    pub element: u8,
    /// Indexes among the six skills of the element, in the order of use.
    pub skills: [u8; 3],
}

/// Three characters in the order in which they act.
pub type Team = ArrayVec<Piece, ELEMENTS>;

/// Returns the price of a team's skills.
pub fn cost(side: Seat, team: &Team) -> u32 {
    let cost = |piece: &Piece| -> u32 {
        let skills = &SKILLS[side * ELEMENTS + usize::from(piece.element)];
        piece.skills.iter().map(|&n| skills[usize::from(n)].cost).sum()
    };
    team.iter().map(cost).sum()
}

/// Draws a random team with elements in random order and uniformly drawn skills. A team is redrawn if it costs more
/// than the budget, or less than both 16 and four fifths of the budget.
pub fn random(side: Seat, budget: u32, rng: &mut Stream) -> Team {
    let least = 16.min(budget * 4 / 5);
    loop {
        let mut order: [u8; ELEMENTS] = std::array::from_fn(|n| n as u8);
        rng.shuffle(&mut order);
        let mut piece = |element| Piece { element, skills: std::array::from_fn(|_| rng.below(KINDS) as u8) };
        let team: Team = order.into_iter().map(&mut piece).collect();
        if (least..=budget).contains(&cost(side, &team)) {
            return team;
        }
    }
}

/// Returns a random variation of the team: two characters swapped, or one skill replaced.
pub fn vary(side: Seat, budget: u32, team: &Team, rng: &mut Stream) -> Team {
    let mut new = team.clone();
    let place = |rng: &mut Stream| rng.below(team.len().max(1));
    if rng.below(5) == 0 {
        let (a, b) = (place(rng), place(rng));
        new.swap(a, b);
        return new;
    }
    loop {
        let (at, skill) = (place(rng), rng.below(KINDS) as u8);
        new[at].skills[rng.below(3)] = skill;
        if cost(side, &new) <= budget {
            return new;
        }
        new.clone_from(team);
    }
}
