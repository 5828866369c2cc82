//! Teams: contents, cost, and random generation.

use arrayvec::ArrayVec;
use ludex_env::draw::Stream;
use ludex_env::game::Seat;

use super::skills::{ELEMENTS, KINDS, SKILLS};

/// One character of a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    /// Index of its element among the three of its side.
    pub element: u8,
    /// Indexes of its skills among the six of its element, used in turn.
    pub skills: [u8; 3],
}

/// The characters in the order in which they act.
pub type Team = ArrayVec<Piece, ELEMENTS>;

/// Returns the price of a team's skills.
pub fn cost(side: Seat, team: &Team) -> u32 {
    let cost = |piece: &Piece| -> u32 {
        let skills = &SKILLS[side * ELEMENTS + usize::from(piece.element)];
        piece.skills.iter().map(|&n| skills[usize::from(n)].cost).sum()
    };
    team.iter().map(cost).sum()
}

/// Draws a random team: elements in random order, skills uniformly; drawn again unless it costs at least 16 and at most
/// the budget. For a budget below 20, four fifths of it suffice.
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

/// Returns the team with two characters exchanged, or with one skill replaced at random.
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
