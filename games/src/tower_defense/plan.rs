//! Plans: contents, cost, and random generation.

use ludex_env::draw::Stream;
use ludex_env::game::Seat;

use super::units::{DEMONS, HUMANS, human_cost};
use super::{Rules, TICK};

/// Number of columns in which human units can be placed.
pub const COLUMNS: u8 = 11;
/// Maximum number of pieces in a plan.
pub const MOST: usize = 200;
/// Number of rows of the field.
pub const ROWS: u8 = 5;
/// First cell of the column in which demons appear.
pub const ENTRY: u8 = COLUMNS * ROWS;
/// Latest time at which a unit may appear, in milliseconds.
pub const LATEST: u32 = 60_000;

/// One unit of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    /// Kind of the unit: an index in its side's table.
    pub kind: u8,
    /// Cell of the unit: `5x + y` for a human unit, `55 + y` for a demon.
    pub cell: u8,
    /// Tick in which the unit appears, 0 to 1200.
    pub tick: u16,
}

/// Returns the price of a unit.
pub fn cost(side: Seat, kind: u8, rules: Rules) -> u32 {
    if side == 0 { human_cost(kind, rules) } else { DEMONS[usize::from(kind)].cost }
}

/// Draws a random plan. Units of random kind, place and time (in the first ten seconds) are added until the next one
/// would exceed the budget.
pub fn random(side: Seat, budget: u32, rules: Rules, rng: &mut Stream) -> Vec<Piece> {
    let mut plan = Vec::new();
    fill(side, budget, rules, &mut plan, rng);
    plan
}

/// Adds random units to a plan until one would exceed the budget.
fn fill(side: Seat, budget: u32, rules: Rules, plan: &mut Vec<Piece>, rng: &mut Stream) {
    let mut spent: u32 = plan.iter().map(|piece| cost(side, piece.kind, rules)).sum();
    while plan.len() < MOST {
        let kind = rng.below([HUMANS.len(), DEMONS.len()][side & 1]) as u8;
        let piece = Piece { kind, ..anywhere(side, rng) };
        if spent + cost(side, kind, rules) > budget {
            break;
        }
        if fits(side, plan, piece) {
            spent += cost(side, kind, rules);
            plan.push(piece);
        }
    }
}

/// Draws a random place and time for a unit of kind 0.
fn anywhere(side: Seat, rng: &mut Stream) -> Piece {
    let cell = if side == 0 { rng.below(ENTRY.into()) as u8 } else { ENTRY + rng.below(ROWS.into()) as u8 };
    Piece { kind: 0, cell, tick: rng.below(10_000 / TICK as usize) as u16 }
}

/// Returns true if no human unit of the plan appears at the place and time of `piece`.
fn fits(side: Seat, plan: &[Piece], piece: Piece) -> bool {
    side == 1 || plan.iter().all(|other| (other.cell, other.tick) != (piece.cell, piece.tick))
}

/// Returns the plan with one random change: a unit moved, or one or two units replaced.
pub fn vary(side: Seat, budget: u32, rules: Rules, plan: &[Piece], rng: &mut Stream) -> Vec<Piece> {
    let mut new = plan.to_vec();
    if rng.below(2) == 0 && !new.is_empty() {
        let old = new.remove(rng.below(new.len()));
        let moved = Piece { kind: old.kind, ..anywhere(side, rng) };
        new.push(if fits(side, &new, moved) { moved } else { old });
        return new;
    }
    for _ in 0..1 + rng.below(2) {
        if !new.is_empty() {
            new.remove(rng.below(new.len()));
        }
    }
    fill(side, budget, rules, &mut new, rng);
    if new.is_empty() { plan.to_vec() } else { new }
}
