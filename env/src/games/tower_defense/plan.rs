//! Plans: what they are, what they cost, and random ones.

use super::simulate::MOST;
use super::units::{DEMONS, HUMANS, human_cost};
use super::{Rules, TICK};
use crate::draw::Stream;
use crate::game::Seat;

/// Columns in which humans stand, and rows.
pub const COLUMNS: u8 = 11;
/// Rows of the field.
pub const ROWS: u8 = 5;
/// The first cell of the column in which demons appear.
pub const ENTRY: u8 = COLUMNS * ROWS;
/// The last moment at which a unit may appear, in milliseconds.
pub const LATEST: u32 = 60_000;

/// One unit of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    /// Its place in the table of its side.
    pub kind: u8,
    /// 5x + y for a human unit, 55 + y for a demon.
    pub cell: u8,
    /// When it appears: 0 to 1200.
    pub tick: u16,
}

/// What a unit costs.
pub fn cost(side: Seat, kind: u8, rules: Rules) -> u32 {
    if side == 0 { human_cost(kind, rules) } else { DEMONS[usize::from(kind)].cost }
}

/// A random plan: names equally likely until one does not fit the budget, anywhere, in the first ten seconds.
pub fn random(side: Seat, budget: u32, rules: Rules, rng: &mut Stream) -> Vec<Piece> {
    let (mut plan, mut spent) = (Vec::<Piece>::new(), 0);
    while plan.len() < MOST {
        let kind = rng.below([HUMANS.len(), DEMONS.len()][side & 1]) as u8;
        let cell = if side == 0 { rng.below(ENTRY.into()) as u8 } else { ENTRY + rng.below(ROWS.into()) as u8 };
        let tick = rng.below(10_000 / TICK as usize) as u16;
        spent += cost(side, kind, rules);
        if spent > budget {
            break;
        }
        if side == 0 && plan.iter().any(|piece| piece.cell == cell && piece.tick == tick) {
            spent -= cost(side, kind, rules);
            continue;
        }
        plan.push(Piece { kind, cell, tick });
    }
    plan
}
